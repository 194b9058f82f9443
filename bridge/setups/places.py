"""Where loops of each kind keep their state in a project: one loop at a time, whatever its kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["other_folders", "state_folders"]

_FOLDERS = (".ralph", ".ralph/logs", "logs", ".claude/ralph")
"""bmalph and plain; ralph-loop in .ralph, and at the project's root; wiggum."""


def state_folders(project: Path) -> tuple[Path, ...]:
    """Every folder in which a loop in this project would hold its lock."""
    return tuple(project / name for name in _FOLDERS)


def other_folders(folder: Path, project: Path) -> tuple[Path, ...]:
    """The same, without the loop's own."""
    own = os.path.realpath(folder)
    return tuple(each for each in state_folders(project) if os.path.realpath(each) != own)
