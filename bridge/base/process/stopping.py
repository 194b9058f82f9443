"""A wish of one thread that what another one is at work on ends: taken up once, wherever that waits.

Signals reach the main thread only. What may wait for long (a program's output, a hook's reply, a pause) looks here
meanwhile, and ends by the exception as it would by Ctrl-C.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_here = threading.local()
_SLICE = 100.0
"""Milliseconds between two looks."""


class StopRequested(KeyboardInterrupt):
    """The Ctrl-C of another thread."""


class StopRequest:
    """One wish to stop: any thread asks, the thread at work takes it up, at most once."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._over = False

    def ask(self) -> None:
        self._asked.set()

    def take(self) -> bool:
        """Say whether it is asked for, and was not taken up before."""
        if self._over or not self._asked.is_set():
            return False
        self._over = True
        return True

    def close(self) -> None:
        """Take up none from now on: what is at work is about to end by itself."""
        self._over = True

    def wait(self, seconds: float) -> None:
        if self._over:
            time.sleep(seconds)
        else:
            self._asked.wait(seconds)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Let what this thread does in the block look for it."""
        before, _here.request = getattr(_here, "request", None), self
        try:
            yield
        finally:
            _here.request = before


def _request() -> StopRequest | None:
    found: StopRequest | None = getattr(_here, "request", None)
    return found


def look() -> None:
    """Raise `StopRequested` if somebody wants what this thread is at work on to end."""
    if (request := _request()) is not None and request.take():
        raise StopRequested


def patience(milliseconds: float | None) -> float | None:
    """Shorten a wait for something else to the time after which this thread has to look here again."""
    if _request() is None:
        return milliseconds
    return _SLICE if milliseconds is None else min(milliseconds, _SLICE)


def sleep(seconds: float) -> None:
    """Sleep, and raise as `look` does, at once when it is asked for meanwhile."""
    if (request := _request()) is None:
        time.sleep(seconds)
    else:
        request.wait(seconds)
        look()


def close() -> None:
    """Let nothing stop what this thread is at work on from now on."""
    if (request := _request()) is not None:
        request.close()
