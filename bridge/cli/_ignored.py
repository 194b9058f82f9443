"""What people are told when git would take the loop's state for work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.cli._terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def note_unignored(project: Path, folder: str, names: Sequence[str]) -> None:
    """Say in one line that an agent's ``git add -A`` would commit the loop's state; nothing where there is no git.

    Args:
        project: the project's folder.
        folder: of the state, as people in the project would write it.
        names: samples of its files, relative to the project.
    """
    from bridge.git.ignore import unignored

    if unignored(project, names):
        say(f"note: git does not ignore the loop's state in {folder}; next: ralph-bridge doctor --fix")
