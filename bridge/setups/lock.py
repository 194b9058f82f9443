"""One loop per folder: a lock that names its holder."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import ProjectBusy
from bridge.files import usable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["holder", "one_loop"]

_FILE = ".ralph-bridge.lock"
_PATIENCE = 0.2  # s: whoever only looks (`holder`) has it for microseconds


@contextmanager
def one_loop(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder` (created if need be) while the block runs; nothing of it is left afterwards.

    The operating system lets go of it when the holder dies, however it dies. Its file says who that is.

    Raises:
        ProjectBusy: another process holds it; says which.
        bridge.errors.ProjectUnusable: the folder can't be written to.
    """
    path = folder / _FILE
    with usable("the folder for logs"):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, ours = _opened(path)
    try:
        if not ours:
            raise ProjectBusy(_busy(folder, _pid(descriptor)))
        with usable("the folder for logs"):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        if ours and _is_at(path, descriptor):  # while it is held, so that nobody takes it and loses it again
            with suppress(OSError):
                path.unlink()
        os.close(descriptor)


def holder(folder: Path) -> int | None:
    """Give the process that holds the lock of `folder` (0: it has not said yet who it is), or None."""
    try:
        descriptor = os.open(folder / _FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if _locked(descriptor, shared=True) else _pid(descriptor)
    except (OSError, ImportError):
        return None
    finally:
        os.close(descriptor)


def _opened(path: Path) -> tuple[int, bool]:
    """The file that lies at `path`, and whether its lock is ours now. Its last holder may remove it under us."""
    end = time.monotonic() + _PATIENCE
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            ours = _locked(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        if (ours and _is_at(path, descriptor)) or (not ours and time.monotonic() >= end):
            return descriptor, ours
        os.close(descriptor)
        if not ours:
            time.sleep(_PATIENCE / 10)


def _locked(descriptor: int, *, shared: bool = False) -> bool:
    import fcntl  # nothing that only looks fails where there is none

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid(descriptor: int) -> int:
    told = os.pread(descriptor, 32, 0).strip()
    return int(told) if told.isdigit() else 0


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _busy(folder: Path, pid: int) -> str:
    who = f"process {pid}" if pid else "another process"
    return (
        f"another loop is running in {folder.parent}: {who} holds its lock\n"
        f"  next: wait for it, or end it{f' (kill {pid})' if pid else ''}"
    )
