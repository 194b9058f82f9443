"""A project, a home and a scripted model for one of the pinned CLIs, in namespaces of their own.

``make real-clis`` installs the CLIs, ``make test-real`` runs these tests; without the CLIs or without namespaces
they are skipped by name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.verify.rehearsal.homes import PORT, environment, furnish
from bridge.verify.rehearsal.sandbox import RehearsalResult, missing, rehearse
from bridge.verify.rehearsal.scenario import ModelTurn
from tests.machine import with_containers

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]
MAIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from bridge.cli import main; sys.exit(main())"
DRIVERS = {
    "claude-code": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "copilot": "copilot",
    "gemini": "gemini",
    "qwen": "qwen",
    "kimi": "kimi",
    "pi": "pi",
    "droid": "droid",
    "kilo": "kilo",
}
QUICK = [name for name in DRIVERS if name != "kilo"]
"""All but the one that takes a quarter of a minute to begin, whose events are another's: a loop of it has to do."""
AGENTS = ("claude", "codex", "cline")
PATIENCE = 240.0  # seconds; opencode takes 3, and 50 on a machine that others use as well
OUTPUT = "OUTPUT-OF-A-TOOL"
PLAN = "- [ ] one\n- [ ] two\n"
BLOCK = """\
---RALPH_STATUS---
STATUS: {status}
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 1
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: {signal}
RECOMMENDATION: none
---END_RALPH_STATUS---
"""


@cache
def clis() -> tuple[Path, bool]:
    """The folder with the pinned CLIs, and whether they are there."""
    done = subprocess.run([ROOT / "vendor" / "install", "--where"], capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()), done.returncode == 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = f"{Path(__file__).parent}/"
    here = [item for item in items if str(item.path).startswith(folder)]
    others = [item for item in items if not str(item.path).startswith(folder)]
    # The longest first, so that none of them is alone at the end.
    here.sort(key=lambda item: (item.path.name != "test_drift.py", "opencode" not in item.name))
    items[:] = [*here, *others]
    for item in here:
        if item.get_closest_marker("real") is None:
            continue
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PATIENCE + 60))
        if missing():
            item.add_marker(pytest.mark.skip(reason=f"no namespaces: {missing()}"))
        elif not clis()[1]:
            item.add_marker(pytest.mark.skip(reason="the real CLIs are not installed (make real-clis)"))


def works(task: str, *, command: str = "") -> ModelTurn:
    """The model does a task of the plan with the CLI's own shell, and commits it."""
    # Without $(...): gemini runs no command that has that.
    tick = f"find . -name '*fix_plan.md' -exec sed -i 's/- \\[ \\] {task}/- [x] {task}/' {{}} +"
    done = f"echo {OUTPUT}; echo {task} > {task}.txt && {tick} && git add -A && git commit -qm {task}"
    return ModelTurn(text=f"I do {task}.", think="What is next?", run=command or done)


def says(text: str, *, signal: bool = False, finish_only: bool = False) -> ModelTurn:
    """The model ends its turn, with a status block."""
    block = BLOCK.format(status="COMPLETE" if signal else "IN_PROGRESS", signal=str(signal).lower())
    return ModelTurn(text=f'{text}\nIt prints "quotes" and `ticks`.\n\n{block}', finish_only=finish_only)


def both_tasks() -> list[ModelTurn]:
    """Two iterations that do all there is."""
    return [works("one"), says("Done with one."), works("two"), says("Done with two.")]


class Stage:
    """Where a rehearsal takes place: `project` is a git repository with a plan of two tasks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.home = folder / "home"
        self.bin, _ = clis()
        furnish(self.home, PORT, unpacked=self.bin.parent.parent / "home" / ".cache" / "copilot")
        self.write("PROMPT.md", 'Do the next "task" of the plan, and say `done`.\n')
        self.write("@fix_plan.md", PLAN)
        self.write(".gitignore", ".ralph/logs/\n.ralph/*.json\n.ralph/.*\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "begin")

    def env(self, *, subscription: bool = False) -> dict[str, str]:
        path = f"{self.bin}:{with_containers(os.environ['PATH'])}"
        return {**environment(self.home, PORT, path=path, subscription=subscription)}

    def write(self, name: str, text: str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.project, env=self.env(), check=True, capture_output=True, text=True
        )
        return done.stdout

    def commits(self) -> list[str]:
        """The commits after the first, oldest first."""
        return self.git("log", "--reverse", "--format=%s").split("\n")[1:-1]

    def plan(self) -> str:
        return next(self.project.glob("**/*fix_plan.md")).read_text()

    def as_bmalph(self) -> None:
        """Move the project's files to where bmalph has them; its rules are those of a bmalph loop from then on."""
        for name in ("PROMPT.md", "@fix_plan.md"):
            self.write(f".ralph/{name}", (self.project / name).read_text())
            (self.project / name).unlink()
        self.write(".ralph/ralph_loop.sh", "#!/usr/bin/env bash\n# the controller\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "bmalph")

    def as_frankbria(self, **settings: str) -> None:
        """The same for frankbria's loop, with the user's own copy of it, which is never run."""
        self.write(".ralph/PROMPT.md", (self.project / "PROMPT.md").read_text())
        self.write(".ralph/fix_plan.md", PLAN)
        self.write(".ralph/AGENT.md", "# Build\n")
        self.write(".ralphrc", "".join(f"{name}={value}\n" for name, value in settings.items()))
        for name in ("PROMPT.md", "@fix_plan.md"):
            (self.project / name).unlink()
        self.git("add", "-A")
        self.git("commit", "-qm", "frankbria")
        for name in (".local/bin/ralph", ".ralph/ralph_loop.sh"):
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text('#!/bin/bash\nexec "$HOME/.ralph/ralph_loop.sh" "$@"\n')
            (self.home / name).chmod(0o755)
        (self.home / ".ralph/ralph_loop.sh").write_text("#!/bin/bash\necho the original; exit 9\n")

    def bridge(
        self,
        *words: str,
        turns: Iterable[ModelTurn] = (),
        timeout: float = PATIENCE,
        subscription: bool = False,
        env: dict[str, str] | None = None,
    ) -> RehearsalResult:
        """Run ralph-bridge in the project."""
        argv = [sys.executable, "-P", "-c", MAIN, str(ROOT), *words]
        return self.run(*argv, turns=turns, timeout=timeout, subscription=subscription, env=env)

    def loop(
        self,
        driver: str,
        *words: str,
        turns: Iterable[ModelTurn] = (),
        timeout: float = PATIENCE,
        subscription: bool = False,
    ) -> RehearsalResult:
        """Run the loop, in one session unless the words say otherwise."""
        session = () if {"--continue", "--no-continue"} & {*words} else ("--continue",)
        return self.bridge(
            "run", "--driver", driver, *session, *words, turns=turns, timeout=timeout, subscription=subscription
        )

    def run(
        self,
        *argv: str,
        turns: Iterable[ModelTurn] = (),
        timeout: float = PATIENCE,
        subscription: bool = False,
        env: dict[str, str] | None = None,
    ) -> RehearsalResult:
        """Run a program in the project; whatever it is, it leaves no process and no connection behind."""
        done = rehearse(
            argv,
            cwd=self.project,
            env=self.env(subscription=subscription) | (env or {}),
            folder=self.folder / "out",
            turns=list(turns),
            timeout=timeout,
        )
        assert list(done.leftovers) == [], "processes were left"
        assert (list(done.interfaces), list(done.outside)) == (["lo"], [])
        return done


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def told(done: RehearsalResult) -> str:
    """What it told people."""
    return done.stderr.decode()


def shown(done: RehearsalResult) -> str:
    """What it printed."""
    return done.stdout.decode()


def asked(done: RehearsalResult) -> list[str]:
    """What the agent was told in each request of its own, all in one string."""
    return ["\n".join(each["user"]) for each in done.requests if each["tools"]]
