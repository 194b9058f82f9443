"""The outer loop's decisions, as :mod:`bridge.loop.engine` asks for them: of both modes, pauses, limits."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import GO_ON, Decision, Pauses, Verdict, back_off, limit_decision, limit_wait
from bridge.loop.engine.state import LoopState
from bridge.loop.setups.wiggum.policy import Ending, closed, decide, minutes_over, reopened, used_up, with_recorded
from bridge.loop.setups.wiggum.state import WiggumState

if TYPE_CHECKING:
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Moment
    from bridge.loop.setups.wiggum.policy import TurnFacts

RETRY_DELAY = 0.5
"""Seconds to wait after the first failed turn, unless another delay is asked for: what fails at once, as a CLI
without its key does, must not use up all iterations within a second."""


@dataclass(frozen=True, slots=True)
class OuterState(LoopState):
    saved: WiggumState = field(default_factory=WiggumState)  # what the state file says
    cancelled: bool = False  # somebody has asked for the loop's end
    warnings: tuple[str, ...] = ()  # of the last turn
    doubted: bool = False  # it was called complete, and isn't
    first: bool = True  # no turn of this run is over: however little time there is, one is begun


@dataclass(frozen=True)
class OuterOutcome(Outcome):
    """What one turn came to; `facts` are None until its work was looked at."""

    facts: TurnFacts | None = None

    @property
    def failure(self) -> str | None:
        """Why the turn counts as failed: not where it has changed files and was only cut off, or silent."""
        return super().failure if self.facts is None else self.facts.failure

    @property
    def is_limited(self) -> bool:
        """Whether a provider's limit has ended it: it is repeated, and counts for nothing."""
        return self.limit is not None and self.failure is not None and not self.timed_out


@dataclass(frozen=True, slots=True)
class OuterPolicy:
    retry_delay: float = RETRY_DELAY  # seconds, after the first failed turn
    pauses: Pauses = field(default_factory=Pauses)  # how long a provider's limit is waited out

    def begin(self, state: OuterState, _plan: Plan | None, at: Moment) -> tuple[OuterState, Decision]:
        saved = state.saved
        if at.doubted and saved.exit_code == 0:
            saved = reopened(saved)
            outcome, why = used_up(saved, at.elapsed)
            saved = saved if outcome is None else closed(saved, outcome, why, at.now)
        if saved.outcome is None and state.cancelled:
            saved = closed(saved, Ending.CANCELLED, "stopped by hand", at.now)
        elif saved.outcome is None and not state.first and (over := minutes_over(saved, at.elapsed)):
            saved = closed(saved, Ending.MAX_MINUTES, over, at.now)
        return replace(state, saved=saved), ending(saved) or GO_ON

    def decide(self, state: OuterState, outcome: OuterOutcome, at: Moment) -> tuple[OuterState, Decision]:
        assert outcome.facts is not None
        state = replace(state, saved=with_recorded(state.saved, outcome.facts))
        if outcome.limit is not None and outcome.is_limited:
            times = state.limits + 1
            wait = limit_wait(outcome.limit, self.pauses, times, now=at.now.timestamp())
            return replace(state, limits=times, first=False), limit_decision(outcome.limit, wait)
        facts, doubted = replace(outcome.facts, elapsed=at.elapsed), state.doubted or at.doubted
        saved, warnings = decide(state.saved, facts, at.now, doubted=at.doubted, again=state.doubted)
        failures = state.failures + 1 if outcome.failure else 0
        after = OuterState(saved.iteration, failures, saved=saved, warnings=warnings, doubted=doubted, first=False)
        if end := ending(saved):
            return after, end
        wait = back_off(self.retry_delay, failures) if failures else 0.0
        if not wait:
            return after, GO_ON
        if saved.max_minutes is not None:
            wait = min(wait, saved.max_minutes * 60 - at.elapsed)
        detail = f"{failures} turns in a row failed" if failures > 1 else "the turn failed"
        return after, Decision(Verdict.CONTINUE, "retry", detail, wait)


def ending(saved: WiggumState) -> Decision | None:
    if saved.outcome is None:
        return None
    verdict = Verdict.INCOMPLETE if saved.exit_code else Verdict.COMPLETE
    return Decision(verdict, saved.outcome, saved.reason, status=saved.exit_code)
