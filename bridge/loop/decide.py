"""What the loop does next: pure decisions on frozen data. No IO, no clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.loop.plan import Plan

__all__ = ["Decision", "Limits", "Outcome", "State", "Verdict", "begin", "decide", "failure_of"]


class Verdict(Enum):
    """The three ways to go on after an iteration."""

    CONTINUE = "continue"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: after so many iterations, or so many failed runs in a row."""

    max_iterations: int = 50
    max_failures: int = 3


@dataclass(frozen=True, slots=True)
class State:
    """Everything that one iteration hands to the next."""

    iteration: int = 0
    failures: int = 0
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of the CLI came to.

    Attributes:
        status: exit status, or minus the number of the signal that ended it.
        timed_out: it was ended because it ran for too long.
        completed: False when its output ends without the event that closes a finished turn; None when
            such output has no closing event (plain text).
        is_error: the output itself reports failure.
        error: what it says about that.
        exit_signal: EXIT_SIGNAL of the status block in the assistant's text; None without one.
        promised: the completion promise stood in the assistant's text.
        plan: the fix plan after the run; None when there is none.
        session_id: the session that the run left behind.
        resumed: the run had been given a session.
    """

    status: int = 0
    timed_out: bool = False
    completed: bool | None = None
    is_error: bool = False
    error: str | None = None
    exit_signal: bool | None = None
    promised: bool = False
    plan: Plan | None = None
    session_id: str | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """How to go on, a stable word that says why, and a sentence for people."""

    verdict: Verdict
    reason: str = ""
    detail: str = ""


_GO_ON = Decision(Verdict.CONTINUE)


def begin(state: State, plan: Plan | None) -> Decision:
    """Decide before the first run: a plan that is done already needs none."""
    assert state.iteration == 0
    return _plan_done(plan) or _GO_ON


def decide(state: State, outcome: Outcome, limits: Limits) -> tuple[State, Decision]:
    """Return the state for the next iteration, and whether there is to be one.

    What a failed run says is not believed: neither its signal nor its promise counts, and its session
    is dropped, because a stale session is a common reason to fail and would fail for ever. The plan
    counts in any case: it lies on disk, and when it is done there is nothing left to retry.
    EXIT_SIGNAL false is no veto: a ticked plan and a promise end the loop all the same.
    """
    failure = failure_of(outcome)
    after = replace(
        state,
        iteration=state.iteration + 1,
        failures=state.failures + 1 if failure else 0,
        session_id=None if failure else outcome.session_id,
    )
    if failure is None and outcome.exit_signal:
        return after, Decision(Verdict.COMPLETE, "project_complete", "the assistant gave the exit signal")
    if failure is None and outcome.promised:
        return after, Decision(Verdict.COMPLETE, "completion_promise", "the assistant gave the promise")
    if done := _plan_done(outcome.plan):
        return after, done
    if after.failures >= limits.max_failures:
        times = f"{after.failures} runs in a row failed" if after.failures > 1 else "the run failed"
        return after, Decision(Verdict.INCOMPLETE, "consecutive_failures", f"{times}, the last: {failure}")
    if after.iteration >= limits.max_iterations:
        spent = f"all {limits.max_iterations} iterations are used up"
        detail = f"{spent}; the last run failed: {failure}" if failure else spent
        return after, Decision(Verdict.INCOMPLETE, "max_iterations", detail)
    if failure:
        dropped = " and its session dropped" if outcome.resumed else ""
        return after, Decision(Verdict.CONTINUE, "retry", f"{failure}; the run is repeated{dropped}")
    return after, _GO_ON


def failure_of(outcome: Outcome) -> str | None:
    """Say why a run counts as failed, or None.

    Status 0 alone is no success: claude, interrupted, exits with 0 in the middle of its output.
    """
    said = f": {outcome.error}" if outcome.error else ""
    if outcome.timed_out:
        return "it ran for too long and was ended"
    if outcome.status < 0:
        return f"it was ended by signal {-outcome.status}{said}"
    if outcome.status > 0:
        return f"exit status {outcome.status}{said}"
    if outcome.is_error:
        return f"it reported an error{said}"
    if outcome.completed is False:
        return f"its output ends without a result{said}"
    return None


def _plan_done(plan: Plan | None) -> Decision | None:
    if plan is None or not plan.complete:
        return None
    boxes = "the only task of the fix plan is" if plan.total == 1 else f"all {plan.total} tasks of the fix plan are"
    return Decision(Verdict.COMPLETE, "plan_complete", f"{boxes} ticked")
