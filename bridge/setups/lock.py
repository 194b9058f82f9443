"""One loop per folder: a lock that names its holder."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import ProjectBusy
from bridge.files import write_atomic
from bridge.loop.state import usable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["one_loop"]


@contextmanager
def one_loop(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder` (created if need be) while the block runs.

    The operating system lets go of it when the holder dies, however it dies. The pid stands in a file of its own,
    because opening a lock file empties it.

    Raises:
        ProjectBusy: another process holds it; says which.
        bridge.errors.ProjectUnusable: the folder can't be written to.
    """
    from filelock import FileLock, Timeout

    with usable("the folder for logs"):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".ralph-bridge.lock", timeout=0)
        holder = folder / ".ralph-bridge.pid"
        with suppress(Timeout):
            lock.acquire()
    if not lock.is_locked:
        raise ProjectBusy(_busy(folder, holder))
    try:
        with usable("the folder for logs"):
            write_atomic(holder, f"{os.getpid()}\n")
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        lock.release()


def _busy(folder: Path, holder: Path) -> str:
    pid = ""
    with suppress(OSError, ValueError):
        pid = str(int(holder.read_text("utf-8", "replace")))
    who = f"process {pid}" if pid else "another process"
    return (
        f"another loop is running in {folder.parent}: {who} holds its lock\n"
        f"  next: wait for it, or end it{f' (kill {pid})' if pid else ''}"
    )
