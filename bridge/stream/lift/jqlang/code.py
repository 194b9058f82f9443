"""Compiled pieces of a jq program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqlang.values import Value

    Emit: TypeAlias = Callable[[Value], Any]
    One: TypeAlias = Callable[[Value], Value]

__all__ = ["Code", "piped", "scalar"]


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled node.

    Attributes:
        each: (input, emit) -> None.
        one: input -> output, where there is exactly one output.
    """

    each: Callable[[Value, Emit], Any]
    one: One | None = None


def scalar(one: One) -> Code:
    """A node with one output."""
    return Code(lambda value, emit: emit(one(value)), one)


def piped(left: Code, right: Code) -> Code:
    """``left | right``."""
    first, second = left.one, right.one
    if first is None:
        return Code(lambda value, emit: left.each(value, lambda out: right.each(out, emit)))
    if second is None:
        return Code(lambda value, emit: right.each(first(value), emit))
    return scalar(lambda value: second(first(value)))
