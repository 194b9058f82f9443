"""What a session does next: attempts and retries, promises, the plan, the limits. Pure: no IO, no clock."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import GO_ON, Decision, Verdict, back_off, limit_decision, limit_wait
from bridge.loop.engine.state import LoopState
from bridge.scripts.stream.status import find_promise

if TYPE_CHECKING:
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Limits, Moment, Pauses
    from bridge.loop.setups.ralph_loop.plan import Slices

COMPLETE = "<promise>COMPLETE</promise>"
REPLAN = "<promise>REPLAN</promise>"

_PIPE = 65_536

# In the words of the log, and with the controller's exit codes.
ENDED_COMPLETE = Decision(Verdict.COMPLETE, "completion signal", status=0)
ENDED_AT_MOST = Decision(Verdict.INCOMPLETE, "max iterations reached", status=0)
ENDED_IN_TIME = Decision(Verdict.INCOMPLETE, "max minutes reached", status=0)
ENDED_WITHOUT_PLAN = Decision(Verdict.INCOMPLETE, "implementation plan not found", status=2)
ENDED_REPLAN = Decision(Verdict.INCOMPLETE, "replan signal", status=3)
ENDED_FAILED = Decision(Verdict.INCOMPLETE, "agent failure exceeded retries", status=4)
REASONS = frozenset(
    ending.reason
    for ending in (
        ENDED_COMPLETE,
        ENDED_AT_MOST,
        ENDED_IN_TIME,
        ENDED_WITHOUT_PLAN,
        ENDED_REPLAN,
        ENDED_FAILED,
    )
)
"""Those that the original ends with in order, behind a summary."""


@dataclass(frozen=True, slots=True)
class Attempt(Outcome):
    response: str = ""  # the agent's own words
    percent: str = ""  # what the script says about its context, as it stands; so is `window`
    window: str = ""

    @property
    def failure(self) -> str | None:
        """A program that is content and says nothing has failed, too: a spent budget looks like that."""
        if self.status:
            return self.cut_short if self.timed_out else f"exit status {self.status}"
        return None if self.response else "no response"

    @property
    def words(self) -> str:
        return self.response


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How full the context was: per cent of each iteration that reported it, and the last window."""

    percents: tuple[int, ...] = ()
    window: str = ""

    def line(self) -> str:
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
        number = re.fullmatch(r"\s*(\d{1,9})(\.\d*)?\s*%?\s*", percent, re.ASCII)
        return None if number is None else ContextUse((*self.percents, int(number[1])), window)


@dataclass(frozen=True, slots=True)
class SessionState(LoopState):
    again: bool = False  # the next attempt is one of the same iteration
    retries: int = 0  # repetitions in that iteration; waiting out a limit is none
    successful: int = 0  # iterations
    failed: int = 0  # iterations
    context: ContextUse = ContextUse()  # how full the agent's context was
    plan: Slices | None = None  # what is left to build; None where no plan is followed, or the first slices stay


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    limits: Limits
    pauses: Pauses  # before an attempt is repeated
    max_retries: int  # of a failed attempt
    strict: bool = False  # with the original's warts

    def begin(self, state: SessionState, _plan: Plan | None, at: Moment) -> tuple[SessionState, Decision]:
        if state.again:
            return (over(state, succeeded=False), ENDED_IN_TIME) if self._time_is_up(at) else (state, GO_ON)
        most, plan = self.limits.max_iterations, state.plan
        if most is not None and state.iteration >= most:
            return state, ENDED_AT_MOST
        if plan is not None and plan.missing:
            return state, ENDED_WITHOUT_PLAN
        if plan is not None and plan.complete and not at.doubted:
            return state, ENDED_COMPLETE
        if plan is not None and plan.waiting:
            return state, ENDED_REPLAN
        return state, ENDED_IN_TIME if self._time_is_up(at) else GO_ON

    def decide(self, state: SessionState, outcome: Attempt, at: Moment) -> tuple[SessionState, Decision]:
        """Decide after an attempt. A provider's limit is waited out, and costs no retry."""
        failed, time_is_up = outcome.failure is not None, self._time_is_up(at)
        if outcome.limit is not None and not self.strict and not time_is_up:
            again = replace(state, again=True, limits=state.limits + 1)
            wait = limit_wait(outcome.limit, self.pauses, again.limits, now=at.now.timestamp())
            return again, limit_decision(outcome.limit, wait)
        if failed and state.retries < self.max_retries and not time_is_up:
            return self._retry(state)
        context = state.context.counted(outcome.percent, outcome.window)
        after = over(replace(state, context=context or state.context), succeeded=not failed)
        if self.strict and outcome.percent and not _is_integer(outcome.percent):
            wrong = f"Error: _ITER_CONTEXT_PCT is {outcome.percent!r}, no whole number"
            return after, Decision(Verdict.INCOMPLETE, "agent_post_iteration failed", wrong, status=1)
        if failed:  # with no time left there were no retries left to it
            return after, ENDED_IN_TIME if time_is_up else ENDED_FAILED
        return after, at.believes(promised(outcome.response, strict=self.strict)) or GO_ON

    def _retry(self, state: SessionState) -> tuple[SessionState, Decision]:
        number = state.retries + 1
        detail = f"the agent failed, {number} of {self.max_retries} retries"
        wait = back_off(self.pauses.retry, number)
        return replace(state, again=True, retries=number, limits=0), Decision(
            Verdict.CONTINUE, "retry", detail, wait
        )

    def _time_is_up(self, at: Moment) -> bool:
        return self.limits.max_seconds is not None and at.elapsed >= self.limits.max_seconds


def over(state: SessionState, *, succeeded: bool) -> SessionState:
    return replace(
        state,
        iteration=state.iteration + 1,
        again=False,
        retries=0,
        limits=0,
        successful=state.successful + succeeded,
        failed=state.failed + (not succeeded),
    )


def promised(response: str, *, strict: bool = False) -> Decision | None:
    """Look for a promise in the agent's text, and say what it ends; COMPLETE wins.

    Strict: take it for one wherever it stands, and miss one with more than a pipe's buffer (64 KiB) of text behind
    it, as the controller's ``echo | grep -q`` does under pipefail.
    """
    for promise, ending in ((COMPLETE, ENDED_COMPLETE), (REPLAN, ENDED_REPLAN)):
        _, found, behind = response.partition(promise)
        if not found or (strict and len(behind.encode("utf-8", "surrogateescape")) > _PIPE):
            continue
        if strict or find_promise(response, promise.removeprefix("<promise>").removesuffix("</promise>")):
            return ending
    return None


def _is_integer(text: str) -> bool:
    """Whether the controller's own arithmetic would take it."""
    return re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is not None
