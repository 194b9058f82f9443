"""How a field of the schema is written down: its default, what it means, and what it may hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["FieldRule", "key", "part"]


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What is known of one key besides its type.

    Attributes:
        about: one line for editors (JSON Schema's ``description``).
        choices: the values that schema 1 lists; empty when it lists none.
        required: the schema asks for the key (its absence is a warning, or an error for `vital` keys).
        vital: an adapter can't be loaded without it.
        pattern: the value is a regular expression.
        section: the number of the schema's section, for messages.
    """

    about: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    vital: bool = False
    pattern: bool = False
    section: int = 2


def key(
    default: Any,
    about: str,
    *,
    choices: tuple[str, ...] = (),
    required: bool = False,
    vital: bool = False,
    pattern: bool = False,
) -> Any:
    """One key that holds a scalar, a list of scalars or a mapping of them."""
    rule = FieldRule(about, choices, required, vital, pattern)
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata={"rule": rule})
    return field(default=default, metadata={"rule": rule})


def part(kind: type[Any], about: str, *, required: bool = False) -> Any:
    """One key that holds a section; an absent section has all its defaults."""
    return field(default_factory=kind, metadata={"rule": FieldRule(about, required=required)})
