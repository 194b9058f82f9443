"""What this loop does next, beyond what every loop with a plan does. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.setups.dot_ralph.breaker import LoopEvidence
from bridge.loop.setups.dot_ralph.policy import FolderPolicy, FolderState, next_hour
from bridge.scripts.stream.analysis import fingerprint

if TYPE_CHECKING:
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Moment

_FORGIVEN = 2  # loops in a row that ask instead of working (trap F9)


@dataclass(frozen=True, slots=True)
class FrankbriaState(FolderState):
    """Where the loop stands; every call counts, whatever became of it.

    Attributes:
        tokens: used in this clock hour.
        asked: loops in a row that asked something.
        missing: files that the loop can't go on without.
        leave: somebody wants no wait for a provider's limit.
    """

    tokens: int = 0
    asked: int = 0
    missing: tuple[str, ...] = ()
    leave: bool = False


@dataclass(frozen=True, slots=True)
class FrankbriaOutcome(Outcome):
    """What a turn came to.

    Attributes:
        questions: lines of the answer that ask something.
        compound: commands that were refused for how they were put together: then `denied` is False.
    """

    questions: int = 0
    compound: int = 0


@dataclass(frozen=True)
class FrankbriaPolicy(FolderPolicy[FrankbriaState, FrankbriaOutcome]):
    """Asks first for the files that have to be there, and at the end of an hour's tokens, too, for the next one.

    Attributes:
        tokens_per_hour: after so many no further run begins within a clock hour; 0: any number.
    """

    tokens_per_hour: int = 0

    def begin(self, state: FrankbriaState, plan: Plan | None, at: Moment) -> tuple[FrankbriaState, Decision]:
        if state.missing:
            since = f" since turn {state.iteration}" if state.iteration else ""
            gone = f"{', '.join(state.missing)} {'are' if len(state.missing) > 1 else 'is'} not there{since}"
            return state, Decision(Verdict.INCOMPLETE, "files_deleted", gone)
        if state.leave:
            return state, Decision(Verdict.INCOMPLETE, "api_5hour_limit", "not waiting for the limit to end")
        return super().begin(state, plan, at)

    def used_up(self, state: FrankbriaState, at: Moment) -> Decision | None:
        if not 0 < self.tokens_per_hour <= state.tokens:
            return super().used_up(state, at)
        used = f"{state.tokens} of {self.tokens_per_hour} tokens of this hour are used"
        return next_hour("tokens_per_hour", used, at)

    def taken_in(self, after: FrankbriaState, outcome: FrankbriaOutcome, at: Moment) -> FrankbriaState:
        asked = after.asked
        if outcome.failure is None and outcome.analysis is not None:
            asked = asked + 1 if outcome.questions else 0
        counted = replace(after, calls=after.calls.at(at.now).one_more(), asked=asked)
        return super().taken_in(counted, outcome, at)

    def evidence(self, after: FrankbriaState, outcome: FrankbriaOutcome) -> LoopEvidence:
        """Say what the breaker is told. Failed runs are errors: equal ones open it (trap F7), but no idleness."""
        failure = outcome.failure
        believed = outcome.analysis if failure is None else None
        if believed is None:
            return LoopEvidence(
                loop=after.iteration,
                files_changed=outcome.files_changed,
                has_errors=True,
                error=fingerprint(failure or ""),
                forgiven=True,
            )
        return LoopEvidence(
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
