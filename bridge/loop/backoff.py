"""How long to wait before trying again what has failed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.loop.policy import Pauses
    from bridge.stream.analysis import Limit


_MARGIN = 5.0
"""Seconds: a provider's clock and ours differ."""


def back_off(first: float, number: int, longest: float = 30.0) -> float:
    """Seconds to wait after failure `number` in a row (from 1): doubled each time, up to `longest` or `first`.

    >>> [back_off(0.5, number) for number in (1, 2, 3, 20)]
    [0.5, 1.0, 2.0, 30.0]
    """
    return min(first * 2.0 ** min(number - 1, 60), max(first, longest))


def limit_wait(limit: Limit, pauses: Pauses, times: int = 1, *, now: float | None = None) -> float:
    """Say how long to wait for the end of a provider's limit, in seconds.

    Args:
        limit: as the tool's output tells it.
        pauses: how long to wait where no reset is known.
        times: which limit in a row it is, from 1.
        now: seconds since the epoch; None: the present time.
    """
    if limit.resets_at is not None:
        return max(limit.resets_at - (time.time() if now is None else now) + _MARGIN, pauses.retry)
    if limit.kind == "rate":  # too many requests just now: over soon
        return min(back_off(pauses.retry, times, pauses.retry_max), pauses.limit)
    return pauses.limit
