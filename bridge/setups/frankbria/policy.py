"""What this loop does next, beyond what every loop with a plan does. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.loop.outcome import Outcome
from bridge.loop.policy import Decision, LoopState, Moment, PlanPolicy, Verdict, plan_done
from bridge.setups.dot_ralph.rules import breaker as breakers
from bridge.setups.dot_ralph.rules.breaker import Breaker
from bridge.setups.dot_ralph.rules.calls import Calls, seconds_to_next_hour
from bridge.setups.dot_ralph.rules.exits import ExitSignals, exit_reason, update_signals
from bridge.stream.analysis import fingerprint, iso

if TYPE_CHECKING:
    from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopInterrupted, Waiting
    from bridge.loop.plan import Plan
    from bridge.setups.dot_ralph.rules.breaker import BreakerSettings, Transition

_NO_CALLS = Calls(0, "")
_FORGIVEN = 2  # loops in a row that ask instead of working (trap F9)
_FINAL = {
    "test_saturation": "the last loops did nothing but run tests",
    "completion_signals": "the assistant called the work complete often enough",
    "safety_circuit_breaker": "the assistant asked for the end five times",
    "project_complete": "the assistant gave the exit signal again",
}


@dataclass(frozen=True, slots=True)
class FrankbriaState(LoopState):
    """Where the loop stands.

    Attributes:
        signals: what loops so far said about being complete.
        exit_signal: the last analysis asked for the end.
        breaker: the circuit breaker.
        transition: what the last loop changed about it, or None.
        started: an open circuit that an earlier run has left was looked at.
        calls: runs that were begun in this clock hour.
        tokens: that they used.
        output_length: characters of the last output that was plain text, or None.
        asked: loops in a row that asked something.
        missing: files that the loop can't go on without.
        leave: somebody wants no wait for a provider's limit.
    """

    signals: ExitSignals = field(default_factory=ExitSignals)
    exit_signal: bool = False
    breaker: Breaker = field(default_factory=Breaker)
    transition: Transition | None = None
    started: bool = False
    calls: Calls = _NO_CALLS
    tokens: int = 0
    output_length: int | None = None
    asked: int = 0
    missing: tuple[str, ...] = ()
    leave: bool = False


@dataclass(frozen=True, slots=True)
class FrankbriaOutcome(Outcome):
    """What a turn came to.

    Attributes:
        questions: lines of the answer that ask something.
        compound: commands that were refused for how they were put together: then `denied` is False.
        tokens: input and output, as far as the CLI says.
    """

    questions: int = 0
    compound: int = 0
    tokens: int = 0


def state_of(event: IterationStarted | IterationEnded | Waiting | LoopEnded | LoopInterrupted) -> FrankbriaState:
    """Give the state that an event of this loop carries."""
    assert isinstance(event.state, FrankbriaState)
    return event.state


def outcome_of(event: IterationEnded) -> FrankbriaOutcome:
    """Give what the turn came to that an event of this loop tells of."""
    assert isinstance(event.outcome, FrankbriaOutcome)
    return event.outcome


@dataclass(frozen=True)
class FrankbriaPolicy(PlanPolicy[FrankbriaState, FrankbriaOutcome]):
    """Decides by the files that have to be there, a circuit breaker, refused tools, repeated signals, and what is
    used up of an hour, in this order: a finished loop doesn't wait for the next hour to say so (trap F10).

    Attributes:
        breaker: when the circuit opens.
        calls_per_hour: runs that may begin within a clock hour.
        tokens_per_hour: after so many no further run begins within it; 0: any number.
        test_loops, done_signals: how many of these end the loop.
    """

    breaker: BreakerSettings = field(default_factory=breakers.BreakerSettings)
    calls_per_hour: int = 100
    tokens_per_hour: int = 0
    test_loops: int = 3
    done_signals: int = 2

    def begin(self, state: FrankbriaState, plan: Plan | None, at: Moment) -> tuple[FrankbriaState, Decision]:
        """See :class:`bridge.loop.policy.Policy`."""
        if state.missing:
            gone = f"{', '.join(state.missing)} {'are' if len(state.missing) > 1 else 'is'} not there"
            return state, Decision(Verdict.INCOMPLETE, "files_deleted", gone)
        # CB_AUTO_RESET is for a circuit that an earlier run of the loop left open.
        settings = replace(self.breaker, auto_reset=False) if state.started else self.breaker
        circuit, transition = breakers.prepare(state.breaker, settings, at.now)
        state = replace(state, breaker=circuit, transition=transition, started=True)
        if circuit.is_open:
            detail = f"circuit breaker open: {circuit.reason}"
            return state, Decision(Verdict.INCOMPLETE, "stagnation_detected", detail)
        if state.leave:
            return state, Decision(Verdict.INCOMPLETE, "api_5hour_limit", "not waiting for the limit to end")
        return state, self.over(state, plan) or self.spent(state, at) or self._used_up(state, at)

    def _used_up(self, state: FrankbriaState, at: Moment) -> Decision:
        calls = state.calls.at(at.now)
        wait = seconds_to_next_hour(at.now)
        if calls.count >= self.calls_per_hour:
            made = f"{calls.count} of {self.calls_per_hour} calls of this hour are made"
            return Decision(Verdict.CONTINUE, "rate_limit", made, wait)
        if 0 < self.tokens_per_hour <= state.tokens:
            used = f"{state.tokens} of {self.tokens_per_hour} tokens of this hour are used"
            return Decision(Verdict.CONTINUE, "token_limit", used, wait)
        return Decision(Verdict.CONTINUE)

    def over(self, state: FrankbriaState, plan: Plan | None) -> Decision | None:
        """Say that signals or the plan end the loop, or None."""
        reason = exit_reason(
            state.signals,
            None,
            exit_signal=state.exit_signal,
            test_loops=self.test_loops,
            done_signals=self.done_signals,
        )
        if reason is not None:
            return Decision(Verdict.COMPLETE, reason, _FINAL[reason])
        return plan_done(plan)

    def taken_in(self, after: FrankbriaState, outcome: FrankbriaOutcome, at: Moment) -> FrankbriaState:
        """Count what was used, take in what was said, and tell the breaker."""
        after = replace(
            after,
            exit_signal=False,
            transition=None,
            calls=after.calls.at(at.now).one_more(),
            tokens=after.tokens + outcome.tokens,
        )
        if outcome.failure is None and outcome.analysis is not None:
            analysis = outcome.analysis
            after = replace(
                after,
                output_length=analysis.output_length if analysis.output_format == "text" else after.output_length,
                signals=update_signals(after.signals, analysis),
                exit_signal=analysis.exit_signal,
                asked=after.asked + 1 if outcome.questions else 0,
            )
        # A turn that only the loop's own end has cut short says nothing about the agent.
        most = self.limits.max_seconds
        if outcome.timed_out and most is not None and at.elapsed >= most:
            return after
        circuit = after.breaker if after.breaker.last_change else replace(after.breaker, last_change=iso(at.now))
        recorded, transition = breakers.record(circuit, _evidence(after, outcome), self.breaker, at.now)
        return replace(after, breaker=recorded, transition=transition)

    def verdict(self, after: FrankbriaState, outcome: FrankbriaOutcome, at: Moment) -> Decision:
        """Say what follows a turn."""
        if after.breaker.is_open:
            return Decision(Verdict.INCOMPLETE, "stagnation_detected", after.breaker.reason)
        if outcome.denied and outcome.failure is None:
            return Decision(Verdict.INCOMPLETE, "permission_denied", f"refused: {outcome.refused_tools}")
        return self.common_verdict(after, outcome, at)


def _evidence(after: FrankbriaState, outcome: FrankbriaOutcome) -> breakers.LoopEvidence:
    """What the breaker is told. Failed runs are errors, and the same ones open it (trap F7), but no idleness."""
    failure = outcome.failure
    believed = outcome.analysis if failure is None else None
    if believed is None:
        return breakers.LoopEvidence(
            loop=after.iteration,
            files_changed=outcome.files_changed,
            has_errors=True,
            error=fingerprint(failure or ""),
            forgiven=True,
        )
    return breakers.LoopEvidence(
        loop=after.iteration,
        files_changed=outcome.files_changed,
        reported_files=believed.files_modified,
        complete=believed.has_completion_signal or believed.exit_signal,
        has_errors=believed.has_errors,
        error=believed.error_fingerprint,
        output_length=believed.output_length,
        denied=outcome.denied,
        forgiven=0 < after.asked <= _FORGIVEN,
    )
