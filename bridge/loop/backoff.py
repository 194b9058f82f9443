"""How long to wait before trying again what has failed. Pure."""

from __future__ import annotations

__all__ = ["back_off"]


def back_off(first: float, number: int, longest: float = 30.0) -> float:
    """Seconds to wait after failure `number` in a row (from 1): doubled each time, up to `longest` or `first`.

    >>> [back_off(0.5, number) for number in (1, 2, 3, 20)]
    [0.5, 1.0, 2.0, 30.0]
    """
    return min(first * 2.0 ** min(number - 1, 60), max(first, longest))
