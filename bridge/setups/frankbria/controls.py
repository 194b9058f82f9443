"""What is done at once: status, breaker and session, shown or reset; rollbacks. Text and code out.

Without a loop's folder nothing is created (trap F27): there is nothing to show, and nothing to reset.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from bridge.errors import ConfigurationError
from bridge.setups.dot_ralph.controls import CONTROLS, Shown
from bridge.setups.frankbria.adoption import installed
from bridge.setups.frankbria.backups import Backups
from bridge.setups.projects import project_lock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.setups.dot_ralph.folder import Folder


def act(action: str, words: Sequence[str], folder: Folder, now: float) -> Shown:
    """Do what an option asks for.

    Args:
        action: see :class:`bridge.setups.dot_ralph.flags.Arguments`.
        words: what it takes.
        folder: the loop's folder.
        now: the time.

    Raises:
        ConfigurationError: a rollback that can't be; says why.
        ProjectBusy: a rollback while a loop is at work.
        ProjectUnusable: a file can't be read or written.
    """
    if action == "queue":
        _become_queue(words)
    if action != "rollback":
        return CONTROLS[action](folder, now)
    backups = Backups(folder, os.environ)
    if words:
        if not folder.path.is_dir():
            raise ConfigurationError(f"there is no {folder.shown} in {folder.project}")
        with project_lock(folder.path, folder.project):
            return Shown(backups.back_to(words[0]) + "\n")
    names = backups.names()
    if not names:
        return Shown("There are no backups (`--backup` makes one before each run).\n", 1)
    return Shown("Backups, the newest first:\n" + "".join(f"  {name}\n" for name in names))


def _become_queue(words: Sequence[str]) -> NoReturn:
    """Become the original's queue, which is a program of its own."""
    program = installed().with_name("ralph_queue.sh")
    try:
        os.execv(program, [str(program), *map(os.fsdecode, words)])  # noqa: S606
    except OSError as error:
        raise ConfigurationError(
            f"the queue is the original's, and {program} can't be started: {error.strerror}\n  next: install it"
        ) from error
