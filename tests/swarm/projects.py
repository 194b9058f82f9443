"""A project for swarms, with a scripted CLI: what stands behind the colon of a task is what the agent does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil

from tests import command
from tests.command import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLI = r"""#!/usr/bin/env bash
cat > /dev/null
plan=.ralph/@fix_plan.md
task=$(sed -n 's/^- \[ \] //p' $plan | head -n 1)
echo "$RALPH_TASK $RALPH_WORKER $RALPH_PORT_BASE $RALPH_PORT_COUNT $$" >> "$NOTES/started"
echo "I begin with $task."
eval "${task#*: }" || exit
sed -i '0,/^- \[ \]/s//- [x]/' $plan
echo "Done with $task."
grep -q '^- \[ \]' $plan ||
    printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""
DRIVER = """
driver_name() { echo mine; }
driver_display_name() { echo "My Own"; }
driver_cli_binary() { echo my-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash); }
driver_build_command() { CLAUDE_CMD_ARGS=(my-cli "$(cat "$1")"); }
driver_supports_live_output() { return 1; }
"""
HOLD = 'echo "$RALPH_TASK" >> "$NOTES/holding"; setsid sleep 1000 & sleep 1000'
"""What an agent does that never ends by itself, and leaves something running in a session of its own."""
PATIENCE = 60.0


@dataclass
class Project:
    """A plain project in a repository; `env` is what commands in it run with."""

    path: Path
    notes: Path
    env: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def plan(self, *tasks: str) -> None:
        self.write(".ralph/@fix_plan.md", "# Plan\n\n" + "".join(f"- [ ] {task}\n" for task in tasks))
        self.commit("the plan")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=cwd or self.path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return command.run(words, cwd=self.path, env=self.env)

    def swarm(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.command("swarm", *words)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start it as a process of its own."""
        with open(self.notes / "out", "ab") as out, open(self.notes / "err", "ab") as err:
            return command.start(
                ["swarm", *words], cwd=self.path, env=self.env, stdout=out, stderr=err, start_new_session=True
            )

    def seen(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.swarm("status", "--json", *words).stdout)
        return found

    def outcomes(self, *words: str) -> dict[str, str | None]:
        return {each["title"].partition(":")[0]: each["outcome"] for each in self.seen(*words)["tasks"]}

    def result(self, name: str, run: str | None = None) -> str:
        """A file as it is on the swarm's branch."""
        branch = f"ralph/swarm/{run}" if run else self.seen()["branch"]
        return self.git("show", f"{branch}:{name}")

    def started(self) -> list[str]:
        path = self.notes / "started"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def refs_hold(self, text: str) -> bool:
        """Whether some branch has a file with this text."""
        names = self.git("for-each-ref", "--format=%(refname)", "refs/heads").splitlines()
        return any(
            subprocess.run(["git", "grep", "-q", "-F", text, name], cwd=self.path, check=False).returncode == 0
            for name in names
        )

    def lines(self, text: str) -> set[str]:
        """The lines with this text in files of any branch."""
        names = self.git("for-each-ref", "--format=%(refname)", "refs/heads").splitlines()
        found = subprocess.run(
            ["git", "grep", "-h", "-F", text, *names], cwd=self.path, capture_output=True, text=True, check=False
        )
        return {*found.stdout.splitlines()}

    def processes(self) -> list[str]:
        """What is still running of agents, workers and hosts: all have the folder of notes in the environment."""
        found = []
        for each in psutil.process_iter():
            try:
                if each.environ().get("NOTES") == str(self.notes) and each.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{each.pid} {' '.join(each.cmdline())[:300]}")
            except psutil.Error:
                continue
        return found

    def pids(self) -> list[int]:
        return [int(line.split()[0]) for line in self.processes()]


def make(folder: Path) -> Project:
    notes = folder / "notes"
    notes.mkdir(parents=True)
    made = Project(folder / "project", notes)
    made.env = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "RALPH_"))},
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NOTES": str(notes),
        "XDG_STATE_HOME": str(folder / "state"),
        "PLATFORM_DRIVER": "mine",
        "RALPH_BRIDGE_RETRY_SECONDS": "0",
        "RALPH_BRIDGE_KILL_GRACE_SECONDS": "0.3",
    }
    made.write("../bin/my-cli", CLI, 0o755)
    made.write(".ralph/drivers/mine.sh", DRIVER)
    made.write(".ralph/PROMPT.md", "Do the next task.\n")
    made.write(".gitignore", ".ralph/logs/\n.ralph/status.json\n.ralph/live.log\n.ralph/.*\nignored/\n")
    made.write("shared.txt", "one\ntwo\nthree\n")
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "t")
    made.git("config", "user.email", "t@example.org")
    made.commit("first")
    return made


def until(what: Callable[[], object], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
