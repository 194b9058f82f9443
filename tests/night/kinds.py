"""A loop of each kind behind one face: its project, what its CLI does turn by turn, its process, its files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.setups.dot_ralph.settings import KEYS
from tests.command import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["KINDS", "SESSION", "Kind", "Loop", "Night", "lives", "night", "until"]

ROOT = Path(__file__).resolve().parents[2]
SESSION = "5f0c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6"
PATIENCE = 30.0
"""Seconds that a condition may take to come true on a busy machine."""

_DROPPED = {name for key in KEYS for name in (key.name, key.alias)} | {
    *("AGENT", "MAX_RETRIES", "RETRY_DELAY", "PROCESS_DIR", "RALPH_MAX_ITERATIONS", "RALPH_COMPLETION_PROMISE"),
    *("CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "CLAUDE_TRANSCRIPT", "NO_COLOR", "FORCE_COLOR"),
}


@dataclass(frozen=True)
class Kind:
    """A kind of loop.

    Attributes:
        name: for test ids.
        state: folder of its state, from the project's.
        words: the command that starts it.
        agent: it runs an agent script, not a driver.
        controllers: on the screen it is as its own controller has it.
        tool: what its records call that, in one word.
        busy: exit status of a second loop.
        used_up: exit status when all iterations, or the minutes, are used up.
    """

    name: str
    state: str
    words: tuple[str, ...]
    agent: bool = False
    controllers: bool = False
    tool: str = "driver"
    busy: int = 4
    used_up: int = 1

    @property
    def counts_on(self) -> bool:
        """Its iterations are counted over the runs of one task."""
        return self.words[0] == "wiggum"


_WIGGUM = ("wiggum", "start", "--no-live", "--no-checkpoints")
KINDS = (
    Kind("plain", ".ralph", ("run", "--no-live", "--driver", "claude-code")),
    Kind("bmalph", ".ralph", ("run", "--no-live")),
    Kind("frankbria", ".ralph", ("run",), controllers=True, tool="claude", busy=1, used_up=0),
    Kind("ralph-loop", ".ralph/logs", ("run", "plan"), agent=True, tool="agent", busy=1, used_up=0),
    Kind("wiggum-driver", ".claude/ralph", (*_WIGGUM, "--driver", "claude-code")),
    Kind("wiggum-agent", ".claude/ralph", (*_WIGGUM, "--agent", "bin/night.sh"), agent=True, tool="agent"),
)

# One program for drivers (`-p PROMPT`) and agents (a prompt on stdin): runs steps/N, else steps/else.
_CLI = r"""#!/usr/bin/env bash
kept=@KEPT@
case " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac
# Not from a count in a file: a kill between its two steps would spoil it.
turn=1; while ! mkdir "$kept/turn.$turn" 2>/dev/null; do turn=$((turn + 1)); done
echo $$ > "$kept/turn.$turn/pid"
echo "$EPOCHREALTIME" > "$kept/turn.$turn/began"
say() {
    printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s","session_id":"%s"%s}\n' \
        "${2:-false}" "$1" @SESSION@ \
        ',"total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":4}'
}
work() { echo "turn $turn" >> work.txt; say "Worked on item $turn."; }
fail() { echo "connection reset" >&2; exit 1; }
hang() { echo x > "$kept/turn.$turn/hangs"; while :; do sleep 300; done; }
limited() {  # SECONDS until its reset
    local at=$(( ${EPOCHREALTIME%.*} + $1 )); echo $at > "$kept/turn.$turn/resets"
    printf '{"type":"rate_limit_event","rate_limit_info":%s}\n' \
        '{"status":"rejected","resetsAt":'$at',"rateLimitType":"five_hour"}'
    say "You've hit your session limit" 'true,"api_error_status":429'
    exit 1
}
keeps() {  # NAME: what is left running notes its pid, then sleeps
    printf 'echo $$ > %q; exec sleep 300' "$kept/left.$1"
}
leave() {
    bash -c "$(keeps child)" &
    setsid bash -c "$(keeps session)" &
    (setsid bash -c "cd /; exec 0<&- 1>&- 2>&-; (bash -c $(printf %q "$(keeps daemon)")) &" &)
    for each in child session daemon; do until [ -s "$kept/left.$each" ]; do sleep 0.01; done; done
}
lives() {
    case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) in ''|Z*|X*) return 1 ;; esac
}
step="$kept/steps/$turn"; [ -e "$step" ] || step="$kept/steps/else"
. "$step"
echo "$EPOCHREALTIME" > "$kept/turn.$turn/ended"
"""

_AGENT = r"""
AGENT_CLI="claude"
agent_invoke() { "$AGENT_CLI" < "$1"; }
agent_extract_response() { sed -n 's/.*"is_error":false,"result":"\([^"]*\)".*/\1/p' "$1"; }
agent_format_display() { cat; }
"""

_CONFIG = """\
SPECS_DIR="specs"
PROCESS_DIR=""
DEFAULT_MAX_ITERATIONS=10
MAX_RETRIES=3
AGENT="night"
"""


def lives(pid: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for a condition; fail when it doesn't come true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"still waiting: {what or condition}"
        time.sleep(0.01)


@dataclass
class Loop:
    """A loop's process."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        """What it has printed so far, both streams."""
        return self.output.read_text("utf-8", "replace")

    def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait for a condition while it runs."""

        def there() -> bool:
            alive = self.process.poll() is None  # before the look: what it did last then counts
            found = bool(condition())
            assert found or alive, f"it has ended ({self.process.returncode}): {self.said}"
            return found

        until(there, what)

    def finished(self) -> int:
        """Wait for its end; its exit status."""
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.said}") from None
        assert "Traceback" not in self.said, self.said
        assert "a bug of ours" not in self.said, self.said
        return status

    def kill(self) -> None:
        """kill -9, and nothing else."""
        self.process.kill()
        self.process.wait()


@dataclass
class Night:
    """A project with a loop of some kind."""

    kind: Kind
    path: Path
    env: dict[str, str] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)

    # -- the project ---------------------------------------------------------------------------------

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def install(self, kind: Kind) -> None:
        """Write what makes a project one of this kind."""
        match kind.name:
            case "plain":
                self.write(".ralph/PROMPT.md", "Do the next task.\n")
            case "bmalph":
                self.write(".ralph/PROMPT.md", "Do the next task.\n")
                self.write(".ralph/ralph_loop.sh", "#!/bin/bash\n# bmalph-version: 2.11.0\nset -e\n", 0o755)
                self.write(".ralph/.ralphrc", 'PLATFORM_DRIVER="${PLATFORM_DRIVER:-claude-code}"\n')
                self.write(".ralph/@fix_plan.md", "- [x] Story 1.1: one\n- [ ] Story 1.2: two\n")
                self.write(".ralph/drivers/claude-code.sh", (ROOT / "drivers/claude-code.sh").read_text())
            case "frankbria":
                self.write(".ralph/PROMPT.md", "Do the next task.\n")
                self.write(".ralph/fix_plan.md", "- [ ] one\n- [ ] two\n")
                self.write(".ralph/AGENT.md", "Run the tests.\n")
                self.write(".ralphrc", "CLAUDE_AUTO_UPDATE=false\n")
            case "ralph-loop":
                self.write(".ralph/ralph", "#!/usr/bin/env bash\nexit 9\n", 0o755)
                self.write(".ralph/config", _CONFIG)
                self.write("specs/one.md", "# One\n")
                self.write(".ralph/prompts/plan.md", "Do the next task.\n")
            case _:
                self.write("PROMPT.md", "Do the next item. Then say <promise>COMPLETE</promise>.\n")
                self.write("fix_plan.md", "- [ ] one\n- [ ] two\n")
        if kind.name == "ralph-loop":
            self.write(".ralph/agents/night.sh", _AGENT)
        self.write("bin/night.sh", _AGENT)

    def agent(self, more: str) -> None:
        """The agent's script gets more code."""
        for path in (self.path / ".ralph/agents/night.sh", self.path / "bin/night.sh"):
            if path.exists():
                path.write_text(_AGENT + more)

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *identity, *words], cwd=self.path, check=True)

    @property
    def state(self) -> Path:
        return self.path / self.kind.state

    def record(self) -> dict[str, Any]:
        """The record of the run; {} before there is one."""
        path = self.state / ".ralph_bridge.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def turn_records(self) -> list[dict[str, Any]]:
        """One for each turn of all runs."""
        folder = self.state if self.kind.name == "ralph-loop" else self.state / "logs"
        path = folder / "turns.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def logged(self) -> str:
        """All that is written in logs for people."""
        found = [*self.state.rglob("*.log")]
        return "".join(path.read_text("utf-8", "replace") for path in found if path.is_file())

    def readable(self) -> None:
        """Nothing that the loop keeps is torn."""
        for folder in (self.path / ".ralph", self.path / ".claude"):
            for path in folder.rglob("*") if folder.is_dir() else ():
                if path.suffix == ".json":
                    json.loads(path.read_text())
                elif path.suffix == ".jsonl":
                    for line in path.read_text().splitlines():
                        json.loads(line)

    # -- the program ---------------------------------------------------------------------------------

    @property
    def kept(self) -> Path:
        return self.path.parent / "kept"

    def turns(self, *steps: str, otherwise: str = "work") -> None:
        """What the program does in its first turns, and in all others: bash code each."""
        for name, step in (*((str(number), step) for number, step in enumerate(steps, 1)), ("else", otherwise)):
            (self.kept / "steps" / name).write_text(step + "\n")

    def begun(self) -> int:
        """How many turns have begun."""
        number = 0
        while self.of_turn(number + 1, "began"):
            number += 1
        return number

    def of_turn(self, number: int, name: str) -> str:
        """What a turn has noted; '' when it has not."""
        path = self.kept / f"turn.{number}" / name
        return path.read_text().strip() if path.exists() else ""

    def pid(self, number: int) -> int:
        """The process of a turn."""
        return int(self.of_turn(number, "pid"))

    def left(self) -> dict[str, int]:
        """What `leave` has left running, and its pid."""
        return {path.suffix[1:]: int(path.read_text()) for path in self.kept.glob("left.*")}

    def alive(self) -> list[str]:
        """What of it lives, turns included."""
        found = [name for name, pid in self.left().items() if lives(pid)]
        return found + [f"turn {each}" for each in range(1, self.begun() + 1) if lives(self.pid(each))]

    # -- the loop ------------------------------------------------------------------------------------

    def start(
        self,
        *words: str,
        kind: Kind | None = None,
        stdout: int | None = None,
        before: Callable[[], object] | None = None,
        **env: str,
    ) -> Loop:
        """Start the loop.

        Args:
            words: its options.
            kind: another than that of the project.
            stdout: gets what it prints there; None: a file.
            before: is called in its process.
            env: its environment.
        """
        output = self.kept / f"output.{len(self.loops)}"
        base = {name: value for name, value in os.environ.items() if name not in _DROPPED}
        path = f"{self.path / 'bin'}:{base['PATH']}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*MAIN, *(kind or self.kind).words, *words],
                cwd=self.path,
                env=base | {"PATH": path, "PYTHONPATH": str(ROOT), "TZ": "UTC"} | self.env | env,
                stdin=subprocess.DEVNULL,
                stdout=file if stdout is None else stdout,
                stderr=file,
                preexec_fn=before,
            )
        self.loops.append(Loop(process, output))
        return self.loops[-1]

    def hanging(self, *words: str, turn: int = 1) -> Loop:
        """Start a loop, and wait until its turn with this number hangs."""
        loop = self.start(*words)
        loop.until(lambda: self.of_turn(turn, "hangs"), f"turn {turn} hangs")
        return loop

    def close(self) -> None:
        """End what is left of all of it."""
        for loop in self.loops:
            if loop.process.poll() is None:
                loop.kill()
        pids = [*self.left().values(), *(self.pid(each) for each in range(1, self.begun() + 1))]
        for pid in filter(lives, pids):
            os.kill(pid, 9)


@contextmanager
def night(kind: Kind, folder: Path) -> Iterator[Night]:
    """A project of this kind, whose pauses are short; nothing of it is left running."""
    made = Night(kind, folder / "project")
    for each in (made.path, made.kept / "steps"):
        each.mkdir(parents=True)
    made.write(
        "bin/claude", _CLI.replace("@KEPT@", shlex.quote(str(made.kept))).replace("@SESSION@", SESSION), 0o755
    )
    made.write(".gitignore", "bin/\n.ralph/logs/\n")
    made.install(kind)
    made.turns()
    made.git("init", "-q", "-b", "main")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    for name, seconds in (("PAUSE", "0"), ("POLL", "0.05"), ("RETRY", "0.05"), ("KILL_GRACE", "0.3")):
        made.env[f"RALPH_BRIDGE_{name}_SECONDS"] = seconds
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
