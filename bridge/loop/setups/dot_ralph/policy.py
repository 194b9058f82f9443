"""What both loops decide by: a circuit breaker, signals that have to be repeated, calls per clock hour. Pure."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.base import timestamps
from bridge.base.records import dataclass
from bridge.base.wording import plural
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import GO_ON, Decision, Moment, PlanPolicy, Verdict, but_open, plan_done
from bridge.loop.engine.state import LoopState
from bridge.loop.setups.dot_ralph import breaker as breakers
from bridge.loop.setups.dot_ralph.breaker import Breaker
from bridge.loop.setups.dot_ralph.exits import ExitSignals, exit_reason, update_signals
from bridge.loop.setups.dot_ralph.files import Calls
from bridge.scripts.stream.analysis import iso

if TYPE_CHECKING:
    from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded, LoopInterrupted, Waiting
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.dot_ralph.breaker import BreakerSettings, LoopEvidence, Transition

_NO_CALLS = Calls(0, "")


@dataclass(frozen=True, slots=True)
class FolderState(LoopState):
    """Where the loop stands.

    Attributes:
        signals: what loops so far said about being complete.
        exit_signal: the last analysis asked for the end.
        breaker: the circuit breaker.
        transition: what the last loop changed about it, or None.
        started: an open circuit that an earlier run has left was looked at.
        calls: turns that count in this clock hour.
        output_length: characters of the last output that was plain text, or None.
    """

    signals: ExitSignals = field(default_factory=ExitSignals)
    exit_signal: bool = False
    breaker: Breaker = field(default_factory=Breaker)
    transition: Transition | None = None
    started: bool = False
    calls: Calls = _NO_CALLS
    output_length: int | None = None

    def facts(self, calls_per_hour: int) -> tuple[str, ...]:
        return f"{self.calls.left(calls_per_hour)} of {calls_per_hour} calls left", f"breaker {self.breaker.state}"


def state_of(event: IterationStarted | IterationEnded | Waiting | LoopEnded | LoopInterrupted) -> FolderState:
    assert isinstance(event.state, FolderState)
    return event.state


def next_hour(reason: str, detail: str, at: Moment) -> Decision:
    now = at.now.timestamp()
    return Decision(Verdict.CONTINUE, reason, detail, timestamps.next_hour(now) - now)


S = TypeVar("S", bound=FolderState)
O = TypeVar("O", bound=Outcome)  # noqa: E741


@dataclass(frozen=True)
class FolderPolicy(PlanPolicy[S, O], Generic[S, O]):
    """Decides by the breaker, then by signals and the plan, then by what is used up of an hour: a finished loop
    doesn't wait for the next hour to say so.

    Attributes:
        breaker: when the circuit opens.
        calls_per_hour: turns that count within a clock hour; None: any number.
        halt_on_denial: a refused tool ends the loop.
        test_loops, done_signals: how many of these end the loop.
    """

    breaker: BreakerSettings = field(default_factory=breakers.BreakerSettings)
    calls_per_hour: int | None = None
    halt_on_denial: bool = False
    test_loops: int = 3
    done_signals: int = 2

    def begin(self, state: S, plan: Plan | None, at: Moment) -> tuple[S, Decision]:
        # CB_AUTO_RESET is for a circuit that an earlier run of the loop left open.
        settings = replace(self.breaker, auto_reset=False) if state.started else self.breaker
        circuit, transition = breakers.prepare(state.breaker, settings, at.now)
        state = replace(state, breaker=circuit, transition=transition, started=True)
        if circuit.is_open:
            detail = f"circuit breaker open: {circuit.reason}"
            return state, Decision(Verdict.INCOMPLETE, "stagnation_detected", detail)
        return state, at.believes(self.over(state, plan)) or self.spent(state, at) or self.used_up(
            state, at
        ) or GO_ON

    def over(self, state: S, plan: Plan | None) -> Decision | None:
        reason = exit_reason(
            state.signals,
            None,
            exit_signal=state.exit_signal,
            test_loops=self.test_loops,
            done_signals=self.done_signals,
        )
        if reason is None:
            return plan_done(plan)
        words = {
            "test_saturation": f"{plural(self.test_loops, 'loop')} did nothing but run tests",
            "completion_signals": f"the assistant called the work complete {plural(self.done_signals, 'time')}",
            "safety_circuit_breaker": "the assistant asked for the end five times",
            "project_complete": "the assistant gave the exit signal again",
        }
        return Decision(Verdict.COMPLETE, reason, f"{words[reason]}{but_open(plan)}")

    def used_up(self, state: S, at: Moment) -> Decision | None:
        count = state.calls.at(at.now).count
        if self.calls_per_hour is None or count < self.calls_per_hour:
            return None
        made = f"{count} of {self.calls_per_hour} calls of this hour are made"
        return next_hour("rate_limit", made, at)

    def taken_in(self, after: S, outcome: O, at: Moment) -> S:
        after = replace(after, exit_signal=False, transition=None)
        if outcome.failure is None and (analysis := outcome.analysis) is not None:
            after = replace(
                after,
                output_length=analysis.output_length if analysis.output_format == "text" else after.output_length,
                signals=update_signals(after.signals, analysis),
                exit_signal=analysis.exit_signal and not outcome.denied,
            )
        # A turn that only the loop's own end has cut short says nothing about the agent.
        most = self.limits.max_seconds
        if outcome.timed_out and most is not None and at.elapsed >= most:
            return after
        circuit = after.breaker if after.breaker.last_change else replace(after.breaker, last_change=iso(at.now))
        recorded, transition = breakers.record(circuit, self.evidence(after, outcome), self.breaker, at.now)
        return replace(after, breaker=recorded, transition=transition)

    def verdict(self, after: S, outcome: O, at: Moment) -> Decision:
        if after.breaker.is_open:
            return Decision(Verdict.INCOMPLETE, self.opened_by(after, outcome), after.breaker.reason)
        if self.halt_on_denial and outcome.denied and outcome.failure is None:
            return Decision(Verdict.INCOMPLETE, "permission_denied", f"refused: {outcome.refused_tools}")
        return self.common_verdict(after, outcome, at)

    @abstractmethod
    def evidence(self, after: S, outcome: O) -> LoopEvidence: ...

    def opened_by(self, _after: S, _outcome: O) -> str:
        return "stagnation_detected"
