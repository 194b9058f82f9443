"""Following ``live.log`` from another process: each run begins it anew, in the same file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.files import lenient, open_file
from bridge.loop.logs import LIVE_TITLE
from bridge.stream.events import Reader
from bridge.turn.progress import last_sentence, may_name_tool, tool_in

if TYPE_CHECKING:
    from pathlib import Path

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
        """Return the complete lines that are new; with `rest` also what has no newline yet."""
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


def said(line: str) -> list[str]:
    """Return a line of the log for people: of an event its text, or the tool that it is about; else nothing of it.

    Runs in the background leave events there, live ones text.
    """
    if not line.startswith("{"):
        return [line]
    if line.startswith(_DELTA):
        return []
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
                if found := last_sentence("\n".join(said(line))):
                    return found
    return None
