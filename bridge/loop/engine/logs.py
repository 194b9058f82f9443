"""The loop's own logs, of bounded size: line by line, and what the tool says while it says it, to be followed."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base import timestamps
from bridge.base.files import descriptor, in_folder, lenient, move, open_file, usable
from bridge.base.wording import tame
from bridge.loop.turn.progress import last_sentence, may_name_tool, tool_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

_LIVE_BYTES = 50 * 1024 * 1024
LIVE_TITLE = re.compile(r"=== .+ - \d{4}-\d\d-\d\d \d\d:\d\d:\d\d ===")
"""The line with which a turn begins the live log."""


class Names(NamedTuple):
    """Of the files in a loop's folder that people and their tools look at."""

    status: str = "status.json"
    live: str = "live.log"
    log: str = "logs/ralph.log"

    def newer(self, other: Names, folder: Path) -> Names:
        """These, or those of `other` where that has a status in the folder that was written later."""
        mine, others = (_written(folder / each.status) for each in (self, other))
        return other if others > mine else self


USUAL = Names()
APART = Names(".ralph_bridge.status.json", ".ralph_bridge.live.log", "logs/ralph_bridge.log")
"""Beside a script that may keep files of the usual names in the same folder."""

Level = Literal["INFO", "WARN", "ERROR", "SUCCESS", "LOOP", "DEBUG"]


def log_line(path: Path, level: Level, message: str, now: float, *, max_bytes: int = 0, keep: int = 4) -> str:
    """Append one line to a loop's log and return it, without its newline.

    Args:
        path: the log; its folder is made if need be.
        level: as in the original.
        message: control characters become blanks: readers take the log line by line.
        max_bytes: size at which the file is put aside as ``NAME.1`` first; 0: never.
        keep: how many of those there are.
    """
    line = f"[{timestamps.local(now)}] [{level}] {tame(message)}"
    append_line(path, line, max_bytes=max_bytes, keep=keep)
    return line


def append_line(path: Path, line: str, *, max_bytes: int = 0, keep: int = 4) -> None:
    """Append one line, in one write: lines of two writers don't mix.

    What a crash has left of a line is closed first, so that it costs no second one. See :func:`log_line`.
    """

    def append() -> None:
        rotate(path, max_bytes=max_bytes, keep=keep)
        with open_file(path, "a+b") as file:
            torn = file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + line.encode("utf-8", "replace") + b"\n")

    with usable(path):
        in_folder(path.parent, append)


def rotate(path: Path, *, max_bytes: int, keep: int = 4) -> None:
    """Put a log aside as ``NAME.1`` when it has grown to so many bytes (0: never); see :func:`log_line`."""
    with suppress(FileNotFoundError):
        if not max_bytes or path.stat().st_size < max_bytes:
            return
    for number in range(keep, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        with suppress(FileNotFoundError):
            move(newer, older)


class LiveLog:
    """What the tool says while it says it: one file, begun anew with each turn, that ``watch`` follows.

    Args:
        now: the time, in seconds since the epoch.
        max_bytes: at that size it is begun anew within a turn, too.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time, max_bytes: int = _LIVE_BYTES) -> None:
        self._path = path
        self._now = now
        self._most = max_bytes
        self._size = 0
        self._title = ""
        self._file: BinaryIO | None = None

    def begin(self, title: str) -> None:
        self.close()
        self._title, self._size = title, 0
        path = self._path
        head = f"\n\n=== {title} - {timestamps.local(self._now())} ===\n".encode()
        with usable(path):
            # Unbuffered, and at the end of whatever is there: whoever follows it sees each line at once.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file = os.fdopen(in_folder(path.parent, lambda: descriptor(path, flags)), "ab", buffering=0)
            self._file.write(head)

    def write(self, data: bytes) -> None:
        if self._file is not None:
            if self._size > self._most:
                self.begin(self._title)
            self._size += len(data)
            with usable(self._path):
                self._file.write(data)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


# -- following the live log from another process ------------------------------------------------------

_TAIL = 2048
_MOST = 256 * 1024  # of one look: a viewer who is that far behind wants the end
_HEAD = 80
_LAST = 64 * 1024
_DELTA = '{"type":"stream_event"'  # a piece of a message, which comes as a whole, too


class Follower:
    """Gives what a log has got since the last look.

    Args:
        path: the log; it need not exist yet.
        tail: bytes of what is there already to begin with.
    """

    def __init__(self, path: Path, *, tail: int = _TAIL) -> None:
        self._path = path
        self._tail = tail
        self._head: bytes | None = None
        self._offset = 0
        self._rest = b""

    def lines(self, *, rest: bool = False) -> list[str]:
        with lenient(), open_file(self._path) as file:
            head = file.read(_HEAD)
            size = os.fstat(file.fileno()).st_size
            if self._head is None:
                self._offset = max(0, size - self._tail)
            elif size < self._offset or not head.startswith(self._head[: len(head)]):
                self._offset, self._rest = 0, b""  # the next run has begun
            self._head = head
            start = max(self._offset, size - _MOST)
            file.seek(start)
            data = file.read(size - start)
            self._offset = start + len(data)
            self._rest += data
        *whole, self._rest = self._rest.split(b"\n")
        if rest and self._rest:
            whole.append(self._rest)
            self._rest = b""
        return [line.decode("utf-8", "replace") for line in whole]


def shown_text(line: str) -> list[str]:
    """Return a line of the log for people: of an event its text, or the tool that it is about; else nothing of it.

    Runs in the background leave events there, live ones text.
    """
    if not line.startswith("{"):
        return [line]
    if line.startswith(_DELTA):
        return []
    from bridge.scripts.stream.events import Reader

    data = line.encode("utf-8", "replace")
    reader = Reader()
    reader.feed(data)
    if reader.family is None:
        return [line]
    if text := reader.answer().text:
        return text.split("\n")
    tool = tool_in(data) if may_name_tool(data) else ""
    return [f"[{tool}]"] if tool else []


def last_words(*logs: Path) -> str | None:
    """Return the last sentence that logs of what an agent says end with; None: there is none."""
    for path in logs:
        with lenient(), open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _LAST))
            data = file.read(_LAST)
            lines = data.decode("utf-8", "replace").split("\n")[1 if size > _LAST else 0 :]
            for line in reversed(lines):
                if LIVE_TITLE.fullmatch(line.rstrip()):
                    break  # the turn has said nothing yet
                if found := last_sentence("\n".join(shown_text(line))):
                    return found
    return None


def _written(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
