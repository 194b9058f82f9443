"""A git project with a ralph-loop setup, and an ``amp`` on PATH that does what a test writes down for each call."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.cli.conftest import Project
from tests.command import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = """\
# ours
SPECS_DIR="specs"
PROCESS_DIR=""
DEFAULT_MAX_ITERATIONS=10
MAX_RETRIES=3
AGENT="amp"
RETRY_DELAY=0
"""
# What the agent says stands on lines "TEXT:…"; everything else that it prints is noise.
AGENT = r"""
AGENT_CLI="amp"
AGENT_ARGS="-x --stream"
agent_invoke() { cat "$1" | $AGENT_CLI $AGENT_ARGS; }
agent_extract_response() {
    while IFS= read -r line; do case $line in TEXT:*) printf '%s\n' "${line#TEXT:}" ;; esac; done < "$1"
}
agent_format_display() {
    while IFS= read -r line; do case $line in TEXT:*) printf '%s\n' "${line#TEXT:}" ;; esac; done
}
"""
# Keeps each prompt as calls/N, then runs answers/N, else answers/any, with the prompt in $prompt.
AMP = r"""
mkdir -p calls
n=$(($(ls calls | wc -l) + 1))
prompt=$(cat)
printf '%s\n' "$prompt" > calls/$n
say() { printf 'TEXT:%s\n' "$*"; }
tick() { sed -i.bak "/^### Task $1:/,/Status/s/planned/complete/" .ralph/implementation_plan.md; }
if [ -f answers/$n ]; then . ./answers/$n; elif [ -f answers/any ]; then . ./answers/any; else say working; fi
"""
CONTROLLER = """\
#!/usr/bin/env bash
# The setup's own controller: here it only says that it was run.
echo "original: $0 $*"
exit 9
"""
PLAN = """\
# Plan

Plan Type: {kind}
Plan Command: ralph plan --process

## Section A

### Task 1: one
**Status:** planned

Do one.

### Task 2: two
**Status:** planned
**Depends on:** Task 1

## Section B

### Task 3: three
**Status:** planned
**Depends on:** Task 1, Task 2
"""
COMPLETE = "<promise>COMPLETE</promise>"
REPLAN = "<promise>REPLAN</promise>"
RULE = "=" * 80


@dataclass
class Ralph(Project):
    """The project; `home` is its ``.ralph``."""

    @property
    def home(self) -> Path:
        return self.folder / ".ralph"

    @property
    def env(self) -> dict[str, str]:
        drop = ("AGENT", "PROCESS_DIR", "MAX_RETRIES", "RETRY_DELAY")
        return {name: value for name, value in super().env.items() if name not in drop}

    @contextmanager
    def terminal(self, *arguments: str) -> Iterator[pexpect.spawn[str]]:
        """The command in a terminal of its own."""
        child = pexpect.spawn(
            MAIN[0], [*MAIN[1:], *arguments], cwd=self.folder, env=self.env, timeout=30, encoding="utf-8"
        )
        try:
            yield child
        finally:
            child.close(force=True)

    def config(self, *lines: str) -> None:
        """The usual config with more lines, which win."""
        self.write(".ralph/config", CONFIG + "\n".join(lines) + "\n")

    def agent(self, *lines: str) -> None:
        """The usual agent with more lines, which win."""
        self.write(".ralph/agents/amp.sh", AGENT + "\n".join(lines) + "\n")

    def answer(self, number: int | str, code: str) -> None:
        """What amp does at its call with this number (or ``any``)."""
        self.write(f"answers/{number}", code + "\n")

    def plan(self, kind: str = "standard", text: str = PLAN) -> None:
        self.write(".ralph/implementation_plan.md", text.format(kind=kind) if text is PLAN else text)

    def prompts(self) -> list[str]:
        """The prompts that amp got, in order."""
        calls = self.folder / "calls"
        names = sorted(calls.iterdir(), key=lambda path: int(path.name)) if calls.is_dir() else []
        return [path.read_text() for path in names]

    def log(self) -> str:
        """The only log there is."""
        (path,) = (self.home / "logs").glob("session-*.log")
        return path.read_text()

    def turns(self) -> list[dict[str, object]]:
        """The records of the turns."""
        return [json.loads(line) for line in (self.home / "logs/turns.jsonl").read_text().splitlines()]

    def reason(self) -> str:
        """The line of the log that says why the session ended."""
        (line,) = re.findall(r"^Exit: .*$", self.log(), re.MULTILINE)
        return str(line)


@pytest.fixture
def ralph(tmp_path: Path) -> Ralph:
    made = Ralph(tmp_path / "project")
    made.write("specs/one.md", "# One\n")
    made.write(".ralph/ralph", CONTROLLER, 0o755)
    made.write(".ralph/lib/plan-filter.sh", "exit 9\n")
    for name in ("plan", "plan-process", "build-process", "align-specs"):
        made.write(f".ralph/prompts/{name}.md", f"prompt {name} of $MODE\n")
    made.write(".ralph/prompts/build.md", "prompt build\n${PLAN_HEADER}\n${TASK_OVERVIEW}\n")
    made.write(".ralph/prompts/build-process.md", "prompt build-process\n${SELECTED_TASK}\n--\n$ADJACENT_CONTEXT\n")
    made.config()
    made.agent()
    made.cli("amp", AMP)
    (made.folder / ".ralph/implementation_plan.md").unlink(missing_ok=True)
    subprocess.run(["git", "init", "-q", str(made.folder)], check=True)
    return made
