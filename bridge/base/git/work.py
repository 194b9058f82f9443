"""Was there work? Asked of git; without git, of the files themselves."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from bridge.base.git.repository import ALL_WORK, Look, Repository, find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.base.git.repository import Files

_MOST = 20_000
_PASSED_OVER = {
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "__pycache__",
    ".venv",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
}


class WorkDetector:
    """Looks at a project, and compares two looks.

    Args:
        project: its folder.
        files: which of its files are no work.
    """

    def __init__(self, project: Path, files: Files = ALL_WORK) -> None:
        self.project = project
        self.files = files
        self.git: Repository | None = find_repository(project, files)

    def look(self) -> Look:
        if self.git is not None:
            return self.git.fingerprint()
        return Look("", self._walked())

    def changed(self, before: Look, after: Look) -> bool | None:
        """Say whether there was work between two looks; None when nobody can tell: that is no "no"."""
        if self.git is not None:
            return self.git.moved(before, after)
        if before.tree is None or after.tree is None:
            return None
        return before.tree != after.tree

    def _walked(self) -> str | None:
        """Fingerprint of all files' names, sizes and times; None when they are too many."""
        digest = hashlib.sha256()
        count = 0
        for folder, folders, names in os.walk(self.project):
            folders[:] = sorted(each for each in folders if each not in _PASSED_OVER)
            inside = os.path.relpath(folder, self.project)
            for name in sorted(names):
                path = name if inside == "." else f"{inside}/{name}"
                if not self.files.is_work(path):
                    continue
                count += 1
                if count > _MOST:
                    return None
                try:
                    seen = os.lstat(os.path.join(folder, name))
                except OSError:
                    continue
                digest.update(os.fsencode(path) + f"\0{seen.st_size} {seen.st_mtime_ns} {seen.st_mode}\0".encode())
        return digest.hexdigest()
