"""JSON values as the lifted programs see them: reading, comparing, and the text that jq prints.

Numbers: an integer is an int; anything with a point or an exponent is a :class:`Fraction`, which keeps how
it was written. Where the versions of jq print or compare a number differently (see the package), using it
raises :class:`Doubt`; a number that only passes by does no harm.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from json.scanner import make_scanner
from typing import Any, ClassVar, TypeAlias

from bridge.stream.lift.faults import Doubt

__all__ = ["MINUS_ZERO", "Fraction", "Value", "Writer", "equal", "number", "scanner", "truthy", "type_of", "whole"]

Value: TypeAlias = Any
"""None, bool, int, :class:`Fraction`, str, list, dict."""

_SAFE = 2**53
# At most 15 digits, no zero at the end, not below a thousandth: every version prints it as it is written.
_PLAIN = re.compile(r"-?(?:[1-9][0-9]*\.|0\.(?=[0-9]{0,2}[1-9]))[0-9]*[1-9]", re.ASCII)
MINUS_ZERO = re.compile(r"-0(?<![\w.]-0)(?![0-9.])", re.ASCII)


class Fraction:
    """A number written with a point or an exponent."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def check(self) -> None:
        """Raise :class:`Doubt` unless all versions agree on it and print it as it is written."""
        if not _PLAIN.fullmatch(self.text) or len(self.text) > 16:
            raise Doubt

    @property
    def plain(self) -> float:
        """Its value, of which the same is true."""
        self.check()
        return float(self.text)


def _constant(name: str) -> Value:
    raise ValueError(name)  # NaN, Infinity: JSON to Python only


class _Context:
    """What the C scanner of json asks its decoder for."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = Fraction
    parse_int = int
    parse_constant = staticmethod(_constant)
    memo: ClassVar[dict[str, str]] = {}


def scanner() -> Any:
    """A function (text, index) -> (value, end); raises StopIteration or ValueError."""
    context: Any = _Context()
    return make_scanner(context)


def type_of(value: Value) -> str:
    """As the jq word ``type`` says it."""
    return _TYPES[type(value)]


_TYPES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    Fraction: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def truthy(value: Value) -> bool:
    """Everything but null and false."""
    return value is not None and value is not False


def whole(value: int) -> int:
    """An integer that a double holds exactly."""
    if not -_SAFE <= value <= _SAFE:
        raise Doubt
    return value


def number(value: Value) -> float | int:
    """The value of a number that all versions agree on."""
    return whole(value) if type(value) is int else value.plain


class Writer:
    """Values to the text that jq prints; knows the text that they were read from.

    Attributes:
        source: the lines at hand. Python reads ``-0`` as 0 and jq prints ``-0``, so when a zero is to be
            printed and there is a ``-0`` somewhere in `source`, that is a doubt.
    """

    __slots__ = ("source",)

    def __init__(self) -> None:
        self.source = ""

    def to_json(self, value: Value) -> str:
        """Compact JSON text."""
        kind = type(value)
        if kind is str:
            if "\x7f" in value:  # written as it is or as \u007f
                raise Doubt
            return str(encode_basestring(value))
        if kind is dict:
            return (
                "{" + ",".join([f"{self.to_json(key)}:{self.to_json(item)}" for key, item in value.items()]) + "}"
            )
        if kind is list:
            return "[" + ",".join(map(self.to_json, value)) + "]"
        if kind is int:
            if value == 0 and MINUS_ZERO.search(self.source):
                raise Doubt
            return str(whole(value))
        if kind is Fraction:
            value.check()
            return str(value.text)
        return "null" if value is None else "true" if value else "false"

    def text(self, value: Value) -> str:
        """As ``tostring``: a string as it is, anything else as JSON."""
        return value if type(value) is str else self.to_json(value)


def equal(left: Value, right: Value) -> bool:
    """As ``==``."""
    kind, other = type(left), type(right)
    if kind in (int, Fraction) and other in (int, Fraction):
        return number(left) == number(right)
    if kind is not other:
        return False
    if kind is list:
        return len(left) == len(right) and all(map(equal, left, right))
    if kind is dict:
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    return bool(left == right)
