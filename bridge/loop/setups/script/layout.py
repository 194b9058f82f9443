"""Where a project's own loop script is looked for, by its name."""

from __future__ import annotations

import fnmatch
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDERS = (
    *("", "scripts", "script", "scripts/ralph", "ralph", "plans", "bin", "tools", "tools/ralph"),
    *(".claude", ".agents", ".agents/*", ".agents/*/*"),
)
_NAMES = ("ralph*.sh", "loop*.sh", "afk*.sh", "run-ralph*.sh", "run_ralph*.sh", "run-loop*.sh")
_PLACES = {**dict.fromkeys(_FOLDERS, _NAMES), ".ralph": ("*.sh",)}
PATTERNS = tuple(f"{folder}/{name}".lstrip("/") for folder, names in _PLACES.items() for name in names)
"""Its possible paths, relative to the project; ``*`` stands for anything in a part of the path."""
_MOST = 60


def usual(project: Path) -> Iterator[Path]:
    """The files of a project that are named so, in the order of the patterns."""
    for folder, patterns in _PLACES.items():
        for place in sorted(project.glob(folder))[:_MOST] if "*" in folder else [project / folder]:
            try:
                names = sorted(os.listdir(place))
            except OSError:
                continue
            yield from (place / each for pattern in patterns for each in fnmatch.filter(names, pattern))


def is_place(folder: Path) -> bool:
    """Whether a folder is one in which a project above may have its scripts, by its name."""
    if (folder / ".git").exists():
        return False
    ways = (place.split("/") for place in filter(None, _FOLDERS))
    return any(
        len(parts) < len(folder.parts) and all(map(fnmatch.fnmatch, folder.parts[-len(parts) :], parts))
        for parts in ways
    )
