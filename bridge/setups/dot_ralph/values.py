"""What a setting's text may be, and the value that it stands for. Pure."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


Value = str | int | float | bool | None
_WHOLE = re.compile(r"[0-9]{1,9}")
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")


class Refused(ValueError):
    """The text is none of what was expected; says what was."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of setting.

    Attributes:
        expected: what it accepts, as it appears in messages and tables.
        read: from text to value; raises :class:`Refused`.
        lenient: a text that is refused costs a warning, and `instead` is taken: where the original goes on.
        instead: the value then.
    """

    expected: str
    read: Callable[[str], Value]
    lenient: bool = False
    instead: Value = None


def text(expected: str = "any text") -> Kind:
    """Take any text."""
    return Kind(expected, str)


def whole(least: int, most: int | None = None, *, lenient: bool = False) -> Kind:
    """Take a whole number from `least` to `most`; lenient: anything else is 0, with a warning."""
    expected = f"a whole number ≥ {least}" if most is None else f"a whole number from {least} to {most}"

    def read(given: str) -> Value:
        if _WHOLE.fullmatch(given) is None or int(given) < least or (most is not None and int(given) > most):
            raise Refused(expected)
        return int(given)

    return Kind(expected, read, lenient, 0 if lenient else None)


def seconds() -> Kind:
    """Take seconds, a fraction allowed."""
    return _number("seconds ≥ 0, such as 30 or 0.5")


def megabytes() -> Kind:
    """Take a size, a fraction allowed."""
    return _number("megabytes ≥ 0, such as 500 or 0.5")


def cap(unit: str) -> Kind:
    """Take an amount, a fraction allowed; empty text is none."""
    number = _number(f"{unit} ≥ 0, such as 5 or 0.5")
    return Kind(number.expected, lambda given: number.read(given) if given else None)


def _number(expected: str) -> Kind:

    def read(given: str) -> Value:
        if _SECONDS.fullmatch(given) is None:
            raise Refused(expected)
        return float(given)

    return Kind(expected, read)


def one_of(*names: str, empty: str | None = None, instead: str | None = None) -> Kind:
    """Take one of `names`; empty text counts as `empty`, unknown text as `instead` with a warning."""
    expected = f"one of {', '.join(names)}"

    def read(given: str) -> Value:
        if not given and empty is not None:
            return empty
        if given not in names:
            same = [name for name in names if name.lower() == given.lower()]
            close = same or difflib.get_close_matches(given, names, 1)
            raise Refused(expected + (f". Did you mean {close[0]}?" if close else ""))
        return given

    return Kind(expected, read, instead is not None, instead)


def switch(*also: str) -> Kind:
    """Take ``true`` or ``false``; anything else is off, with a warning, as only exactly ``true`` turns it on.

    Args:
        also: what turns it on, too.
    """
    on = ("true", *also)

    def read(given: str) -> Value:
        if given not in (*on, "false", ""):
            raise Refused(f"true or false (only exactly {' or '.join(on)} turns it on)")
        return given in on

    return Kind("true or false", read, True, False)


def words(expected: str) -> Kind:
    """Take any text but an empty one."""

    def read(given: str) -> Value:
        if not given.strip():
            raise Refused(expected)
        return given

    return Kind(expected, read)


def driver_name() -> Kind:
    """Take the name of a driver, which is no path."""
    expected = "the name of a driver, such as codex, and not a path"

    def read(given: str) -> Value:
        if not given or "/" in given or ".." in given or "\0" in given:
            raise Refused(expected)
        return given

    return Kind(expected, read)
