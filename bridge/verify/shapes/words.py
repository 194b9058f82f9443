"""Which shapes of events bash code speaks of: its jq programs, patterns of grep, sed and case, in Python's keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.shapes.programs import taken
from bridge.verify.shapes.reading import Condition, Shape, beginning, reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_QUOTED = re.compile(
    r"""\\. | \$?'(?P<single>[^']*)' | "(?P<double>(?:[^"\\]|\\.)*)"
      | <<-?[ ]*(?P<mark>['"]?)(?P<end>\w+)(?P=mark)[^\n]*\n(?P<document>.*?\n)[ \t]*(?P=end)\n
      | \bjq\b[^|;&\n'"]*?[ ](?P<bare>\.[\w.\[\]?]+)""",
    re.VERBOSE | re.DOTALL,
)
_PAIR = re.compile(r'"(\w+)"(?:\[\[:space:\]\]\*|\\s\*|[ *])*:(?:\[\[:space:\]\]\*|\\s\*|[ *])*"([\w.:/-]+)"')
_KEY = re.compile(r'"(\w+)"(?:\[\[:space:\]\][*+]|\\s[*+]|[ *?])*:')
_FIELD = re.compile(r'\$\(?\w+\)?\s*==\s*"(\w+)"')
"""In awk, where quotes are what separates fields."""
_CHAIN = re.compile(r"""(?:\[["']\w+["']\]|\.get\(["']\w+["'][^()]*\))+""")
_EQUAL = re.compile(rf"""({_CHAIN.pattern})\s*(?:==|in)\s*[(\["']*([\w.-]+)""")
_SPEAKER = re.compile(r"(?:^|\^)([A-Z]{2,}(?:> |: ))")
"""In front of a line of a transcript."""
_MOST = 60


def shapes_in(code: Iterable[str]) -> tuple[Shape, ...]:
    """The shapes that pieces of bash code speak of, the shallowest of each program first; at most 60."""
    found: dict[Shape, None] = {}
    for piece in code:
        quoted = list(_quoted(piece))
        for text in quoted:
            found |= dict.fromkeys(reads(text) if "." in text else ())
        # Patterns that bash matches itself have their quotes escaped.
        quoted += [line.replace('\\"', '"') for line in piece.splitlines() if '\\"' in line]
        found |= dict.fromkeys(_picked(tuple(found), quoted))
        found |= dict.fromkeys(_patterns(quoted))
    return tuple(found)[:_MOST]


def _picked(read: tuple[Shape, ...], quoted: list[str]) -> Iterator[Shape]:
    """What jq reads of lines that something else has picked: ``case``, ``grep``, ``[[ ... ]]``."""
    pairs = dict.fromkeys(pair for text in quoted for pair in _PAIR.findall(text))
    for shape in read:
        if not shape.conditions:
            yield from (
                Shape(shape.text, (Condition((key,), "is", value),)) for key, value in pairs if key != shape.text[0]
            )


def _quoted(code: str) -> Iterator[str]:
    """What stands in quotes, in here-documents, and what jq is given without quotes."""
    for match in _QUOTED.finditer(code):
        if (double := match["double"]) is not None:
            yield re.sub(r'\\(["$`\\])', r"\1", double)
            if "$(" in double:
                yield from _quoted(double)
        else:
            yield from filter(None, (match["single"], match["document"], match["bare"]))


def _patterns(quoted: list[str]) -> Iterator[Shape]:
    """Shapes that are flat, as patterns of text tell them, and what a Python program takes out of dictionaries."""
    everywhere = [pair for text in quoted for pair in _PAIR.findall(text)]
    for text in quoted:
        conditions = tuple(Condition((key,), "is", value) for key, value in _PAIR.findall(text) or everywhere)
        known = {condition.place[0] for condition in conditions}
        for key in (*_KEY.findall(text), *_FIELD.findall(text)):
            if key not in known:
                yield Shape((key,), conditions)
        yield from map(beginning, _SPEAKER.findall(text))
        yield from _dictionaries(text)


def _dictionaries(program: str) -> Iterator[Shape]:
    yield from taken(program)
    equal = [(_keys(chain), value) for chain, value in _EQUAL.findall(program)]
    places = dict.fromkeys(_keys(chain) for chain in _CHAIN.findall(program))
    asked = {place for place, _ in equal}
    for place in places:
        if place in asked:
            continue
        outer = tuple(Condition(each, "is", value) for each, value in equal)
        yield Shape(place, outer)
        for parent in places:
            if parent != place and parent not in asked:
                # What a loop over a list takes out of each of its elements is written like what stands outside.
                for split in range(len(equal) + 1):
                    inner = tuple(
                        Condition((*parent, "[]", *each) if at >= split else each, "is", value)
                        for at, (each, value) in enumerate(equal)
                    )
                    yield Shape((*parent, "[]", *place), inner)


def _keys(chain: str) -> tuple[str, ...]:
    return tuple(re.findall(r"""[\[(]["'](\w+)["']""", chain))
