"""Expectations of declared tests, held against what came."""

from __future__ import annotations

import re
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bridge.adapters.patterns import compiled
from bridge.adapters.view import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.adapters.model import DeclaredTest, SetupStep
    from bridge.adapters.result import Result

__all__ = ["AdapterReport", "NotMet", "Outcome", "expect", "judge_counter", "judge_mode", "matches"]

_SEARCH = 2.0
"""Seconds that a pattern may search for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One test's outcome; `message` says why it isn't "passed", `output` is what the program printed."""

    name: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterReport:
    """All outcomes of one adapter; `skipped` is why none of it could be run."""

    name: str
    path: str
    outcomes: tuple[Outcome, ...]
    skipped: str = ""
    seconds: float = 0.0
    ready_seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether some outcome is a failure."""
        return any(each.outcome == "failed" for each in self.outcomes)


class NotMet(Exception):
    """An expectation was not met."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


def matches(pattern: str, text: str) -> bool:
    """Whether `pattern` is found in `text`, without colours; ``.`` takes line ends, too."""
    with _limited(pattern):
        return compiled(pattern, dotall=True).search(plain(text).strip()) is not None


@contextmanager
def _limited(pattern: str) -> Iterator[None]:
    """A pattern that would search for ever fails its test, as far as signals can be had here."""

    def give_up(_number: int, _frame: object) -> None:
        raise NotMet(f"{pattern!r} searches for more than {_SEARCH:g} s\n  next: avoid nested repetitions")

    free = (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    )
    if not free or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _SEARCH)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def expect(pattern: str, output: str) -> None:
    """Raise NotMet when `pattern` is not found in `output`."""
    try:
        found = matches(pattern, output)
    except re.error as error:
        raise NotMet(f"{pattern!r} is no regular expression: {error}") from error
    if not found:
        raise NotMet(f"expected output that matches {pattern!r}", output)


def judge_mode(test: DeclaredTest | SetupStep, result: Result) -> None:
    """Raise NotMet when mode or level are others than expected."""
    if test.expect_mode is not None and result.mode != test.expect_mode:
        raise NotMet(f"expected mode {test.expect_mode}, it is {result.mode}", result.output)
    if test.expect_level is not None and result.level != test.expect_level:
        raise NotMet(f"expected level {test.expect_level}, it is {result.level}", result.output)


def judge_counter(expected: str, before: int | None, result: Result) -> None:
    """Raise NotMet when the counter of the prompt did not go as expected: to a number, by ``+N``, or up."""
    now = result.counter
    text = expected.strip().lower()
    if text in ("true", "increases", "+"):
        good = now is not None and before is not None and now > before
    elif text.startswith("+") and text[1:].isdigit():
        good = now is not None and before is not None and now == before + int(text[1:])
    else:
        good = str(now) == text
    if not good:
        raise NotMet(f"expected counter {expected}, it went from {before} to {now}", result.output)
