"""A project of ralphy's with three tasks, of which the second is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.examples import MakeProject, Project

CONFIG = """\
project:
  name: "Night"
  language: Python
commands:
  test: make test
rules:
  - Keep it small
  - |
    Two lines:
    ```text
    fenced
    ```
boundaries:
  never_touch: ["*.lock", .env, "docs/**", vendor/]
"""
_PRD = "# PRD\n\n## Parser \u00fc\n\n- [ ] one\n  the details of one\n- [x] zero\n* [ ] none\n\n- [ ] two"
PRD = _PRD.replace("\n", "\r\n")


@dataclass
class Ralphy:
    """What the tests do with it: `turns` are bash, as the example's program runs them."""

    project: Project

    def put(self, **files: str) -> None:
        for name, text in files.items():
            path = self.project.path / name.replace("__", "/").replace("_md", ".md")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())

    def read(self, name: str = "PRD.md") -> str:
        return (self.project.path / name).read_bytes().decode()

    def run(self, *options: str, turns: tuple[str, ...] = (), otherwise: str = "work") -> tuple[int, str]:
        """Run the loop to its end: its exit status, and what it said."""
        keep = "cat > $kept/turn.$turn/prompt; printf '%s\\n' \"$@\" > $kept/turn.$turn/words; "
        self.project.turns(*(keep + each for each in turns), otherwise=keep + otherwise)
        loop = self.project.start(*options, RALPH_BRIDGE_RETRY_SECONDS="0.01")
        return loop.finished(), loop.said

    def prompt(self, turn: int) -> str:
        return self.project.of_turn(turn, "prompt")


@pytest.fixture
def ralphy(make_project: MakeProject) -> Ralphy:
    found = Ralphy(make_project("ralphy"))
    (found.project.path / ".ralphy/config.yaml").write_text(CONFIG)
    (found.project.path / "PRD.md").write_bytes(PRD.encode())
    found.project.git("add", "-A")
    found.project.git("commit", "-qm", "ready")
    return found
