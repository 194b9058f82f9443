"""JSON documents out of lines that may hold anything: warnings, halves of events, Latin-1, NUL bytes.

Nothing here raises for what a line contains. Shared by the readers of :mod:`bridge.scripts.stream.events` and by
:mod:`bridge.scripts.session_id`.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any

JsonObject = dict[str, Any]

HELD_LIMIT = 64 * 1024 * 1024
"""How many bytes of unrecognised output are kept to be tried as one document, and how long a line may be."""

DOCUMENT_LIMIT = 16 * 1024 * 1024
"""How many bytes a document may have that is laid out over lines."""

WARNINGS = 20
"""Lines that may stand before a document."""

_OPENINGS = 4  # lines that are tried as its first
_BOM = b"\xef\xbb\xbf"
BLANKS = b"\xef\xbb\xbf \t\r\n"
_DECODER = json.JSONDecoder()
_WINDOW = 4096
_LONGEST_TOKEN = 16  # a word, or two escapes of a surrogate pair; strings say for themselves that they were cut
# A document that Python's parser refuses by something else than its text: nesting.
_REFUSED = (ValueError, RecursionError)


def parse_line(line: bytes) -> list[JsonObject] | None:
    """The JSON objects on one line, those in an array one by one; None when it is not JSON.

    Tolerated: a BOM, several documents on the line, invalid UTF-8 (as U+FFFD), an array that is
    written one element a line (``[{...},`` ... ``{...}]``).
    """
    stripped = line.removeprefix(_BOM).strip()
    if not stripped:
        return []
    if stripped[:1] not in b"{[,":
        return _scalar(stripped)
    if len(stripped) > HELD_LIMIT:
        return None
    text = stripped.decode("utf-8", "replace")
    for candidate in (
        text,
        text.strip(","),
        text.removeprefix("[").rstrip(","),
        text.removesuffix("]").strip(","),
    ):
        try:
            return _objects(candidate)
        except _REFUSED:
            continue
    return None


def _scalar(stripped: bytes) -> list[JsonObject] | None:
    """``null`` and its like are JSON, and no event."""
    if len(stripped) > 64:
        return None
    try:
        json.loads(stripped)
    except _REFUSED:
        return None
    return []


def _objects(text: str) -> list[JsonObject]:
    found: list[JsonObject] = []
    at = 0
    while at < len(text):
        value, at = _DECODER.raw_decode(text, at)
        _collect(value, found)
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
    return found


def _collect(value: object, found: list[JsonObject]) -> None:
    if isinstance(value, dict):
        found.append(value)
    elif isinstance(value, list):
        found.extend(item for item in value if isinstance(item, dict))


def parse_whole(data: bytes) -> list[JsonObject]:
    """The objects of documents that are spread over lines (a wrapper may have indented them).

    What stands before the first line that opens a document, and after the last document, is passed over.
    """
    text = data.decode("utf-8", "replace")
    at = 0
    found: list[JsonObject] = []
    budget = 2 * len(text)  # of characters read in vain: a document cut short must not cost its square
    while at < len(text) and budget >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        begin = at + len(text[at:end]) - len(text[at:end].lstrip("\ufeff \t\r"))
        if text[begin : begin + 1] in ("{", "["):
            try:
                value, end = _document_at(text, begin)
            except json.JSONDecodeError as error:
                budget -= error.pos - (begin if error.doc is text else 0)
            except _REFUSED:
                budget -= len(text) - begin
            else:
                _collect(value, found)
                at = end
                continue
        at = end + 1
    return found


def _document_at(text: str, begin: int) -> tuple[object, int]:
    """The document that begins there, and its end.

    Its first characters are tried alone: an error of the parser counts all lines in front of it, which for every
    line of a log would cost the square. So `doc` of a JSONDecodeError is the whole text or what begins there.
    """
    window = text[begin : begin + _WINDOW]
    try:
        value, end = _DECODER.raw_decode(window)
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or error.pos > _WINDOW - _LONGEST_TOKEN
        if not cut or len(window) < _WINDOW:
            raise
        return _DECODER.raw_decode(text, begin)
    return value, begin + end


class Held:
    """Lines kept for a second look: the last ones, up to :data:`HELD_LIMIT` bytes."""

    def __init__(self, limit: int = HELD_LIMIT) -> None:
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._limit = limit

    def add(self, line: bytes) -> None:
        kept = line if line.endswith(b"\n") else line + b"\n"
        self._lines.append(kept)
        self._size += len(kept)
        while self._size > self._limit:
            self._size -= len(self._lines.popleft())

    def clear(self) -> None:
        self._lines.clear()
        self._size = 0

    def data(self) -> bytes:
        return b"".join(self._lines)


class Document:
    """The lines of an output, kept while they may be one document, with warnings before it.

    Read line by line, such a document falls to pieces: an element that fits on a line is taken for an
    event, and what is laid out over several is lost.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] | None = []
        self._size = 0
        self._openings: list[int] = []

    def add(self, line: bytes, *, complete: bool) -> None:
        """`complete` says that it held JSON objects by itself."""
        if self._lines is None:
            return
        number = len(self._lines)
        start = line.lstrip(BLANKS)[:1]
        if start and start in b"{[" and number <= WARNINGS and len(self._openings) < _OPENINGS:
            if complete and start == b"{" and not self._openings:  # events begin here
                self._lines = None
                return
            self._openings.append(number)
        self._lines.append(line)
        self._size += len(line)
        if self._size > DOCUMENT_LIMIT or (number > WARNINGS and not self._openings):
            self._lines = None

    def value(self) -> tuple[object, bool]:
        """The document, and whether other lines stand before it; None when there is none."""
        lines = self._lines or []
        for opening in self._openings if lines else ():
            text = b"\n".join(line.rstrip(b"\r\n") for line in lines[opening:]).lstrip(BLANKS)
            try:
                value = json.loads(text.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            return value, any(line.strip(BLANKS) for line in lines[:opening])
        return None, False
