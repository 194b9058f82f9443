"""What the loop's user sends while it runs: messages, tasks to be left alone, a pause, a stop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.base.wording import one_line
from bridge.loop.engine.events import MessageGiven
from bridge.loop.engine.inbox import Inbox, words_for
from bridge.loop.engine.plan import without
from bridge.loop.engine.stages.stage import O, Stage

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.inbox import Message
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Events, TurnReport


class Messages(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._inbox = Inbox(loop.logs)
        self._given: tuple[Message, ...] = ()
        self._skipped: tuple[str, ...] = ()
        loop.bars.append(lambda _tally: self._inbox.stopped())

    def open(self) -> Iterable[str]:
        before = self.loop.active.before
        self._inbox.begin(goes_on=before is not None and before.end is None)
        return ()

    def plan(self, plan: Plan | None) -> Plan | None:
        self._skipped = self._inbox.skipped()
        return without(plan, self._skipped)

    def may_begin(self) -> Decision | None:
        if self.loop.seconds_left() == 0:  # then the policy has its say, which may be a last turn
            return None
        return self._inbox.wait(self.loop.now())

    def begin_turn(self, plan: Plan | None) -> Events:
        del plan
        self._given = self._inbox.next()
        for each in self._given:
            text = f"this turn is given the message: {one_line(each.text, 300)}"
            yield MessageGiven(text, message=each.text)

    def words(self) -> str:
        return words_for(self._given, self._skipped)

    def cuts_wait(self, reason: str) -> bool:
        return self._inbox.goes_on(reason, self.loop.now())

    def took(self, report: TurnReport, outcome: O) -> O:
        if report.real.failure is None or report.real.timed_out:  # else it may not have come to hear of them
            self._inbox.done(self._given)
        return replace(outcome, plan=without(outcome.plan, self._inbox.skipped()))

    def may_end(self, decision: Decision) -> Generator[LoopEvent | str, None, Decision]:
        if self._skipped:
            names = "; ".join(one_line(each, 80) for each in self._skipped)
            yield f"left alone, as its user has asked: {names}"
        return decision
