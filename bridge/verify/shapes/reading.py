"""What a jq program looks at: where the text is that it prints, and what an event must be like for that.

The program isn't run. It is followed along each of its branches, with a place in the event in the stead of a value:
`reads` tells the places, and whoever wants to know for certain makes an event of each and runs the program on it.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.verify.shapes.syntax import NotRead, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.verify.shapes.syntax import Node

Place = tuple[str, ...]
"""Keys from the event inwards; ``[]`` for any element of an array, ``[2]`` for a certain one."""

_MOST = 400
_DEEPEST = 60
_TYPED = {"strings": "string", "objects": "object", "arrays": "array", "numbers": "number", "booleans": "boolean"}
_SAME_WORDS = """
    tostring tojson fromjson ascii_downcase ascii_upcase ltrimstr rtrimstr trimstr trim ltrim rtrim gsub sub values
    scalars iterables debug sort unique reverse flatten ascii implode explode @text @json @sh @html @uri stderr
    tojson input inputs
"""
_SAME = frozenset(_SAME_WORDS.split())
"""Functions that give what they are given, or text made of it."""
_NOTHING = frozenset({"empty", "error", "halt", "halt_error", "nulls", "length", "now", "keys"})
_OF_ELEMENTS = frozenset({"join", "add", "first", "last", "min", "max", "unique_by", "sort_by"})
_OF_THE_LAST = frozenset({"first", "last", "limit", "nth", "until", "isempty", "walk", "path"})
_DEEP = frozenset({"recurse", "recurse_down", "paths", "leaf_paths"})


class Condition(NamedTuple):
    """What must hold at a place. how: ``is`` and ``isnt`` (a value), ``type`` (its name), ``there`` (anything).

    ``begins``: with these words, a line that is no JSON.
    """

    place: Place
    how: str
    value: Any = None


class Shape(NamedTuple):
    """One kind of event of which a program prints something.

    text: where that is. conditions: what else must hold.
    """

    text: Place
    conditions: tuple[Condition, ...]


def beginning(words: str) -> Shape:
    """The shape of a line that is no JSON but a text behind these words: who speaks."""
    return Shape((), (Condition((), "begins", words),))


class _At(NamedTuple):
    """The value at a place."""

    place: Place


class _Known(NamedTuple):
    """A value that the program itself has."""

    value: Any


class _Made(NamedTuple):
    """Something made of what is at these places."""

    of: tuple[Place, ...] = ()


class _Type(NamedTuple):
    """The name of the type of what is there."""

    place: Place


class _Flow(NamedTuple):
    """A value on one branch, and what the event must be like for that branch."""

    value: _At | _Known | _Made | _Type | _Several
    conditions: tuple[Condition, ...] = ()


class _Several(NamedTuple):
    """An array that the program makes."""

    flows: tuple[_Flow, ...]


class _Closure(NamedTuple):
    """A function of the program, or an argument of one."""

    parameters: tuple[str, ...]
    body: Node
    scope: dict[str, Any]


class _Scope(NamedTuple):
    """What names mean: variables with ``$``, functions with the number of their arguments."""

    names: dict[str, Any]
    depth: int = 0

    def having(self, **names: Any) -> _Scope:
        return self._replace(names=self.names | names)


@cache
def reads(program: str) -> tuple[Shape, ...]:
    """The shapes of events of which a program prints something, shallow ones first; none when it can't be read."""
    try:
        flows = _run(parsed(program), _Flow(_At(())), _Scope({}))
        found = [Shape(place, flow.conditions) for flow in flows for place in _places(flow.value)]
    except (NotRead, RecursionError):
        return ()
    return tuple(sorted(dict.fromkeys(shape for shape in found if shape.text), key=lambda shape: len(shape.text)))


def _places(value: Any) -> tuple[Place, ...]:
    if isinstance(value, _At):
        return (value.place,)
    if isinstance(value, _Made):
        return value.of
    if isinstance(value, _Several):
        return tuple(place for flow in value.flows for place in _places(flow.value))
    return ()


def _with(flow: _Flow, more: Iterable[Condition]) -> _Flow | None:
    """It, if these hold as well; None where they can't."""
    conditions = list(flow.conditions)
    for new in more:
        for old in conditions:
            if old.place == new.place and _contradict(old, new):
                return None
        if new not in conditions:
            conditions.append(new)
    return flow._replace(conditions=tuple(conditions))


def _contradict(one: Condition, other: Condition) -> bool:
    hows = {one.how, other.how}
    if hows == {"is", "isnt"}:
        return bool(one.value == other.value)
    return len(hows) == 1 and hows <= {"is", "type"} and one.value != other.value


def _inner(flow: _Flow, key: str) -> Iterator[_Flow]:
    """What is at a key, or within an array, of a value."""
    value = flow.value
    if isinstance(value, _At):
        if value.place[-1:] != (key,) or key not in ("[]", "*"):  # or a function that calls itself would go on
            yield flow._replace(value=_At((*value.place, key)))
    elif isinstance(value, _Made):
        yield flow
    elif isinstance(value, _Several) and key.startswith("["):
        yield from filter(None, (_with(each, flow.conditions) for each in value.flows))


# -- values ------------------------------------------------------------------------------------------


def _run(node: Node, flow: _Flow, scope: _Scope) -> list[_Flow]:
    """What a part of the program gives for a value; nothing where a function calls itself again and again.

    Raises:
        NotRead: it is too much.
    """
    if scope.depth > _DEEPEST:
        return []
    found = list(_RULES[node[0]](node, flow, scope._replace(depth=scope.depth + 1)))
    if len(found) > _MOST:
        raise NotRead("too many branches")
    return found


def _field(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    for each in _run(node[1], flow, scope):
        yield from _inner(each, node[2])


def _index(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    for each in _run(node[1], flow, scope):
        for index in _run(node[2], flow, scope):
            if isinstance(index.value, _Known) and isinstance(index.value.value, str):
                yield from _inner(each, index.value.value)
            elif isinstance(index.value, _Known) and isinstance(index.value.value, int):
                yield from _inner(each, f"[{index.value.value}]")
            else:
                yield from _inner(each, "[]")


def _each(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    for each in _run(node[1], flow, scope):
        yield from _inner(each, "[]")


def _binary(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    _, sign, left, right = node
    if sign == "|":
        for each in _run(left, flow, scope):
            yield from _run(right, each, scope)
    elif sign in (",", "//"):
        yield from _run(left, flow, scope)
        yield from _run(right, flow, scope)
    elif sign == "+":
        for one, other in product(_run(left, flow, scope), _run(right, flow, scope)):
            if (both := _with(one, other.conditions)) is not None:
                yield both._replace(value=_sum(one.value, other.value))
    elif sign.endswith("=") and sign not in ("==", "!=", "<=", ">="):
        yield flow
    else:
        yield flow._replace(value=_Made())


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, _Several) and isinstance(other, _Several):
        return _Several((*one.flows, *other.flows))
    return _Made((*_places(one), *_places(other)))


def _text(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    made = [flow._replace(value=_Made())]
    for piece in node[1]:
        inside = _run(piece, flow, scope)
        pairs = [(whole, part, _with(whole, part.conditions)) for whole, part in product(made, inside)]
        made = [
            both._replace(value=_sum(whole.value, part.value)) for whole, part, both in pairs if both is not None
        ]
    yield from made


def _object(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    yield from _text(("text", list(node[1].values())), flow, scope)


def _if(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    _, condition, then, otherwise = node
    for wanted, branch in ((True, then), (False, otherwise)):
        for conditions in _holds(condition, flow, scope, wanted):
            if (chosen := _with(flow, conditions)) is not None:
                yield from _run(branch, chosen, scope)


def _as(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    _, source, patterns, body = node
    for value in _run(source, flow, scope):
        if (chosen := _with(flow, value.conditions)) is not None:
            yield from _run(body, chosen, _bound(value, patterns, scope))


def _bound(value: _Flow, patterns: list[Node], scope: _Scope) -> _Scope:
    names: dict[str, Any] = {}
    for _, paths in patterns:
        for name, path in paths.items():
            inner = [value]
            for key in path:
                inner = [found for each in inner for found in _inner(each, key)]
            names[name] = tuple(inner)
    return scope.having(**names)


def _loop(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    _, source, patterns, steps = node
    for value in _run(source, flow, scope):
        inner = _bound(value, patterns, scope)
        for each in _run(steps[0], flow, scope):
            begun = _with(each, value.conditions)
            for step in steps[1:] if begun is not None else ():
                assert begun is not None
                yield from _run(step, begun._replace(value=_Made()) if step is steps[-1] else begun, inner)


def _variable(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    known = scope.names.get(node[1], (_Flow(_Made()),))
    yield from filter(None, (_with(each, flow.conditions) for each in known))


def _def(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    _, name, parameters, body, rest = node
    key = f"{name}/{len(parameters)}"
    names = dict(scope.names)
    names[key] = _Closure(tuple(parameters), body, names)  # it knows itself
    yield from _run(rest, flow, scope._replace(names=names))


def _call(node: Node, flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    _, name, arguments = node
    own = scope.names.get(f"{name}/{len(arguments)}")
    if own is not None:
        yield from _called(own, arguments, flow, scope)
    elif name == "select":
        for conditions in _holds(arguments[0], flow, scope, True):
            yield from filter(None, [_with(flow, conditions)])
    elif name not in _NOTHING:
        yield from _of_jq(name, arguments, flow, scope)


def _of_jq(name: str, arguments: list[Node], flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    if name in _TYPED:
        yield from _of_type(flow, _TYPED[name])
    elif name == "type" and isinstance(flow.value, _At):
        yield flow._replace(value=_Type(flow.value.place))
    elif name in ("map", "map_values"):
        inner = [found for each in _inner(flow, "[]") for found in _run(arguments[0], each, scope)]
        yield flow._replace(value=_Several(tuple(inner)))
    elif name in _OF_THE_LAST and arguments:
        yield from _run(arguments[-1], flow, scope)
    elif name in _OF_ELEMENTS and not isinstance(flow.value, _Made):
        yield from _inner(flow, "[]")
    elif name in _DEEP:
        yield from (*_inner(flow, "*"), flow)
    elif name in _SAME or not arguments:
        yield flow
    else:
        yield flow._replace(value=_Made(_places(flow.value)))


def _called(function: Any, arguments: list[Node], flow: _Flow, scope: _Scope) -> Iterator[_Flow]:
    names = dict(function.scope)
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if parameter.startswith("$"):
            names[parameter] = tuple(_run(argument, flow, scope))
        else:
            names[f"{parameter}/0"] = _Closure((), argument, scope.names)
    yield from _run(function.body, flow, scope._replace(names=names))


def _of_type(flow: _Flow, name: str) -> Iterator[_Flow]:
    if isinstance(flow.value, _At):
        yield from filter(None, [_with(flow, [Condition(flow.value.place, "type", name)])])
    elif isinstance(flow.value, _Known):
        if isinstance(flow.value.value, str) == (name == "string"):
            yield flow
    else:
        yield flow


# -- conditions --------------------------------------------------------------------------------------

_Ways = list[tuple[Condition, ...]]
"""The ways in which something can hold: in each of them all of these."""


def _holds(node: Node, flow: _Flow, scope: _Scope, wanted: bool) -> _Ways:
    """The ways in which a condition is true, or false."""
    kind = node[0]
    if kind == "binary" and node[1] in ("and", "or"):
        one, other = (_holds(each, flow, scope, wanted) for each in node[2:])
        if (node[1] == "and") is wanted:
            return [(*a, *b) for a, b in product(one, other)][:_MOST]
        return (one + other)[:_MOST]
    if kind == "binary" and node[1] == "|":
        return [
            (*each.conditions, *more)
            for each in _run(node[2], flow, scope)
            for more in _holds_of(node[3], each, scope, wanted)
        ]
    if kind == "binary" and node[1] in ("==", "!="):
        return _compared(node, flow, scope, (node[1] == "==") is wanted)
    if kind == "binary" and node[1] in ("<", "<=", ">", ">="):
        return [()]
    if kind == "call" and (found := _asked(node, flow, scope, wanted)) is not None:
        return found
    return [way for each in _run(node, flow, scope) for way in _true(each, wanted)] or [()] * (not wanted)


def _holds_of(node: Node, flow: _Flow, scope: _Scope, wanted: bool) -> _Ways:
    if node == ("call", "not", []):
        return _true(flow, not wanted)
    return _holds(node, flow, scope, wanted)


def _true(flow: _Flow, wanted: bool) -> _Ways:
    value = flow.value
    if isinstance(value, _Known):
        return [flow.conditions] if (value.value not in (None, False)) is wanted else []
    if isinstance(value, _At) and wanted:
        return [(*flow.conditions, Condition(value.place, "there"))]
    return [flow.conditions]


def _compared(node: Node, flow: _Flow, scope: _Scope, same: bool) -> _Ways:
    ways: _Ways = []
    for one, other in product(_run(node[2], flow, scope), _run(node[3], flow, scope)):
        conditions = (*one.conditions, *other.conditions)
        for value, known in ((one.value, other.value), (other.value, one.value)):
            if isinstance(known, _Known) and isinstance(value, _At | _Type):
                how = "type" if isinstance(value, _Type) else "is"
                if same or how == "is":
                    conditions = (*conditions, Condition(value.place, how if same else "isnt", known.value))
                break
        else:
            if isinstance(one.value, _Known) and isinstance(other.value, _Known) and (one == other) is not same:
                continue
        ways.append(conditions)
    return ways


def _asked(node: Node, flow: _Flow, scope: _Scope, wanted: bool) -> _Ways | None:
    """For the functions that ask something of their input."""
    _, name, arguments = node
    if f"{name}/{len(arguments)}" in scope.names:
        return None
    if name == "not":
        return _true(flow, not wanted)
    if name in ("any", "all", "isempty", "first") and arguments:
        inner = [flow] if len(arguments) > 1 or name == "isempty" else list(_inner(flow, "[]"))
        if len(arguments) > 1:
            inner = _run(arguments[0], flow, scope)
        return [way for each in inner for way in _holds(arguments[-1], each, scope, wanted)]
    if name == "has" and isinstance(flow.value, _At):
        keys = [each.value.value for each in _run(arguments[0], flow, scope) if isinstance(each.value, _Known)]
        return [(Condition((*flow.value.place, str(key)), "there"),) for key in keys] if wanted else [()]
    if name in ("IN", "index", "inside", "contains", "startswith", "endswith", "test", "match", "in"):
        return _among(node, flow, scope, wanted)
    return None


def _among(node: Node, flow: _Flow, scope: _Scope, wanted: bool) -> _Ways:
    """``IN("a", "b")``, ``["a", "b"] | index($type)``, ``test("^a|b$")`` and their like."""
    _, name, arguments = node
    values = [each.value for each in _run(arguments[0], flow, scope)]
    sides = [flow.value, *values]
    words: list[Any] = []
    for side in sides:
        held = [each.value for each in side.flows] if isinstance(side, _Several) else [side]
        words += [each.value for each in held if isinstance(each, _Known)]
    if name in ("test", "match"):
        words = [word for each in words for word in re.findall(r"\w[\w.-]*\w", str(each))]
    places = [each.place for each in sides if isinstance(each, _At)]
    if not places or not words:
        return [()]
    if wanted:
        return [(Condition(places[0], "is", word),) for word in words]
    return [tuple(Condition(places[0], "isnt", word) for word in words)]


_RULES: dict[str, Any] = {
    "identity": lambda _node, flow, _scope: [flow],
    "literal": lambda node, flow, _scope: [flow._replace(value=_Known(node[1]))],
    "slice": lambda node, flow, scope: _run(node[1], flow, scope),
    "array": lambda node, flow, scope: [flow._replace(value=_Several(tuple(_run(node[1], flow, scope))))],
    "field": _field, "index": _index, "each": _each, "binary": _binary, "text": _text, "object": _object, "if": _if,
    "as": _as, "loop": _loop, "variable": _variable, "def": _def, "call": _call,
}  # fmt: skip
"""What gives the values of each kind of node."""
