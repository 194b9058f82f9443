"""One loop per project: a lock that goes with the process that holds it, and names it to others (trap T16)."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge import timestamps
from bridge.errors import ProjectBusy, ProjectUnusable
from bridge.loop.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bridge.loop.runs import RunRecord

__all__ = ["FILE", "holder", "is_locked", "one_loop"]

FILE = ".ralph_bridge.lock"


@contextmanager
def one_loop(folder: Path, project: Path, *, others: Iterable[Path] = ()) -> Iterator[Callable[[], None]]:
    """Hold the lock of a project while the block runs; gives what takes it anew when a tool has deleted its file.

    The kernel drops it when its holder ends, however that ends: there are no stale locks. Tools don't inherit it.
    Begin the run (:func:`~bridge.loop.runs.begin_run`) first thing inside: its record is what names the holder.
    ``git clean -fdx`` takes the file, and the next loop would lock a new one: call what the block is given from
    time to time.

    Args:
        folder: the folder of the loop's state; it exists.
        project: the project, for messages.
        others: folders of state that loops of other kinds would hold in the same project.

    Raises:
        ProjectBusy: another loop is at work; says which process, since when, started how.
        ProjectUnusable: the folder is not there, or not writable, or its file system has no locks.
    """
    from filelock import FileLock, Timeout

    path = folder / FILE
    if not folder.is_dir():  # which filelock would create
        raise ProjectUnusable(_unusable(path, "there is no such folder"))
    # A moment's patience: whoever only looks (`is_locked`) holds it for microseconds.
    lock = FileLock(path, timeout=0.2, poll_interval=0.02, thread_local=False)

    def acquire() -> None:
        try:
            lock.acquire()
            with open(path, "wb") as file:  # for people, and for scripts: the lock says whose it is
                file.write(b"%d\n" % os.getpid())
        except Timeout:
            raise ProjectBusy(_refusal(folder, project)) from None
        except NotImplementedError as error:
            raise ProjectUnusable(_unusable(path, "its file system has no locks")) from error
        except OSError as error:
            raise ProjectUnusable(_unusable(path, error.strerror or str(error))) from error

    def renew() -> None:
        if not path.exists():
            lock.release()
            acquire()

    acquire()
    try:
        for other in others:
            if is_locked(other):
                raise ProjectBusy(_refusal(other, project))
        yield renew
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Say whether a loop is at work. Creates nothing.

    Raises:
        ProjectUnusable: it can't be told.
    """
    import fcntl

    path = folder / FILE
    try:
        # Not blocking: a FIFO in its place would hold us for ever.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ProjectUnusable(_unusable(path, error.strerror or str(error))) from error


def holder(folder: Path) -> RunRecord | None:
    """Return the run that is at work here, None when there is none (or it has not said yet who it is)."""
    run = read_run(folder)
    return run if run is not None and run.end is None and run.alive and is_locked(folder) else None


def _refusal(folder: Path, project: Path) -> str:
    run = read_run(folder)
    if run is None or run.end is not None or not run.alive:  # it has only just taken the lock
        return f"another loop is starting in {project}\n  next: look with `ralph-bridge status`"
    return (
        f"another loop is running in {project}: process {run.pid}, since {timestamps.local(run.since)}"
        f"\n  command: {run.command}\n  next: wait for it (`ralph-bridge status`), or end it: kill {run.pid}"
    )


def _unusable(path: Path, reason: str) -> str:
    return (
        f"the lock {path} can't be taken: {reason}\n  next: check that {path.parent} exists and may be written to"
    )
