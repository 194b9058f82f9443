"""The same loop in a project of each kind: a scripted agent, how it is started, and the commands beside it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tests import command
from tests.command import MAIN
from tests.setups.ralph_loop.conftest import AGENT, CONFIG, CONTROLLER

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("plain", "bmalph", "frankbria", "ralph-loop", "wiggum")
PATIENCE = 30.0
_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org")
_RESULT = '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s-1"}'
_SAY = f"say() {{ printf '{_RESULT}\\n' \"$1\"; }}"
_LIMIT = {"type": "result", "subtype": "success", "is_error": True, "session_id": "s"}
_LIMIT["result"] = "You've hit your session limit · resets 3am"
_PROGRAM = r"""
case " $* " in *" --version "*) echo 2.1.9 '(Claude Code)'; exit ;; esac
run=$(( $(cat "$kept/runs" 2> /dev/null || echo 0) + 1 )); echo $run > "$kept/runs"
echo $$ > "$kept/pid"
echo "run $run" >> work.txt
[ -e "$kept/$run" ] && . "$kept/$run" || . "$kept/else"
"""
DONE = {
    "plain": "say '---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---'",
    "bmalph": "say '---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---'",
    "frankbria": "sed -i 's/\\[ \\]/[x]/' .ralph/fix_plan.md; say done",
    "ralph-loop": "say '<promise>COMPLETE</promise>'",
    "wiggum": "say '<promise>COMPLETE</promise>'",
}


@dataclass
class Loops:
    """A project with a loop of one kind; what its agent keeps lies beside it."""

    kind: str
    path: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> Path:
        return self.path.parent / "kept"

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def runs(self, *steps: str) -> None:
        """What the agent does in its first runs, bash code each; after those it is done."""
        for number, step in enumerate(steps, 1):
            (self.kept / str(number)).write_text(step + "\n")

    @property
    def held(self) -> str:
        """What an agent does that says something, says that it is up, and waits to be let go."""
        for name in ("up", "go"):
            if not (self.kept / name).exists():
                os.mkfifo(self.kept / name)
        return f"say 'First words. And more.'; echo x > {self.kept / 'up'}; read -r _ < {self.kept / 'go'}"

    def wait_until_up(self) -> None:
        pipe = os.open(self.kept / "up", os.O_RDONLY | os.O_NONBLOCK)
        end = time.monotonic() + PATIENCE
        while not select.select([pipe], [], [], 0.1)[0] or not os.read(pipe, 100):
            assert time.monotonic() < end, "the agent was not started"
        os.close(pipe)

    def let_go(self) -> None:
        (self.kept / "go").write_text("\n")

    def limit(self) -> str:
        """What an agent does whose provider has had enough."""
        path = self.kept / "limit"
        path.write_text(json.dumps(_LIMIT) + "\n")
        return f"cat {path}; exit 1"

    @property
    def env(self) -> dict[str, str]:
        ours = ("RALPH_", "PLATFORM_DRIVER", "CLAUDE", "AGENT", "NO_COLOR", "FORCE_COLOR")
        env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return env | {
            "PATH": f"{self.path.parent / 'bin'}:{env['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RALPH_BRIDGE_PAUSE_SECONDS": "0",
            "RALPH_BRIDGE_KILL_GRACE_SECONDS": "0.5",
            **self.more,
        }

    def start(self, *words: str, folder: str = ".") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*MAIN, *words],
            cwd=self.path / folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
        done = command.run(words, cwd=self.path / folder, env=self.env)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def loop(self, *options: str, folder: str = ".") -> subprocess.Popen[str]:
        """Start the loop."""
        words = {
            "plain": ("run", "--no-live"),
            "bmalph": ("run", "--no-live"),
            "frankbria": ("run",),
            "ralph-loop": ("run", "prompt", str(self.path / "todo.md")),
            "wiggum": ("wiggum", "start", "--no-live"),
        }[self.kind]
        return self.start(*words, *options, folder=folder)

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

    def agent_is_gone(self) -> bool:
        pid = int((self.kept / "pid").read_text())
        end = time.monotonic() + PATIENCE
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *_IDENTITY, *words], cwd=self.path, check=True, capture_output=True, text=True
        )
        return done.stdout


def made(kind: str, folder: Path) -> Loops:
    """A project of that kind, with a sub-folder ``src/deep``."""
    loops = Loops(kind, folder / "project")
    loops.kept.mkdir(parents=True)
    loops.write("src/deep/code.txt", "\n")
    say = "say() { printf 'TEXT:%s\\n' \"$1\"; }" if kind == "ralph-loop" else _SAY
    name = "amp" if kind == "ralph-loop" else "claude"
    # An agent that leaves its prompt unread may end before `cat PROMPT` has written it: a failure, by pipefail.
    reads = "cat > /dev/null" if kind == "ralph-loop" else ""
    loops.write(f"../bin/{name}", f"#!/usr/bin/env bash\nkept={loops.kept}\n{say}\n{reads}\n{_PROGRAM}", 0o755)
    (loops.kept / "else").write_text(DONE[kind] + "\n")
    if kind == "wiggum":
        loops.write("PROMPT.md", "Do it. Then say <promise>COMPLETE</promise>.\n")
        loops.write("fix_plan.md", "- [ ] one\n- [ ] two\n")
    elif kind == "ralph-loop":
        loops.write("todo.md", "Do it. Then say <promise>COMPLETE</promise>.\n")
        loops.write("specs/one.md", "# One\n")
        loops.write(".ralph/ralph", CONTROLLER, 0o755)
        loops.write(".ralph/lib/plan-filter.sh", "exit 9\n")
        loops.write(".ralph/config", CONFIG)
        loops.write(".ralph/agents/amp.sh", AGENT)
    else:
        loops.write(".ralph/PROMPT.md", "Do it.\n")
        loops.write(".ralph/@fix_plan.md", "- [ ] one\n- [ ] two\n") if kind == "bmalph" else None
        loops.write(".ralph/.ralphrc", "PLATFORM_DRIVER=claude-code\n") if kind == "bmalph" else None
    if kind == "frankbria":
        loops.write(".ralph/fix_plan.md", "- [ ] one\n- [ ] two\n")
        loops.write(".ralph/AGENT.md", "Run the tests.\n")
        loops.write(".ralphrc", "CLAUDE_AUTO_UPDATE=false\n")
    loops.write(".gitignore", ".ralph/logs/\n.ralph/.*\n.ralph/*.json\n.ralph/live.log\n.ralph/last_agent_output\n")
    loops.git("init", "-q", "-b", "main")
    loops.git("add", "-A")
    loops.git("commit", "-qm", "first")
    return loops
