"""Files as the originals' own installers write them, in the projects that they are written for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.assignments import read_assignments
from tests import command
from tests.machine import NO_ORIGINAL
from tests.setups.bash_oracle import assigned_by_bash, corpus
from tests.setups.originals import SOURCES, original

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.examples import MakeProject, Project

FILES = {"frankbria": "ralphrc.frankbria", "bmalph": "ralphrc.bmalph"}
PLACES = {"frankbria": ".ralphrc", "bmalph": ".ralph/.ralphrc"}
ONE_TURN = ("--max-iterations", "1")
RALPHY = "_npm/package/dist/ralphy-linux-x64"
PLUGIN = "plugins/ralph-loop"


def written(setup: str) -> str:
    folder = corpus()
    if folder is None or not (folder / FILES[setup]).is_file():
        pytest.skip(NO_ORIGINAL)
    return (folder / FILES[setup]).read_text()


@pytest.mark.parametrize("setup", FILES)
def test_each_assignment_is_what_bash_makes_of_it(setup: str, tmp_path: Path) -> None:
    """Those that are commented out, too, each alone and all together."""
    lines = re.findall(r"^(?:# ?)?([A-Z][A-Z0-9_]*=.*)$", written(setup), re.MULTILINE)
    assert len(lines) > 10
    texts = [f"{line}\n" for line in lines] + [written(setup)]
    names = [line.partition("=")[0] for line in lines]
    for text, values in zip(texts, assigned_by_bash(texts, names, {}, tmp_path), strict=True):
        read = read_assignments(text, {})
        assert not read.problems, text
        assert {name: each.value for name, each in read.found.items() if not each.why} == values, text


def runs(project: Project, *words: str, sees: str, ends: int = 0) -> None:
    """It is taken as it is: what its prompt begins with is shown, nothing is refused, and a turn is run."""
    project.git("add", "-A")
    project.git("commit", "-qm", "as its installer leaves it")
    for each in (("doctor",), ("status",), ("run", "--dry-run", *words), ("run", *words)):
        done = project.run(*each)
        said = done.stdout + done.stderr
        assert done.returncode == (ends if each == ("run", *words) else 0), f"{each}: {said}"
        assert not re.search("can't be read|only bash|more into its prompt than can be told", said), said
        assert "--dry-run" not in each or sees in said, said
    assert len(project.turn_records()) == 1


@pytest.mark.parametrize("setup", FILES)
def test_its_loop_runs_with_the_file_as_it_is(setup: str, make_project: MakeProject) -> None:
    project = make_project(setup)
    project.write(PLACES[setup], written(setup))
    runs(project, *ONE_TURN, ends=int(setup == "bmalph"), sees="Do the next task.")  # one of two tasks is done


@dataclass(frozen=True)
class Original:
    """Where an original comes from, how it is installed, and what a loop with it shows.

    Attributes:
        owner, name: of its repository. sign: a file of it.
        install: puts its files into a project, from a checkout.
        sees: words of its prompt. words: of `run`. program: what its turns start.
    """

    owner: str
    name: str
    sign: str
    install: Callable[[Project, Path], object]
    sees: str
    words: tuple[str, ...] = ONE_TURN
    program: str = "claude"


def _playbook(project: Project, checkout: Path) -> None:
    shutil.copytree(checkout / "files", project.path, dirs_exist_ok=True)


def _snarktank(project: Project, checkout: Path) -> None:
    """As its README says."""
    home = project.path / "scripts/ralph"
    home.mkdir(parents=True)
    for name, each in (("ralph.sh", "ralph.sh"), ("CLAUDE.md", "CLAUDE.md"), ("prd.json", "prd.json.example")):
        shutil.copy(checkout / each, home / name)


def _pocock(project: Project, checkout: Path) -> None:
    shutil.copytree(checkout / "plans", project.path / "plans")


def _ralph_loop(project: Project, checkout: Path) -> None:
    """By its installer, which asks the repository that it lies in for its version."""
    source = project.path.parent / "source"
    shutil.copytree(checkout, source)
    init = "git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm x"
    for program in ("curl", "envsubst"):  # it wants to find them, and calls neither
        project.write(f"bin/{program}", "#!/bin/sh\nexit 1\n")
    for code, folder in ((init, source), (f"bash {source}/install.sh", project.path)):
        subprocess.run(code, shell=True, cwd=folder, env=project.environment(), check=True, capture_output=True)


def _ralphy(project: Project, checkout: Path) -> None:
    program = checkout / RALPHY
    subprocess.run([program, "--init"], cwd=project.path, check=True, capture_output=True)
    project.write("PRD.md", "- [ ] one\n- [ ] two\n")


ORIGINALS = {
    "snarktank": Original("snarktank", "ralph", "ralph.sh", _snarktank, "user story where", program="amp"),
    "playbook": Original("ClaytonFarr", "ralph-playbook", "files/loop.sh", _playbook, "@IMPLEMENTATION_PLAN.md"),
    "pocock": Original("mattpocock", "ai-hero-cli", "plans/ralph.sh", _pocock, "@plans/prd.json @progress.txt"),
    "ralph-loop": Original(
        "mjeffe", "ralph-loop", "install.sh", _ralph_loop, "specs", ("plan", *ONE_TURN), program="amp"
    ),
    "ralphy": Original("michaelshimeles", "ralphy", RALPHY, _ralphy, "one"),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("setup", ORIGINALS)
def test_an_original_is_taken_as_its_installer_leaves_it(
    setup: str, source: str, make_project: MakeProject, tmp_path: Path
) -> None:
    its = ORIGINALS[setup]
    checkout = original(source, its.owner, its.name, its.sign, tmp_path / "fetched")
    project = make_project(setup)
    for name in {each.partition("/")[0] for each in project.example.files}:
        path = project.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if its.program != "claude":
        shutil.copy(project.path / "bin/claude", project.path / "bin" / its.program)
        text = '{"type":"text","text":"<promise>COMPLETE</promise>"}'
        project.turns(
            otherwise=f"""touched; echo '{{"type":"assistant","message":{{"content":[{text}]}}}}'; say done"""
        )
    its.install(project, checkout)
    runs(project, *its.words, sees=its.sees)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("last", ["Moved one.", "<promise>ALL DONE</promise>"])
def test_the_plugins_loop_goes_on_as_its_own_hook_would_have_it(
    last: str, source: str, make_project: MakeProject, tmp_path: Path
) -> None:
    """In a session of Claude Code: the plugin prepares a loop, and our Stop hook stands in for its own."""
    checkout = original(
        source,
        "anthropics",
        "claude-plugins-official",
        f"{PLUGIN}/scripts/setup-ralph-loop.sh",
        tmp_path / "fetched",
    )
    project = make_project("wiggum")
    prepared = ["bash", str(checkout / PLUGIN / "scripts/setup-ralph-loop.sh"), "Move it.", "--max-iterations", "3"]
    env = project.environment(CLAUDE_CODE_SESSION_ID="s-1")
    subprocess.run([*prepared, "--completion-promise", "ALL DONE"], cwd=project.path, env=env, check=True)
    assert project.run("doctor").returncode == 0
    assert "a loop of the official plugin, in iteration 1 of 3" in project.run("status").stdout
    theirs = project.path.with_name("theirs")
    shutil.copytree(project.path, theirs)
    said = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": last}]}}
    transcript = project.write("../transcript.jsonl", json.dumps(said, separators=(",", ":")) + "\n")
    asked = {"session_id": "s-1", "hook_event_name": "Stop", "transcript_path": str(transcript)}
    decisions = []
    for _ in range(3):
        words = json.dumps(asked | {"last_assistant_message": last})
        hook = ["bash", str(checkout / PLUGIN / "hooks/stop-hook.sh")]
        stopped = subprocess.run(hook, cwd=theirs, env=env, input=words.encode(), capture_output=True, check=True)
        ours = command.run(["stop-hook"], cwd=project.path, env=env, stdin=words.encode())
        decisions.append([_decided(stopped.stdout.decode()), _decided(ours.stdout)])
        there = [(folder / ".claude/ralph-loop.local.md").is_file() for folder in (theirs, project.path)]
        assert there[0] == there[1]
    assert all(theirs == ours for theirs, ours in decisions), decisions
    assert decisions[0][0] == (None if "<promise>" in last else ("block", "Move it."))


def _decided(printed: str) -> tuple[str, str] | None:
    """What a Stop hook's answer keeps a session at; None: it may end."""
    found = json.loads(printed) if printed.startswith("{") else {}
    return (found["decision"], found["reason"].strip()) if "decision" in found else None
