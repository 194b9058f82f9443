"""Shell variables as Python values.

Values are bytes in bash and ``str`` with surrogateescape here: every byte but NUL survives both ways.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.errors import ValueNotAccepted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Value = str | list[str] | dict[str, str]
"""Scalar, indexed array, associative array."""

Plain = str | list[str] | dict[str, str] | dict[int, str]
"""What can be assigned: as `Value`, and an indexed array with gaps."""

Kind = Literal["scalar", "array", "map"]

VOLATILE = frozenset({
    "_", "BASHOPTS", "BASHPID", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0", "BASH_COMMAND",
    "BASH_EXECUTION_STRING", "BASH_LINENO", "BASH_MONOSECONDS", "BASH_SOURCE", "BASH_SUBSHELL",
    "BASH_TRAPSIG", "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME", "GROUPS",
    "HISTCMD", "LINENO", "PIPESTATUS", "RANDOM", "SECONDS", "SHELLOPTS", "SRANDOM",
})  # fmt: skip
"""Variables that bash itself changes all the time: no part of what a hook did."""


class Variable(NamedTuple):
    """One shell variable, as ``declare -p`` and its elements tell it.

    Attributes:
        name: its name.
        kind: ``scalar``, ``array`` (indexed), ``map`` (associative).
        items: element by key; the key of a scalar is ``"0"``; empty when declared but unset.
        flags: attribute letters of ``declare``: ``i`` integer, ``r`` readonly, ``x`` exported, ``n`` nameref,
            ``l`` and ``u`` case, ``t`` trace.
    """

    name: str
    kind: Kind
    items: Mapping[str, str]
    flags: frozenset[str] = frozenset()

    @property
    def value(self) -> Value:
        """The scalar; the elements in order of their indices (gaps closed); or the mapping."""
        if self.kind == "map":
            return dict(self.items)
        if self.kind == "array":
            return list(self.items.values())
        return self.items.get("0", "")

    @property
    def is_set(self) -> bool:
        """False for a variable that is declared and has no value (``declare -x NAME``)."""
        return bool(self.items) or self.kind != "scalar"

    @property
    def readonly(self) -> bool:
        """Whether bash refuses to change it."""
        return "r" in self.flags

    @property
    def integer(self) -> bool:
        """Whether bash evaluates what is assigned to it as arithmetic."""
        return "i" in self.flags

    @property
    def exported(self) -> bool:
        """Whether programs see it in their environment."""
        return "x" in self.flags


def variable(name: str, declaration: str, keys: Sequence[str], elements: Sequence[str]) -> Variable | None:
    """What the prelude's ``__rb_f`` printed, as a `Variable`; None when there is no such variable."""
    if not declaration.startswith("declare -") and not keys:
        return None
    # bash's own dynamic variables have a value and, in some versions, no declaration.
    flags = frozenset(declaration.split(" ", 2)[1] if declaration.startswith("declare -") else "") - {"-"}
    kind: Kind = "map" if "A" in flags else "array" if "a" in flags else "scalar"
    if "n" in flags and list(keys) not in ([], ["0"]):
        kind = "array" if all(key.isdigit() for key in keys) else "map"
    return Variable(name, kind, dict(zip(keys, elements, strict=True)), flags - {"a", "A"})


class VariableChanges(NamedTuple):
    """What happened to the globals between two snapshots. Each maps a name to what it was or is."""

    added: Mapping[str, Variable]
    changed: Mapping[str, tuple[Variable, Variable]]
    removed: Mapping[str, Variable]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    @property
    def names(self) -> frozenset[str]:
        """Every name that is not as it was."""
        return frozenset(self.added) | frozenset(self.changed) | frozenset(self.removed)


class Snapshot(dict[str, Variable]):
    """The globals of a shell at one moment, by name, without those that bash itself changes all the time."""

    def changes(self, later: Snapshot) -> VariableChanges:
        """What a `later` snapshot has that this one hasn't, and the other way round."""
        return VariableChanges(
            added={name: v for name, v in later.items() if name not in self},
            changed={n: (self[n], v) for n, v in later.items() if n in self and self[n] != v},
            removed={name: v for name, v in self.items() if name not in later},
        )


def plain(name: str, value: object) -> Plain:
    """A Python value as what a shell variable can hold.

    str and bytes are scalars, True and False are ``true`` and ``false`` (as the contract writes booleans),
    int is its decimal digits; a list or tuple is an indexed array; a dict with int keys an indexed array with
    gaps, with str keys an associative one.

    Raises:
        ValueNotAccepted: anything else.
    """
    if isinstance(value, (str, bytes, bool, int)):
        return scalar(name, value)
    if isinstance(value, (list, tuple)):
        return [scalar(f"{name}[{i}]", v) for i, v in enumerate(value)]
    if isinstance(value, dict):
        if all(type(key) is int and key >= 0 for key in value):
            return {key: scalar(f"{name}[{key}]", v) for key, v in value.items()}
        if all(isinstance(key, (str, bytes)) for key in value):
            return {scalar(name, key): scalar(f"{name}[{key!r}]", v) for key, v in value.items()}
    raise ValueNotAccepted(
        f"{name}: a shell variable can't hold {type(value).__name__} {value!r:.60}; "
        "use str, bytes, int, bool, a list of them, or a dict with str or int keys"
    )


def scalar(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise ValueNotAccepted(f"{name}: {type(value).__name__} is not a value of the shell: {value!r:.60}")


def is_map(value: Plain) -> bool:
    """Whether it takes an associative array to hold it."""
    return isinstance(value, dict) and any(isinstance(key, str) for key in value)


def elements(value: Plain) -> list[str]:
    return [value] if isinstance(value, str) else list(value.values() if isinstance(value, dict) else value)


def is_integer(text: str) -> bool:
    """Whether bash takes `text` for a decimal number and nothing else, so that it may be evaluated."""
    return re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,17})", text) is not None
