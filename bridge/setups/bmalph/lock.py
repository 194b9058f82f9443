"""One loop per project: a lock that goes with the process that holds it, and names it to others (trap T16)."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.errors import ProjectBusy, ProjectUnusable
from bridge.process.table import running_in
from bridge.setups.bmalph.files import stamps
from bridge.setups.bmalph.files.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bridge.setups.bmalph.files.runs import Run
    from bridge.setups.bmalph.folder import Folder

__all__ = ["FILE", "holder", "is_locked", "one_loop", "original_loops"]

FILE = ".ralph_bridge.lock"


@contextmanager
def one_loop(folder: Folder) -> Iterator[Callable[[], None]]:
    """Hold the project's lock while the block runs; gives what takes it anew when an agent has deleted its file.

    The kernel drops it when its holder ends, however that ends: there are no stale locks. Agents don't inherit it.
    Begin the run (:func:`~bridge.setups.bmalph.files.runs.begin_run`) first thing inside: its record is what
    names the holder. ``git clean -fdx`` takes the file, and the next loop would lock a new one: call what the
    block is given from time to time.

    Raises:
        ProjectBusy: another loop holds it; says which process, since when, started how.
        ProjectUnusable: the folder is not there, or not writable, or its file system has no locks.
    """
    from filelock import FileLock, Timeout

    if not folder.path.is_dir():  # which filelock would create
        raise ProjectUnusable(_unusable(folder, "there is no such folder"))
    # A moment's patience: whoever only looks (`is_locked`) holds it for microseconds.
    lock = FileLock(folder / FILE, timeout=0.2, poll_interval=0.02, thread_local=False)

    def acquire() -> None:
        try:
            lock.acquire()
        except Timeout:
            raise ProjectBusy(_refusal(folder)) from None
        except NotImplementedError as error:
            raise ProjectUnusable(_unusable(folder, "its file system has no locks")) from error
        except OSError as error:
            raise ProjectUnusable(_unusable(folder, error.strerror or str(error))) from error

    def renew() -> None:
        if not (folder / FILE).exists():
            lock.release()
            acquire()

    acquire()
    try:
        yield renew
    finally:
        lock.release()


def is_locked(folder: Folder) -> bool:
    """Say whether a loop is at work. Creates nothing.

    Raises:
        ProjectUnusable: it can't be told.
    """
    import fcntl

    try:
        # Not blocking: a FIFO in its place would hold us for ever.
        with open(folder / FILE, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ProjectUnusable(_unusable(folder, error.strerror or str(error))) from error


def holder(folder: Folder) -> Run | None:
    """Return the run that is at work here, None when there is none (or it has not said yet who it is)."""
    run = read_run(folder)
    return run if run is not None and run.end is None and run.alive and is_locked(folder) else None


def original_loops(project: Path) -> list[int]:
    """Return the pids of bash loops (``ralph_loop.sh``) at work in `project`; none where that can't be seen."""
    return running_in(project, "ralph_loop.sh")


def _refusal(folder: Folder) -> str:
    run = read_run(folder)
    if run is None or run.end is not None or not run.alive:  # it has only just taken the lock
        return f"another loop is starting in {folder.project}\n  next: look with `ralph-bridge status`"
    return (
        f"another loop is running in {folder.project}: process {run.pid}, since {stamps.local(run.since)}"
        f"\n  command: {run.command}\n  next: wait for it (`ralph-bridge status`), or end it: kill {run.pid}"
    )


def _unusable(folder: Folder, reason: str) -> str:
    return (
        f"the lock {folder.name_of(folder / FILE)} can't be taken: {reason}"
        f"\n  next: check that {folder.path} exists and may be written to"
    )
