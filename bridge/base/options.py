"""Options as a Python caller gives them: named and typed as they should be, or an error that says so. Pure."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bridge.base.resources import likely
from bridge.errors import ConfigurationError, ValueNotAccepted

if TYPE_CHECKING:
    from collections.abc import Callable

_NONE = " | None"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def _are_texts(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and all(isinstance(v, str) for v in value)
    )


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "str | os.PathLike[str]": ("a text or a path", lambda value: isinstance(value, str | os.PathLike)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "float": ("a number", _is_number),
    "float | timedelta": (
        "a number or a timedelta",
        lambda value: _is_number(value) or isinstance(value, timedelta),
    ),
    "Sequence[str]": ("a list of texts", _are_texts),
    "Collection[str]": (
        "texts",
        lambda value: isinstance(value, Collection) and not isinstance(value, str | bytes) and _are_texts([*value]),
    ),
    "Mapping[str, str]": (
        "texts by their names",
        lambda value: isinstance(value, Mapping) and _are_texts([*value, *value.values()]),
    ),
    "Mapping[str, object]": ("values by their names", lambda value: isinstance(value, Mapping)),
    "dict[str, Any]": ("options by their names", lambda value: isinstance(value, Mapping)),
}
"""What is expected, in words, and whether a value is that; by annotation."""


UNITS = {"seconds": timedelta(seconds=1), "minutes": timedelta(minutes=1)}
"""In which numbers that are durations may be."""


def in_units(value: Any, unit: str) -> Any:
    """Give a timedelta as a number of seconds or minutes, anything else as it is.

    >>> in_units(timedelta(hours=1), "minutes"), in_units(30, "minutes")
    (60.0, 30)
    """
    return value / UNITS[unit] if isinstance(value, timedelta) else value


def check_options(of: str, given: Mapping[str, object], annotations: Mapping[str, object]) -> None:
    """Refuse what nobody knows, and values of another type than the annotations say.

    Args:
        of: what takes them, such as ``Loop.open``.
        given: the options.
        annotations: what it takes; one that isn't in `_KINDS` is taken as it is.

    Raises:
        ConfigurationError: names the option, the value and what is expected.
    """
    for name, value in given.items():
        if name not in annotations:
            known = ", ".join(sorted(annotations))
            raise ConfigurationError(f"{of} has no option {name!r}.{likely(name, annotations)}\n  it has: {known}")
        kind = str(getattr(annotations[name], "__forward_arg__", annotations[name]))
        if value is None and kind.endswith(_NONE):
            continue
        expected, fits = _KINDS.get(kind.removesuffix(_NONE), ("", lambda _value: True))
        if not fits(value):
            what = f"{name} is {value!r:.200} ({type(value).__name__})"
            raise ConfigurationError(
                f"{of}: {what}, expected {expected}{' or None' if kind.endswith(_NONE) else ''}"
            )


def seconds(timeout: float | timedelta | None, name: str = "timeout") -> float | None:
    """Check what a caller gives as a time limit: seconds, a timedelta, or None for no limit.

    Raises:
        ValueNotAccepted: another type, or less than 0.
    """
    number = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if number is None or number == math.inf:
        return None
    if not isinstance(number, int | float) or isinstance(number, bool) or not number >= 0:
        what = f"{name} is {timeout!r:.60} ({type(timeout).__name__})"
        raise ValueNotAccepted(f"{what}, expected seconds (0 or more), a timedelta, or None for no limit")
    return number


def at_most(timeout: float | timedelta | None, name: str = "timeout") -> float:
    """As :func:`seconds`; no limit is infinity, for who counts with it."""
    found = seconds(timeout, name)
    return math.inf if found is None else found
