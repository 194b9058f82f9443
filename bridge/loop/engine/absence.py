"""A CLI that is away for a moment while the loop runs, as when it replaces itself by a newer one."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.base.process import stopping
from bridge.base.wording import duration, one_line
from bridge.loop.turn.tool import NOT_STARTED, Notice, RunProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from bridge.loop.engine.handler import Clock
    from bridge.loop.turn.tool import Event, TurnResult

_LOOKS = (1, 2, 4, 8, 15, 30)
"""How the pauses before each look relate; of a minute, their seconds."""
_SLICE = 1.0
_WORDS = 200


def looks(seconds: float) -> tuple[float, ...]:
    """Say how long to wait before each look for it, in seconds.

    Args:
        seconds: for which it is looked for in all.

    >>> looks(60), looks(0)
    ((1.0, 2.0, 4.0, 8.0, 15.0, 30.0), ())
    """
    return tuple(seconds * each / sum(_LOOKS) for each in _LOOKS) if seconds > 0 else ()


def printed_nothing(result: TurnResult, output: Path) -> bool:
    """Whether a turn ended as one whose program, or what that is run by, isn't there.

    Args:
        output: the log of what it printed.
    """
    if result.status != NOT_STARTED or result.timed_out:
        return False
    with suppress(OSError):
        return os.lstat(output).st_size == 0
    return True


class Search:
    """Looks for the program of one turn again and again, for a while.

    Args:
        seconds: for which it does in all; 0: not at all.
        goes_on: whether the loop does.
    """

    def __init__(self, seconds: float, number: int, clock: Clock, goes_on: Callable[[], bool]) -> None:
        self._seconds, self._number, self._clock, self._goes_on = seconds, number, clock, goes_on
        self._pauses = [*looks(seconds)]
        self.began: float | None = None
        """When it did; None: there was no need."""

    def again(self, why: str) -> Generator[Event, None, bool]:
        """Wait before the next look; False: there is none.

        Args:
            why: it could not be started.
        """
        if not self._pauses:
            return False
        if self.began is None:
            self.began = self._clock.monotonic()
            what = f"{one_line(why.strip(), _WORDS)}: it was there before, and is looked for again"
            yield Notice(f"{what} for up to {duration(self._seconds)}")
        until = self._clock.monotonic() + self._pauses.pop(0)
        while (left := until - self._clock.monotonic()) > 0:
            if not self._goes_on():
                self._pauses.clear()
                return False
            stopping.look()
            yield RunProgress(self._number, self._clock.monotonic() - self.began, "", "", 0)
            self._clock.wait(min(left, _SLICE))
        return True

    def found(self, name: str) -> Notice:
        """Say that it is there again."""
        assert self.began is not None
        away = duration(round(self._clock.monotonic() - self.began))
        return Notice(f"{name} could be started again, {away} later")
