"""What jq's operators do with two values, and the steps of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.lift.faults import Doubt, JqError
from bridge.stream.lift.jqlang.values import Fraction, Value, equal, number, type_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["BINARY", "get", "iterate", "slice_of"]

_NUMBERS = (int, Fraction)
_RANK = {"null": 0, "boolean": 1, "number": 3, "string": 4, "array": 5, "object": 6}


def add(left: Value, right: Value) -> Value:
    """``+``: null is neutral."""
    kind = type(left)
    if kind is str and type(right) is str:
        return left + right
    if left is None:
        return right
    if right is None:
        return left
    if kind is not type(right):
        if kind in _NUMBERS and type(right) in _NUMBERS:
            raise Doubt
        raise JqError
    if kind is int:
        return whole(whole(left) + whole(right))
    if kind is list:
        return left + right
    if kind is dict:
        return {**left, **right}
    raise Doubt if kind is Fraction else JqError


def subtract(left: Value, right: Value) -> Value:
    """``-`` of integers."""
    if type(left) is int and type(right) is int:
        return whole(whole(left) - whole(right))
    if type(left) in (*_NUMBERS, list) and type(right) in (*_NUMBERS, list):
        raise Doubt
    raise JqError


def multiply(left: Value, right: Value) -> Value:
    """``*`` of integers; a zero may be ``-0``."""
    if type(left) is int and type(right) is int and left and right:
        return whole(whole(left) * whole(right))
    raise Doubt


def divide(left: Value, right: Value) -> Value:
    """``/`` of integers without a rest, and of strings."""
    if type(left) is int and type(right) is int and left and right and left % right == 0:
        return whole(whole(left) // whole(right))
    raise Doubt


def modulo(left: Value, right: Value) -> Value:
    """``%`` of integers that are not negative."""
    if type(left) is int and type(right) is int and left >= 0 < right and whole(left) and whole(right):
        return left % right
    raise Doubt


def _order(left: Value, right: Value) -> int:
    kind, other = type_of(left), type_of(right)
    if kind != other:
        return -1 if _RANK[kind] < _RANK[other] else 1
    if kind in ("array", "object"):
        raise Doubt
    if kind == "null":
        return 0
    a, b = (number(left), number(right)) if kind == "number" else (left, right)
    return -1 if a < b else 1 if a > b else 0


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: _order(left, right) < 0,
    "<=": lambda left, right: _order(left, right) <= 0,
    ">": lambda left, right: _order(left, right) > 0,
    ">=": lambda left, right: _order(left, right) >= 0,
}


def get(key: Value) -> Callable[[Value], Value]:
    """``.[key]``, as a function of the value."""
    if type(key) is str:

        def field(value: Value) -> Value:
            if type(value) is dict:
                return value.get(key)
            if value is None:
                return None
            raise JqError

        return field
    if type(key) is int:

        def item(value: Value) -> Value:
            if type(value) is list:
                return value[key] if -len(value) <= key < len(value) else None
            if value is None:
                return None
            raise JqError

        return item
    raise Doubt


def slice_of(start: int | None, stop: int | None) -> Callable[[Value], Value]:
    """``.[start:stop]``, as a function of the value."""

    def cut(value: Value) -> Value:
        if type(value) is str or type(value) is list:
            return value[start:stop]
        if value is None:
            return None
        raise JqError

    return cut


def iterate(value: Value) -> Iterable[Value]:
    """The items of ``.[]``."""
    if type(value) is list:
        return value
    if type(value) is dict:
        return value.values()
    raise JqError
