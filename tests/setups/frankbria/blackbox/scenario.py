"""Scenarios as data: a project, what ``claude`` says in each call, how ``ralph`` is started; what comes of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.base.process.leftovers import marked
from tests import command
from tests.setups.frankbria.blackbox import shapes
from tests.setups.frankbria.installation import Home

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SESSION = "0199a213-81c0-7800-8aa1-bbab2a035a53"
DEFAULT_TOOLS = (
    "Write,Read,Edit,Bash(git add *),Bash(git commit *),Bash(git diff *),Bash(git log *),Bash(git status),"
    "Bash(git status *),Bash(git push *),Bash(git pull *),Bash(git fetch *),Bash(git checkout *),"
    "Bash(git branch *),Bash(git stash *),Bash(git merge *),Bash(git tag *),Bash(npm *),Bash(pytest)"
)
ENDS = {
    "permission_denied": ("permission_denied", "halted", "permission_denied", "permission_denied"),
    "completion_signals": ("graceful_exit", "completed", "completion_signals", "project_complete"),
    "project_complete": ("graceful_exit", "completed", "project_complete", "project_complete"),
    "plan_complete": ("graceful_exit", "completed", "plan_complete", "project_complete"),
    "breaker_open": ("circuit_breaker_open", "halted", "stagnation_detected", "circuit_breaker_open"),
    "breaker_trips": ("circuit_breaker_open", "halted", "stagnation_detected", "circuit_breaker_trip"),
    "integrity": ("integrity_failure", "halted", "files_deleted", "integrity_failure"),
}
"""By name: last_action, status, exit_reason; why the session is reset."""

# What its steps may use. Texts are as JSON spells them; with WORKS the run has changed a tracked file.
LIBRARY = r"""
block() {  # STATUS EXIT_SIGNAL [TESTS]
    printf '%s' "---RALPH_STATUS---\nSTATUS: $1\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 1"
    printf '%s' "\nTESTS_STATUS: PASSING\nWORK_TYPE: ${3:-IMPLEMENTATION}\nEXIT_SIGNAL: $2"
    printf '%s' "\nRECOMMENDATION: none\n---END_RALPH_STATUS---"
}
object() {  # TEXT [MORE_KEYS]
    printf '%s' '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'"$1"'",'
    printf '%s' '"session_id":"@SESSION@","usage":{"input_tokens":30,"output_tokens":4,'
    printf '%s' '"cache_read_input_tokens":900}'
    printf '%s\n' "${2:+,$2},\"uuid\":\"u-$run\"}"
}
works() { change; object "I worked.\n$(block IN_PROGRESS false)"; }
idles() { object "I looked.\n$(block IN_PROGRESS false)"; }
completes() { change; object "All of it.\n$(block COMPLETE true)"; }
finishes() { finish; works; }
text() { printf '%b\n' "$1"; }
change() { echo "run $run" >> src/main.txt; }
finish() { sed -i 's/- \[ \]/- [x]/' .ralph/fix_plan.md; }
commit() { git add -A; git -c user.name=a -c user.email=a@example.org commit -qm "run $run"; }
"""
CLAUDE = r"""#!/usr/bin/env bash
kept=$HOME/kept
case " $* " in *" --version "*) echo "2.1.330 (Claude Code)"; exit ;; esac
run=$(( $(cat "$kept/runs" 2> /dev/null || echo 0) + 1 ))
echo $run > "$kept/runs.new"; mv "$kept/runs.new" "$kept/runs"  # a kill between the two tears nothing
printf '%s\0' "${0##*/}" "$@" > "$kept/argv.$run"
pwd > "$kept/cwd.$run"
env -0 > "$kept/env.$run"
cat > "$kept/stdin.$run"
echo $$ >> "$kept/pids"
. "$kept/library"
step=$kept/$run; [ -e "$step" ] || step=$kept/else
. "$step"
"""
RECORDED = '#!/bin/sh\nprintf "%s\\n" "${0##*/} $*" >> "$HOME/kept/${0##*/}"\n'


@dataclass(frozen=True)
class Scenario:
    """One run of the loop.

    Attributes:
        name: begins with the number of the trap that it is about, where it is about one.
        words: what follows ``ralph``, as typed.
        program: ``ralph`` is the stand-in in an adopted project, ``run`` is ``ralph-bridge run``.
        rc: ``.ralphrc``, behind what is there; see `Stage`.
        env: more environment.
        files: of the project, by path: text; None: it is not there. Paths that begin with ``~`` are in the home.
        before: bash code, run in the project before the loop.
        claude: what it does in its first calls, bash code each (`LIBRARY`).
        afterwards: and in all later ones.
        code: exit code.
        calls: how often claude was called; None: that doesn't matter.
        ends: a key of `ENDS`; "": as `status` says.
        argv: of the call with that number, see `has`.
        status: what ``status.json`` has.
        left: by path, see `fits`.
        says: patterns of what was printed; ``!`` in front of those that must not be there.
        after: bash code, run in the project behind the loop; it has to succeed.
        odd: files of the state that don't have their shape, because the scenario broke them.
    """

    name: str
    words: str = ""
    program: str = "ralph"
    rc: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)
    before: str = ""
    claude: Sequence[str] = ()
    afterwards: str = "finishes"
    code: int = 0
    calls: int | None = None
    ends: str = ""
    argv: Mapping[int, Sequence[object]] = field(default_factory=dict)
    status: Mapping[str, object] = field(default_factory=dict)
    left: Mapping[str, object] = field(default_factory=dict)
    says: Sequence[str] = ()
    after: str = ""
    odd: tuple[str, ...] = ()


def fits(expected: object, found: object) -> bool:
    """Whether a value is as expected: mappings by the keys that are named, patterns are searched, a type is one."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and fits(expected[name], found[name]) for name in expected
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(fits, expected, found))
    if isinstance(expected, re.Pattern):
        return isinstance(found, str) and expected.search(found) is not None
    if isinstance(expected, type):
        return isinstance(found, expected)
    return expected == found and isinstance(found, bool) == isinstance(expected, bool)


def has(argv: list[str], expected: object) -> bool:
    """Whether a command line has these words: a tuple side by side, a text somewhere, ``!text`` nowhere."""
    if isinstance(expected, list):  # all of it
        return fits(expected, argv)
    if isinstance(expected, tuple):
        starts = range(len(argv) - len(expected) + 1)
        return any(all(map(fits, expected, argv[at : at + len(expected)])) for at in starts)
    if isinstance(expected, re.Pattern):
        return any(fits(expected, word) for word in argv)
    assert isinstance(expected, str)
    return expected[1:] not in argv if expected.startswith("!") else expected in argv


class Stage:
    """A fresh home with an installation, one project, and a scripted ``claude``.

    Args:
        folder: for all of it.
        template: a home that is copied.
    """

    def __init__(self, folder: Path, template: Path) -> None:
        self.home = Home(folder / "home")
        shutil.copytree(template, self.home.path, symlinks=True)
        self.project = self.home.path / "project"
        self.kept = self.home.path / "kept"
        self.home.env.update(
            PATH=f"{self.home.path / 'bin'}:{self.home.command.parent}:{os.environ['PATH']}",
            RALPH_BRIDGE_PAUSE_SECONDS="0",
            RALPH_BRIDGE_RETRY_SECONDS="0",
            RALPH_BRIDGE_LIMIT_WAIT_SECONDS="0",
            RALPH_BRIDGE_KILL_GRACE_SECONDS="0.5",
        )

    @staticmethod
    def template(folder: Path) -> Path:
        """Make a home to copy."""
        home = Home(folder)
        folder.mkdir()
        home.install()
        (folder / "bin").mkdir()
        (folder / "kept").mkdir()
        (folder / "kept/library").write_text(LIBRARY.replace("@SESSION@", SESSION))
        for name, text in {"claude": CLAUDE, "npm": RECORDED, "notify-send": RECORDED}.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        project = home.project("project", git=False)
        (project / "src/main.txt").write_text("begun\n")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
            identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
            subprocess.run(["git", *identity, *words], cwd=project, env=home.environment(), check=True)
        return folder

    def set_up(self, scenario: Scenario) -> None:
        for name, text in scenario.files.items():
            path = self.path(name)
            if text is None:
                subprocess.run(["rm", "-rf", path], check=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(text), newline="")
        if scenario.rc:
            with open(self.project / ".ralphrc", "a", newline="") as file:
                file.write(self._filled(scenario.rc) + "\n")
        if scenario.before:
            subprocess.run(["bash", "-ec", scenario.before], cwd=self.project, env=self.env(), check=True)
        self.script(scenario.claude, scenario.afterwards)

    def script(self, steps: Sequence[str] = (), afterwards: str = "finishes") -> None:
        """What claude does, call by call, and in all later ones."""
        for number, step in enumerate(steps, 1):
            (self.kept / str(number)).write_text(step + "\n")
        (self.kept / "else").write_text(afterwards + "\n")

    def path(self, name: str) -> Path:
        return self.home.path / name[2:] if name.startswith("~/") else self.project / name

    def env(self, **more: str) -> dict[str, str]:
        return self.home.environment(**more)

    def run(
        self, words: Sequence[str] = (), *, program: str = "ralph", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the loop to its end."""
        start = {"ralph": ["stand-in", "frankbria", "", str(self.home.command)], "run": ["run"]}[program]
        done = command.run([*start, *words], cwd=self.project, env=self.env(**env))
        assert "Traceback" not in done.stderr, done.stderr
        assert "a bug in ralph-bridge" not in done.stderr, done.stderr
        return done

    def bridge(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``ralph-bridge``."""
        done = command.run(words, cwd=cwd or self.project, env=self.env())
        assert "Traceback" not in done.stderr, done.stderr
        return done

    @property
    def calls(self) -> list[list[str]]:
        """The command line of each call of claude so far."""
        path = self.kept / "runs"
        count = int(path.read_text()) if path.exists() else 0
        return [self.read(f"argv.{number}").split("\0")[:-1] for number in range(1, count + 1)]

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.read("pids").split()] if (self.kept / "pids").exists() else []

    def read(self, name: str) -> str:
        return (self.kept / name).read_text(errors="surrogateescape")

    def _filled(self, text: str) -> str:
        hour = time.strftime("%Y%m%d%H", time.gmtime())
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        for name, value in {"HOUR": hour, "NOW": now, "HOME": str(self.home.path), "SESSION": SESSION}.items():
            text = text.replace(f"@{name}@", value)
        return text


def play(stage: Stage, scenario: Scenario) -> None:
    """Run a scenario, and hold everything against it."""
    stage.set_up(scenario)
    env = {name: stage._filled(value) for name, value in scenario.env.items()}
    done = stage.run(shlex.split(scenario.words), program=scenario.program, **env)
    printed = done.stdout + done.stderr
    told = f"exit code {done.returncode}, calls {stage.calls}\n{printed}"
    assert done.returncode == scenario.code, told
    for pattern in scenario.says:
        there = re.search(pattern.removeprefix("!"), printed, re.DOTALL) is not None
        assert there is not pattern.startswith("!"), f"{pattern}: {told}"
    assert scenario.calls in (None, len(stage.calls)), told
    for number, expected in scenario.argv.items():
        for each in expected:
            assert has(stage.calls[number - 1], each), f"call {number}, {each}: {stage.calls[number - 1]}"
    _check_end(stage, scenario, told)
    for name, left in scenario.left.items():
        _check_left(stage.path(name), left)
    if scenario.after:
        looked = subprocess.run(
            ["bash", "-exc", scenario.after],
            cwd=stage.project,
            env=stage.env(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert looked.returncode == 0, f"{looked.stderr}\n{told}"
    shapes.check_all(stage.project / ".ralph", but=scenario.odd)
    assert not marked(stage.project), "something that the loop has started still runs"


def _check_end(stage: Stage, scenario: Scenario, told: str) -> None:
    folder = stage.project / ".ralph"
    expected = dict(scenario.status)
    if scenario.ends:
        action, status, reason, reset = ENDS[scenario.ends]
        expected |= {"last_action": action, "status": status, "exit_reason": reason}
        assert shapes.json_of(folder / ".ralph_session")["reset_reason"] == reset, told
        assert not (folder / ".claude_session_id").exists(), told
    if expected:
        found = shapes.json_of(folder / "status.json")
        assert fits(expected, found), f"{expected} is not in {found}\n{told}"


def _check_left(path: Path, expected: object) -> None:
    if expected is None:
        assert not os.path.lexists(path), f"{path} is there"
        return
    assert path.exists(), f"{path} is not there: {sorted(os.listdir(path.parent))}"
    if isinstance(expected, dict | list):
        found = shapes.json_of(path)
        assert fits(expected, found), f"{path.name}: {expected} is not in {found}"
        return
    found = path.read_text(errors="surrogateescape")
    assert fits(expected, found), f"{path.name}: {expected!r} is not {found!r}"
