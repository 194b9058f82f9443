"""What a running job holds: processes, a folder and descriptors; and how each is let go of."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from bridge.process import guardian, processes

if TYPE_CHECKING:
    from bridge.shell.coprocess import Coprocess
    from bridge.shell.sources import Source


KILLED = 128 + signal.SIGKILL
"""Status of a hook whose keeper didn't live to tell it."""


class Place(NamedTuple):
    """Where a job runs: what is needed to end it, whoever still knows of it."""

    process: Coprocess
    folder: str
    group: int
    older: frozenset[int]
    met: dict[int, tuple[int, int]]
    """Group and session of each member when last looked: one that has left both isn't found any more by its
    family once its parent has ended, which the first signal brings about."""

    def members(self) -> set[int]:
        """Pids of everything that belongs to the job."""
        others = self.process.jobs - {self.group}
        return processes.of_job(self.group, self.process.pid, older=self.older, others=others, met=self.met)

    def send(self, number: signal.Signals) -> bool:
        """Signal everything; False when there is nothing left. The group at once: one that bash is just about to
        fork would be missed, and bash doesn't give in to an INT that its child survives.
        """
        left = self.members()
        for step in (number, signal.SIGCONT) if left else ():
            with contextlib.suppress(OSError):
                os.killpg(self.group, step)
            processes.send(step, (pid for pid in left if _group_of(pid) != self.group))
        return bool(left)

    def kill(self, *, patience: float = 2.0) -> None:
        """End everything at once; the keeper only when it doesn't by itself, so that it can tell the status."""
        begun = time.monotonic()
        while (left := self.members()) and (waited := time.monotonic() - begun) < patience:
            others = left - {self.group}
            processes.send(signal.SIGKILL, others or (left if waited > patience / 4 else ()))
            processes.send(signal.SIGCONT, left)
            time.sleep(0.001)

    def forget(self) -> None:
        """When nothing of it runs any more."""
        guardian.release(self.group)
        self.process.jobs.discard(self.group)
        with contextlib.suppress(OSError):  # where this process adopts orphans, as the first in a container does
            os.waitpid(self.group, os.WNOHANG)
        shutil.rmtree(self.folder, ignore_errors=True)


class Ends:
    """The host's descriptors and the source of one job, each let go of once."""

    def __init__(self, stdout: int) -> None:
        self.stdout = stdout
        self.stdin = self.stderr = -1
        self.source: Source | None = None
        self.alone = False
        """Whether nothing of the job was running any more when it was last looked for."""

    def close_stdin(self) -> None:
        """May be repeated, as all of these."""
        fd, self.stdin = self.stdin, -1
        if fd >= 0:
            os.close(fd)

    def close_stderr(self) -> None:
        """What it writes there is nobody's business any more."""
        fd, self.stderr = self.stderr, -1
        if fd >= 0:
            os.close(fd)

    def close_source(self) -> None:
        """It is fed no more."""
        source, self.source = self.source, None
        if source is not None:
            source.close()

    def close(self) -> None:
        """Everything."""
        self.close_descriptors()
        self.close_source()

    def close_descriptors(self) -> None:
        """Everything but the source, which a forked child must not touch."""
        self.close_stdin()
        self.close_stderr()
        fd, self.stdout = self.stdout, -1
        if fd >= 0:
            os.close(fd)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def status_in(folder: str) -> int:
    """What the keeper has written; nothing when it was killed, and so the hook."""
    try:
        with open(f"{folder}/status", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return KILLED


def dispose(place: Place, ends: Ends, keeper: processes.Watch, bash: processes.Watch) -> None:
    """End what is left of a job and free everything."""
    if not ends.alone:
        place.kill()
    place.forget()
    keeper.close()
    bash.close()
    ends.close()
