"""What keeps the next loop from starting, cleared by hand: told by its files, so it takes no kind of setup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import ProjectBusy
from bridge.setups import kinds
from bridge.setups.projects import at_work

if TYPE_CHECKING:
    from pathlib import Path


def reset(project: Path) -> list[str]:
    """Close every open circuit breaker, and drop exit signals that an earlier run has left.

    Sessions, plans and counts of calls stay: none of them keeps a loop from starting.

    Args:
        project: the project's folder.

    Returns:
        What was done, a sentence each; empty when there was nothing to do.

    Raises:
        ProjectBusy: a loop is at work; names its process.
        ProjectUnusable: a file can't be read or written.
        bridge.errors.ConfigurationError: the state of a wiggum loop can't be read.
    """
    if (pid := at_work(project)) is not None:
        raise ProjectBusy(
            f"a loop is at work in {project} (process {pid or 'unknown'}): nothing is reset under its hands\n"
            f"  next: wait for it (`ralph-bridge status`), or end it{f': kill {pid}' if pid else ''}"
        )
    return [done for kind in kinds().values() if kind.reset is not None for done in kind.reset(project)]
