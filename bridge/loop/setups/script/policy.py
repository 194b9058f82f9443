"""What follows a call of a script's: the same again, or its status. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import (
    GO_ON,
    Decision,
    PlanPolicy,
    Verdict,
    back_off,
    but_open,
    found_nothing,
    plan_done,
)
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.tool_choice import said
from bridge.scripts.stream.analysis.permanent import may_pass

if TYPE_CHECKING:
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Moment

_TIMES = 4
"""Times that a call is made whose failure is one that passes; then the script gets it."""
ENDED = "script_ended"
_BY_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class ScriptState(LoopState):
    """Where a script stands.

    Attributes:
        called: it waits for a call.
        ended: how it has ended; None: it is at work.
        promised: the last call that went well has given the promise.
        idle: the last call went well, with a finished plan in front of it, and changed nothing.
    """

    called: bool = False
    ended: int | None = None
    promised: bool = False
    idle: bool = False


@dataclass(frozen=True)
class ScriptPolicy(PlanPolicy[ScriptState, Outcome]):
    """The script decides when its loop is over; here is decided whether a call is made again.

    Attributes:
        noun, nouns: what its plan counts.
        asked: iterations that it was to make; None: nobody says.
        promise: that its user names ends it in front of the next call.
        idle_ends: so does a finished plan behind a call that changed nothing: the script has no end of its own.
        one_task: so do its plan and any promise, however the script ends: that may go on with other tasks.
        arguments: how its arguments are given, where it was started without any.
    """

    noun: str = "task"
    nouns: str = "tasks"
    asked: int | None = None
    promise: bool = False
    idle_ends: bool = False
    one_task: bool = False
    arguments: str = ""

    def begin(self, state: ScriptState, plan: Plan | None, at: Moment) -> tuple[ScriptState, Decision]:
        over = state.ended is not None and not state.called
        if (over or state.called) and (done := at.believes(self._done(state, plan, over=over))) is not None:
            return state, done
        if over:
            return state, self._ended(state, plan)
        return state, (self.spent(state, at) if state.called else self._time(at)) or GO_ON

    def _done(self, state: ScriptState, plan: Plan | None, *, over: bool) -> Decision | None:
        if self.one_task and (done := plan_done(plan)) is not None:
            return done
        if self.idle_ends and state.idle and not over and (done := plan_done(plan)) is not None:
            return replace(done, detail=f"{done.detail}, and the last turn changed nothing")
        if not (state.promised and (self.one_task or (self.promise and not over))):
            return None
        said = f"the assistant gave the promise{but_open(plan, self.noun, self.nouns)}"
        return Decision(Verdict.COMPLETE, "completion_promise", said)

    def _ended(self, state: ScriptState, plan: Plan | None) -> Decision:
        """Say what the end of the script is, by its exit code. Open tasks behind the last iteration asked for
        aren't complete, whatever that is; nor is one task of many by that alone.
        """
        left = but_open(plan, self.noun, self.nouns)
        used_up = self.asked is not None and state.iteration >= self.asked and left
        verdict = Verdict.INCOMPLETE if state.ended or self.one_task or used_up else Verdict.COMPLETE
        early = f", before any call: {self.arguments}" if self.arguments and self._refused(state) else ""
        return Decision(verdict, ENDED, f"the script ended with {state.ended}{early}{left}", status=state.ended)

    def _refused(self, state: ScriptState) -> bool:
        return state.ended is not None and 0 < state.ended < _BY_SIGNAL and not state.iteration

    def decide(self, state: ScriptState, outcome: Outcome, at: Moment) -> tuple[ScriptState, Decision]:
        failure, limit = outcome.failure, outcome.limit
        if failure is not None and not (outcome.timed_out or outcome.idle):
            after = replace(state, limits=state.limits + 1)
            if limit is not None and (limit.kind != "rate" or after.limits < _TIMES):
                return after, self._limited(after, outcome, at)
            if after.limits < _TIMES and may_pass(said(outcome)):
                wait = back_off(self.pauses.retry, after.limits, self.pauses.retry_max)
                return after, Decision(Verdict.CONTINUE, "retry", f"{failure}; the call is repeated", wait)
        after = replace(
            state,
            iteration=state.iteration + 1,
            failures=state.failures + 1 if failure else 0,
            limits=0,
            changed=(outcome.changes.summary if outcome.changes else "") or (state.changed if failure else ""),
            promised=outcome.promised if failure is None else state.promised,
            idle=found_nothing(outcome),
        )
        return after, self.failed_too_often(after, failure) or self._time(at) or GO_ON

    def _time(self, at: Moment) -> Decision | None:
        spent = self.spent(ScriptState(), at)
        return spent if spent is not None and spent.reason == "max_minutes" else None
