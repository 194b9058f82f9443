"""The rate limit: so many runs per clock hour. Arithmetic only; the clock is passed in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge import timestamps

if TYPE_CHECKING:
    from datetime import datetime

_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Calls:
    """``.call_count`` and ``.last_reset``: how many runs ended well within one clock hour.

    Attributes:
        count: so many so far.
        stamp: the hour, local time, ``YYYYMMDDHH``.
    """

    count: int
    stamp: str

    def at(self, now: datetime) -> Calls:
        """Give the calls of the hour that `now` (local) lies in: none yet in a new one."""
        stamp = timestamps.hour(now.timestamp())
        return self if self.stamp == stamp else Calls(0, stamp)

    def one_more(self) -> Calls:
        """Count a run that ended well."""
        return Calls(self.count + 1, self.stamp)

    def left(self, limit: int) -> int:
        """Say how many more are allowed: never below 0."""
        return max(0, limit - self.count)


def read_calls(count: str | None, stamp: str | None) -> Calls:
    """Read both files; what is no number is 0."""
    text = (count or "").strip()
    return Calls(int(text) if _NUMBER.fullmatch(text) else 0, (stamp or "").strip())
