"""SECURITY.md's table of what runs what, compared with tripwires in every script and setting of a project."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.examples import Project

ROOT = Path(__file__).resolve().parents[2]
LOOKS = (
    ("drivers",),
    ("agents",),
    ("drivers", "--json"),
    ("agents", "--json"),
    ("explain", "RB012"),
    ("explain", "driver_name"),
    ("completion", "bash"),
    ("verify", "--static", "."),
    ("status",),
    ("watch", "--once"),
    ("report",),
    ("reset",),
)
RUNS = (("doctor", "--run-project-code"),)
DRY = (("run", "--dry-run"), ("run", "--dry-run", "--sandbox", "bwrap"), ("doctor",))
"""What only looks, too, and has more to show when it may run what is the project's."""


def rows() -> Iterator[tuple[list[str], str]]:
    """The table: commands, and what they run."""
    for line in (ROOT / "SECURITY.md").read_text().splitlines():
        if found := re.fullmatch(r"\| (`.*?) \| (.*) \|", line):
            yield re.findall(r"`([^`]+)`", found[1]), found[2]


def said_to_run(command: str) -> bool:
    """Whether the table says that it runs a script or a setting of the project."""
    [text] = [text for commands, text in rows() if command in commands]
    return not text.startswith("nothing")


def wired(loops: Project, tmp_path: Path) -> Path:
    """Put a tripwire into each script and setting; the folder in which they note who was run."""
    notes = tmp_path / "notes"
    notes.mkdir()
    loops.env["RALPH_BRIDGE_RUN_PROJECT_CODE"] = ""
    names = ["drivers/evil.sh", ".ralph/drivers/evil.sh", "agents/evil.sh", ".ralph/agents/evil.sh", ".envrc"]
    for name in names:
        hooks = "agent_invoke() { :; }; agent_extract_response() { :; }; agent_format_display() { :; }"
        loops.write(name, f"driver_name() {{ :; }}\n{hooks}\n", 0o755)
    for path in (each for each in loops.path.rglob("*") if each.is_file() and ".git" not in each.parts):
        if path.suffix == ".sh" or path.name in (".ralphrc", "config", ".envrc", "ralph"):
            text = path.read_text()
            first, _, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
            wire = f"touch '{notes}/{str(path.relative_to(loops.path)).replace('/', '-')}'"
            path.write_text("\n".join(filter(None, (first, wire, rest))))
    wire = f"#!/bin/sh\n[ $# = 0 ] || echo 9.9.9\ntouch {notes}/"
    for name in ("claude", "npm", "node", "bash", "jq", "tool"):  # on a PATH with folders of the project's in front
        for folder in ("bin", "node_modules/.bin") if name != "bash" else ("node_modules/.bin",):
            loops.write(f"{folder}/{name}", f"{wire}{name}\n", 0o755)
    loops.write("init.sh", f"touch {notes}/init.sh\n")
    if (loops.path / ".ralphrc").exists():
        with (loops.path / ".ralphrc").open("a") as file:
            file.write("PATH=./bin:$PATH\nexport BASH_ENV=./init.sh\nRALPH_SHELL_INIT_FILE=init.sh\n")
            file.write("CLAUDE_CODE_CMD=./bin/tool\n")
    hook = loops.write(".git/hooks/post-index-change", f"#!/bin/sh\ntouch {notes}/git-hook\n", 0o755)
    assert hook.exists()
    return notes


def test_the_table_names_each_of_these_commands_once() -> None:
    for words in (*LOOKS, ("doctor",), *RUNS):
        name = " ".join(words) if words[1:] in (("--static", "."), ("--run-project-code",)) else words[0]
        name = name.removesuffix(" .")
        assert sum(name in commands for commands, _ in rows()) == 1, name
        assert said_to_run(name) is (words in RUNS)


def test_what_only_looks_runs_nothing_of_the_project(example: Project, tmp_path: Path) -> None:
    notes = wired(example, tmp_path)
    for words in LOOKS:
        done = example.run(*words)
        assert [path.name for path in notes.iterdir()] == [], (words, done.stderr)


def test_neither_doctor_nor_a_dry_run_runs_anything_of_the_project(example: Project, tmp_path: Path) -> None:
    notes = wired(example, tmp_path)
    path = f"./node_modules/.bin:{example.environment()['PATH']}"
    for words in DRY:
        example.env["PATH"] = path
        done = example.run(*words)
        assert [each.name for each in notes.iterdir()] == [], (words, done.stderr)
        assert "Traceback" not in done.stderr


def test_doctor_loads_what_the_table_says(example: Project, tmp_path: Path) -> None:
    notes = wired(example, tmp_path)
    example.run("doctor", "--run-project-code")
    seen = {path.name for path in notes.iterdir()} - {"claude", "tool", "node", "init.sh"}  # programs, with consent
    assert seen <= {name.replace("/", "-") for name in example.example.runs}, seen


@pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)
def test_beside_a_box_nothing_of_the_project_runs_where_that_is_asked_for(example: Project, tmp_path: Path) -> None:
    program = (example.path / "bin/claude").read_text()
    notes = wired(example, tmp_path)
    for name in ("bin/claude", "bin/tool"):
        example.write(name, program.replace("\n", f"\ntouch {notes}/tool 2> /dev/null\n", 1), 0o755)
    (example.path / ".ralph/drivers/evil.sh").unlink()  # with which a project has drivers of its own
    for settings in (example.path / ".ralphrc", example.path / ".ralph/config"):
        if settings.exists():  # a command in it is refused
            settings.write_text(settings.read_text().partition("\n")[2])
    example.turns("work")
    words = ("--sandbox", "bwrap", "--sandbox-write", str(example.kept), "--max-iterations", "1")
    loop = example.start(*words, RALPH_BRIDGE_RUN_PROJECT_CODE="0")
    loop.finished()
    own = example.example.scripted or example.example.setup in ("bmalph", "ralph-loop")
    own = own or example.example.name == "wiggum-agent"
    assert [each.name for each in notes.iterdir()] == [], loop.said
    assert (example.begun(), "was not run: it is none of the scripts" in loop.said) == (int(not own), own), (
        loop.said
    )
    if own:
        loop = example.start(*words, RALPH_BRIDGE_RUN_PROJECT_CODE="")
        loop.finished()
        assert example.begun() == 1, loop.said
        assert [*notes.iterdir()]


def changed(example: Project) -> list[str]:
    """Make the driver or agent one of the project's own; the words that name it, where its settings don't."""
    own = example.write("mine.sh", (ROOT / "drivers/claude-code.sh").read_text() + "touch ran\n", 0o755)
    for each in example.path.glob(".ralph/drivers/*.sh"):
        each.write_bytes(own.read_bytes())
        return []
    return [] if example.example.setup == "ralph-loop" else ["--driver", "./mine.sh"]


def test_a_dry_run_shows_what_it_can_and_how_to_see_the_rest(example: Project) -> None:
    """The settings of a controller's loop need no driver; of others the command is all that there is to show."""
    if example.example.words[0] != "run":  # wiggum's has no dry run
        return
    words, env = changed(example), {"RALPH_BRIDGE_RUN_PROJECT_CODE": ""}
    most = ["--max-iterations", "3"] if example.example.setup == "pocock" else []
    example.env |= env
    done = example.run("run", "--dry-run", *most, *words)
    shows = example.example.setup in ("bmalph", "frankbria")
    assert (done.returncode, "PROMPT_FILE=" in done.stderr) == (0 if shows else 2, shows), done.stderr
    assert "was not run" in done.stderr
    assert done.stderr.endswith("next: read it, then ask again with --run-project-code\n")
    assert (done.stdout, (example.path / "ran").exists()) == ("", False)

    done = example.run("run", "--dry-run", "--run-project-code", *most, *words)
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
