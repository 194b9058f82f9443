"""What the loop does next. Pure: no IO, no clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.stream.analysis import Limit

__all__ = [
    "COMPLETE",
    "REPLAN",
    "Attempt",
    "Context",
    "Ending",
    "Signal",
    "after_iteration",
    "context",
    "retries",
    "signal_in",
]

COMPLETE = "<promise>COMPLETE</promise>"
REPLAN = "<promise>REPLAN</promise>"

_PIPE = 65_536


class Signal(Enum):
    """What the agent's text says about going on."""

    NONE = "none"
    COMPLETE = "complete"
    REPLAN = "replan"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt went: the pipeline's status, the agent's own words, the provider's limit that ended it."""

    status: int
    response: str
    limit: Limit | None = None

    @property
    def empty(self) -> bool:
        """The program was content and the agent said nothing: a spent budget looks like that."""
        return self.status == 0 and not self.response

    @property
    def succeeded(self) -> bool:
        """Status 0 and some text."""
        return self.status == 0 and bool(self.response)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a session is over, in the words of its log, and its exit code."""

    code: int
    reason: str


ENDED_COMPLETE = Ending(0, "completion signal")
ENDED_AT_MOST = Ending(0, "max iterations reached")
ENDED_IN_TIME = Ending(0, "max minutes reached")
ENDED_REPLAN = Ending(3, "replan signal")
ENDED_FAILED = Ending(4, "agent failure exceeded retries")


def signal_in(response: str, *, strict: bool = False) -> Signal:
    """Look for a promise anywhere in the agent's text; COMPLETE wins.

    Args:
        response: all the text of one attempt.
        strict: miss a promise with more than a pipe's buffer (64 KiB) of text behind it, as the controller's
            ``echo | grep -q`` does under pipefail.
    """
    for signal, promise in ((Signal.COMPLETE, COMPLETE), (Signal.REPLAN, REPLAN)):
        _, found, behind = response.partition(promise)
        if found and not (strict and len(behind.encode("utf-8", "surrogateescape")) > _PIPE):
            return signal
    return Signal.NONE


def retries(attempt: Attempt, done: int, most: int) -> bool:
    """Whether a further attempt follows on one that `done` repetitions preceded."""
    return not attempt.succeeded and done < most


def after_iteration(attempt: Attempt, *, strict: bool = False) -> Ending | None:
    """What follows from an iteration's last attempt; None to go on."""
    if not attempt.succeeded:
        return ENDED_FAILED
    signal = signal_in(attempt.response, strict=strict)
    return {Signal.COMPLETE: ENDED_COMPLETE, Signal.REPLAN: ENDED_REPLAN, Signal.NONE: None}[signal]


@dataclass(frozen=True, slots=True)
class Context:
    """How full the context was: per cent of each iteration that told, and the window of the last."""

    percents: tuple[int, ...] = ()
    window: str = ""

    def line(self) -> str:
        """The line of the summary; empty when no iteration told."""
        if not self.percents:
            return ""
        low, high = min(self.percents), max(self.percents)
        average = sum(self.percents) // len(self.percents)
        window = f"  (window: {self.window} tokens)" if self.window else ""
        return f"Context: min {low}% / avg {average}% / max {high}%{window}"


def context(so_far: Context, percent: str, window: str) -> Context | None:
    """Count an iteration's ``_ITER_CONTEXT_PCT``; None when it is no number (12.5 counts as 12)."""
    if not percent:
        return so_far
    number = re.fullmatch(r"\s*(\d+)(\.\d*)?\s*%?\s*", percent, re.ASCII)
    if number is None:
        return None
    return Context((*so_far.percents, int(number[1])), window)


def is_integer(text: str) -> bool:
    """Whether the controller's own arithmetic would take it."""
    return re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is not None


def blocked(names: Sequence[str]) -> str:
    """What to tell when open tasks are left and none can be started."""
    return f"No task of the implementation plan can be started; open and waiting: {', '.join(names)}."
