"""What a loop does next: pure decisions on frozen data. No IO, no clock.

:class:`Policy` is what the loop asks of a setup. :class:`PlanPolicy` answers it for loops that go on until a plan
is ticked or a promise is given, resume sessions, and repeat what failed; setups add what is theirs.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from bridge.base.records import dataclass
from bridge.loop.engine.state import LoopState

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.scripts.stream.analysis import Limit


class Verdict(Enum):
    CONTINUE = "continue"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Decision:
    """How to go on.

    Attributes:
        verdict: on, or over.
        reason: a stable word that says why.
        detail: a sentence for people.
        wait: seconds to wait before going on.
        ask: seconds of that wait after which to try all the same; None: it is waited out.
        status: exit code that the setup's own controller has for such an end; None: it has none.
    """

    verdict: Verdict
    reason: str = ""
    detail: str = ""
    wait: float = 0.0
    ask: float | None = field(default=None, compare=False, kw_only=True)
    status: int | None = None


GO_ON = Decision(Verdict.CONTINUE)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up.

    Attributes:
        max_iterations: after so many iterations; None: never. Waiting out a limit is none.
        max_failures: after so many failed turns in a row; 0: never.
        max_seconds: after so many seconds, the turn that is under way included; None: never.
        max_idle: after so many turns in a row that came to nothing; 0: never, such as where a breaker does that.
        permanent_failures: after so many in a row that no repetition mends; 0: never.
        same_failures: after so many in a row with the same words and no answer, within seconds, before any turn
            went well; or at any time, where the tool could not even be started. 0: never.
    """

    max_iterations: int | None = 50
    max_failures: int = 3
    max_seconds: float | None = None
    max_idle: int = 0
    permanent_failures: int = 2
    same_failures: int = 3


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long to wait, in seconds.

    Attributes:
        retry: after a failed turn; it doubles with each failure in a row.
        retry_max: that wait's longest.
        limit: after a provider's limit whose end isn't known.
        between: after any other turn.
    """

    retry: float = 0.0
    retry_max: float = 600.0
    limit: float = 3600.0
    between: float = 0.0


NOT_DONE = ("safety_circuit_breaker", "test_saturation", "max_iterations")
"""Reasons for which a loop ends as complete, as its original does, and nobody says that its work is done."""

PLAN_COMPLETE = "plan_complete"
"""Why a loop ends whose plan has no open task."""

LIMITS = ("api_limit", "rate_limit", "tokens_per_hour")
"""Reasons of waits for the end of a limit: a provider's, or one that the user has set per hour."""

S = TypeVar("S", bound=LoopState)
O = TypeVar("O", bound="Outcome", contravariant=True)  # noqa: E741


class Moment(NamedTuple):
    """When a decision is made.

    Attributes:
        now: local time, with its zone.
        elapsed: seconds since the loop began.
        doubted: whatever says that all is done isn't believed: a check has just shown that it isn't.
    """

    now: datetime
    elapsed: float = 0.0
    doubted: bool = False

    def believes(self, decision: Decision | None) -> Decision | None:
        """Give a decision unless it is that the loop is complete, and that is in doubt."""
        doubted = self.doubted and decision is not None and decision.verdict is Verdict.COMPLETE
        return None if doubted else decision


class Policy(Protocol[S, O]):
    """Decides, and touches nothing."""

    def begin(self, state: S, plan: Plan | None, at: Moment) -> tuple[S, Decision]: ...

    def decide(self, state: S, outcome: O, at: Moment) -> tuple[S, Decision]: ...


P = TypeVar("P", bound="Outcome")


@dataclass(frozen=True)
class PlanPolicy(Generic[S, P]):
    """See the module; setups override the steps that differ.

    What a failed turn says is not believed: neither its signal nor its promise counts. The plan counts in any
    case: it lies on disk, and when it is done there is nothing left to retry. EXIT_SIGNAL false is no veto:
    a ticked plan and a promise end the loop all the same. A turn that a provider's limit ended is no
    iteration: it is waited out, and repeated.
    """

    limits: Limits = Limits()
    pauses: Pauses = Pauses()

    def begin(self, state: S, plan: Plan | None, at: Moment) -> tuple[S, Decision]:
        return state, at.believes(self.over(state, plan)) or self.spent(state, at) or GO_ON

    def decide(self, state: S, outcome: P, at: Moment) -> tuple[S, Decision]:
        failure = outcome.failure
        session = session_after(state, outcome)
        if failure is not None and outcome.limit is not None and not outcome.timed_out:
            after = replace(state, limits=state.limits + 1, session_id=session)
            return after, at.believes(plan_done(outcome.plan)) or self._limited(after, outcome, at)
        after = replace(
            state,
            iteration=state.iteration + 1,
            failures=state.failures + 1 if failure else 0,
            session_id=session,
            limits=0,
            wrote_nothing=outcome.idle,
            changed=(outcome.changes.summary if outcome.changes else "") or (state.changed if failure else ""),
        )
        if failure is None and outcome.analysis is not None:
            after = replace(after, previous=outcome.analysis.work_summary)
        after = self.taken_in(after, outcome, at)
        return after, self.verdict(after, outcome, at)

    # -- what setups make their own ------------------------------------------------------------------

    def taken_in(self, after: S, _outcome: P, _at: Moment) -> S:
        return after

    def over(self, _state: S, plan: Plan | None) -> Decision | None:
        return plan_done(plan)

    def verdict(self, after: S, outcome: P, at: Moment) -> Decision:
        failure = outcome.failure
        if failure is None and outcome.exit_signal and not at.doubted:
            return Decision(
                Verdict.COMPLETE, "project_complete", f"the assistant gave the exit signal{but_open(outcome.plan)}"
            )
        return self.common_verdict(after, outcome, at)

    def common_verdict(self, after: S, outcome: P, at: Moment) -> Decision:
        failure = outcome.failure
        denied = failure is None and outcome.denied
        if failure is None and outcome.promised and not at.doubted:
            return Decision(
                Verdict.COMPLETE, "completion_promise", f"the assistant gave the promise{but_open(outcome.plan)}"
            )
        if failure is not None:
            done = plan_done(outcome.plan)
        else:
            done = None if denied else self.over(after, outcome.plan)
        if done := at.believes(done):
            return done
        if (failed := self.failed_too_often(after, failure)) is not None:
            return failed
        if spent := self.spent(after, at):
            return replace(spent, detail=f"{spent.detail}; the last run failed: {failure}") if failure else spent
        if failure:
            return self._repeated(after, outcome, failure)
        if denied:
            detail = f"refused: {outcome.refused_tools}"
            return Decision(Verdict.CONTINUE, "permission_denied", detail, self.pauses.between)
        return replace(GO_ON, wait=self.pauses.between)

    # -- mechanics -----------------------------------------------------------------------------------

    def failed_too_often(self, after: S, failure: str | None) -> Decision | None:
        """Say that too many turns in a row have failed, or None."""
        if not 0 < self.limits.max_failures <= after.failures:
            return None
        times = f"{after.failures} runs in a row failed" if after.failures > 1 else "the run failed"
        return Decision(Verdict.INCOMPLETE, "consecutive_failures", f"{times}, the last: {failure}")

    def spent(self, state: S, at: Moment) -> Decision | None:
        """Say that the loop's iterations or its time are used up, or None."""
        limits = self.limits
        if limits.max_iterations is not None and state.iteration >= limits.max_iterations:
            only = limits.max_iterations == 1
            spent = f"{'the only iteration is' if only else f'all {limits.max_iterations} iterations are'} used up"
            return Decision(Verdict.INCOMPLETE, "max_iterations", spent)
        if limits.max_seconds is not None and at.elapsed >= limits.max_seconds:
            over = f"its {limits.max_seconds / 60:g} minutes are over"
            return Decision(Verdict.INCOMPLETE, "max_minutes", over)
        return None

    def _repeated(self, after: S, outcome: P, failure: str) -> Decision:
        if outcome.idle:
            detail = f"{failure}; the run is repeated"
            return Decision(Verdict.CONTINUE, "write_timeout", detail, self.pauses.between)
        lost = outcome.resumed and after.session_id is None
        dropped = " and its session dropped" if lost else ""
        # A dead session is no trouble of the provider's: the turn without it may start at once.
        pauses = self.pauses
        wait = 0.0 if lost and outcome.dead_session else back_off(pauses.retry, after.failures, pauses.retry_max)
        return Decision(Verdict.CONTINUE, "retry", f"{failure}; the run is repeated{dropped}", wait)

    def _limited(self, after: S, outcome: P, at: Moment) -> Decision:
        """Wait for a provider's limit to end: as long as it says, else by its kind."""
        assert outcome.limit is not None
        wait = limit_wait(outcome.limit, self.pauses, after.limits, now=at.now.timestamp())
        return limit_decision(outcome.limit, wait)


def plan_done(plan: Plan | None) -> Decision | None:
    if plan is None or not plan.complete:
        return None
    boxes = "the only task of the fix plan is" if plan.done == 1 else f"all {plan.done} tasks of the fix plan are"
    return Decision(Verdict.COMPLETE, PLAN_COMPLETE, f"{boxes} ticked")


def found_nothing(outcome: Outcome) -> bool:
    """Whether a turn went well, its plan has nothing left to do, and it has changed nothing."""
    plan, changes = outcome.plan, outcome.changes
    if plan is None or not plan.complete or outcome.failure is not None or changes is None:
        return False
    return not (changes.count or changes.committed or outcome.ticked > 0)


def but_open(plan: Plan | None, noun: str = "task", nouns: str = "tasks") -> str:
    """Say how much of a plan is open behind a claim that all is done; '' where nothing is.

    >>> from bridge.loop.engine.plan import parse_plan
    >>> but_open(parse_plan("- [x] one\\n- [ ] two\\n"))
    ', but 1 of 2 tasks is open'
    """
    if plan is None or plan.done >= plan.total:
        return ""
    left = plan.total - plan.done
    return f", but {left} of {plan.total} {noun if plan.total == 1 else nouns} {'is' if left == 1 else 'are'} open"


def session_after(state: LoopState, outcome: Outcome) -> str | None:
    """Give the session to go on with: the one that the turn left, and no older one.

    A turn that failed or was cut off is repeated with the session that it was given, unless that is dead.
    """
    if outcome.dead_session:
        return None
    if outcome.failure is None and not outcome.timed_out:
        return outcome.session_id
    # A failure that nobody understands may be that of a dead session all the same, but hardly twice.
    if outcome.failure and outcome.resumed and state.failures and not outcome.limit and not outcome.idle:
        return outcome.session_id if outcome.session_id != state.session_id else None
    return outcome.session_id or state.session_id


MARGIN = 5.0
"""Seconds: a provider's clock and ours differ."""


def back_off(first: float, number: int, longest: float = 30.0) -> float:
    """Seconds to wait after failure `number` in a row (from 1): doubled each time, up to `longest` or `first`.

    >>> [back_off(0.5, number) for number in (1, 2, 3, 20)]
    [0.5, 1.0, 2.0, 30.0]
    """
    return min(first * 2.0 ** min(number - 1, 60), max(first, longest))


HOLDS_ON = 30.0
"""Seconds to wait where a limit holds on past the time that its words name; more with each."""

ASK_AGAIN = 1800.0
"""Seconds after which a limit is asked about whose end was read from words, or isn't known: one refused turn."""


def limit_decision(limit: Limit, wait: float) -> Decision:
    """Wait so many seconds for the end of a limit, and doubt what isn't exact."""
    return Decision(Verdict.CONTINUE, "api_limit", limit.words, wait, ask=None if limit.exact else ASK_AGAIN)


def limit_wait(limit: Limit, pauses: Pauses, times: int = 1, *, now: float | None = None) -> float:
    """Say how long to wait for the end of a provider's limit, in seconds.

    Args:
        limit: as the tool's output tells it.
        pauses: how long to wait where no reset is known.
        times: which limit in a row it is, from 1.
        now: seconds since the epoch; None: the present time.
    """
    if limit.resets_at is not None:
        left = min(limit.resets_at - (time.time() if now is None else now), limit.window) + MARGIN
        # A CLI may go on naming a reset that has passed: then that says no more than "not now".
        if left > 0:
            return max(left, pauses.retry)
        first = pauses.retry or MARGIN
        return back_off(first if limit.exact else max(first, HOLDS_ON), times, pauses.retry_max)
    if limit.kind == "rate":  # too many requests just now: over soon
        return min(back_off(pauses.retry, times, pauses.retry_max), pauses.limit)
    return pauses.limit
