"""What a job holds of the system: its processes, and the host's descriptors; each is let go of once."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base.process import guardian
from bridge.base.process.ladder import Watch, send
from bridge.base.process.table import of_job

if TYPE_CHECKING:
    from bridge.shell.coprocess import Coprocess
    from bridge.shell.sources import Source

KILLED = 128 + signal.SIGKILL
"""Status of a hook whose keeper didn't live to write it."""


class JobProcesses(NamedTuple):
    """The processes of a job, and what is needed to end them, whoever still knows of it."""

    bash: Coprocess
    folder: str
    group: int
    older: frozenset[int]
    """What was in the session before it began."""
    last_seen: dict[int, tuple[int, int]]
    """Group and session of each member when last looked: one that has left both isn't found any more by its
    family once its parent has ended, which the first signal brings about."""

    def members(self) -> set[int]:
        others = self.bash.jobs - {self.group}
        return of_job(self.group, self.bash.pid, older=self.older, others=others, met=self.last_seen)

    def send(self, number: signal.Signals) -> bool:
        """Signal everything; False when there is nothing left. The group at once: one that bash is just about to
        fork would be missed, and bash doesn't give in to an INT that its child survives.
        """
        left = self.members()
        for step in (number, signal.SIGCONT) if left else ():
            with contextlib.suppress(OSError):
                os.killpg(self.group, step)
            send(step, (pid for pid in left if _group_of(pid) != self.group))
        return bool(left)

    def kill(self, *, patience: float = 2.0) -> None:
        """End everything at once; the keeper only when it doesn't by itself, so that it can tell the status."""
        begun = time.monotonic()
        while (left := self.members()) and (waited := time.monotonic() - begun) < patience:
            others = left - {self.group}
            send(signal.SIGKILL, others or (left if waited > patience / 4 else ()))
            send(signal.SIGCONT, left)
            time.sleep(0.001)

    def forget(self) -> None:
        guardian.release(self.group)
        self.bash.jobs.discard(self.group)
        with contextlib.suppress(OSError):  # where this process adopts orphans, as the first in a container does
            os.waitpid(self.group, os.WNOHANG)
        shutil.rmtree(self.folder, ignore_errors=True)


class JobDescriptors:
    """The host's descriptors and the source of one job, each let go of once. Everything here may be repeated."""

    def __init__(self, stdout: int) -> None:
        self.stdout = stdout
        self.stdin = self.stderr = -1
        self.source: Source | None = None
        self.nothing_left = False
        """Whether nothing of the job was running any more when it was last looked for."""

    def let_go(self, stream: Literal["stdin", "stdout", "stderr"]) -> None:
        fd = getattr(self, stream)
        setattr(self, stream, -1)
        if fd >= 0:
            os.close(fd)

    def close_source(self) -> None:
        source, self.source = self.source, None
        if source is not None:
            source.close()

    def close(self) -> None:
        self.close_descriptors()
        self.close_source()

    def close_descriptors(self) -> None:
        """Everything but the source, which a forked child must not touch."""
        self.let_go("stdin")
        self.let_go("stderr")
        self.let_go("stdout")


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


def dispose(of_job: JobProcesses, descriptors: JobDescriptors, keeper: Watch, bash: Watch) -> None:
    """End what is left of a job and free everything."""
    if not descriptors.nothing_left:
        of_job.kill()
    of_job.forget()
    keeper.close()
    bash.close()
    descriptors.close()
