"""Which folder is the project: the one that commands are given, or the nearest above that has a loop's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["project_above"]

_SIGNS = (".ralph", ".claude/ralph-state.json", ".claude/ralph", "PROMPT.md")
_CONTROLLER = ("ralph", "config", "agents")


def project_above(folder: Path, *, home: Path | None = None) -> Path:
    """Return the nearest of `folder` and the folders above it that has a loop's files; `folder` if none has.

    As git does, so that commands work from any folder below the project. The search goes no further up than the
    top of the git repository, nor into the user's home folder from below.

    Args:
        folder: where to begin, absolute.
        home: the user's home folder; None: from the environment.
    """
    top = home if home is not None else _home()
    for here in (folder, *folder.parents):
        if here == top and here != folder:
            break
        if _has_loop(here):
            return here
        if (here / ".git").exists():
            break
    return folder


def _has_loop(folder: Path) -> bool:
    if folder.name == ".ralph":  # the loop's own folder, which holds its prompt or its controller
        return False
    return any((folder / sign).exists() for sign in _SIGNS) or all((folder / name).exists() for name in _CONTROLLER)


def _home() -> Path | None:
    from pathlib import Path

    given = os.environ.get("HOME", "")
    return Path(given) if given else None
