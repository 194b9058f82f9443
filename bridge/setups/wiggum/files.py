"""The files of a wiggum project: read, written, locked, archived."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, ProjectBusy, ProjectUnusable
from bridge.files import write_atomic
from bridge.setups.wiggum.plan import Items, read_items
from bridge.setups.wiggum.state import State, write_state
from bridge.setups.wiggum.state_reading import read_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.setups.wiggum.layout import Layout

__all__ = [
    "append_progress",
    "cancelled",
    "finish",
    "last",
    "load",
    "locked",
    "read_plan",
    "read_text",
    "save",
    "set_aside",
    "uncancel",
    "usable",
]

_PATIENCE = 5.0


@contextmanager
def usable() -> Iterator[None]:
    """Turn the system's refusal to read or write into an error that names the file.

    Raises:
        ProjectUnusable: the block raised an OSError.
    """
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ProjectUnusable(f"{where}{error.strerror or error}\n  next: look at its permissions") from error


def load(layout: Layout, *, defaults: State | None = None) -> State | None:
    """Read the state; None when there is no file.

    Raises:
        StateUnreadable: it holds no state.
        ProjectUnusable: it can't be read.
    """
    text = read_text(layout.state)
    if text is None:
        return None
    return read_state(text, where=str(layout.state), defaults=defaults)


def save(layout: Layout, state: State) -> None:
    """Write the state, so that readers see the old or the new one."""
    with usable():
        layout.state.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(layout.state, write_state(state))


def read_text(path: Path) -> str | None:
    """Read a text file, whatever its bytes; None when there is none."""
    with usable():
        try:
            return path.read_text("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None


def read_plan(layout: Layout) -> Items:
    """Read the fix plan; without one there are no items."""
    return read_items(read_text(layout.plan) or "")


def append_progress(layout: Layout, block: str) -> None:
    """Put a block at the end of progress.txt, in one write: a kill leaves all of it or nothing."""
    text = read_text(layout.progress)
    gap = "" if not text else "\n" * (2 - (text.endswith("\n") + text.endswith("\n\n")))
    with usable():
        descriptor = os.open(layout.progress, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, (gap + block).encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)


def finish(layout: Layout, state: State) -> None:
    """Move the state of a loop that has ended from its place into the archive.

    It is saved as ended first: wherever a kill comes, the loop is told of as one that has ended.
    """
    save(layout, state)
    with usable():
        folder = layout.folder / "archive"
        folder.mkdir(parents=True, exist_ok=True)
        stamp = (state.ended_at or state.updated_at or "unknown").replace(":", "").replace("-", "")
        name = f"{stamp}-{state.run_id or 'run'}-{state.outcome or 'left'}.json"
        write_atomic(folder / name, write_state(state))
        layout.state.unlink(missing_ok=True)


def last(layout: Layout) -> State | None:
    """Read the state of the loop at hand or, when there is none, of the one that ended last.

    Raises:
        StateUnreadable: the active state holds no state.
        ProjectUnusable: it can't be read.
    """
    active = load(layout)
    if active is not None:
        return active
    ended = [
        (each.stat().st_mtime_ns, each)
        for each in (layout.folder / "archive").glob("*.json")
        if not each.name.endswith(f"-{layout.state.name}")  # one that was set aside has not ended
    ]
    for _, path in sorted(ended, reverse=True):
        with suppress(BridgeError):
            return read_state(read_text(path) or "", where=str(path))
    return None


def set_aside(layout: Layout, path: Path, stamp: str) -> Path:
    """Move a file into the archive; return where it went. An earlier one is never overwritten."""
    with usable():
        folder = layout.folder / "archive"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{stamp.replace(':', '').replace('-', '')}-{path.name}"
        target = folder / name
        number = 1
        while target.exists():
            number += 1
            target = folder / f"{name}.{number}"
        os.replace(path, target)
        return target


def cancelled(layout: Layout) -> bool:
    """Say whether somebody has asked for the end."""
    return layout.cancel.exists()


def uncancel(layout: Layout) -> None:
    """Take the marker away: it has been heeded."""
    with suppress(FileNotFoundError):
        layout.cancel.unlink()


@contextmanager
def locked(layout: Layout) -> Iterator[None]:
    """Keep other writers from the state while the block runs: short work only.

    Raises:
        ProjectBusy: somebody else has held it for five seconds.
    """
    with usable():
        layout.folder.mkdir(parents=True, exist_ok=True)
        file = open(layout.folder / ".state.lock", "ab")  # noqa: SIM115
    with file:
        try:
            import fcntl
        except ImportError:  # where there is no flock, writes are still whole
            yield
            return
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    raise ProjectBusy(f"{layout.state} is being written by another process\n  next: wait") from None
                time.sleep(0.01)
        yield
