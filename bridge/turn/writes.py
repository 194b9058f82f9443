"""Has the agent written a file yet? The eyes of the write heartbeat."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

PRUNED = (".ralph", ".git", "node_modules", ".next", "dist", "build", "__pycache__", ".turbo")
"""Folders at the top of the project in which a write is none."""

_CLOCK_LAG = 20_000_000
"""Nanoseconds by which the file system's clock may be behind ours."""


def wrote_since(project: Path, since_ns: int, *, pruned: Collection[str] = PRUNED) -> bool:
    """Say whether a regular file of the project was modified at or after a time.

    Args:
        project: the folder to search; folders of `pruned` at its top are left out.
        since_ns: nanoseconds since the epoch.
        pruned: see there.
    """
    top = str(project)
    folders = [top]
    while folders:
        folder = folders.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if folder == top and entry.name in pruned:
                    continue
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    seen = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(seen.st_mode) and seen.st_mtime_ns >= since_ns:
                        return True
    return False


class Writes:
    """Watches one run. The first written file disarms it for the rest of the run.

    Args:
        project: where files are written.
        timeout: seconds within which the first one has to be.
        every: seconds between two looks.
    """

    def __init__(self, project: Path, *, timeout: float, every: float) -> None:
        self.timeout = timeout
        self._project = project
        self._every = every
        self._since = time.time_ns() - _CLOCK_LAG
        self._began = self._looked = time.monotonic()
        self._armed = True

    @property
    def tick(self) -> float:
        """Seconds after which :meth:`missed` wants to be asked again."""
        return max(0.01, min(self._every, self.timeout))

    def missed(self) -> bool:
        """Say whether the time is up and nothing was written. Looks as often as it should, however often asked."""
        now = time.monotonic()
        late = now - self._began >= self.timeout
        if not self._armed or not (late or now - self._looked >= self._every):
            return False
        self._looked = now
        if wrote_since(self._project, self._since):
            self._armed = False
            return False
        return late
