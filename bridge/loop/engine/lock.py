"""One loop per project: a lock that goes with the process that holds it, and names it to others (trap T16);
and where a loop stands, by that lock and the record of its run."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base import timestamps
from bridge.base.files import descriptor, leads_to, open_file
from bridge.base.process.table import command_of, holding_deleted
from bridge.errors import ProjectBusy, ProjectUnusable
from bridge.loop.engine.run_record import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bridge.loop.engine.run_record import RunRecord

FILE = ".ralph_bridge.lock"
_PATIENCE = 0.2
"""Seconds: whoever only looks (`is_locked`) holds it for microseconds."""


class Lent(NamedTuple):
    """A lock that its holder lends to the loops that it runs one after the other.

    Attributes:
        folder: of their state. renew: what `one_loop` has given. task: what the next of them is about.
        worked: names of the tools that have worked in one of them.
    """

    folder: Path
    renew: Callable[[], None]
    task: str
    worked: set[str]


_lent: ContextVar[Lent | None] = ContextVar("lent", default=None)


@contextmanager
def lent(lock: Lent) -> Iterator[None]:
    """Have a loop that takes its lock while the block runs take this one."""
    token = _lent.set(lock)
    try:
        yield
    finally:
        _lent.reset(token)


def lent_for(folder: Path) -> Lent | None:
    lock = _lent.get()
    return lock if lock is not None and os.path.realpath(lock.folder) == os.path.realpath(folder) else None


@contextmanager
def one_loop(folder: Path, project: Path, *, others: Iterable[Path] = ()) -> Iterator[Callable[[], None]]:
    """Hold the lock of a project while the block runs; gives what takes it anew when a tool has deleted its file.

    The kernel drops it when its holder ends, however that ends: there are no stale locks. Tools don't inherit it.
    Begin the run (:func:`~bridge.loop.engine.run_record.begin_run`) first of all: its record names the holder.
    ``git clean -fdx`` takes the file, and the next loop makes a new one: call what the block is given from time to
    time. Meanwhile whoever holds the deleted file counts as well, where that shows (Linux).

    Args:
        folder: the folder of the loop's state; it exists.
        project: the project, for messages.
        others: folders of state that loops of other kinds would hold in the same project.

    Raises:
        ProjectBusy: another loop is at work; says which process, since when, started how.
        ProjectUnusable: the folder is not there, or not writable, or its file system has no locks.
    """
    if (lock := lent_for(folder)) is not None:
        yield lock.renew
        return
    path = folder / FILE
    held = _taken(path, project)

    def renew() -> None:
        nonlocal held
        if not leads_to(path, held):
            anew = _taken(path, project)
            os.close(held)
            held = anew

    try:
        for other in others:
            if is_locked(other):
                raise ProjectBusy(_refusal(other, project))
        deleted = (os.path.join(os.path.realpath(each), FILE) for each in (folder, *others))
        if (pid := next(iter(holding_deleted(*deleted)), None)) is not None:
            raise ProjectBusy(_refusal(folder, project, pid))
        yield renew
    finally:
        os.close(held)


def _taken(path: Path, project: Path) -> int:
    import fcntl

    end = time.monotonic() + _PATIENCE
    while True:
        try:
            held = descriptor(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if leads_to(path, held):  # else somebody has deleted the file meanwhile
                    os.ftruncate(held, 0)
                    os.write(held, b"%d\n" % os.getpid())  # for people, and for scripts: the lock says whose it is
                    return held
            except BaseException:
                os.close(held)
                raise
            os.close(held)
        except BlockingIOError:
            if time.monotonic() > end:
                raise ProjectBusy(_refusal(path.parent, project)) from None
            time.sleep(_PATIENCE / 10)
        except ProjectUnusable:
            raise
        except OSError as error:
            raise ProjectUnusable(_unusable(path, error.strerror or str(error))) from error


def is_locked(folder: Path) -> bool:
    """Say whether a loop is at work. Creates nothing.

    Raises:
        ProjectUnusable: it can't be told.
    """
    import fcntl

    path = folder / FILE
    try:
        with open_file(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except (FileNotFoundError, NotADirectoryError):
        return False
    except ProjectUnusable:
        raise
    except OSError as error:
        raise ProjectUnusable(_unusable(path, error.strerror or str(error))) from error


def holder(folder: Path) -> RunRecord | None:
    """Return the run that is at work here, None when there is none (or it has not said yet who it is)."""
    run = read_run(folder)
    return run if run is not None and run.end is None and run.alive and is_locked(folder) else None


def _refusal(folder: Path, project: Path, holder: int | None = None) -> str:
    run = read_run(folder)
    if run is not None and run.end is None and run.alive:
        pid, since, command = run.pid, f", since {timestamps.local(run.since)}", run.command
    elif holder is not None:  # a tool has deleted the record, too
        pid, since, command = holder, "", command_of(holder)
    else:  # it has only just taken the lock
        return f"another loop is starting in {project}\n  next: look with `ralph-bridge status`"
    return (
        f"another loop is running in {project}: process {pid}{since}"
        f"\n  command: {command}\n  next: wait for it (`ralph-bridge status`), or end it: kill {pid}"
    )


def _unusable(path: Path, reason: str) -> str:
    return (
        f"the lock {path} can't be taken: {reason}\n  next: check that {path.parent} exists and may be written to"
    )


Word = Literal["none", "starting", "running", "waiting", "ended", "killed"]


class Standing(NamedTuple):
    """Where a loop stands.

    Attributes:
        word: ``none`` has run yet; ``starting``: its lock is held and its record not written; ``killed``: it is not
            running and did not end in order.
        run: the record of the run at work, or of the last one; None without.
    """

    word: Word
    run: RunRecord | None

    @property
    def running(self) -> bool:
        return self.word in ("starting", "running", "waiting")


def standing(folder: Path) -> Standing:
    """Look at the folder of a loop's state.

    Raises:
        bridge.errors.ProjectUnusable: its files can't be read.
    """
    # The lock before the record: a loop writes why it ends before it lets go of the lock.
    locked = is_locked(folder)
    run = read_run(folder)
    if not locked and run is not None and run.end is None and run.alive:  # it has only just begun
        locked, run = is_locked(folder), read_run(folder)
    if locked and (run is None or run.end is not None or not run.alive):
        return Standing("starting", run)
    if run is None:
        return Standing("none", None)
    if run.end is not None:
        return Standing("ended", run)
    if not (locked and run.alive):
        return Standing("killed", run)
    return Standing("waiting" if run.pause is not None else "running", run)


def holder_pid(folder: Path) -> int | None:
    """Give the process whose loop is at work (0: it has not said yet who it is), or None."""
    where = standing(folder)
    if not where.running:
        return None
    return where.run.pid if where.run is not None and where.word != "starting" else 0
