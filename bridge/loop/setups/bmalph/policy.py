"""What a bmalph loop does next, beyond what every loop with a plan does. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.engine.outcome import Outcome
from bridge.loop.setups.dot_ralph.breaker import LoopEvidence
from bridge.loop.setups.dot_ralph.policy import FolderPolicy, FolderState

if TYPE_CHECKING:
    from bridge.loop.engine.policy import Moment
    from bridge.loop.setups.bmalph.quality_gates import GateOutcome, GateResults
    from bridge.scripts.stream.analysis import Analysis


@dataclass(frozen=True, slots=True)
class BmalphState(FolderState):
    """Where the loop stands; of its calls, those count that ended well.

    Attributes:
        gates: results of the last quality gates, or None.
        findings: JSON text of the last review, or None; the next turn that ends well has dealt with it.
    """

    gates: GateResults | None = None
    findings: str | None = None


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


@dataclass(frozen=True)
class BmalphPolicy(FolderPolicy[BmalphState, BmalphOutcome]):
    """What both loops decide by; PERMISSION_DENIAL_MODE=halt is its `halt_on_denial`."""

    def taken_in(self, after: BmalphState, outcome: BmalphOutcome, at: Moment) -> BmalphState:
        if outcome.failure is None:
            after = replace(after, calls=after.calls.at(at.now).one_more())
            if outcome.analysis is not None:
                after = replace(after, gates=outcome.gates, findings=None)
        return super().taken_in(after, outcome, at)

    def opened_by(self, after: BmalphState, outcome: BmalphOutcome) -> str:
        circuit, rules = after.breaker, self.breaker
        if outcome.denied and circuit.consecutive_permission_denials >= rules.permission_denials:
            return "permission_denied"
        if outcome.idle and circuit.consecutive_read_only_timeouts >= rules.read_only_timeouts:
            return "read_only_timeouts"
        return super().opened_by(after, outcome)

    def evidence(self, after: BmalphState, outcome: BmalphOutcome) -> LoopEvidence:
        """Say what the breaker is told: nothing that is no fault of the agent's. Failures have their own cap."""
        failure = outcome.failure
        blocked = outcome.gate == "circuit-breaker" and failure is None
        believed = outcome.analysis if failure is None else None
        claims = None if blocked else believed
        mute = outcome.silent and outcome.completed is None  # nothing went wrong, and nothing comes of it
        return LoopEvidence(
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
