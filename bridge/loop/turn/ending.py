"""When a turn is over and its process isn't: its CLI has answered and stays, or prints nothing. Pure."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_REST = 60.0
"""Seconds for which a CLI that prints no events is to be at rest before its answer counts as whole, in turns of 20
minutes and more; a twentieth of shorter ones."""


def rest_of(grace: float, timeout: float | None) -> float:
    """For how long a CLI without events is to be at rest, in seconds; 0: it may stay any time.

    Args:
        grace: how long one may stay that has answered; 0: any time.
        timeout: of the turn; None: it has any time.

    >>> rest_of(5, 3600), rest_of(5, 200), rest_of(0, 3600)
    (60.0, 10.0, 0.0)
    """
    return max(grace, min((timeout or _REST * 20) / 20, _REST)) if grace else 0.0


class Over(Enum):
    """Why a turn is ended before its program is."""

    ANSWERED = "answered"
    SILENT = "silent"


class EndWatch:
    """Watches what a CLI prints.

    What a child of it prints behind the answer (a server's log, on the same stdout) is no event and delays nothing;
    a further answer of the same process does.

    Args:
        now: the time, in seconds; so are all others.
        grace: how long the CLI may stay once it has answered; 0: any time.
        silence: how long it may print nothing at all; None: any time.
        rest: how long one that prints no events may stay once it has printed something and is at rest; 0: any time.
    """

    def __init__(self, now: float, *, grace: float, silence: float | None, rest: float = 0.0) -> None:
        self._grace, self._silence, self._rest = grace, silence, rest
        self._printed = self._answered = self._looked = now
        self._closings = 0

    @property
    def tick(self) -> float:
        """Seconds after which :meth:`over` wants to be asked again."""
        return max(0.02, min([1.0, *(each / 4 for each in (self._grace, self._silence, self._rest) if each)]))

    def printed(self, now: float, closings: int) -> None:
        """Note that something was printed; `closings` events that close a turn are in it so far."""
        self._printed = self._looked = now
        if not closings or closings != self._closings:  # without such events it is one document, whole or not
            self._answered = now
        self._closings = closings

    def over(
        self, now: float, answered: Callable[[], bool], at_rest: Callable[[], bool] = lambda: False
    ) -> Over | None:
        """Say whether it is to be ended; `answered` is asked only where that matters, and so is `at_rest`:
        whether it has been since that was asked last.
        """
        if self._grace and now - self._answered >= self._grace and answered():
            return Over.ANSWERED
        if self._rest and now - self._looked >= self._rest / 2:
            self._looked = now
            if at_rest():
                return Over.ANSWERED
        if self._silence is not None and now - self._printed >= self._silence:
            return Over.SILENT
        return None


def is_whole(line: bytes) -> bool:
    """Whether a line that has no newline yet is a JSON document by now.

    >>> is_whole(b'{"type":"result"}'), is_whole(b'{"type":')
    (True, False)
    """
    if line[:1] not in (b"{", b"[") or line[-1:] not in (b"}", b"]"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
