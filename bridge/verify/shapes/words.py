"""Which shapes of events bash code speaks of: its jq programs, patterns of grep, sed and case, in Python's keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.shapes.reading import Condition, Shape, reads

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
_CHAIN = re.compile(r"""(?:\[["']\w+["']\]|\.get\(["']\w+["'][^()]*\))+""")
_EQUAL = re.compile(rf"""({_CHAIN.pattern})\s*(?:==|in)\s*[(\["']*([\w.-]+)""")
_MOST = 40


def shapes_in(code: Iterable[str]) -> tuple[Shape, ...]:
    """The shapes that pieces of bash code speak of, the shallowest of each program first; at most 40."""
    found: dict[Shape, None] = {}
    for piece in code:
        quoted = list(_quoted(piece))
        for text in quoted:
            found |= dict.fromkeys(reads(text) if "." in text else ())
        found |= dict.fromkeys(_patterns(quoted))
    return tuple(found)[:_MOST]


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
        for key in _KEY.findall(text):
            if key not in known:
                yield Shape((key,), conditions)
        yield from _dictionaries(text)


_PARSED = re.compile(
    r"(?:\b(?:my|let|const|var)\s+)?[$]?(\w+)\s*=\s*(?:eval\s*\{\s*)?[^;\n=]*?(?:json\.loads?|JSON\.parse|decode(?:_json)?)\s*\("
)
_NAMED = re.compile(
    r"(?:\b(?:my|let|const|var)\s+)?[$]?(\w+)\s*(?::?=(?!=)|\bof\b|\bin\b|\()\s*[@(%{ ]*[$]?(?P<root>\w+)(?P<chain>"
    r"(?:(?:->)?\{\w+\}|(?:->)?\[\d*\]|\??\.(?!get\b)\w+(?!\w*\()|(?:\?\.)?\[[\"']\w+[\"']\]|\.get\([\"']\w+[\"'][^()]*\))+)"
)
_TYPES = ("HASH", "ARRAY", "string", "object", "function", "number", "boolean", "undefined")
_STEP = re.compile(
    r"(?:->)?\{(\w+)\}|(?:->)?\[\d*\]|\??\.get\([\"'](\w+)[\"'][^()]*\)|(?:\?\.)?\[[\"'](\w+)[\"']\]|\??\.(\w+)"
)


def _programs(program: str) -> Iterator[Shape]:
    """What a program in Python, JavaScript or Perl takes out of what it has parsed as JSON.

    A condition holds from where it is asked for on, until the same place is asked for another value.
    """
    places: dict[str, tuple[str, ...]] = dict.fromkeys(_PARSED.findall(program), ())
    if not places:
        return
    for _ in range(3):  # a name may be given before what it comes from is known
        for match in _NAMED.finditer(program):
            name, root = match[1], match["root"]
            if root in places and name != root and name not in ("print", "if", "elsif", "and", "or", "not", "len"):
                loop = re.match(
                    r".*(?:\bof|\bin|\()\s*[@(%{ ]*[$]?\w*$", match[0][: match.start("root") - match.start()]
                )
                step = ("[]",) if loop and "=" not in match[0].split(root)[0] else ()
                places.setdefault(name, (*places[root], *_steps(match["chain"]), *step))
    names = "|".join(sorted(map(re.escape, places), key=len, reverse=True))
    used = re.compile(
        rf"(?<![\w.>])[$]?(?P<root>{names})\b(?P<chain>(?:{_STEP.pattern})*)(?P<call>\()?"
        r"(?:[^\n;]{0,12}?\s*(?P<how>[!=]==?|\beq\b|\bne\b|\bin\b)\s*[(\[]?\s*[\"'](?P<value>[\w./-]+)[\"'])?"
    )
    asked: dict[tuple[str, ...], str] = {}
    for match in used.finditer(program):
        steps = _steps(match["chain"] or "")
        place = (*places[match["root"]], *(steps[:-1] if match["call"] else steps))
        if match["value"] is not None:
            if place and match["value"] not in _TYPES:
                asked[place] = match["value"]
        elif place and place not in asked:
            yield Shape(place, tuple(Condition(each, "is", value) for each, value in asked.items()))


def _steps(chain: str) -> tuple[str, ...]:
    return tuple(next(filter(None, match.groups()), "[]") for match in _STEP.finditer(chain))


def _dictionaries(program: str) -> Iterator[Shape]:
    yield from _programs(program)
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
