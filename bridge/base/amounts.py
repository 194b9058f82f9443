"""Amounts that others wrote: tokens, money, durations, counts. What isn't a sane one is unknown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 10**12
"""No turn uses so many tokens or dollars, or takes so many seconds; thousands of such still add up exactly in a
float, and no number of them overflows it."""


def amount(value: object) -> int | float | None:
    """Give a number from 0 to `MOST` as it is, anything else as None: also text, true, NaN, and what overflows.

    >>> amount(0.25), amount(-5), amount("5"), amount(1e308), amount(True)
    (0.25, None, None, None, None)
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST else None  # NaN is neither


def whole(value: object) -> int | None:
    """Give a whole number from 0 to `MOST`, anything else as None.

    >>> whole(3), whole(3.0), whole("3")
    (3, None, None)
    """
    return value if isinstance(value, int) and amount(value) is not None else None


def total(before: float | None, value: object) -> int | float | None:
    """Add what is an amount to a sum that may not have begun; a sum that is none any more is unknown."""
    more = amount(value)
    return before if more is None else amount(more + (before or 0))


def known_sum(amounts: Iterable[float | None]) -> float | None:
    """What is known of amounts, added up; None: nothing is."""
    known = [each for each in amounts if each is not None]
    return sum(known) if known else None
