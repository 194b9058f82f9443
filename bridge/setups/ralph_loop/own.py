"""Which files of a ralph-loop setup the loop itself writes. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.git.repository import Files

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["own_files"]


def own_files(home: Path, folder: Path) -> Files:
    """Give what of a project is no work.

    Args:
        home: folder of the setup's own files.
        folder: the project's folder.
    """
    inside = os.path.relpath(home, folder)
    prefix = "" if inside == "." else f"{inside}/"
    own = (f"{prefix}logs/", f"{prefix}last_agent_output", f"{prefix}.ralph_bridge")
    return Files(is_own=lambda path: path.startswith(own))
