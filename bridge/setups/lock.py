"""One loop per folder: a lock that names its holder."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import ProjectBusy
from bridge.loop.state import usable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["one_loop"]


@contextmanager
def one_loop(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder` (created if need be) while the block runs; nothing of it is left afterwards.

    The operating system lets go of it when the holder dies, however it dies. Its file says who that is.

    Raises:
        ProjectBusy: another process holds it; says which.
        bridge.errors.ProjectUnusable: the folder can't be written to.
    """
    path = folder / ".ralph-bridge.lock"
    with usable("the folder for logs"):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, ours = _opened(path)
    try:
        if not ours:
            raise ProjectBusy(_busy(folder, os.pread(descriptor, 32, 0)))
        with usable("the folder for logs"):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        if ours and _is_at(path, descriptor):  # while it is held, so that nobody takes it and loses it again
            with suppress(OSError):
                path.unlink()
        os.close(descriptor)


def _opened(path: Path) -> tuple[int, bool]:
    """The file that lies at `path`, and whether its lock is ours now. Its last holder may remove it under us."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return descriptor, False
        except OSError:
            os.close(descriptor)
            raise
        if _is_at(path, descriptor):
            return descriptor, True
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _busy(folder: Path, told: bytes) -> str:
    pid = told.decode("ascii", "replace").strip()
    who = f"process {pid}" if pid.isdecimal() else "another process"
    return (
        f"another loop is running in {folder.parent}: {who} holds its lock\n"
        f"  next: wait for it, or end it{f' (kill {pid})' if pid.isdecimal() else ''}"
    )
