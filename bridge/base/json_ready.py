"""Values as JSON has them: paths as text, enums as their values, durations in seconds. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Any

_LEFT_OUT = frozenset({"state"})
"""What kinds of setup keep for themselves: no two have the same fields in it."""


def members(value: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """Give the fields of a dataclass, ready for JSON."""
    names = (each.name for each in fields(value) if each.name not in {*_LEFT_OUT, *without})
    return {name: ready(getattr(value, name)) for name in names}


_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (Enum, lambda value: ready(value.value)),
    ((str, bool, int, type(None)), lambda value: value),
    (float, lambda value: value if math.isfinite(value) else None),
    (timedelta, timedelta.total_seconds),
    (date, lambda value: value.isoformat()),
    (bytes, lambda value: value.decode("utf-8", "replace")),
    (Mapping, lambda value: {str(ready(name)): ready(each) for name, each in value.items()}),
    (Set, lambda value: sorted(map(ready, value))),
    ((list, tuple), lambda value: [*map(ready, value)]),
)
"""What becomes of a value, by its type; the first one counts."""


def ready(value: Any) -> Any:
    """Give a value ready for JSON; what nobody knows, as text.

    >>> ready({"wait": timedelta(minutes=2), "never": math.inf, "at": {2, 1}})
    {'wait': 120.0, 'never': None, 'at': [1, 2]}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return members(value)
    if hasattr(value, "_asdict"):  # a named tuple
        return ready(value._asdict())
    return next((convert(value) for kind, convert in _KINDS if isinstance(value, kind)), str(value))
