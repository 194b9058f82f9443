"""Lines as bash's ``read`` sees them, and what jq surely makes of them.

Python's parser and jq agree on what is one plain JSON value. Where they might not (``.5``, ``nan``, a value that is
cut, several on a line, bytes that are no UTF-8), the line is *doubtful*: bash is asked about it.
"""

from __future__ import annotations

import json
import re
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Sort(Enum):
    JSON = auto()
    """Exactly one value, for every version."""
    BLANK = auto()
    """Nothing at all: no output and no error."""
    GARBAGE = auto()
    """No JSON from its first word on: an error before any output."""
    DOUBTFUL = auto()


def _no_constant(text: str) -> None:
    raise ValueError(text)


_scan = json.JSONDecoder(parse_constant=_no_constant).scan_once  # type: ignore[attr-defined]
_BLANKS = " \t\r\n"
# Begins with a word that is no literal and no number of any version. 1.6 to 1.8 take some spellings of nan and
# infinity; what an array begins with may be such a word, too: "[INFO] …".
_GARBAGE = re.compile(
    r"[ \t\r]*(?:\[[ \t\r]*(?![ \t\r]*\]))*"
    r"(?!(?i:true|false|null|s?nan[0-9]*|inf|infinity)(?:[\s\[{:,\]}\"]|\Z))"
    r"[^\x00-\x20\x7f0-9+\-.\"\[{\ufeff]"
)
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a surrogate pair: an error from 1.7 on
# What ends in such a byte, bash 5.2 joins with the next line: its `read` swallows the newline.
_INCOMPLETE = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})[\r\t ]?\Z")


def sort(line: str) -> Sort:
    """What jq makes of this line, which has no newline."""
    try:
        _, end = _scan(line, 0)
    except (StopIteration, ValueError, RecursionError):
        text = line.strip(_BLANKS)
        if text and text != line:
            return sort(text)
        return Sort.GARBAGE if _GARBAGE.match(text) else Sort.DOUBTFUL if text else Sort.BLANK
    if end != len(line) and line[end:].strip(_BLANKS):
        return Sort.DOUBTFUL
    if ("\\ud" in line or "\\uD" in line) and _HALF.search(_PAIR.sub("", line)):
        return Sort.DOUBTFUL
    return Sort.JSON


class LineReader:
    """Cuts what comes in pieces into lines, as ``read -r`` does; each is text, or bytes that are no UTF-8."""

    def __init__(self, *, keep_last: bool) -> None:
        self._keep_last = keep_last
        self._begun: list[bytes] = []
        self._joined: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[str | bytes]:
        """The lines that this piece ends."""
        end = piece.rfind(b"\n") + 1
        if not end:
            self._begun.append(piece)
            return
        data = b"".join((*self._begun, piece[: end - 1])).replace(b"\0", b"")
        self._begun = [piece[end:]]
        try:
            if self._joined:
                raise ValueError
            yield from data.decode().split("\n")
        except ValueError:
            for line in data.split(b"\n"):
                yield from self._bytes(line)

    def _bytes(self, line: bytes) -> Iterator[str | bytes]:
        if _INCOMPLETE.search(line):
            self._joined.append(line)
            return
        if self._joined:
            line = b"\n".join((*self._joined, line))
            self._joined.clear()
            yield line
            return
        try:
            yield line.decode()
        except ValueError:
            yield line

    def finish(self) -> bytes:
        """What no newline has ended, with the lines that may belong to it."""
        rest = b"".join(self._begun).replace(b"\0", b"")
        if self._joined:
            return b"\n".join((*self._joined, rest))
        return rest if self._keep_last else b""
