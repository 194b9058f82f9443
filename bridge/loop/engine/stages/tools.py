"""Which tool runs the next turn, where there is more than one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from bridge.base.json_files import read_object
from bridge.loop.engine.events import CrewStands, ToolChanged
from bridge.loop.engine.stages.stage import O, Stage
from bridge.loop.engine.store import CREW
from bridge.loop.engine.tool_choice import Crew

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Events, TurnReport
    from bridge.loop.engine.turn_records import TurnRecord


class ToolChoice(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._crew = Crew(loop.own, loop.settings)
        self._changed = False
        loop.caps_of = self._crew.caps
        loop.on_spent.append(self._spent)

    def __enter__(self) -> Self:
        self._crew.__enter__()
        self.loop.several = not self._crew.alone
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._crew.__exit__(kind, error, trace)

    def hold(self) -> Iterable[str]:
        self._crew.check()
        return ()

    def open(self) -> Iterable[str]:
        if not self._crew.alone:
            before = self.loop.active.before
            kept = read_object(self.loop.store.folder / CREW)
            self._crew.take_over(kept, self.loop.now(), goes_on=before is not None and before.cut_off)
        return ()

    def may_begin(self) -> Decision | None:
        return self._crew.wait(self.loop.now())

    def begin_turn(self, plan: Plan | None) -> Events:
        loop, before, now = self.loop, self._crew.at_work, self.loop.now()
        name = self._crew.choose(plan, now) or before
        if name == before:
            return
        why = self._crew.why(name, now)
        self._crew.at_work, loop.tool = name, self._crew.tool(name)
        loop.active.uses(loop.shown(name))
        loop.note("tool", tool=name, before=before, why=why)
        yield ToolChanged(f"{name} takes over from {before}: {why}", tool=name, before=before, why=why)

    def session(self, own: str | None) -> str | None:
        return self._crew.session(self.loop.tool.name, own)

    def took(self, report: TurnReport, outcome: O) -> O:
        own = self.loop.state.session_id
        return self._crew.took(self.loop.tool.name, outcome, self.loop.now(), own_session=own, cli=report.cli)

    def judge(self, report: TurnReport, decision: Decision, outcome: Outcome) -> Decision:
        del report, outcome
        return self._crew.instead(decision, self.loop.tool.name, self.loop.now())

    def _spent(self, record: TurnRecord) -> None:
        self._crew.spent(record)
        self._changed = self._changed or not record.kind

    def settle(self) -> Events:
        if self._changed and not self._crew.alone:
            self.loop.store.record(CrewStands(self._crew.document()))
        self._changed = False
        return ()

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        del report, outcome, decision
        return filter(None, (self._crew.news,))
