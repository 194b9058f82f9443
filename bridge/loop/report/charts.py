"""Charts as SVG for the HTML report: pygal draws them, the page's own style sheet colours them."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pygal
from pygal.etree import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from xml.etree.ElementTree import Element

# It puts a finder for its maps on the path of all imports, which Python 3.11 warns of at each of them.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]

_MOST = 240
"""Points of a chart: more than its width in pixels shows nobody anything."""

_MARGIN, _LETTER = 6, 8.0
"""Around a chart, and the width of a letter on it, in its own pixels."""


def growth(
    points: Sequence[tuple[float, float]],
    *,
    title: str,
    marks: Sequence[float],
    clock: Callable[[float], str],
    amount: Callable[[float], str],
    most: float | None = None,
) -> str:
    """Draw what has grown over time, as an SVG element without script, style and request.

    Args:
        points: seconds since the epoch and the amount from then on, in their order.
        title: what it shows, for who can't see it.
        marks: times for the axis.
        clock, amount: say a time and an amount in words.
        most: the upper end of the scale; None: the largest amount.
    """
    steps = _steps(_thinned(sorted(points, key=lambda point: point[0])))  # records may be of any order
    began, ended = steps[0][0], max(steps[-1][0], steps[0][0] + 1)
    top = most or _round_up(max(value for _, value in steps))
    chart = pygal.XY(
        width=480,
        height=230,
        margin=_MARGIN,
        js=(),
        show_dots=False,
        show_legend=False,
        include_x_axis=True,
        range=(0, top),
        xrange=(began, ended),
        x_labels=[mark for mark in marks if began <= mark <= ended] or [began],
        y_labels=[0, *([top / 2] if _is_said(top / 2, amount) else []), top],
        x_value_formatter=clock,
        value_formatter=amount,
    )
    chart.add(title, steps, fill=True)
    chart.add(title, steps)  # the line: that of an area goes around it
    root = chart.render_tree()
    _strip(root)
    _keep_inside(root)
    root.attrib.pop("id", None)
    root.set("role", "img")
    root.set("aria-label", title)
    drawn: str = etree.tostring(root, encoding="unicode")
    return drawn


def _keep_inside(root: Element) -> None:
    """Have labels of the time axis that would be cut at the right edge end at their marks."""
    plot = next(each for each in root.iter() if each.get("class") == "plot")
    width = float(next(iter(plot)).get("width", "0")) + _MARGIN
    for axis in plot:
        if axis.get("class") != "axis x":
            continue
        for each in axis.iter():
            if each.text and float(each.get("x", "0")) + len(each.text) * _LETTER / 2 > width:
                each.set("class", "end")


def _is_said(value: float, amount: Callable[[float], str]) -> bool:
    """Whether the words for a label are as exact as its place: half of 3 tokens isn't 2."""
    digits = "".join(sign for sign in amount(value) if sign.isdigit() or sign == ".")
    return bool(digits) and math.isclose(float(digits), value)


def _round_up(amount: float) -> float:
    """The next number that is easily halved."""
    size = 10.0 ** math.floor(math.log10(amount)) if amount > 0 else 1.0
    return next(size * digit for digit in (1, 1.2, 1.6, 2, 3, 4, 6, 8, 10) if size * digit >= amount or digit == 10)


def _strip(element: Element) -> None:
    """Take out what is there for pygal's own script and style, and comments."""
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] in ("defs", "script", "desc", "title"):
            element.remove(child)
        else:
            _strip(child)


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The last point of each of so many equal parts of the time."""
    began, ended = points[0][0], points[-1][0]
    width = (ended - began) / _MOST or 1.0
    last = {int((moment - began) / width): (moment, value) for moment, value in points}
    return [points[0], *last.values()]


def _steps(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the stairs: an amount stays what it is until the next point."""
    found = points[:1]
    for (_, before), (moment, value) in pairwise(points):
        found += [(moment, before), (moment, value)]
    return found
