"""A run as a time line: rows of equal length, and on them what happened when. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bridge.base import timestamps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = (
    *(1, 2, 5, 10, 20, 30),
    *(_MINUTE * count for count in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * count for count in (1, 2, 3, 6, 12)),
    *(_DAY * count for count in (1, 2, 7, 28, 364)),
)
"""Lengths of time, in seconds, that people count in."""
_PER_ROW = 60
"""Things on a row, on average: each is to be seen, and hit with a finger."""


class Span(NamedTuple):
    """Something that took time: its number in the list of what happened, when it began, and how long it took."""

    number: int
    began: float
    seconds: float

    @property
    def ended(self) -> float:
        return self.began + self.seconds


class Piece(NamedTuple):
    """The part of a span that lies on a row; left end and width in per cent of the row."""

    number: int
    left: float
    width: float


class TimeLineRow(NamedTuple):
    """A row: its first second and the first of the next one, since the epoch, and what lies on it."""

    began: float
    ended: float
    pieces: tuple[Piece, ...]


class TimeLine(NamedTuple):
    """Rows of equal length, and the time between two marks, in seconds."""

    rows: tuple[TimeLineRow, ...]
    mark: int

    @property
    def seconds(self) -> float:
        return self.rows[0].ended - self.rows[0].began

    @property
    def parallel(self) -> bool:
        return self.rows[0].began == self.rows[-1].began

    @property
    def step(self) -> float:
        """The time between two marks, in per cent of a row."""
        return 100 * self.mark / self.seconds


def lay_out(spans: Sequence[Span], began: float, ended: float) -> TimeLine:
    """Choose rows for what happened, and put it there.

    Args:
        spans: in the order of their beginnings.
        began, ended: of the whole, in seconds since the epoch.
    """
    first, last = _bounds(spans, began, ended)
    most = math.ceil(len(spans) / _PER_ROW)
    if most > 1:
        length: float = unit_for((last - first) / most)
        mark = unit_for(length / 8)
        start = floor(first, mark)
    else:
        start, length, mark = _row(first, last)
    count = max(math.ceil((last - start) / length), 1)
    pieces: list[list[Piece]] = [[] for _ in range(count)]
    for span in spans:
        for row, piece in _cut(span, start, length, count):
            pieces[row].append(piece)
    rows = tuple(
        TimeLineRow(start + number * length, start + (number + 1) * length, tuple(each))
        for number, each in enumerate(pieces)
    )
    return TimeLine(rows, mark)


def lay_out_lanes(lanes: Sequence[Sequence[Span]], began: float, ended: float) -> TimeLine:
    """Put what happened side by side: a row for each lane, all of the same time.

    Args:
        lanes: what happened on each.
        began, ended: of the whole, in seconds since the epoch.
    """
    spans = [span for lane in lanes for span in lane]
    first, last = _bounds(spans, began, ended)
    start, length, mark = _row(first, last)
    pieces = (tuple(piece for span in lane for _, piece in _cut(span, start, length, 1)) for lane in lanes)
    return TimeLine(tuple(TimeLineRow(start, start + length, each) for each in pieces), mark)


def _bounds(spans: Sequence[Span], began: float, ended: float) -> tuple[float, float]:
    first = min((began, *(span.began for span in spans)))
    return first, max((ended, first + 1, *(span.ended for span in spans)))


def _row(first: float, last: float) -> tuple[float, float, int]:
    """Where a row for all of it starts, how long it is, and the time between its marks."""
    mark = unit_for((last - first) / 8)
    start = floor(first, mark)
    return start, math.ceil((last - start) / mark) * mark, mark


def floor(moment: float, unit: int) -> float:
    """The last full `unit` before a moment, on a local clock."""
    ahead = timestamps.ahead(moment)
    return (moment + ahead) // unit * unit - ahead


def unit_for(seconds: float) -> int:
    """The shortest of the lengths that people count in which is no shorter than that."""
    return next((unit for unit in _UNITS if unit >= seconds), _UNITS[-1])


def _cut(span: Span, start: float, length: float, count: int) -> Iterator[tuple[int, Piece]]:
    first = min(max(int((span.began - start) // length), 0), count - 1)
    last = min(max(int((span.ended - start) // length), first), count - 1)
    for row in range(first, last + 1):
        began = max(span.began - start - row * length, 0.0)
        ended = min(span.ended - start - row * length, length)
        if ended > began or row == first:
            yield row, Piece(span.number, 100 * began / length, 100 * max(ended - began, 0.0) / length)
