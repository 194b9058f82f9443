"""A frankbria project with a scripted claude, and its loop: in the test's own process, or in one of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.engine.active_run import ActiveRun
from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopEvent, Waiting
from bridge.loop.engine.runner import run_loop
from bridge.loop.setups.declared_settings import GivenOption
from bridge.loop.setups.frankbria.flags import parse, sandboxed
from bridge.loop.setups.frankbria.handler import FrankbriaHandler
from bridge.loop.setups.frankbria.layout import folder_of
from bridge.loop.setups.frankbria.opening import open_loop, policy
from bridge.loop.setups.frankbria.policy import FrankbriaState
from bridge.loop.turn.driver import DriverTool
from tests import command
from tests.setups.bmalph.inside import Time
from tests.setups.frankbria.installation import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

NO_WAITS = """\
RALPH_BRIDGE_PAUSE_SECONDS=0
RALPH_BRIDGE_RETRY_SECONDS=0
RALPH_BRIDGE_KILL_GRACE_SECONDS=0.5
CLAUDE_AUTO_UPDATE=false
"""
SESSION = "11111111-2222-4333-8444-555555555555"
_CLAUDE = r"""#!/usr/bin/env bash
kept=%s
if [ "${*: -1}" = --version ]; then echo "${version:-2.1.9} (Claude Code)"; exit; fi
run=$(( $(cat "$kept/runs" 2> /dev/null || echo 0) + 1 )); echo $run > "$kept/runs"
printf '%%s\0' "$@" > "$kept/argv.$run"
env -0 > "$kept/env.$run"
echo $$ >> "$kept/pids"
say() {  # TEXT [MORE]: the answer, and further keys of the object
    printf '{"type":"result","subtype":"success","is_error":false,"result":"%%s","session_id":"%s",' "$1"
    printf '"usage":{"input_tokens":3,"output_tokens":4}%%s}\n' "${2:+,$2}"
}
block() {
    printf '%%s' "---RALPH_STATUS---\\nSTATUS: $1\\nTESTS_STATUS: PASSING\\nEXIT_SIGNAL: $2\\n"
    printf '%%s' "---END_RALPH_STATUS---"
}
change() { echo "run $run" >> "${1:-work.txt}"; }
works() { change; say "Worked.\\n$(block IN_PROGRESS false)"; }
completes() { change; say "All of it.\\n$(block COMPLETE true)"; }
step="$kept/$run"; [ -e "$step" ] || step="$kept/else"
. "$step"
"""


@dataclass
class Run:
    """What a loop came to."""

    events: list[LoopEvent]
    told: list[str]
    log: list[tuple[str, str]]
    time: Time

    @property
    def end(self) -> LoopEnded:
        last = self.events[-1]
        assert isinstance(last, LoopEnded)
        return last

    @property
    def reason(self) -> str:
        return self.end.reason

    @property
    def turns(self) -> list[IterationEnded]:
        return [event for event in self.events if isinstance(event, IterationEnded)]

    @property
    def waits(self) -> list[tuple[str, int]]:
        return [(each.reason, round(each.left)) for each in self.events if isinstance(each, Waiting) and each.first]

    def logged(self, level: str) -> str:
        return "\n".join(line for each, line in self.log if each == level)


@dataclass
class Project:
    """A project, and the home of its user."""

    home: Home
    path: Path
    rc: list[str] = field(default_factory=lambda: [NO_WAITS])

    @property
    def kept(self) -> Path:
        return self.home.path / "kept"

    @property
    def ralph(self) -> Path:
        return self.path / ".ralph"

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def settings(self, *lines: str) -> None:
        """Write ``.ralphrc``; what takes the waits out stands in front."""
        self.write(".ralphrc", "\n".join([*self.rc, *lines, ""]))

    def program(self, name: str, text: str) -> Path:
        path = self.home.path / ".local/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def claude(self, *steps: str, otherwise: str = "works") -> None:
        """What claude does in its first runs, and in all further ones: bash code."""
        self.kept.mkdir(exist_ok=True)
        self.program("claude", _CLAUDE % (shlex.quote(str(self.kept)), SESSION))
        for number, step in enumerate(steps, 1):
            (self.kept / str(number)).write_text(step + "\n")
        (self.kept / "else").write_text(otherwise + "\n")

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of each run so far."""
        count = int((self.kept / "runs").read_text()) if (self.kept / "runs").exists() else 0
        read = [
            (self.kept / f"argv.{number}").read_text(errors="surrogateescape") for number in range(1, count + 1)
        ]
        return [text.split("\0")[:-1] for text in read]

    def environment_of(self, run: int) -> dict[str, str]:
        """The environment of a run."""
        pairs = (entry.partition("=") for entry in (self.kept / f"env.{run}").read_text().split("\0") if entry)
        return {name: value for name, _, value in pairs}

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
            cwd=self.path,
            env=self.home.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def json(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.ralph / name).read_text())
        return found

    @property
    def status(self) -> tuple[str, str, str]:
        """Last action, status and exit reason of ``status.json``."""
        record = self.json("status.json")
        return record["last_action"], record["status"], record["exit_reason"]

    def loop(
        self,
        *words: str,
        time: Time | None = None,
        leaving: Callable[[], bool] = lambda: False,
        timeout: float | None = None,
        **env: str,
    ) -> Run:
        """Run a loop in this process, with a made-up clock; `words` are of the command line."""
        given = parse(list(words))
        assert given.action == "run", given.message
        full = self.home.environment(**env)
        clock, told, log = time or Time(), list[str](), list[tuple[str, str]]()
        options = given.run_options()
        most = options.max_iterations or 12
        options = replace(options, max_iterations=most, timeout=None if timeout is None else timeout / 60)
        folder = folder_of(self.path)
        with open_loop(folder, options, told.append, env=full, sandboxed=sandboxed(given)) as opened:
            store = FrankbriaHandler(
                folder,
                opened.settings,
                opened.loop,
                reader=opened.reader,
                on_log=lambda level, line: log.append((level, line)),
                leaving=leaving,
                now=clock.seconds,
            )
            active = ActiveRun(folder.path, folder.project, command=["test"], tool=opened.name, now=clock.seconds)
            running = run_loop(
                DriverTool(opened.driver, opened.loop, opened.name),
                policy(opened.settings, opened.loop),
                store,
                opened.loop,
                active=active,
                state=FrankbriaState(),
                clock=clock,
            )
            with closing(running) as events:
                return Run(list(events), told, log, clock)

    def run(self, *words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
        """``ralph-bridge run``, as a process."""
        done = command.run(["run", *words], cwd=self.path, env=self.home.environment(**env), stdin=stdin)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        return command.start(["run", *words], cwd=self.path, env=self.home.environment(), **options)

    def fifo(self, name: str) -> str:
        path = self.kept / name
        if not path.exists():
            os.mkfifo(path)
        return str(path)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if ".git" not in path.parts}


def option(text: str) -> GivenOption:
    return GivenOption("--x", text)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    home = Home(tmp_path / "home")
    made = Project(home, home.project("project"))
    made.settings()
    made.git("add", "-A")
    made.git("commit", "-qm", "settings")
    made.claude()
    return made


def run_here(folder: Path, words: Sequence[str]) -> int:
    """Do what the words of its controller ask for in a project."""
    from bridge.cli._controller import run_words
    from bridge.loop.setups.frankbria.flags import CONTROLLER

    return run_words(CONTROLLER, folder, words)
