"""Text that comes in pieces, as the rows of a terminal: it flows, breaks between words, and moves no cursor.

Pieces end anywhere: within a word, an escape sequence, a line end. So the last row stays open, is shown as far as
it has come, and is made anew with each piece: a word that turns out too long for it moves down.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.patterns import lazy
from bridge.base.wording import COLOUR, apart, harmless
from bridge.cli._terminal import steer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TextIO


_SIGNS = lazy(r"\x1b\[[0-9;:]*m|.", re.DOTALL)
_RESET = "\x1b[0m"
_ZERO_WIDTH_JOINER = "\u200d"
_LEAST_WIDTH = 10


class Row(NamedTuple):
    """A row of text; soft: its word goes on in the next row, which the terminal begins by itself."""

    text: str
    soft: bool = False


class Flow:
    """Makes rows of pieces of text. Pure.

    Args:
        colours: keep those that the text has; other escape sequences are left out.

    Attributes:
        row: the open row; empty when none is.
    """

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._held = ""
        self.row = ""

    def add(self, text: str, width: int) -> list[Row]:
        """Take in a piece, and return the rows that it finishes, what was open as the beginning of the first.

        Args:
            width: cells that a row has now.

        >>> flow = Flow(colours=False)
        >>> flow.add("the quick bro", 12), flow.row, flow.add("wn fox", 12), flow.row
        ([Row(text='the quick', soft=False)], 'bro', [], 'brown fox')
        """
        text, self._held = apart(self._held + text)
        found: list[Row] = []
        colour = ""
        clean = harmless(text, colours="any" if self._colours else "none", joiners=True).replace("\t", "    ")
        lines = (self.row + clean).split("\n")
        for line in lines:
            pieces, spaces = _split(colour + line, width)
            colour = ""
            for piece in pieces:
                found.append(Row(colour + piece.text, piece.soft))
                colour = _colour_at_end(found[-1].text)
        self.row = found.pop().text
        self._held = " " * spaces + self._held
        return found

    def end(self) -> str:
        row, self.row, self._held = self.row, "", ""
        return row


class Page:
    """Writes text to a terminal that nobody else writes to while a row is open.

    Args:
        write: writes to it at once; None: the stream does.
    """

    def __init__(self, stream: TextIO, write: Callable[[str], None] | None = None) -> None:
        self._stream = stream
        self._out = write or (lambda text: steer(stream, text))
        self._flow = Flow(colours=not os.environ.get("NO_COLOR"))

    def write(self, text: str) -> None:
        width = terminal_width(self._stream)
        shown = self._flow.row
        rows = self._flow.add(text, width)
        begins = rows[0].text if rows else self._flow.row
        if begins.startswith(shown):
            whole = rows_to_write(rows) + self._flow.row
            self._out(whole[len(shown) :])
        else:
            self._out(erase([shown], width) + rows_to_write(rows) + self._flow.row)

    def end(self) -> None:
        if row := self._flow.end():
            self._out((_RESET if _colour_at_end(row) else "") + "\n")


def flows(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which rows can be made anew."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def terminal_width(stream: TextIO) -> int:
    """How many cells a row of the terminal has now."""
    try:
        found = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        found = 0
    return max(found or shutil.get_terminal_size().columns, _LEAST_WIDTH)


def rows_to_write(rows: Iterable[Row]) -> str:
    """Finished rows, as they are written: no colour reaches beyond its row."""
    return "".join(
        row.text + (_RESET if _colour_at_end(row.text) else "") + ("" if row.soft else "\n") for row in rows
    )


def erase(rows: Iterable[str], width: int) -> str:
    """What takes `rows` away from a terminal: the last rows there, with the cursor behind the last of them.

    One that has become narrower since has folded them, so they are as high as they are now.
    """
    up = sum(_height(row, width) for row in rows) - 1
    return "\r" + (f"\x1b[{up}A" if up > 0 else "") + "\x1b[J"


def cut(text: str, width: int) -> str:
    """The beginning of a line without colours that fits, with a sign that it is one.

    >>> cut("日本語", 5), cut("abc", 3)
    ('日本…', 'abc')
    """
    if sum(map(_cells, text)) <= width:
        return text
    kept, cells = [], 1
    for char in text:
        cells += _cells(char)
        if cells > width:
            break
        kept.append(char)
    return "".join(kept) + "…"


def _split(line: str, width: int) -> tuple[list[Row], int]:
    """Break a line into rows; the last one is open. Spaces that don't fit into it are left out, and counted."""
    rows: list[Row] = []
    row: list[str] = []
    cells = over = 0
    break_at: int | None = None  # where the row may be broken: never within the spaces that it begins with
    ink = False
    before = ""
    for sign in _SIGNS.findall(line):
        if len(sign) > 1:  # a colour
            row.append(sign)
            continue
        wide = _cells(sign)
        if sign == " " and cells == width:
            over += 1
        else:
            if ink and _may_break(before, sign):
                break_at = len(row)
            if cells + wide > width or (over and sign != " "):
                if break_at is not None:
                    rows.append(Row("".join(row[:break_at]).rstrip(" ")))
                    row = row[break_at:]
                    cells = sum(_cells(each) for each in row if len(each) == 1)
                elif cells + wide > width:
                    rows.append(Row("".join(row), soft=True))
                    row, cells = [], 0
                break_at, over = None, 0
            row.append(sign)
            cells += wide
            ink = ink or sign != " "
        before = sign
    return [*rows, Row("".join(row))], over


def _may_break(before: str, char: str) -> bool:
    if before == " " or char == " ":
        return before == " " and char != " "
    if not (_is_wide(before) or _is_wide(char)):
        return False
    if before == _ZERO_WIDTH_JOINER or not _cells(char):
        return False
    # Punctuation stays with what it belongs to, and so do marks that lengthen or repeat.
    return unicodedata.category(before) not in ("Ps", "Pi") and unicodedata.category(char) not in (
        "Pe",
        "Pf",
        "Po",
        "Lm",
    )


@lru_cache(1024)
def _is_wide(char: str) -> bool:
    return char > "\u02ff" and unicodedata.east_asian_width(char) in "WF"


@lru_cache(4096)
def _cells(char: str) -> int:
    """How wide a character is. An emoji made of several may be narrower; then its row is a little short."""
    if " " <= char <= "\u02ff" or char == "\ufe0f":  # the latter makes an emoji of the sign before it
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if _is_wide(char) else 1


def _height(row: str, width: int) -> int:
    high, cells = 1, 0
    for char in COLOUR.sub("", row):
        cells += _cells(char)
        if cells > width:
            high, cells = high + 1, _cells(char)
    return high


def _colour_at_end(row: str) -> str:
    """The sequences that are in force behind a row."""
    colour = ""
    if "\x1b" in row:
        for found in COLOUR.findall(row):
            numbers = found[2:-1]
            kept = "" if numbers.startswith("0;") or not numbers.strip("0") else colour
            colour = kept + found if numbers.strip("0") else ""
    return colour
