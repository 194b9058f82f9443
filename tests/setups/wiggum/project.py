"""A project with a git repository, a scripted agent, and the Stop hook and the command line in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bridge.loop.setups.wiggum.files import Layout
from bridge.loop.setups.wiggum.hook import answer
from bridge.loop.setups.wiggum.transcript import last_message
from tests import command

if TYPE_CHECKING:
    from bridge.loop.setups.wiggum.hook_call import HookResponse

ROOT = Path(__file__).resolve().parents[3]
OURS = (
    *("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "CLAUDE_PROJECT_DIR", "CLAUDE_TRANSCRIPT"),
    *("PLATFORM_DRIVER", "RALPH_COMPLETION_PROMISE", "RALPH_MAX_ITERATIONS"),
)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Project:
    """A folder; `clock` goes on by a minute with each turn that the hook ends."""

    path: Path
    clock: datetime = NOW
    env: dict[str, str] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        return Layout(self.path)

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout

    @property
    def commits(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()

    def repository(self) -> None:
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.email", "ralph@example.org")
        self.git("config", "user.name", "Ralph")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "init")

    # -- the state -----------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """That of the loop at hand, else of the one that ended last."""
        path = self.layout.state
        if not path.exists():
            path = max((self.layout.folder / "archive").glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def keep(self, **values: Any) -> None:
        """Write a state of a loop in a session, ready for its hook."""
        state = {"schema_version": 1, "mode": "hook", "iteration": 0, "run_id": "run", "task_name": "Port it"}
        self.write(".claude/ralph-state.json", json.dumps(state | values))

    def hook(self, legacy: bool = False, **given: Any) -> HookResponse:
        """Call the Stop hook in this process; ``None`` leaves a key out, `raw` is its whole input."""
        env = given.pop("env", {})
        raw = given.pop("raw", None)
        call = {"session_id": "mine", "cwd": str(self.path), "hook_event_name": "Stop", "stop_hook_active": True}
        call |= {"last_assistant_message": "Worked on it.", **given}
        call = {key: value for key, value in call.items() if value is not None}
        self.clock += timedelta(minutes=1)
        return answer(
            json.dumps(call).encode() if raw is None else raw,
            env=env,
            cwd=self.path,
            legacy=legacy,
            now=lambda: self.clock,
            transcript=lambda path: last_message(path, wait=lambda _seconds: None),
        )

    # -- processes -----------------------------------------------------------------------------------

    @property
    def environment(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if name not in OURS}
        return env | {"PATH": f"{self.path / 'bin'}:{env['PATH']}", "PYTHONPATH": str(ROOT)} | self.env

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        return command.start(arguments, cwd=self.path, env=self.environment | env)

    def run(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        done = command.run(arguments, cwd=self.path, env=self.environment | env, stdin=stdin.encode())
        assert "Traceback" not in done.stderr, done.stderr
        assert "a bug of ours" not in done.stderr, done.stderr
        return done

    def wiggum(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("wiggum", *arguments, **env)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.wiggum("status", "--json").stdout)
        return found

    @property
    def turns(self) -> list[str]:
        """The prompts that the agent was given."""
        return [path.read_text() for path in sorted((self.path / "bin" / "turns").glob("*"))]

    def claude(self, code: str) -> None:
        """Put a `claude` on PATH: bash code that says something on stdout, wrapped as the CLI wraps a result."""
        self.write("bin/said", f"#!/usr/bin/env bash\n{SAID}\n{code}\n", 0o755)
        self.write("bin/claude", CLAUDE, 0o755)


def unique_seconds() -> str:
    """Give a time for `sleep` that nobody else sleeps for."""
    return f"60.{time.monotonic_ns()}"


def none_sleeps(mark: str, seconds: float = 5) -> bool:
    """Say whether each process with that word ends within so long; a zombie that nobody reaps has ended."""
    end = time.monotonic() + seconds
    while any(mark in (each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


SAID = r"""
work() { echo "turn $TURN" >> "${1:-work.txt}"; }
tick() {
    awk '!ticked && sub(/\[ \]/, "[x]") { ticked = 1 } { print }' fix_plan.md > bin/plan
    cp bin/plan fix_plan.md
}
left() { grep -c '\[ \]' fix_plan.md; }
promise() { echo "<promise>${1:-COMPLETE}</promise>"; }
"""
"""What the scripted agents can do: change a file, tick the first item, count the open ones, give the promise."""

CLAUDE = f"""#!{sys.executable}
import json, os, subprocess, sys
count = len(os.listdir("bin/turns")) + 1 if os.path.isdir("bin/turns") else 1
os.makedirs("bin/turns", exist_ok=True)
prompt = sys.argv[sys.argv.index("-p") + 1]
open(f"bin/turns/{{count:04}}", "w").write(prompt)
env = {{**os.environ, "TURN": str(count), "PROMPT": prompt}}
done = subprocess.run(["bin/said"], env=env, stdout=subprocess.PIPE, text=True)
event = {{"type": "result", "subtype": "success", "is_error": False, "result": done.stdout, "session_id": "s-1"}}
print(json.dumps(event))
sys.exit(done.returncode)
"""


def new_project(folder: Path) -> Project:
    """A repository with a commit, a prompt and a plan."""
    made = Project(folder)
    made.write("PROMPT.md", "Do the next item. Then say <promise>COMPLETE</promise> or <fatal>why</fatal>.\n")
    made.write("fix_plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n")
    made.write(".gitignore", "bin/\n")
    made.repository()
    return made
