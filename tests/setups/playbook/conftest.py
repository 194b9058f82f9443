"""A repository with the playbook's prompts and a script, and a claude that keeps what it is given."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.examples import SETUPS, Project, project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRIPT = """\
#!/bin/bash
MODE=build; MAX=0
if [ "$1" = plan ]; then MODE=plan; MAX=${2:-0}; elif [[ "$1" =~ ^[0-9]+$ ]]; then MAX=$1; fi
BRANCH=$(git branch --show-current)
n=0
while [ $MAX = 0 ] || [ $n -lt $MAX ]; do
    cat "PROMPT_$MODE.md" | claude -p --dangerously-skip-permissions --output-format=stream-json \\
        --model opus --verbose
    @AFTER@
    n=$((n + 1))
done
"""
PUSH = 'git push origin "$BRANCH" || { echo new; git push -u origin "$BRANCH"; }'
KEEPS = 'printf "%s\\n" "$@" > "$kept/turn.$turn/argv"; cat > "$kept/turn.$turn/stdin"; '
COMMITS = KEEPS + "work; git add work.txt; git -c user.name=t -c user.email=t@x commit -qm turn.$turn work.txt"


@dataclass
class Playbook(Project):
    """See the module."""

    def given(self, turn: int) -> tuple[list[str], str]:
        """What a turn's claude got: its arguments and its stdin."""
        return self.of_turn(turn, "argv").split("\n"), self.of_turn(turn, "stdin")

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Start the script that people start."""
        command = ["./loop.sh", *words]
        env = self.environment()
        return subprocess.run(command, cwd=self.path, env=env, capture_output=True, text=True, check=False)

    def remote(self) -> Path:
        """A repository to push to."""
        path = self.path.parent / "remote.git"
        self.git("init", "-q", "--bare", str(path))
        self.git("remote", "add", "origin", str(path))
        return path


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Playbook]:
    with project(SETUPS["playbook"], tmp_path / "a name, ünïcode") as made:
        found = Playbook(made.example, made.path, made.env)
        found.write("loop.sh", SCRIPT.replace("@AFTER@", PUSH))
        found.write("PROMPT_build.md", "Build the next item.\n")
        found.write("PROMPT_plan.md", "Plan all of it.\n")
        found.turns(otherwise=KEEPS + "work")
        yield found
        found.close()
