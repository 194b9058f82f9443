"""Where a wiggum project keeps what, and which of it is the loop's own. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.git.repository import Files

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILES", "Layout", "is_own"]

OWN = (".claude/ralph-state.json", ".claude/ralph-loop.local.md", ".claude/ralph/", ".claude/.ralph-")
"""What the host writes, relative to the project; the last one is temporary files. Never part of a checkpoint."""

CONTROL = ("progress.txt", ".progress.txt.")
"""What isn't the work itself either, yet is part of a checkpoint."""


def is_own(path: str) -> bool:
    """Say whether a path is the loop's own."""
    return path.startswith(OWN)


FILES = Files(
    is_own=is_own,
    is_about_work=lambda path: path.startswith(CONTROL),
    own=(*(path for path in OWN if not path.endswith("-")), ".claude/.ralph-*"),
)
"""What of a project is no work."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a project."""

    project: Path

    @property
    def state(self) -> Path:
        """Where the loop stands."""
        return self.project / ".claude" / "ralph-state.json"

    @property
    def plugin(self) -> Path:
        """The state file of the official plugin."""
        return self.project / ".claude" / "ralph-loop.local.md"

    @property
    def folder(self) -> Path:
        """The host's own: logs, archive, lock, the prompt of the turn."""
        return self.project / ".claude" / "ralph"

    @property
    def log(self) -> Path:
        """What the loop decided."""
        return self.folder / "logs" / "loop.log"

    @property
    def cancel(self) -> Path:
        """The marker that ``wiggum stop`` leaves for a loop at work."""
        return self.folder / "cancel"

    @property
    def prompt(self) -> Path:
        """The prompt, as people write it."""
        return self.project / "PROMPT.md"

    @property
    def turn_prompt(self) -> Path:
        """The prompt of the current turn, filled in."""
        return self.folder / "prompt.md"

    @property
    def plan(self) -> Path:
        """The list of items."""
        return self.project / "fix_plan.md"

    @property
    def progress(self) -> Path:
        """What each iteration did."""
        return self.project / "progress.txt"
