"""The turns of such a setup: the prompt as its kind makes it, the promise in the assistant's last message alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.files import usable, write_atomic
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.engine.state import LoopState
from bridge.loop.setups.plain.handler import PlainFiles, PlainHandler
from bridge.loop.turn.tool import first_line
from bridge.scripts.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.setups.prompted.job import Job
    from bridge.loop.turn.tool import TurnRequest

_PROMPT = ".ralph/.ralph_bridge.prompt.md"
"""What the turn that is under way was given."""


class PromptedHandler(PlainHandler[LoopState]):
    """See :class:`bridge.loop.engine.handler.TurnHandler`; `require` raises where the CLI isn't there."""

    def __init__(self, job: Job, loop: LoopSettings, *, require: Callable[[], None], logs_bytes: int) -> None:
        super().__init__(PlainFiles(job.project), loop, logs_bytes=logs_bytes)
        self._job = job
        self._require = require
        self._file = job.project / _PROMPT
        self._sent = b""
        self._problem = ""

    def open(self, active: ActiveRun) -> Iterable[str]:
        told, plan = [*super().open(active)], self.read_plan()
        # Else no turn will begin.
        if plan is None or not plan.complete or not self._job.plan_ends or self._loop.gates is not None:
            self._require()
        return told

    def load(self, state: LoopState) -> tuple[LoopState, Iterable[str]]:
        return state, ()

    def read_plan(self) -> Plan | None:
        """An agent may leave it half written: then it is as if there was none, and people are told once."""
        try:
            plan = self._job.read_plan()
        except BridgeError as error:
            self._problem = first_line(error)
            return None
        self._problem = ""
        return plan

    def begin_turn(self, state: LoopState, plan: Plan | None, session: str | None) -> TurnRequest:
        request = super().begin_turn(state, plan, session)
        broken = ""
        try:
            self._sent = self._job.prompt(request.number)
            with usable("the prompt of the turn"):
                write_atomic(self._file, self._sent)
        except BridgeError as error:
            if request.number == 1 and isinstance(error, ProjectUnusable):
                raise
            broken = first_line(error)
        return replace(request, prompt=str(self._file), context="", broken=broken)

    def take_in(self, state: LoopState, turn: Turn) -> Outcome:
        outcome = super().take_in(state, turn)
        session = validate_session_id(outcome.analysis.session_id) if outcome.analysis else None
        outcome = replace(outcome, session_id=session)  # for the record: no turn resumes another's
        if not outcome.promised or outcome.analysis is None or self._loop.promise is None:
            return outcome
        from bridge.scripts.stream.status import find_promise

        words = outcome.words
        if outcome.analysis.family == "text":  # programs that print what they were given before they answer
            words = words.replace(self._sent.decode("utf-8", "replace").strip(), "")
        return replace(outcome, promised=find_promise(words, self._loop.promise))

    def check(self, outcome: Outcome, turn: Turn) -> Generator[LoopEvent, None, Outcome]:
        yield from ()
        judged = self._job.judge(outcome, turn)
        plan = self.read_plan()
        return replace(judged, plan=plan, ticked=plan.done - turn.plan.done if plan and turn.plan else 0)

    def keep(self, _state: LoopState, outcome: Outcome, _decision: Decision) -> Iterable[str]:
        if self._problem:
            yield f"{self._problem}; the plan does not count until it is mended"
        yield from self._job.after(outcome)
