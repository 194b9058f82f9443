"""The tree of a jq program, as far as it is lifted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "Alternative",
    "Array",
    "Binary",
    "Bind",
    "Call",
    "Comma",
    "If",
    "Index",
    "Iterate",
    "Literal",
    "Logic",
    "Node",
    "Number",
    "Object",
    "Pipe",
    "Recurse",
    "Reduce",
    "Slice",
    "Text",
    "Try",
    "Variable",
]


@dataclass(frozen=True, slots=True)
class Pipe:
    """``left | right``; a program of one stage is that stage."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Comma:
    """``left, right``."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Alternative:
    """``left // right``."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """``left and right``, ``left or right``."""

    word: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """A comparison or an operation on two values."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class If:
    """``if test then yes else no end``; ``elif`` nests."""

    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class Try:
    """``try body catch handler``, and ``(body)?``; None for the handler drops the error."""

    body: Node
    handler: Node | None


@dataclass(frozen=True, slots=True)
class Bind:
    """``source as $name | body``."""

    source: Node
    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Reduce:
    """``reduce source as $name (start; update)``."""

    source: Node
    name: str
    start: Node
    update: Node


@dataclass(frozen=True, slots=True)
class Index:
    """``of.key``, ``of[key]``; `optional` drops the error of this step only."""

    of: Node | None
    key: Node
    optional: bool


@dataclass(frozen=True, slots=True)
class Slice:
    """``of[start:stop]``."""

    of: Node | None
    start: int | None
    stop: int | None
    optional: bool


@dataclass(frozen=True, slots=True)
class Iterate:
    """``of[]``."""

    of: Node | None
    optional: bool


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, number, true, false, null; ``.`` is :class:`Call` of nothing called ``.``."""

    value: object


@dataclass(frozen=True, slots=True)
class Number:
    """A fraction as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    r"""A string with ``\(…)`` in it; `as_json` for ``@json "…"``."""

    parts: tuple[str | Node, ...]
    as_json: bool


@dataclass(frozen=True, slots=True)
class Array:
    """``[inner]``; None for the empty one."""

    inner: Node | None


@dataclass(frozen=True, slots=True)
class Object:
    """``{key: value, …}``."""

    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name``."""

    name: str


@dataclass(frozen=True, slots=True)
class Recurse:
    """``..``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in with its arguments; ``.`` too."""

    name: str
    arguments: tuple[Node, ...] = ()


Node: TypeAlias = (
    Pipe
    | Comma
    | Alternative
    | Logic
    | Binary
    | If
    | Try
    | Bind
    | Reduce
    | Index
    | Slice
    | Iterate
    | Literal
    | Number
    | Text
    | Array
    | Object
    | Variable
    | Recurse
    | Call
)
