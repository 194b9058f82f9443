"""Where loops of each kind keep their state in a project: one loop at a time, whatever its kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["at_work", "other_folders", "state_folders"]

_FOLDERS = (".ralph", ".ralph/logs", "logs", ".claude/ralph")
"""bmalph and plain; ralph-loop in .ralph, and at the project's root; wiggum."""


def state_folders(project: Path) -> tuple[Path, ...]:
    """Every folder in which a loop in this project would hold its lock."""
    return tuple(project / name for name in _FOLDERS)


def other_folders(folder: Path, project: Path) -> tuple[Path, ...]:
    """The same, without the loop's own."""
    own = os.path.realpath(folder)
    return tuple(each for each in state_folders(project) if os.path.realpath(each) != own)


def at_work(project: Path) -> int | None:
    """Give the process of the loop of any kind that is at work in a project, the original controller's included.

    Returns:
        Its pid; 0 when it has not said yet who it is; None when there is none.

    Raises:
        ConfigurationError: RALPH_DIR can't be used.
        ProjectUnusable: a lock can't be looked at.
    """
    from bridge.loop.standing import holder_pid
    from bridge.process import table
    from bridge.setups.bmalph.folder import locate

    for folder in dict.fromkeys((locate(project).path, *state_folders(project))):
        if (pid := holder_pid(folder)) is not None:
            return pid
    return next(iter(table.running_in(project, "ralph_loop.sh")), None)
