"""The files of a wiggum project: where they are, and how they are read, written, locked, archived and logged to."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from bridge.base.files import (
    ANYWHERE,
    append_durably,
    confine,
    delete,
    make_folder,
    move,
    open_file,
    read_bytes,
    to_bytes,
    usable,
    write_atomic,
)
from bridge.base.git.repository import Files
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ProjectBusy, StateUnreadable
from bridge.loop.engine.logs import append_line
from bridge.loop.setups.wiggum.breaker import timestamp
from bridge.loop.setups.wiggum.progress import Items, read_items
from bridge.loop.setups.wiggum.state import WiggumState, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OWN = (".claude/ralph-state.json", ".claude/ralph-loop.local.md", ".claude/ralph/", ".claude/.ralph-")
"""What the host writes, relative to the project; the last one is temporary files. Never part of a checkpoint."""

_NOTES = ("progress.txt", ".progress.txt.")
"""Not work in itself, yet part of a checkpoint."""

LOG_BYTES = 10 * 1024 * 1024
"""Size at which a log is put aside as ``NAME.1``; four of those are kept."""

_LOCK_SECONDS = 5.0


class Layout:
    def __init__(self, project: Path) -> None:
        confine(project)
        self.project = project
        self.state = project / ".claude" / "ralph-state.json"
        self.plugin = project / ".claude" / "ralph-loop.local.md"  # the state file of the official plugin
        self.folder = project / ".claude" / "ralph"  # the host's own
        self.logs = self.folder / "logs"
        self.log = self.logs / "loop.log"  # what the loop decided; the others are those of turns
        self.archive = self.folder / "archive"  # states of loops that have ended, and files that were set aside
        self.cancel = self.folder / "cancel"  # the marker that ``wiggum stop`` leaves for a running loop
        self.prompt = project / "PROMPT.md"  # as people write it
        self.turn_prompt = self.folder / "prompt.md"  # of the current turn, filled in
        self.plan = project / "fix_plan.md"
        self.progress = project / "progress.txt"  # what each iteration did


FILES = Files(
    is_own=lambda path: path.startswith(_OWN),
    is_about_work=lambda path: path.startswith(_NOTES),
    own=(*(path for path in _OWN if not path.endswith("-")), ".claude/.ralph-*"),
)
"""Which files of a project are not work."""


PROTECTED = (*(path.rstrip("/") for path in _OWN if not path.endswith("-")), "PROMPT.md")
"""What the loop believes; the plan and the notes are the agent's to edit."""


def read_text(path: Path, *, root: str | None = None) -> str | None:
    """Read a text file, whatever its bytes; None when there is none. See :func:`bridge.base.files.descriptor`."""
    with usable(path), suppress(FileNotFoundError, NotADirectoryError):
        return read_bytes(path, root=root).decode("utf-8", "surrogateescape")
    return None


def read_plan(layout: Layout) -> Items:
    return read_items(read_text(layout.plan, root=ANYWHERE) or "")


def append_progress(layout: Layout, block: str) -> None:
    """Put a block at the end of progress.txt, in one write: a kill leaves all of it or nothing."""
    text = read_text(layout.progress)
    gap = "" if not text else "\n" * (2 - (text.endswith("\n") + text.endswith("\n\n")))
    with usable(layout.progress):
        append_durably(layout.progress, to_bytes(gap + block))


def log(layout: Layout, text: str, level: Literal["INFO", "WARN", "ERROR"] = "INFO") -> None:
    """Append a line to the loop's log: UTC time, level, text. In one write, so that two processes' lines don't mix.

    What can't be written is left out: a full disk must not end a loop for the sake of its log.
    """
    with suppress(OSError, BridgeError):
        line = f"[{timestamp(datetime.now(UTC))}] [{level}] {one_line(text)}"
        append_line(layout.log, line, max_bytes=LOG_BYTES)


# -- the state ---------------------------------------------------------------------------------------


def load(layout: Layout, *, defaults: WiggumState | None = None) -> WiggumState | None:
    """Read the state; None when there is no file. Raises StateUnreadable."""
    text = read_text(layout.state)
    return None if text is None else read_state(text, where=str(layout.state), defaults=defaults)


def save(layout: Layout, state: WiggumState) -> None:
    """Write the state, so that readers see the old or the new one."""
    with usable(layout.state):
        make_folder(layout.state.parent)
        write_atomic(layout.state, write_state(state))


def finish(layout: Layout, state: WiggumState) -> None:
    """Move the state of a loop that has ended into the archive.

    It is saved as ended first: wherever a kill comes, the loop is shown as one that has ended.
    """
    save(layout, state)
    with usable(layout.archive):
        make_folder(layout.archive)
        ended = _compact(state.ended_at or state.updated_at or "unknown")
        name = f"{ended}-{state.run_id or 'run'}-{state.outcome or 'left'}.json"
        write_atomic(layout.archive / name, write_state(state))
        delete(layout.state)


def latest_state(layout: Layout) -> WiggumState | None:
    """Read the state of the active loop (raises StateUnreadable), else that of the one that ended last."""
    active = load(layout)
    if active is not None:
        return active
    ended = [
        (each.lstat().st_mtime_ns, each)
        for each in layout.archive.glob("*.json")
        if not each.name.endswith(f"-{layout.state.name}")  # one that was set aside has not ended
    ]
    for _, path in sorted(ended, reverse=True):
        with suppress(StateUnreadable):
            return read_state(read_text(path) or "", where=str(path))
    return None


def set_aside(layout: Layout, path: Path, at: str) -> Path:
    """Move a file into the archive; return where it went. An earlier one is never overwritten."""
    with usable(layout.archive):
        make_folder(layout.archive)
        name = f"{_compact(at)}-{path.name}"
        target = layout.archive / name
        number = 1
        while target.exists():
            number += 1
            target = layout.archive / f"{name}.{number}"
        move(path, target)
        return target


def _compact(at: str) -> str:
    return at.replace(":", "").replace("-", "")


def is_cancelled(layout: Layout) -> bool:
    return layout.cancel.exists()


def clear_cancel(layout: Layout) -> None:
    """Take the marker away: it has been heeded."""
    with suppress(FileNotFoundError):
        delete(layout.cancel, missing=False)


@contextmanager
def locked(layout: Layout) -> Iterator[None]:
    """Keep other writers from the state while the block runs: short work only. Raises ProjectBusy after 5 s."""
    with usable(layout.folder):
        make_folder(layout.folder)
        file = open_file(layout.folder / ".state.lock", "ab")
    with file:
        try:
            import fcntl
        except ImportError:  # where there is no flock, writes are still whole
            yield
            return
        until = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    raise ProjectBusy(f"{layout.state} is being written by another process\n  next: wait") from None
                time.sleep(0.01)
        yield
