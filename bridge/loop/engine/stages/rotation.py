"""A fresh session for the next turn, when the context of the one that is carried on is full to a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.loop.engine.events import SessionRotated
from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.rotation import FRESH, size_words
from bridge.loop.engine.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Events, TurnReport


class SessionRotation(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._bound = loop.settings.max_context
        self._full: set[str] = set()  # tools whose next turn begins a fresh session, until one has ended well
        self._windows: dict[str, float] = {}  # by tool: a turn that is cut off doesn't tell it
        self._reported = False

    def open(self) -> Iterable[str]:
        if self._bound is not None and not self.loop.settings.resume:
            yield f"max_context {self._bound.text} has no effect: each turn begins a fresh session here"

    def begin_turn(self, plan: Plan | None) -> Events:
        del plan
        self.loop.rotates = False
        return ()

    def session(self, own: str | None) -> str | None:
        return None if self.loop.tool.name in self._full else own

    def words(self) -> str:
        return FRESH if self.loop.tool.name in self._full else ""

    def judge(self, report: TurnReport, decision: Decision, outcome: Outcome) -> Decision:
        del outcome
        loop, turn, name = self.loop, report.turn, self.loop.tool.name
        loop.rotates = False  # asked again, where the loop is doubted
        if self._bound is None or not turn.sessions:
            return decision
        if report.real.failure is None:
            self._full.discard(name)
        record = turn.record(report.real, 0.0, now=loop.now(), plan=None, project=loop.settings.project)
        record = loop.count(loop.tally.copy(), record, report.real)
        self._size = record.context_tokens, record.context_window or self._windows.get(name)
        if self._size[1] is not None:
            self._windows[name] = self._size[1]
        left = loop.state.session_id if loop.tool is loop.own else report.real.session_id
        if self._bound.reached(*self._size) and left is not None and decision.verdict is not Verdict.COMPLETE:
            loop.rotates = True
            self._full.add(name)
            if loop.tool is loop.own:  # and its file has none for a run that follows
                loop.state = replace(loop.state, session_id=None)
        return decision

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        del outcome, decision
        if self._bound is None or not report.turn.sessions:
            return
        (tokens, window), tool = self._size, self.loop.tool.name
        if self.loop.rotates and tokens is not None:
            held, most = size_words(tokens, window), self._bound.text
            yield SessionRotated(
                f"the session's context holds {held}, at most {most} is allowed: the next turn begins a fresh one",
                iteration=report.turn.request.number,
                context_tokens=tokens,
                context_window=window,
                tool=tool,
            )
        elif self._bound.reached(tokens, window) is None and not self._reported and report.real.failure is None:
            self._reported = True
            yield self._bound.unknown(tokens, tool)
