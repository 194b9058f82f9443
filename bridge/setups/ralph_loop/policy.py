"""What a session does next: attempts and retries, promises, the plan, the limits. Pure: no IO, no clock."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.setups.ralph_loop.plan import Slices
    from bridge.stream.analysis import Limit

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
ENDED_WITHOUT_PLAN = Ending(2, "implementation plan not found")
ENDED_REPLAN = Ending(3, "replan signal")
ENDED_FAILED = Ending(4, "agent failure exceeded retries")


class Step(Enum):
    """What follows on an attempt: wait out the provider's limit, repeat it, or go on to the next iteration."""

    LIMIT = "limit"
    RETRY = "retry"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class ContextUse:
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

    def counted(self, percent: str, window: str) -> ContextUse | None:
        """Count an iteration's ``_ITER_CONTEXT_PCT``; None when it is no number (12.5 counts as 12)."""
        if not percent:
            return self
        number = re.fullmatch(r"\s*(\d+)(\.\d*)?\s*%?\s*", percent, re.ASCII)
        return None if number is None else ContextUse((*self.percents, int(number[1])), window)


@dataclass(frozen=True, slots=True)
class SessionState:
    """Where a session stands.

    Attributes:
        iteration: how many are over.
        retries: repetitions in the iteration that is under way.
        successful, failed: how many iterations ended so.
        context: how full the agent's context was.
    """

    iteration: int = 0
    retries: int = 0
    successful: int = 0
    failed: int = 0
    context: ContextUse = ContextUse()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one session.

    Attributes:
        max_iterations: of the session.
        max_retries: repetitions of a failed attempt.
        strict: with the original's warts.
    """

    max_iterations: int
    max_retries: int
    strict: bool = False

    def begin(self, state: SessionState, plan: Slices | None, *, time_is_up: bool) -> Ending | None:
        """Decide before an iteration; None: it may begin.

        Args:
            state: where the session stands.
            plan: what is left to build; None where no plan is followed.
            time_is_up: the session's time is over.
        """
        if state.iteration >= self.max_iterations:
            return ENDED_AT_MOST
        if plan is not None:
            if plan.missing:
                return ENDED_WITHOUT_PLAN
            if plan.complete:
                return ENDED_COMPLETE
            if plan.waiting:
                return ENDED_REPLAN
        return ENDED_IN_TIME if time_is_up else None

    def decide(
        self, state: SessionState, attempt: Attempt, *, time_is_up: bool
    ) -> tuple[SessionState, Step | Ending]:
        """Decide after an attempt.

        A provider's limit is no failure of the agent's: it is waited out, and costs no retry.
        """
        if attempt.limit is not None and not self.strict and not time_is_up:
            return state, Step.LIMIT
        if not attempt.succeeded and state.retries < self.max_retries and not time_is_up:
            return replace(state, retries=state.retries + 1), Step.RETRY
        after = replace(
            state,
            iteration=state.iteration + 1,
            retries=0,
            successful=state.successful + attempt.succeeded,
            failed=state.failed + (not attempt.succeeded),
        )
        if not attempt.succeeded:  # with no time left there were no retries left to it
            return after, ENDED_IN_TIME if time_is_up else ENDED_FAILED
        match signal_in(attempt.response, strict=self.strict):
            case Signal.COMPLETE:
                return after, ENDED_COMPLETE
            case Signal.REPLAN:
                return after, ENDED_REPLAN
            case Signal.NONE:
                return after, Step.NEXT


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


def is_integer(text: str) -> bool:
    """Whether the controller's own arithmetic would take it."""
    return re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is not None
