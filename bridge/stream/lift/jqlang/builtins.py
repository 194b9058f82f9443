"""Built-ins from a value, or from a value and an argument, to a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.stream.lift.faults import Doubt, JqError
from bridge.stream.lift.jqlang.garbage import odd, refused
from bridge.stream.lift.jqlang.operators import add, iterate
from bridge.stream.lift.jqlang.values import MINUS_ZERO, Fraction, Value, scanner, truthy, type_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS", "PLAIN", "WITH_ARGUMENT"]


def _length(value: Value) -> Value:
    if value is None:
        return 0
    if type(value) in (str, list, dict):
        return len(value)
    if type(value) is bool:
        raise JqError
    if type(value) is int:
        return whole(abs(value))
    raise Doubt


def _keys(value: Value) -> Value:
    if type(value) is dict:
        return sorted(value)
    return _keys_unsorted(value)


def _keys_unsorted(value: Value) -> Value:
    if type(value) is dict:
        return list(value)
    if type(value) is list:
        return list(range(len(value)))
    raise JqError


def _to_entries(value: Value) -> Value:
    if type(value) is dict:
        return [{"key": key, "value": item} for key, item in value.items()]
    raise Doubt


def _sum(value: Value) -> Value:
    items = list(iterate(value))
    if len(items) > 1 and all(type(item) is str for item in items):
        return "".join(items)
    total: Value = None
    for item in items:
        total = add(total, item)
    return total


def _item(at: int) -> Callable[[Value], Value]:
    def one(value: Value) -> Value:
        if type(value) is list:
            return value[at] if value else None
        if value is None:
            return None
        raise JqError

    return one


def _cased(first: str, last: str, shift: int) -> Callable[[Value], Value]:
    letters = {code: code + shift for code in range(ord(first), ord(last) + 1)}

    def one(value: Value) -> Value:
        if type(value) is not str:
            raise JqError
        return value.translate(letters)

    return one


def _tonumber(value: Value) -> Value:
    if type(value) in (int, Fraction):
        return value
    if type(value) is str and re.fullmatch(r"[1-9][0-9]{0,14}|0", value, re.ASCII):
        return int(value)
    raise Doubt


def _fromjson(value: Value) -> Value:
    if type(value) is not str:
        raise Doubt  # null is null before 1.7
    if odd(value) or MINUS_ZERO.search(value) or value.count("[") + value.count("{") > 250:
        raise Doubt
    text = value.strip(" \t\r\n")
    try:
        found, end = scanner()(text, 0)
    except (ValueError, StopIteration, RecursionError):
        if text and refused(text):
            raise JqError from None
        raise Doubt from None
    if end != len(text):
        raise Doubt
    return found


def _floor(value: Value) -> Value:
    if type(value) is int:
        return value
    if type(value) is not Fraction:
        raise JqError
    if value.plain <= 1:
        raise Doubt
    return int(value.plain)


def _reverse(value: Value) -> Value:
    if type(value) is not list:
        raise Doubt
    return value[::-1]


PLAIN: dict[str, Callable[[Value], Value]] = {
    ".": lambda value: value,
    "not": lambda value: not truthy(value),
    "type": type_of,
    "length": _length,
    "keys": _keys,
    "keys_unsorted": _keys_unsorted,
    "to_entries": _to_entries,
    "add": _sum,
    "first": _item(0),
    "last": _item(-1),
    "ascii_downcase": _cased("A", "Z", 32),
    "ascii_upcase": _cased("a", "z", -32),
    "tonumber": _tonumber,
    "fromjson": _fromjson,
    "floor": _floor,
    "reverse": _reverse,
}

KINDS: dict[str, Callable[[Value], bool]] = {
    "nulls": lambda value: value is None,
    "values": lambda value: value is not None,
    "booleans": lambda value: type(value) is bool,
    "numbers": lambda value: type(value) in (int, Fraction),
    "strings": lambda value: type(value) is str,
    "arrays": lambda value: type(value) is list,
    "objects": lambda value: type(value) is dict,
    "iterables": lambda value: type(value) in (list, dict),
    "scalars": lambda value: type(value) not in (list, dict),
}


def _two_strings(value: Value, argument: Value) -> None:
    if type(value) is not str or type(argument) is not str:
        raise JqError


def _startswith(value: Value, argument: Value) -> Value:
    _two_strings(value, argument)
    return value.startswith(argument)


def _endswith(value: Value, argument: Value) -> Value:
    _two_strings(value, argument)
    return value.endswith(argument)


def _trimmed(method: str) -> Callable[[Value, Value], Value]:
    def work(value: Value, argument: Value) -> Value:
        if type(value) is not str or type(argument) is not str:
            raise Doubt
        return getattr(value, method)(argument)

    return work


def _split(value: Value, argument: Value) -> Value:
    _two_strings(value, argument)
    if not argument:
        return list(value)
    return value.split(argument) if value else []


def _contains(value: Value, argument: Value) -> Value:
    if type(value) is not str or type(argument) is not str or "\0" in value or "\0" in argument:
        raise Doubt
    return argument in value


def _has(value: Value, argument: Value) -> Value:
    if type(value) is dict and type(argument) is str:
        return argument in value
    if type(value) is list and type(argument) is int:
        return 0 <= argument < len(value)
    raise Doubt if value is None else JqError  # false before 1.7


WITH_ARGUMENT: dict[str, Callable[[Value, Value], Value]] = {
    "startswith/1": _startswith,
    "endswith/1": _endswith,
    "ltrimstr/1": _trimmed("removeprefix"),
    "rtrimstr/1": _trimmed("removesuffix"),
    "split/1": _split,
    "contains/1": _contains,
    "has/1": _has,
}
