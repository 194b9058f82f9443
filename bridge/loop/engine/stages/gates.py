"""The check and the review that a loop is held against before it is complete."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from bridge.base.json_files import read_object
from bridge.loop.engine.events import CheckEnded, ReviewStands, ReviewTurnEnded, ReviewTurnStarted
from bridge.loop.engine.gates import Asked, Gates
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.review import Reviewer
from bridge.loop.engine.stages.stage import O, Stage
from bridge.loop.engine.store import REVIEW
from bridge.loop.engine.turn_records import interrupted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from types import TracebackType

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Doubt, Events, TurnReport
    from bridge.loop.engine.turn_records import TurnRecord


class CheckAndReview(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        wanted = loop.settings.gates.review if loop.settings.gates else None
        self._reviewer: Reviewer | None = None
        if wanted is not None:
            folder, now = loop.store.folder, loop.clock.now
            self._reviewer = Reviewer(wanted, loop.settings, folder, loop.logs, loop.repository, now)
        self._gates = Gates(loop.settings, loop.logs, self._reviewer)
        self._reviews: list[tuple[TurnRecord, Outcome]] = []

    def __enter__(self) -> Self:
        (self._reviewer or nullcontext()).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (self._reviewer or nullcontext()).__exit__(kind, error, trace)

    def open(self) -> Iterable[str]:
        self._gates.take_over(read_object(self.loop.store.folder / REVIEW))
        self.loop.doubts = self._gates.doubts
        if self._reviewer is not None and self._reviewer.name == self.loop.own.name:
            yield f"the review is by the tool of the loop itself, {self.loop.own.name}"

    def words(self) -> str:
        return self._gates.words

    def took(self, report: TurnReport, outcome: O) -> O:
        del report
        self._gates.ran(outcome)
        self.loop.doubts = self._gates.doubts
        return outcome

    def doubt(self, decision: Decision, number: int, outcome: Outcome | None, report: TurnReport | None) -> Doubt:
        if self._gates.wants(decision, outcome, number):
            looking = self._gates.look(number, decision, self._asked(report))
            with closing(looking):
                for event in looking:
                    yield event
                    self._take(event)
                    if outcome is not None and self.loop.handler.stopped():
                        return True  # the next look at the loop's files ends it
            yield from self.loop.ran(number)
        refused = self._gates.refuses(decision, outcome)
        self.loop.doubts = self._gates.doubts
        if (document := self._gates.document()) is not None:
            self.loop.record(ReviewStands(document))
        return refused

    def _asked(self, report: TurnReport | None) -> Asked:
        loop = self.loop
        turn = (
            []
            if report is None or loop.under_way is None
            else [(_result(loop.under_way, report.real), report.real)]
        )

        def barred() -> str:
            found = loop.barred(*turn, *self._reviews)
            return (found.detail or found.reason) if found else ""

        progress, variables = loop.handler.progress(), loop.observers.variables
        return Asked(progress, loop.seconds_left, barred, loop.active.program, variables)

    def _take(self, event: LoopEvent) -> None:
        """Note what the gates have seen; reviews are counted behind the turn that they were about."""
        if isinstance(event, CheckEnded):
            checked, log = event.checked, os.path.relpath(event.log, self.loop.settings.project)
            seconds = round(checked.seconds, 3)
            self.loop.note(
                "checked", turn=event.iteration, status=checked.status, why=checked.why, seconds=seconds, log=log
            )
        elif isinstance(event, ReviewTurnStarted):
            self._reviews.append((event.turn, Outcome()))
        elif isinstance(event, ReviewTurnEnded):
            self._reviews[-1] = (event.turn, event.outcome)

    def settle(self) -> Events:
        for record, outcome in self._reviews:
            cut_off = record.result == "interrupted"
            self.loop.keep(interrupted(record, "", self.loop.now()) if cut_off else record, outcome)
        self._reviews.clear()
        return ()

    def may_end(self, decision: Decision) -> Generator[LoopEvent | str, None, Decision]:
        yield from ()
        return self._gates.told(decision)


def _result(record: TurnRecord, outcome: Outcome) -> TurnRecord:
    """As much of the record of a turn that is over as its use is counted by."""
    return replace(record, result="success" if outcome.failure is None else "failed", session=outcome.session_id)
