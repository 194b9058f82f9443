"""An example of each kind of setup, and its project at work: what its CLI does turn by turn, processes, files."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.loop.setups import kinds
from tests import command
from tests.command import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.loop.setups.setup_kind import SetupKind

ROOT = Path(__file__).resolve().parents[1]
SESSION = "5f0c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6"
PATIENCE = 30.0
"""Seconds that a condition may take to come true on a busy machine."""

STATUS_DONE = "---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---"
_OURS = (
    "RALPH",
    "CLAUDE",
    "PLATFORM_DRIVER",
    "AGENT",
    "MAX_",
    "RETRY_DELAY",
    "PROCESS_DIR",
    "CB_",
    "NO_COLOR",
    "FORCE_COLOR",
)
"""How the names of variables begin that loops, or their output, go by."""

AGENT = r"""
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


@dataclass(frozen=True, kw_only=True)
class Example:
    """A project of a kind of setup, as the tests of what holds for every kind make it.

    Attributes:
        name: for test ids. setup: its kind.
        files: what makes a folder one of that kind, and what its loop wants beside it.
        words: the command that starts its loop.
        agent: it runs an agent script, not a driver.
        sessions: a turn resumes the session of the turn before it.
        controllers: on the screen it is as its own controller has it.
        tool: what its records call that.
        done: what the agent's program does when all is done, as bash.
        twice: it wants to hear that twice.
        ended: how `status` says that it ended so.
        busy, used_up, refused: exit status of a second loop; of one whose iterations or minutes are used up; of one
            whose CLI can't be used as it is.
        runs: files of the project that `doctor` runs.
        scripted: a script of its own calls the CLI: it ends when that ends, prints what that prints, and repeats
            what that repeats.
    """

    name: str
    setup: str
    files: Mapping[str, str]
    words: tuple[str, ...]
    agent: bool = False
    sessions: bool = True
    controllers: bool = False
    tool: str = "driver claude-code"
    done: str = f"say '{STATUS_DONE}'"
    twice: bool = False
    ended: str
    busy: int = 4
    used_up: int = 1
    refused: int = 4
    runs: frozenset[str] = frozenset()
    scripted: bool = False

    @property
    def kind(self) -> SetupKind:
        """What the program knows of it."""
        return kinds()[self.setup]

    @property
    def counts_on(self) -> bool:
        """Its iterations are counted over the runs of one task."""
        return self.words[0] == "wiggum"


_PROMPT = "Do the next task. Then say <promise>COMPLETE</promise>.\n"
_PLAN = "- [ ] one\n- [ ] two\n"
_ITEMS = {"PROMPT.md": _PROMPT, "fix_plan.md": _PLAN}
_PRD = """\
{
  "branchName": "ralph/night",
  "userStories": [
    {"id": "US-001", "title": "one", "priority": 1, "passes": true},
    {"id": "US-002", "title": "two", "priority": 2, "passes": false}
  ]
}
"""
_SCRIPT = """\
#!/bin/bash
while :; do
    out=$(claude -p "Do the next task." --output-format json)
    if [[ $out == *"<promise>COMPLETE</promise>"* ]]; then exit 0; fi
done
"""
_WIGGUM = ("wiggum", "start", "--no-live", "--no-checkpoints")
_EXAMPLES = (
    Example(
        name="plain",
        setup="plain",
        files={".ralph/PROMPT.md": _PROMPT},
        words=("run", "--no-live", "--continue", "--driver", "claude-code"),
        ended="project_complete",
    ),
    Example(
        name="bmalph",
        setup="bmalph",
        files={
            ".ralph/PROMPT.md": _PROMPT,
            ".ralph/ralph_loop.sh": "#!/bin/bash\n# bmalph-version: 2.11.0\nset -e\n",
            ".ralph/.ralphrc": 'PLATFORM_DRIVER="${PLATFORM_DRIVER:-claude-code}"\n',
            ".ralph/@fix_plan.md": "- [x] Story 1.1: one\n- [ ] Story 1.2: two\n",
            ".ralph/drivers/claude-code.sh": (ROOT / "drivers/claude-code.sh").read_text(),
        },
        words=("run", "--no-live"),
        twice=True,
        ended="completion_signals",
        runs=frozenset({".ralph/drivers/claude-code.sh"}),
    ),
    Example(
        name="frankbria",
        setup="frankbria",
        files={
            ".ralph/PROMPT.md": _PROMPT,
            ".ralph/fix_plan.md": _PLAN,
            ".ralph/AGENT.md": "Run the tests.\n",
            ".ralphrc": "CLAUDE_AUTO_UPDATE=false\n",
        },
        words=("run",),
        controllers=True,
        tool="claude",
        done="sed -i 's/\\[ \\]/[x]/' .ralph/fix_plan.md; say done",
        ended="plan_complete",
        busy=1,
        used_up=0,
        refused=0,
    ),
    Example(
        name="ralph-loop",
        setup="ralph-loop",
        files={
            ".ralph/ralph": "#!/usr/bin/env bash\nexit 9\n",
            ".ralph/lib/plan-filter.sh": "exit 9\n",
            ".ralph/config": _CONFIG,
            ".ralph/prompts/plan.md": _PROMPT,
            ".ralph/agents/night.sh": AGENT,
            "specs/one.md": "# One\n",
        },
        words=("run", "plan"),
        agent=True,
        sessions=False,
        tool="agent night",
        done="say '<promise>COMPLETE</promise>'",
        ended="completion signal",
        busy=1,
        used_up=0,
        runs=frozenset({".ralph/agents/night.sh", ".ralph/config"}),
    ),
    Example(
        name="wiggum-driver",
        setup="wiggum",
        files=_ITEMS,
        words=(*_WIGGUM, "--driver", "claude-code"),
        sessions=False,
        done="say '<promise>COMPLETE</promise>'",
        ended="complete",
    ),
    Example(
        name="wiggum-agent",
        setup="wiggum",
        files=_ITEMS,
        words=(*_WIGGUM, "--agent", "bin/night.sh"),
        agent=True,
        sessions=False,
        tool="agent night",
        done="say '<promise>COMPLETE</promise>'",
        ended="complete",
    ),
    Example(
        name="playbook",
        setup="playbook",
        files={
            "PROMPT_build.md": _PROMPT,
            "IMPLEMENTATION_PLAN.md": _PLAN,
            "loop.sh": _SCRIPT.replace('-p "Do the next task."', "-p < PROMPT_build.md"),
        },
        words=("run",),
        sessions=False,
        tool="script loop.sh",
        done="say '<promise>COMPLETE</promise>'",
        ended="script_ended",
        scripted=True,
    ),
    Example(
        name="pocock",
        setup="pocock",
        files={
            "afk-ralph.sh": _SCRIPT.replace("while :;", "for ((i = 1; i <= $1; i++));") + "exit 1\n",
            "PRD.md": _PLAN,
        },
        words=("run", "--max-iterations", "50"),
        sessions=False,
        tool="script afk-ralph.sh",
        done="say '<promise>COMPLETE</promise>'",
        ended="script_ended",
        scripted=True,
    ),
    Example(
        name="script",
        setup="script",
        files={"loop.sh": _SCRIPT},
        words=("run",),
        sessions=False,
        tool="script loop.sh",
        done="say '<promise>COMPLETE</promise>'",
        ended="script_ended",
        scripted=True,
    ),
    Example(
        name="ralphy",
        setup="ralphy",
        files={
            ".ralphy/config.yaml": "project: {name: night}\nrules:\n  - Keep it small\n",
            "PRD.md": "".join(f"- [ ] task {number}\n" for number in range(1, 100)),
        },
        words=("run", "--no-live"),
        sessions=False,
        done="sed -i 's/\\[ \\]/[x]/' PRD.md; say done",
        ended="plan_complete",
    ),
    Example(
        name="snarktank",
        setup="snarktank",
        files={
            "scripts/ralph/ralph.sh": _SCRIPT.replace(
                '-p "Do the next task."', "--print < scripts/ralph/CLAUDE.md"
            ),
            "scripts/ralph/CLAUDE.md": _PROMPT,
            "scripts/ralph/prd.json": _PRD,
        },
        words=("run",),
        sessions=False,
        tool="script ralph.sh",
        done="say '<promise>COMPLETE</promise>'",
        ended="script_ended",
        scripted=True,
    ),
)


def _more() -> tuple[Example, ...]:
    """Those of a kind from another package, whose own tests run these."""
    module = os.environ.get("RALPH_BRIDGE_TEST_EXAMPLES")
    return import_module(module).EXAMPLES if module else ()


EXAMPLES = {each.name: each for each in _more() or _EXAMPLES}
"""All that hold what holds for every kind: by name."""

SETUPS = {each.setup: each for each in reversed(EXAMPLES.values())}
"""One of each kind of setup."""

LOOPS = [each for name, each in EXAMPLES.items() if name not in ("wiggum-agent", "playbook", "pocock", "ralphy")]
"""One of each way in which loops are decided and their files written, for what holds whatever the kind."""

# One program for drivers (`-p PROMPT`) and agents (a prompt on stdin): runs steps/N, else steps/else.
_CLI = r"""#!/usr/bin/env bash
kept=@KEPT@
case " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac
# Not from a count in a file: a kill between its two steps would spoil it.
turn=1; while ! mkdir "$kept/turn.$turn" 2>/dev/null; do turn=$((turn + 1)); done
echo $$ > "$kept/turn.$turn/pid"
now() { echo "${EPOCHREALTIME:-$(date +%s.%N)}"; } # before bash 5 there is no such variable
now > "$kept/turn.$turn/began"
say() {
    printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s","session_id":"%s"%s}\n' \
        "${2:-false}" "$1" @SESSION@ \
        ',"total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":4}'
}
touched() { echo "turn $turn" >> work.txt; }
work() { touched; say "Worked on item $turn."; }
fail() { echo "connection reset" >&2; exit 1; }
hang() { echo x > "$kept/turn.$turn/hangs"; while :; do sleep 300; done; }
limited() {  # SECONDS until its reset
    local at; at=$(now); at=$(( ${at%.*} + $1 )); echo $at > "$kept/turn.$turn/resets"
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
now > "$kept/turn.$turn/ended"
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
class Project:
    """A project with a loop of some kind, in a repository; its agent's program keeps what it notes beside it."""

    example: Example
    path: Path
    env: dict[str, str] = field(default_factory=dict)
    main: Sequence[str] = tuple(MAIN)
    loops: list[Loop] = field(default_factory=list)
    piped: list[subprocess.Popen[str]] = field(default_factory=list)

    # -- the project ---------------------------------------------------------------------------------

    def write(self, name: str, text: str, mode: int | None = None) -> Path:
        """Write a file; by default it is executable when it begins as a script."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod((0o755 if text.startswith("#!") else 0o644) if mode is None else mode)
        return path

    def install(self, example: Example) -> None:
        """Write what makes a project one of this kind."""
        for name, text in example.files.items():
            self.write(name, text)

    def agent(self, more: str) -> None:
        """The agent's script gets more code."""
        for path in (self.path / ".ralph/agents/night.sh", self.path / "bin/night.sh"):
            if path.exists():
                path.write_text(AGENT + more)

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        done = subprocess.run(["git", *identity, *words], cwd=self.path, check=True, capture_output=True, text=True)
        return done.stdout

    @property
    def state(self) -> Path:
        kind = self.example.kind
        return kind.state(self.path, kind.installation and kind.installation.detect(self.path))

    def record(self) -> dict[str, Any]:
        """The record of the run; {} before there is one."""
        path = self.state / ".ralph_bridge.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def turn_records(self) -> list[dict[str, Any]]:
        """One for each turn of all runs."""
        path = self.state / self.example.kind.logs / "turns.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def logged(self) -> str:
        """All that is written in logs for people."""
        found = [*self.state.rglob("*.log")]
        return "".join(path.read_text("utf-8", "replace") for path in found if path.is_file())

    def readable(self) -> None:
        """Nothing that the loop keeps is torn."""
        for path in self.state.rglob("*"):
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

    def done_after(self, *steps: str) -> None:
        """What it does in its first turns beside a bit of work; in all others it says that all is done."""
        self.turns(*(f"touched; {step}" for step in steps), otherwise=f"touched; {self.example.done}")

    @property
    def held(self) -> str:
        """What a turn does that says something, says that it is up, and waits to be let go."""
        for name in ("up", "go"):
            if not (self.kept / name).exists():
                os.mkfifo(self.kept / name)
        return "say 'First words. And more.'; echo x > $kept/up; read -r _ < $kept/go"

    def wait_until_up(self) -> None:
        pipe = os.open(self.kept / "up", os.O_RDONLY | os.O_NONBLOCK)
        end = time.monotonic() + PATIENCE
        while not select.select([pipe], [], [], 0.1)[0] or not os.read(pipe, 100):
            assert time.monotonic() < end, "the agent was not started"
        os.close(pipe)

    def let_go(self) -> None:
        (self.kept / "go").write_text("\n")

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

    def forget(self) -> None:
        """Turns are counted anew."""
        for turn in self.kept.glob("turn.*"):
            shutil.rmtree(turn)

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

    # -- the commands --------------------------------------------------------------------------------

    def environment(self, **env: str) -> dict[str, str]:
        """What a command is started with."""
        base = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        path = f"{self.path / 'bin'}:{base['PATH']}"
        base["RALPH_BRIDGE_RUN_PROJECT_CODE"] = "1"  # as for all tests (tests/machine.py)
        pythonpath = os.pathsep.join(filter(None, (str(ROOT), base.get("PYTHONPATH"))))
        return base | {"PATH": path, "PYTHONPATH": pythonpath, "TZ": "UTC"} | self.env | env

    def start(
        self,
        *words: str,
        example: Example | None = None,
        stdout: int | None = None,
        before: Callable[[], object] | None = None,
        folder: str = ".",
        **env: str,
    ) -> Loop:
        """Start the loop.

        Args:
            words: its options.
            example: another than that of the project.
            stdout: gets what it prints there; None: a file.
            before: is called in its process.
            folder: it is started there.
            env: its environment.
        """
        output = self.kept / f"output.{len(self.loops)}"
        words = (*(example or self.example).words, *words)
        cwd, environment = self.path / folder, self.environment(**env)
        with output.open("wb") as file:
            out = file if stdout is None else stdout
            if before is None and self.main == tuple(MAIN):
                process = command.start(words, cwd=cwd, env=environment, stdout=out, stderr=file, text=False)
            else:
                process = subprocess.Popen(
                    [*self.main, *words],
                    cwd=cwd,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
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

    def loop(self, *words: str, folder: str = ".") -> subprocess.Popen[str]:
        """Start the loop, with pipes."""
        return self.popen(*self.example.words, *words, folder=folder)

    def popen(self, *words: str, folder: str = ".") -> subprocess.Popen[str]:
        """Start a command, with pipes."""
        process = command.start(words, cwd=self.path / folder, env=self.environment())
        self.piped.append(process)
        return process

    def run(self, *words: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
        """Run another command to its end."""
        done = command.run(words, cwd=self.path / folder, env=self.environment())
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def status(self, *, folder: str = ".") -> dict[str, Any]:
        done = self.run("status", "--json", folder=folder)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def status_when(self, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Look until something is true of the status."""
        end = time.monotonic() + PATIENCE
        while not true(seen := self.status()):
            assert time.monotonic() < end, seen
        return seen

    def close(self) -> None:
        """End what is left of all of it."""
        for loop in self.loops:
            if loop.process.poll() is None:
                loop.kill()
        for process in self.piped:
            if process.returncode is None:
                process.kill()
                process.communicate()
        pids = [*self.left().values(), *(self.pid(each) for each in range(1, self.begun() + 1))]
        for pid in filter(lives, pids):
            os.kill(pid, 9)


@contextmanager
def project(example: Example, folder: Path) -> Iterator[Project]:
    """A project of this kind, with a folder ``src/deep``; pauses are short, and nothing of it is left running."""
    made = Project(example, folder / "project")
    for each in (made.path, made.kept / "steps"):
        each.mkdir(parents=True)
    made.write("bin/claude", _CLI.replace("@KEPT@", shlex.quote(str(made.kept))).replace("@SESSION@", SESSION))
    made.write("bin/night.sh", AGENT)
    if box := os.environ.get("RALPH_BRIDGE_TEST_BOX"):  # the same night, its turns in such a box
        made.env |= {"RALPH_BRIDGE_SANDBOX": box, "XDG_CONFIG_HOME": str(folder / "config")}
        configured = folder / "config/ralph-bridge/config.toml"
        configured.parent.mkdir(parents=True)
        configured.write_text(f"[sandbox]\nwrite = [{json.dumps(str(made.kept))}]\n")
    made.write("src/deep/code.txt", "\n")
    made.write(".gitignore", "bin/\n.ralph/logs/\n")
    made.install(example)
    made.turns()
    made.git("init", "-q", "-b", "main")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    for name, seconds in (
        ("PAUSE", "0"),
        ("POLL", "0.05"),
        ("RETRY", "0.05"),
        ("KILL_GRACE", "0.3"),
        ("ANSWERED", "60"),
        ("ABSENT", "0"),
    ):
        made.env[f"RALPH_BRIDGE_{name}_SECONDS"] = seconds
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


MakeProject = Callable[[str], Project]
"""By its kind; what the fixture `make_project` gives."""
