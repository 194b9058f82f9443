"""The action that runs a loop: its steps, run as a runner does, from a clean checkout, again and again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import ROOT
from tests.machine import mostly_slow
from tests.ship.runner import RUN, StepsRun, run_action

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HOSTILE = "x$(touch${IFS}planted)`touch${IFS}planted`;&|'\"\N{BLACK STAR}"
PLAN = "- [ ] one\n- [ ] two\n- [ ] three\n"

# Ticks the next box and commits it, as a turn of claude would; or does what the file `step` says.
CLAUDE = r"""#!/usr/bin/env bash
case " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac
env | sort > "$KEPT/env"
if [ -e "$KEPT/step" ]; then . "$KEPT/step"; fi
sed -i '0,/\[ \]/s//[x]/' fix_plan.md
date +%s%N >> work.txt
git add -A && git commit -qm "Did one"
printf '{"type":"result","subtype":"success","is_error":false,"result":"Did one.","session_id":"%s"}\n' \
    5f0c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6
"""
GH = r"""#!/usr/bin/env bash
{ printf '%s\n' "$*"; } >> "$KEPT/gh"
[ "$GH_TOKEN" = the-token ] || { echo "no token" >&2; exit 4; }
case "$1 $2" in
    "pr list") if [ -e "$KEPT/open" ]; then cat "$KEPT/open"; fi ;;
    "pr create") if [ -e "$KEPT/refused" ]; then exit 1; fi
        echo https://example.org/who/name/pull/1 | tee "$KEPT/open" ;;
    "pr edit") ;;
    *) exit 2 ;;
esac
"""


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass
class Repository:
    """A repository on a server, and runs of its workflow, each on a machine of its own; the cache is kept."""

    path: Path
    runs: int = 0
    saved: list[str] = field(default_factory=list)

    @property
    def server(self) -> Path:
        return self.path / "server/who/name"

    @property
    def kept(self) -> Path:
        return self.path / "kept"

    def put(self) -> None:
        """Make it, with a plan of three tasks."""
        for name, text in (("claude", CLAUDE), ("gh", GH)):
            program = self.path / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)
        self.kept.mkdir()
        self.server.mkdir(parents=True)
        git(self.server, "init", "--quiet", "--bare", "--initial-branch=main")
        first = self.path / "first"
        git(self.path, "clone", "--quiet", str(self.server), "first")
        (first / "PROMPT.md").write_text("Do the next task of @fix_plan.md.\n")
        (first / "fix_plan.md").write_text(PLAN)
        git(first, "checkout", "--quiet", "-B", "main")
        git(first, "add", "-A")
        git(first, "commit", "--quiet", "-m", "begun")
        git(first, "push", "--quiet", "origin", "main")

    def run(
        self, cancel: Callable[[subprocess.Popen[bytes], str], None] | None = None, /, **inputs: str
    ) -> StepsRun:
        """Run the action from a clean checkout."""
        self.runs += 1
        machine = self.path / f"machine.{self.runs}"
        machine.mkdir()
        git(machine, "clone", "--quiet", f"file://{self.server}", "workspace")
        cache, ours = self.path / "cache", machine / "workspace/.ralph-bridge"  # where the workflow checks it out
        shutil.copytree(ROOT / "run", ours / "run")
        git(ours, "init", "--quiet")

        def used(name: str, given: Mapping[str, str]) -> None:
            assert "," not in given.get("key", "")
            if name == "actions/cache/save":
                self.saved.append(given["key"])
                shutil.copytree(given["path"], cache / str(len(self.saved)), symlinks=True)
            elif name == "actions/cache/restore":
                found = [each for each, key in enumerate(self.saved, 1) if key.startswith(given["restore-keys"])]
                if found:
                    shutil.copytree(cache / str(found[-1]), given["path"], symlinks=True, dirs_exist_ok=True)
            else:
                assert name == "actions/upload-artifact"
                shutil.copytree(given["path"], self.path / f"artefact.{self.runs}")

        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("RALPH_", "GITHUB_", "GH_", "CLAUDE"))
        }
        environment |= {
            "PATH": f"{self.path / 'bin'}:{environment['PATH']}",
            "KEPT": str(self.kept),
            "GITHUB_SERVER_URL": f"file://{self.path / 'server'}",
            "GITHUB_REPOSITORY": "who/name",
            "ACTIONS_RUNTIME_TOKEN": "runtime-secret",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        github = {
            "github.token": "the-token",
            "github.run_id": str(self.runs),
            "github.run_attempt": "1",
            "github.action_path": str(ours / "run"),
        }
        given = {"key-name": "ANTHROPIC_API_KEY", "key": "the-key", "sandbox": "none", "max-iterations": "1"}
        given |= {name.replace("_", "-"): text for name, text in inputs.items()}
        scratch, workspace = machine / "runner", machine / "workspace"
        return run_action(
            workspace, scratch, given, env=environment, action=_quick(), github=github, used=used, cancel=cancel
        )

    def pushed(self, branch: str = "ralph-bridge/loop") -> str:
        return git(self.server, "log", "--format=%s", branch)

    def file(self, name: str, branch: str = "ralph-bridge/loop") -> str:
        return git(self.server, "show", f"{branch}:{name}")


def _quick() -> dict[str, Any]:
    """The action, with the ralph-bridge of these tests instead of one that pip installs."""
    steps = [dict(each) for each in RUN["runs"]["steps"]]
    for each in steps:
        if each.get("id") == "install":
            here = Path(sys.executable).parent
            venv = '"$RUNNER_TEMP/ralph-bridge-loop/venv"'
            each["run"] = f"mkdir {venv} && ln -s {here} {venv}/bin"
    return {**RUN, "runs": {**RUN["runs"], "steps": steps}}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    made.put()
    return made


@pytest.mark.slow
def test_the_second_run_goes_on_where_the_first_stopped(repository: Repository) -> None:
    main = git(repository.server, "rev-parse", "main")
    done = repository.run()
    assert done.status == 0, done.log
    assert (done.outputs["outcome"], done.outputs["exit-code"]) == ("incomplete", "1"), done.log
    assert done.outputs["pull-request"] == "https://example.org/who/name/pull/1"
    assert repository.pushed().splitlines() == ["Did one", "begun"]
    assert "the only iteration is used up" in done.summary
    assert "the-token" not in (seen := (repository.kept / "env").read_text())
    assert "ANTHROPIC_API_KEY=the-key" in seen
    assert "runtime-secret" not in seen
    assert "GITHUB_ENV" not in seen
    assert "GITHUB_OUTPUT" not in seen

    done = repository.run(max_iterations="9")
    assert (done.status, done.outputs["outcome"], done.outputs["exit-code"]) == (0, "complete", "0"), done.log
    assert repository.pushed().splitlines() == ["Did one"] * 3 + ["begun"]
    assert "[ ]" not in repository.file("fix_plan.md")
    report = json.loads((repository.path / "artefact.2/report.json").read_text())
    assert len(report["runs"][-1]["turns"]) == 2
    runs = repository.path / "machine.2/workspace/.ralph/logs/runs.jsonl"
    assert len([line for line in runs.read_text().splitlines() if '"began"' in line]) == 2, "its state was cached"
    assert git(repository.server, "rev-parse", "main") == main
    assert git(repository.server, "ls-tree", "-r", "--name-only", "ralph-bridge/loop").splitlines() == [
        "PROMPT.md",
        "fix_plan.md",
        "work.txt",
    ]
    calls = [line.split()[:2] for line in (repository.kept / "gh").read_text().splitlines()]
    assert calls == [["pr", "list"], ["pr", "create"], ["pr", "list"], ["pr", "edit"]]


@pytest.mark.slow
def test_a_cancelled_run_keeps_its_work_and_its_state(repository: Repository) -> None:
    (repository.kept / "step").write_text('echo half > half.txt; echo > "$KEPT/up"; sleep 60\n')

    def cancel(running: subprocess.Popen[bytes], step: str) -> None:
        while step == "loop" and running.poll() is None and not (repository.kept / "up").exists():
            time.sleep(0.01)
        if step == "loop":
            running.send_signal(signal.SIGINT)

    done = repository.run(cancel)
    assert done.outputs["outcome"] == "interrupted", done.log
    assert done.status in (130, 143)
    assert repository.file("half.txt") == "half"
    assert len(repository.saved) == 1
    (repository.kept / "step").unlink()
    done = repository.run(max_iterations="9")
    assert done.outputs["outcome"] == "complete", done.log
    assert "half.txt" in git(repository.server, "ls-tree", "--name-only", "ralph-bridge/loop")


@pytest.mark.slow
def test_a_loop_that_can_not_work_is_red(repository: Repository) -> None:
    refused = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 401, "session_id": "s"}
    refused["result"] = "Invalid API key"
    (repository.kept / "step").write_text(f"echo '{json.dumps(refused)}'; exit 1\n")
    done = repository.run(max_iterations="3")
    assert (done.status, done.outputs["outcome"], done.outputs["exit-code"]) == (4, "not-ready", "4"), done.log
    assert "Invalid API key" in done.summary
    assert done.outputs["pull-request"] == ""
    assert not git(repository.server, "branch", "--list", "ralph-bridge/loop")


def test_incomplete_is_red_where_that_is_asked(repository: Repository) -> None:
    done = repository.run(fail_on_incomplete="true", pull_request="false")
    assert (done.status, done.outputs["outcome"]) == (1, "incomplete"), done.log
    assert not (repository.kept / "gh").exists()
    assert repository.pushed().splitlines() == ["Did one", "begun"]


@pytest.mark.slow
def test_nothing_is_forced(repository: Repository) -> None:
    repository.run()

    def meanwhile(_running: subprocess.Popen[bytes], step: str) -> None:
        if step == "loop":  # somebody else pushes to the branch
            other = repository.path / "other"
            git(
                repository.path,
                "clone",
                "--quiet",
                "--branch",
                "ralph-bridge/loop",
                str(repository.server),
                "other",
            )
            git(other, "commit", "--quiet", "--allow-empty", "-m", "theirs")
            git(other, "push", "--quiet", "origin", "ralph-bridge/loop")

    done = repository.run(meanwhile)
    assert done.status == 4, done.log
    assert "nothing is ever forced" in done.log
    assert done.outputs["exit-code"] == "1"
    assert repository.pushed().splitlines() == ["theirs", "Did one", "begun"]


@pytest.mark.slow
def test_names_and_words_of_others_run_nothing(repository: Repository) -> None:
    done = repository.run(branch=HOSTILE, title=HOSTILE, options=f"--check\ntrue # {HOSTILE}")
    assert done.status == 0, done.log
    assert repository.pushed(f"refs/heads/{HOSTILE}").splitlines() == ["Did one", "begun"]
    assert HOSTILE in (repository.kept / "gh").read_text()
    assert not [*repository.path.rglob("planted")]


@pytest.mark.slow
def test_a_repository_that_a_turn_has_rigged_gets_no_token(repository: Repository) -> None:
    plants = (
        "mkdir -p .git/hooks; printf '#!/bin/sh\\nenv >> \"$KEPT/leaked\"\\n' > .git/hooks/pre-push",
        "cp .git/hooks/pre-push .git/hooks/pre-commit; chmod +x .git/hooks/pre-push",
        "git config credential.helper '!env >> \"$KEPT/leaked\"; :'; git config core.hooksPath .git/hooks",
        "git config core.fsmonitor .git/hooks/pre-push",  # git asks it whenever it looks at the work tree
        "git config url.file:///nowhere.insteadOf file://; git config remote.origin.url file:///nowhere",
        "echo more > more.txt",
    )
    (repository.kept / "step").write_text("\n".join(plants) + "\n")
    done = repository.run()
    assert done.status == 0, done.log
    assert "Did one" in repository.pushed()
    leaked = repository.kept / "leaked"
    assert not leaked.exists() or "the-token" not in leaked.read_text()


def _pushes(repository: Repository, script: str) -> None:
    """Have the branch of the loop hold what a script makes of it, as an earlier run may have left it."""
    first = repository.path / "first"
    subprocess.run(["bash", "-ec", script], cwd=first, check=True)
    git(first, "add", "-A", "-f")
    git(first, "commit", "--quiet", "-m", "planted")
    git(first, "push", "--quiet", "origin", "main:ralph-bridge/loop")


_RIGGED = "mkdir -p .ralph-bridge/run; printf '#!/bin/sh\\nenv >> \"$KEPT/leaked\"\\n' > .ralph-bridge/run/loop.sh"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["a turn", "a branch"])
def test_no_later_step_runs_what_lies_in_the_workspace(repository: Repository, by: str) -> None:
    """The action itself may be checked out there, as docs/ci.md has it."""
    if by == "a turn":
        (repository.kept / "step").write_text(_RIGGED)
    else:
        _pushes(repository, f"{_RIGGED}; chmod +x .ralph-bridge/run/loop.sh")
    done = repository.run()
    assert not (repository.kept / "leaked").exists()
    assert done.status == 0, done.log
    assert "Did one" in repository.pushed()


@pytest.mark.parametrize("plant", mostly_slow(["ln -s ../.. app", "ln -s .git app", "ln -s other app", "true"], 1))
def test_the_project_is_where_it_was_when_the_branch_is_there(repository: Repository, plant: str) -> None:
    """A turn in a box can't replace the folder that it works in, but commit a link by its name."""
    first = repository.path / "first"
    (first / "app").mkdir()
    git(first, "mv", "PROMPT.md", "fix_plan.md", "app")
    git(first, "commit", "--quiet", "-m", "in a folder")
    git(first, "push", "--quiet", "origin", "main")
    _pushes(repository, f"mv app other; {plant}")
    done = repository.run(project="app")
    assert done.status == 2, done.log
    assert "on the branch, 'project' is another folder, or none" in done.log
    assert "Did one" not in repository.pushed()


@pytest.mark.parametrize(
    ("inputs", "status", "said"),
    mostly_slow(
        [
            ({"max_iterations": ""}, 2, "no cap: a loop in CI needs"),
            ({"key": ""}, 4, "the key is empty: add the secret ANTHROPIC_API_KEY"),
            ({"key_name": "x;y"}, 2, "input 'key-name': expected the name of a variable"),
            ({"branch": "main"}, 2, "is the default branch, which is never pushed to"),
            ({"branch": "-f"}, 2, "input 'branch': no name of a branch"),
            ({"branch": "a..b"}, 2, "input 'branch': no name of a branch"),
            ({"branch": "HEAD"}, 2, "input 'branch': no name of a branch"),
            ({"branch": "refs/heads/x"}, 2, "input 'branch': no name of a branch"),
            ({"branch": "x", "base": "x"}, 2, "inputs 'branch' and 'base' are the same"),
            ({"base": "nope"}, 2, "input 'base': there is no such branch"),
            ({"project": "nope"}, 2, "input 'project': there is no such folder"),
            ({"project": "/etc"}, 2, "input 'project': there is no such folder"),
            ({"pull_request": "yes"}, 2, "expected true or false"),
        ],
        2,
    ),
)
def test_what_is_refused(repository: Repository, inputs: dict[str, str], status: int, said: str) -> None:
    done = repository.run(**inputs)
    assert (done.status, said in done.log) == (status, True), done.log
    assert not (repository.kept / "env").exists()
    assert done.outputs["outcome"] == ("refused" if status == 2 else "not-ready")
    assert not repository.saved
    assert said in done.summary


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GH_TOKEN", "GITHUB_TOKEN", "KEY"])
def test_the_key_arrives_whatever_it_is_called(repository: Repository, name: str) -> None:
    assert repository.run(key_name=name, options="--quiet\r\n").status == 0
    assert f"{name}=the-key" in (repository.kept / "env").read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"max_cost": "0"}, "max_cost is 0.0, expected a number, more than 0"),
        ({"options": "--detach"}, "--detach is nothing for a job"),
    ],
)
def test_what_the_loop_refuses_is_in_the_summary_and_nothing_is_proposed(
    repository: Repository, inputs: dict[str, str], said: str
) -> None:
    done = repository.run(**inputs)
    assert (done.status, done.outputs["outcome"], said in done.summary) == (2, "refused", True), done.log
    assert not git(repository.server, "branch", "--list", "ralph-bridge/loop")


@pytest.mark.slow
def test_options_that_there_are_not_are_told(repository: Repository) -> None:
    done = repository.run(options="--max-iteratoins\n3")
    assert (done.status, done.outputs["outcome"], done.outputs["exit-code"]) == (2, "refused", "2"), done.log
    assert "--max-iterations" in done.log


@pytest.mark.slow
def test_a_box_where_the_runner_allows_it(repository: Repository) -> None:
    (repository.path / "bin/bwrap").write_text("#!/bin/sh\nexit 1\n")
    (repository.path / "bin/bwrap").chmod(0o755)
    done = repository.run(sandbox="auto")
    assert "::warning title=ralph-bridge run::no box: bwrap" in done.log, done.log
    assert done.status == 0
    (repository.path / "bin/bwrap").unlink()
    if shutil.which("bwrap") is None:
        pytest.skip("no bwrap here")
    done = repository.run(sandbox="auto", max_minutes="2")
    assert "no box" not in done.log
    assert "box bwrap" in done.log, done.log


def test_a_checkout_that_would_give_turns_the_token_is_refused(repository: Repository) -> None:
    template = repository.path / "template"
    template.mkdir()
    (template / "config").write_text('[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic x\n')
    os.environ["GIT_TEMPLATE_DIR"] = str(template)
    try:
        done = repository.run()
    finally:
        del os.environ["GIT_TEMPLATE_DIR"]
    assert done.status == 2
    assert "persist-credentials: false" in done.log


@pytest.mark.slow
def test_no_line_that_a_turn_prints_is_a_command_of_the_runners(repository: Repository) -> None:
    lines = r"Here:\n::error::evil\n::add-mask::a\n::stop-commands::x\n"
    said = f'{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{lines}"}}]}}}}'
    (repository.kept / "step").write_text(f"cat <<'END'\n{said}\nEND\n")
    before, _, rest = repository.run().log.partition("::stop-commands::")
    assert "evil" not in before
    word, _, rest = rest.partition("\n")
    assert len(word) == 32
    shown, _, after = rest.partition(f"\n::{word}::\n")
    assert ": :error::evil" in shown
    assert after
    assert "evil" not in after


@pytest.mark.slow
@pytest.mark.parametrize("link", [".ralph/logs", ".ralph"])
def test_the_state_of_the_run_before_goes_through_no_link(repository: Repository, link: str) -> None:
    (repository.kept / "step").write_text("mkdir -p .ralph/logs; echo x > .ralph/logs/planted\n")
    repository.run()
    out = repository.path / "elsewhere"
    (out / "logs").mkdir(parents=True)
    first = repository.path / "first"
    git(first, "pull", "--quiet", "origin", "ralph-bridge/loop")
    (first / link).parent.mkdir(exist_ok=True)
    (first / link).symlink_to(out)
    git(first, "add", "-f", link)
    git(first, "commit", "--quiet", "-m", "a link")
    git(first, "push", "--quiet", "origin", "main:ralph-bridge/loop")
    assert "is passed over" in repository.run().log
    assert [each for each in out.rglob("*") if each.is_file()] == []
