"""What a run of such a setup is, as its kind says it, and what decides how it goes on. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import Decision, PlanPolicy, Verdict, but_open, found_nothing
from bridge.loop.engine.state import LoopState

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Moment


Prompt = Callable[[int], bytes]
"""What is sent in a turn, by its number, from 1; raises ConfigurationError."""


@dataclass(frozen=True)
class Refused(Outcome):
    """A turn that ended well, had not its kind found something to say against it: `wrong`."""

    wrong: str = ""

    @property
    def failure(self) -> str | None:
        return super().failure or self.wrong or None

    @classmethod
    def made_of(cls, outcome: Outcome, wrong: str) -> Refused:
        return cls(
            **{each.name: getattr(outcome, each.name) for each in fields(Outcome)} | {"limit": None}, wrong=wrong
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run.

    Attributes:
        project: the folder that the CLI runs in.
        shown: the prompt, as the first line calls it: a file, mostly.
        prompt: gives what is sent in a turn, by its number, from 1. It is asked in each turn: people edit prompts.
        program: the CLI that runs it, unless a driver or an agent is asked for.
        most: iterations; None: any number.
        promise: what ends the loop when the assistant's last message gives it; None: nothing does.
        read_plan: reads the plan; None from it: there is none.
        plan_ends: a plan with nothing left to do ends the loop, before a turn, too.
        idle_ends: such a plan ends it behind a turn that has changed nothing.
        noun: what the plan counts: ``story``, in the plural `nouns`.
        used_up: exit status when all iterations, or the minutes, are used up. complete: whether the former is the
            usual end.
        pause: seconds between two turns.
        notes: what people should know before it begins.
        judge: says what a turn came to once its output has been read, before anything follows from that.
        after: follows each turn; what it gives is told.
    """

    project: Path
    shown: str
    prompt: Prompt
    program: str
    most: int | None
    promise: str | None = None
    read_plan: Callable[[], Plan | None] = lambda: None
    plan_ends: bool = True
    idle_ends: bool = False
    noun: str = "task"
    nouns: str = "tasks"
    used_up: int = 1
    complete: bool = False
    pause: float = 0.0
    notes: tuple[str, ...] = ()
    judge: Callable[[Outcome, Turn], Outcome] = lambda outcome, _turn: outcome
    after: Callable[[Outcome], Iterable[str]] = lambda _outcome: ()

    def all_done(self, total: int) -> str:
        """Say so of a plan with nothing left to do."""
        return f"the only {self.noun} is done" if total == 1 else f"all {total} {self.nouns} are done"


@dataclass(frozen=True)
class PromptedPolicy(PlanPolicy[LoopState, Outcome]):
    """Goes on until the promise, the end of the plan or of the iterations, as `job` has it.

    A turn is what the original counts as one, well or not. What it does not do: it believes no promise of a turn
    that failed, and waits for the end of a provider's limit without counting the turn.
    """

    job: Job = field(kw_only=True)

    def over(self, _state: LoopState, plan: Plan | None) -> Decision | None:
        job = self.job
        if not job.plan_ends or plan is None or not plan.total:
            return None
        if plan.next_task is None and plan.done < plan.total:
            stay = f"{plan.total - plan.done} of {plan.total} {job.nouns} stay open, after turns that failed"
            return Decision(Verdict.INCOMPLETE, "tasks_failed", stay)
        if not plan.complete:
            return None
        return Decision(Verdict.COMPLETE, "plan_complete", job.all_done(plan.total))

    def verdict(self, after: LoopState, outcome: Outcome, at: Moment) -> Decision:
        if (done := at.believes(self.over(after, outcome.plan))) is not None:
            return done
        if outcome.failure is None and outcome.promised and not at.doubted:
            promise = f"the assistant gave the promise{self._open(outcome.plan)}"
            return Decision(Verdict.COMPLETE, "completion_promise", promise)
        if (done := at.believes(self._idle(outcome))) is not None:
            return done
        return self._left(self.common_verdict(after, replace(outcome, plan=None), at), outcome.plan)

    def begin(self, state: LoopState, plan: Plan | None, at: Moment) -> tuple[LoopState, Decision]:
        state, decision = super().begin(state, plan, at)
        return state, self._left(decision, plan)

    def _idle(self, outcome: Outcome) -> Decision | None:
        """End a loop whose plan has nothing left to do behind a turn that found nothing to do."""
        if not self.job.idle_ends or outcome.plan is None or not found_nothing(outcome):
            return None
        found = f"{self.job.all_done(outcome.plan.total)}, and the last turn changed nothing"
        return Decision(Verdict.COMPLETE, "plan_complete", found)

    def _left(self, decision: Decision, plan: Plan | None) -> Decision:
        """Call an end by the number of turns what it is where the plan has open tasks; the exit status stays."""
        used_up = decision.verdict is Verdict.COMPLETE and decision.reason == "max_iterations"
        if not used_up or plan is None or plan.complete or not plan.total:
            return decision
        return replace(decision, verdict=Verdict.INCOMPLETE, detail=f"{decision.detail}{self._open(plan)}")

    def spent(self, state: LoopState, at: Moment) -> Decision | None:
        if (found := super().spent(state, at)) is None:
            return None
        usual = self.job.complete and found.reason == "max_iterations"
        return replace(found, verdict=Verdict.COMPLETE if usual else found.verdict, status=self.job.used_up)

    def _open(self, plan: Plan | None) -> str:
        return but_open(plan, self.job.noun, self.job.nouns)
