"""What a bmalph loop does next, beyond what every loop with a plan does. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.loop.outcome import Outcome
from bridge.loop.policy import GO_ON, Decision, LoopState, Moment, PlanPolicy, Verdict, plan_done
from bridge.setups.dot_ralph.rules import breaker as breakers
from bridge.setups.dot_ralph.rules.breaker import Breaker
from bridge.setups.dot_ralph.rules.calls import Calls, seconds_to_next_hour
from bridge.setups.dot_ralph.rules.exits import ExitSignals, exit_reason, update_signals
from bridge.stream.analysis import iso

if TYPE_CHECKING:
    from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopInterrupted, Waiting
    from bridge.loop.plan import Plan
    from bridge.setups.bmalph.rules.gates import GateOutcome, GateResults
    from bridge.setups.dot_ralph.rules.breaker import BreakerSettings, Transition
    from bridge.stream.analysis import Analysis

_NO_CALLS = Calls(0, "")
_FINAL = {
    "test_saturation": "three loops did nothing but run tests",
    "completion_signals": "the assistant called the work complete twice",
    "safety_circuit_breaker": "the assistant asked for the end five times",
    "project_complete": "the assistant gave the exit signal again",
}


@dataclass(frozen=True, slots=True)
class BmalphState(LoopState):
    """Where the loop stands.

    Attributes:
        signals: what loops so far said about being complete.
        exit_signal: the last analysis asked for the end.
        breaker: the circuit breaker.
        transition: what the last loop changed about it, or None.
        started: an open circuit that an earlier run has left was looked at.
        calls: turns that ended well in this clock hour.
        gates: results of the last quality gates, or None.
        findings: JSON text of the last review, or None; the next turn that ends well has dealt with it.
        output_length: characters of the last output that was plain text, or None.
    """

    signals: ExitSignals = field(default_factory=ExitSignals)
    exit_signal: bool = False
    breaker: Breaker = field(default_factory=Breaker)
    transition: Transition | None = None
    started: bool = False
    calls: Calls = _NO_CALLS
    gates: GateResults | None = None
    findings: str | None = None
    output_length: int | None = None


@dataclass(frozen=True, slots=True)
class BmalphOutcome(Outcome):
    """What a turn came to.

    Attributes:
        reported: the analysis of its output, before plan and gates had their say.
        gates: results of the quality gates, or None when none ran.
        gate: what follows from them.
    """

    reported: Analysis | None = None
    gates: GateResults | None = None
    gate: GateOutcome = "pass"


def state_of(event: IterationStarted | IterationEnded | Waiting | LoopEnded | LoopInterrupted) -> BmalphState:
    """Give the state that an event of this loop carries."""
    assert isinstance(event.state, BmalphState)
    return event.state


def outcome_of(event: IterationEnded) -> BmalphOutcome:
    """Give what the turn came to that an event of this loop tells of."""
    assert isinstance(event.outcome, BmalphOutcome)
    return event.outcome


@dataclass(frozen=True)
class BmalphPolicy(PlanPolicy[BmalphState, BmalphOutcome]):
    """Decides by exit signals that have to be repeated, a circuit breaker, and a number of calls per hour.

    Attributes:
        breaker: when the circuit opens.
        halt_on_denial: a refused tool ends the loop (PERMISSION_DENIAL_MODE=halt).
        calls_per_hour: turns that may end well within a clock hour; None: any number.
    """

    breaker: BreakerSettings = field(default_factory=breakers.BreakerSettings)
    halt_on_denial: bool = False
    calls_per_hour: int | None = None

    def begin(self, state: BmalphState, plan: Plan | None, at: Moment) -> tuple[BmalphState, Decision]:
        """See :class:`bridge.loop.policy.Policy`."""
        # CB_AUTO_RESET is for a circuit that an earlier run of the loop left open.
        settings = replace(self.breaker, auto_reset=False) if state.started else self.breaker
        circuit, transition = breakers.prepare(state.breaker, settings, at.now)
        state = replace(state, breaker=circuit, transition=transition, started=True)
        if circuit.is_open:
            detail = f"circuit breaker open: {circuit.reason}"
            return state, Decision(Verdict.INCOMPLETE, "stagnation_detected", detail)
        if done := self.over(state, plan) or self.spent(state, at):
            return state, done
        count = state.calls.at(at.now).count
        if self.calls_per_hour is not None and count >= self.calls_per_hour:
            made = f"{state.calls.count} of {self.calls_per_hour} calls of this hour are made"
            return state, Decision(Verdict.CONTINUE, "rate_limit", made, seconds_to_next_hour(at.now))
        return state, GO_ON

    def over(self, state: BmalphState, plan: Plan | None) -> Decision | None:
        """Say that signals or the plan end the loop, or None."""
        reason = exit_reason(state.signals, None, exit_signal=state.exit_signal)
        return Decision(Verdict.COMPLETE, reason, _FINAL[reason]) if reason is not None else plan_done(plan)

    def taken_in(self, after: BmalphState, outcome: BmalphOutcome, at: Moment) -> BmalphState:
        """Count calls and signals, and tell the breaker."""
        after = replace(after, exit_signal=False, transition=None)
        if outcome.failure is None:
            after = _believed(after, outcome, at)
        # A turn that only the loop's own end has cut short says nothing about the agent.
        most = self.limits.max_seconds
        if outcome.timed_out and most is not None and at.elapsed >= most:
            return after
        circuit = after.breaker if after.breaker.last_change else replace(after.breaker, last_change=iso(at.now))
        recorded, transition = breakers.record(circuit, _evidence(after, outcome), self.breaker, at.now)
        return replace(after, breaker=recorded, transition=transition)

    def verdict(self, after: BmalphState, outcome: BmalphOutcome, at: Moment) -> Decision:
        """Say what follows a turn."""
        if after.breaker.is_open:
            return Decision(Verdict.INCOMPLETE, self._opened_by(after, outcome), after.breaker.reason)
        if self.halt_on_denial and outcome.denied and outcome.failure is None:
            return Decision(Verdict.INCOMPLETE, "permission_denied", f"refused: {outcome.refused_tools}")
        return self.common_verdict(after, outcome, at)

    def _opened_by(self, after: BmalphState, outcome: BmalphOutcome) -> str:
        circuit, rules = after.breaker, self.breaker
        if outcome.denied and circuit.consecutive_permission_denials >= rules.permission_denials:
            return "permission_denied"
        if outcome.idle and circuit.consecutive_read_only_timeouts >= rules.read_only_timeouts:
            return "read_only_timeouts"
        return "stagnation_detected"


def _believed(after: BmalphState, outcome: BmalphOutcome, at: Moment) -> BmalphState:
    after = replace(after, calls=after.calls.at(at.now).one_more())
    analysis = outcome.analysis
    if analysis is None:
        return after
    return replace(
        after,
        gates=outcome.gates,
        findings=None,
        output_length=analysis.output_length if analysis.output_format == "text" else after.output_length,
        signals=update_signals(after.signals, analysis),
        exit_signal=analysis.exit_signal and not outcome.denied,
    )


def _evidence(after: BmalphState, outcome: BmalphOutcome) -> breakers.LoopEvidence:
    """What the breaker is told: not what is no fault of the agent's. Failures have their own cap and back-off."""
    failure = outcome.failure
    blocked = outcome.gate == "circuit-breaker" and failure is None
    believed = outcome.analysis if failure is None else None
    claims = None if blocked else believed
    mute = outcome.silent and outcome.completed is None  # nothing went wrong, and nothing comes of it
    return breakers.LoopEvidence(
        loop=after.iteration,
        files_changed=0 if blocked else outcome.files_changed,
        reported_files=claims.files_modified if claims else 0,
        complete=believed is not None and (believed.has_completion_signal or believed.exit_signal),
        has_errors=blocked or (believed is not None and believed.has_errors),
        error=claims.error_fingerprint if claims else "",
        output_length=believed.output_length if believed else None,
        denied=failure is None and outcome.denied,
        read_only_timeout=outcome.idle,
        failed=failure is not None and not (outcome.timed_out or outcome.idle or mute),
    )
