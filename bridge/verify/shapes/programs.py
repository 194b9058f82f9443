"""Which places of an event a program in Python, JavaScript or Perl takes its texts from.

Nothing is run and no grammar is known: names are followed from the call that parses, along bindings, loops and
chains of keys. Each shape is tried on the script by whoever asks: to tell too many is cheap, too few is a gap.
"""

from __future__ import annotations

import re
from itertools import islice, product
from typing import TYPE_CHECKING

from bridge.verify.shapes.reading import Condition, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.shapes.reading import Place

_Names = dict[str, dict["Place", None]]
"""What each name may stand for: places in an event."""

_Asked = dict["Place", tuple[str, tuple[str, ...]]]
"""The places that are compared: ``is`` or ``isnt``, and the values."""

_PARSE = r"(?:json\.loads?|JSON\.parse|decode(?:_json)?|from_json|json_decode)\b"
_DEFAULT = r"""\s*(?:\bor\b|\|\||\?\?|//)\s*(?:\{\s*\}|\[\s*\]|["']{2}|None\b|null\b|undefined\b)\s*"""
_STEPS = (
    r"""(?:->)?\{\s*["']?(?P<braces>\w+)["']?\s*\}""",
    r"""(?:->|\?\.)?\[\s*(?P<number>-?\d*)\s*\]""",
    r"""(?:\?\.)?\[\s*["'](?P<brackets>[\w.-]+)["']\s*\]""",
    r"""\??\.get\(\s*["'](?P<get>[\w.-]+)["'][^()]*\)""",
    r"""\??\.(?P<dot>[A-Za-z_]\w*)""",
    rf"""(?P<nothing>(?:{_DEFAULT})?[)}}]+(?=\s*(?:\??\.|->|\[)))""",
)
_STEP = re.compile("|".join(_STEPS))
_CHAIN = rf"(?:{re.sub('[?]P<[a-z]+>', '?:', _STEP.pattern)})*"
_METHODS = ("forEach", "map", "flatMap", "filter", "find", "findLast", "some", "every", "reduce")
_METHOD = "|".join(_METHODS)
_VALUES = r"""["'][\w./:-]+["'](?:\s*,\s*["'][\w./:-]+["'])*"""
_DECLARED = r"(?:\b(?:my|let|const|var)\s+)?"
_NAME = r"(?P<name>\w+|\{[\w\s,:]+\})"

_FUNCTION = re.compile(
    r"\b(?:def|function|sub)\s+(?P<name>\w+)\s*(?:\(\s*(?P<given>[\w$, ]*)\))?"
    r"|\b(?:const|let|var)\s+(?P<arrow>\w+)\s*=\s*(?:async\s*)?(?:function\s*)?\(?(?P<taken>[\w, ]*)\)?\s*=>"
)
_ASSIGNED = re.compile(rf"(?<![\w.>])[$@%]?{_NAME}\s*:?=(?![=>~])\s*(?=(?P<value>[^\n;]+))")
_LOOP = re.compile(
    rf"\bfor(?:each)?\s*\(?\s*{_DECLARED}[$]?{_NAME}\s*(?:\bin\b|\bof\b|(?=\())\s*(?=(?P<value>[^\n;]+))"
)
_ARROW = re.compile(r"(?:\(|\b)(\w+)\)?\s*=>|\blambda\s+(\w+)\s*:")
_TYPES = frozenset({"HASH", "ARRAY", "string", "object", "function", "number", "boolean", "undefined"})
_KEYWORDS_WORDS = """
    print if elif elsif else and or not len str isinstance return const let var my for while in of is True False
    None null typeof console process sys json JSON re os line undefined
"""
_KEYWORDS = frozenset(_KEYWORDS_WORDS.split())
_MOST = 6
"""Shapes that are told for one place, where several values are asked for."""


def taken(program: str) -> Iterator[Shape]:
    """What a program takes out of what it has parsed as JSON; nothing where it parses none.

    A condition holds from where it is asked for on, until the same place is asked for another value.
    """
    names = _names(program) if re.search(_PARSE, program) else {}
    if not names:
        return
    asked: _Asked = {}
    switched: list[Place] = []
    uses = list(_uses(names).finditer(program))
    for number, use in enumerate(uses):
        places = _reached(names[use["root"]], use["chain"], called=bool(use["call"])) if use["root"] else []
        if use["case"]:
            asked |= {place: ("is", _listed(use["case"])) for place in switched}
        elif use["switch"]:
            switched = places
        elif use["listed"] or use["values"]:
            asked |= _compared(use, names)
        else:
            end = program.find("\n", use.end())
            behind = [later for later in uses[number + 1 :] if later.start() < end or end < 0]
            later = {place: what for each in behind for place, what in _compared(each, names).items()}
            for place in places:
                if place and place not in asked:
                    yield from _shapes(place, asked)
                    yield from _shapes(place, asked | later)  # in a comprehension what is asked stands behind


def _compared(use: re.Match[str], names: _Names) -> _Asked:
    """The places that are compared here, with how and with what."""
    if use["listed"]:
        return {place: ("is", _listed(use["listed"])) for place in _reached(names[use["of"]], use["at"])}
    values = _listed(use["values"] or "")
    if not values or set(values) & _TYPES:
        return {}
    how = "isnt" if use["how"].startswith(("!", "ne", "not")) else "is"
    return {
        place: (how, values)
        for place in _reached(names[use["root"]], use["chain"], called=bool(use["call"]))
        if place
    }


def _uses(names: _Names) -> re.Pattern[str]:
    """Where a program uses what it has parsed: takes it, compares it, or chooses by it."""
    known = _any_of(names)
    return re.compile(
        rf"""\b(?:case|when)\s+(?P<case>{_VALUES})"""
        rf"""|(?P<switch>\b(?:switch|match)\s*\(?\s*)?"""
        rf"""(?<![\w.>"'])[$]?(?P<root>{known})\b(?P<chain>{_CHAIN})(?P<call>\()?"""
        rf"""(?:(?:{_DEFAULT})?[\s)]*(?P<how>[!=]==?|\beq\b|\bne\b|\bnot\s+in\b|\bin\b)"""
        rf"""\s*[(\[{{]*\s*(?P<values>{_VALUES}))?"""
        rf"""|\[\s*(?P<listed>{_VALUES})\s*\]\.includes\(\s*(?P<of>{known})\b(?P<at>{_CHAIN})"""
    )


def _shapes(text: Place, asked: _Asked) -> Iterator[Shape]:
    """Whoever asks whether a value is another one may want it (and leave otherwise), or not."""
    every = [[Condition(place, "is", value) for value in values] for place, (_, values) in asked.items()]
    for conditions in islice(product(*every), _MOST):
        yield Shape(text, conditions)
    if any(how == "isnt" for how, _ in asked.values()):
        yield Shape(text, tuple(Condition(place, how, values[0]) for place, (how, values) in asked.items()))


def _any_of(names: _Names) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True)) or "(?!)"


def _listed(values: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[\"']([^\"']+)[\"']", values))


def _reached(roots: dict[Place, None], chain: str | None, *, called: bool = False) -> list[Place]:
    steps = _steps(chain or "")
    return [(*root, *(steps[:-1] if called else steps)) for root in roots]


def _steps(chain: str) -> Place:
    found = []
    for match in _STEP.finditer(re.sub(_DEFAULT, "", chain)):
        if match["nothing"] is None:
            key = next(filter(None, (match[name] for name in ("braces", "brackets", "get", "dot"))), None)
            found.append("[]" if key is None else key)
    return tuple(found)


# -- names -------------------------------------------------------------------------------------------


def _names(program: str) -> _Names:
    functions = list(_FUNCTION.finditer(program))
    ends = [*(match.start() for match in functions[1:]), len(program)][: len(functions)]
    parse, parameters = _PARSE, dict[str, list[str]]()
    for match, end in zip(functions, ends, strict=True):
        name, body = match["name"] or match["arrow"], program[match.end() : end]
        given = re.findall(r"\w+", match["given"] or match["taken"] or "")
        parameters[name] = given or re.findall(r"my\s*\(?\s*\$(\w+)", body)[:1]
        if re.search(_PARSE, body) and (match["arrow"] or re.search(r"\b(?:return|yield)\b", body)):
            parse += rf"|\b{re.escape(name)}\b"
    found = _parsed(program, parse)
    for _ in range(4):  # a name may be given before what it comes from is known
        before = sum(map(len, found.values()))
        _follow(program, parse, found)
        _hand_over(program, parameters, found)
        if sum(map(len, found.values())) == before:
            break
    return {name: places for name, places in found.items() if name not in _KEYWORDS}


def _parsed(program: str, parse: str) -> _Names:
    """Names of what a call that parses gives; and of what an arrow function is given, which may be that."""
    found: _Names = {}
    begins = rf"(?:\bfor(?:each)?\s*\(?\s*)?{_DECLARED}[$]?{_NAME}\s*(?::?=(?![=>])|\bin\b|\bof\b)"
    for match in re.finditer(rf"{begins}(?:[^;\n=]|=>)*?(?:{parse})", program):
        _bind(match["name"], (), found)
    for match in _ARROW.finditer(program):
        name = match[1] or match[2]
        if name not in found and not re.search(rf"(?:{_METHOD})\(\s*\(?{name}\b", program):
            _bind(name, (), found)
    return found


def _follow(program: str, parse: str, found: _Names) -> None:
    """Bind what is assigned, and what loops and their like take out of arrays."""
    for match in _ASSIGNED.finditer(program):
        for place in _places_in(match["value"], match["name"], found):
            _bind(match["name"], place, found)
    for match in _LOOP.finditer(program):
        if not re.search(parse, match["value"]):
            for place in _places_in(match["value"], match["name"], found)[:1]:
                _bind(match["name"], (*place, "[]"), found)
    methods = rf"(?P<root>{_any_of(found)})\b(?P<chain>{_CHAIN})(?:{_DEFAULT}\))?\s*\??\.(?:{_METHOD})\("
    for match in re.finditer(rf"{methods}\s*(?:async\s*)?\(?\s*{_NAME}", program):
        steps = [step for step in _steps(match["chain"]) if step not in _METHODS]
        for root in list(found[match["root"]]):
            _bind(match["name"], (*root, *steps, "[]"), found)


def _hand_over(program: str, parameters: dict[str, list[str]], found: _Names) -> None:
    """Bind the parameters of functions to what these are called with."""
    for name, given in parameters.items():
        calls = rf"(?<!def )(?<!function )\b{re.escape(name)}\((?P<values>[^()\n]*(?:\([^()\n]*\))?[^()\n]*)\)"
        for match in re.finditer(calls, program):
            for parameter, value in zip(given, match["values"].split(","), strict=False):
                if re.search(_PARSE, value):
                    _bind(parameter, (), found)
                for place in _places_in(value, parameter, found):
                    _bind(parameter, place, found)


def _places_in(text: str, name: str, found: _Names) -> list[Place]:
    chains = rf"(?<![\w.>\"'])[$@%{{( ]*(?P<root>{_any_of(found)})\b(?P<chain>{_CHAIN})(?P<call>\()?"
    return [
        place
        for match in re.finditer(chains, text)
        if match["root"] != name
        for place in _reached(found[match["root"]], match["chain"], called=bool(match["call"]))
    ]


def _bind(name: str, place: Place, found: _Names) -> None:
    """Note what a name may stand for; ``{ type, message: m }`` gives a name to each of its keys."""
    if name.startswith("{"):
        for key, own in re.findall(r"(\w+)\s*(?::\s*(\w+))?", name):
            _bind(own or key, (*place, key), found)
    elif name not in _KEYWORDS and len(place) < 8 and len(found.get(name, ())) < 8:
        found.setdefault(name, {})[place] = None
