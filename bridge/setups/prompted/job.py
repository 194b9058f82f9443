"""What a run of such a setup is, as its kind says it, and what decides how it goes on. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from bridge.loop.outcome import Outcome
from bridge.loop.policy import Decision, LoopState, PlanPolicy, Verdict
from bridge.stream.status import find_promise

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.loop.handler import Turn
    from bridge.loop.plan import Plan
    from bridge.loop.policy import Moment


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
class Tool:
    """The CLI that the controller's own script calls, and how.

    Attributes:
        program: its name.
        options: what the script passes to it beside the prompt, its permissions and the form of its output.
        permission: its permission mode, of a CLI that has such modes; '': the script names none.
        on_stdin: the script gives it the prompt there.
        line: of the call, from 1; 0: no script says so.
    """

    program: str
    options: tuple[str, ...] = ()
    permission: str = ""
    on_stdin: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run.

    Attributes:
        project: the folder that the CLI runs in.
        shown: the prompt, as the first line calls it: a file, mostly.
        prompt: gives what is sent in a turn, by its number, from 1. It is asked in each turn: people edit prompts.
        tool: what the project's own script runs, unless a driver or an agent is asked for.
        most: iterations; None: any number.
        promise: what ends the loop when the assistant's last message gives it; None: nothing does.
        gives_up: what ends it, likewise, though the work isn't done; None: nothing does.
        read_plan: reads the plan; None from it: there is none.
        plan_ends: a plan with nothing left to do ends the loop, before a turn, too.
        noun: what the plan counts: ``story``, in the plural `nouns`.
        used_up: exit status when all iterations, or the minutes, are used up. complete: whether the former is the
            usual end.
        pause: seconds between two turns.
        notes: what people should know before it begins.
        begin: makes ready, once the project is ours; what it gives is told.
        judge: says what a turn came to once its output has been read, before anything follows from that.
        after: follows each turn; what it gives is told.
    """

    project: Path
    shown: str
    prompt: Prompt
    tool: Tool
    most: int | None
    promise: str | None = None
    gives_up: str | None = None
    read_plan: Callable[[], Plan | None] = lambda: None
    plan_ends: bool = True
    noun: str = "task"
    nouns: str = "tasks"
    used_up: int = 1
    complete: bool = False
    pause: float = 0.0
    notes: tuple[str, ...] = ()
    begin: Callable[[], Iterable[str]] = lambda: ()
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
        if outcome.failure is None and self._given_up(outcome):
            detail = f"the assistant gave up: <promise>{self.job.gives_up}</promise>"
            return Decision(Verdict.INCOMPLETE, "given_up", detail)
        return self.common_verdict(after, replace(outcome, plan=None), at)

    def spent(self, state: LoopState, at: Moment) -> Decision | None:
        if (found := super().spent(state, at)) is None:
            return None
        usual = self.job.complete and found.reason == "max_iterations"
        return replace(found, verdict=Verdict.COMPLETE if usual else found.verdict, status=self.job.used_up)

    def _given_up(self, outcome: Outcome) -> bool:
        """In plain text nobody knows which words are the assistant's own: there, nothing says so."""
        if self.job.gives_up is None or outcome.analysis is None:
            return False
        return outcome.analysis.family != "text" and find_promise(outcome.words, self.job.gives_up)

    def _open(self, plan: Plan | None) -> str:
        if plan is None or plan.done >= plan.total:
            return ""
        left = plan.total - plan.done
        noun = self.job.noun if plan.total == 1 else self.job.nouns
        return f", but {left} of {plan.total} {noun} {'is' if left == 1 else 'are'} open"
