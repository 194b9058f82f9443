"""The iterations of a run, one after the other: load, decide, run a turn, decide, record, wait."""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.base.process import stopping
from bridge.loop.engine import absence
from bridge.loop.engine.events import (
    IterationEnded,
    IterationStarted,
    LoopEvent,
    OutputText,
    RunProgress,
    TurnPrepared,
    Waiting,
)
from bridge.loop.engine.handler import Turn
from bridge.loop.engine.outcome import Outcome, answer_of
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.run_record import Pause
from bridge.loop.engine.stages.stage import TurnReport, each_of
from bridge.loop.engine.state import LoopState
from bridge.loop.turn.tool import Command, CommandBuilt, ProgramEnded, mapped, run_turn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.handler import TurnHandler
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Policy
    from bridge.loop.engine.stages.stage import Stage
    from bridge.loop.turn.tool import Event, Tool, TurnRequest, TurnResult

S = TypeVar("S", bound=LoopState)
O = TypeVar("O", bound=Outcome)  # noqa: E741

_SLICE = 1.0
"""Seconds between two events while the loop waits."""


class Iterations(Generic[S, O]):
    """Those of one run.

    Args:
        stages: in the order in which they are asked.
    """

    def __init__(self, loop: LoopContext[S], stages: Sequence[Stage], policy: Policy[S, O]) -> None:
        self.loop = loop
        self.stages = stages
        self.policy = policy
        self.handler: TurnHandler[S, O] = loop.handler
        self.sessions = self.turned = False

    def run(self) -> Generator[LoopEvent, None, Decision]:
        loop = self.loop
        self.sessions = loop.settings.resume and loop.tool.supports_sessions()
        while True:
            loop.active.renew()
            yield from self._await_ready()
            loop.state, wrong = self.handler.load(loop.state)
            loop.record(TurnPrepared(loop.state))
            yield from loop.tell_all((*wrong, *loop.observers.problems()))
            plan = self.handler.read_plan()
            for stage in self.stages:
                plan = stage.plan(plan)
            loop.state, decision = self.policy.begin(loop.state, plan, loop.moment(doubted=loop.doubts))
            if (yield from self._doubted(decision, loop.state.iteration)):
                continue
            yield from loop.tell_all(each_of(self.stages, lambda stage: stage.settle()))
            yield from loop.tell_all(each_of(self.stages, lambda stage: stage.before_turn()))
            if decision.verdict is Verdict.CONTINUE and not decision.wait:
                may_begin = filter(None, (stage.may_begin() for stage in self.stages))
                decision = loop.barred() or next(may_begin, None) or (yield from self._iterate(plan))
            if decision.verdict is Verdict.CONTINUE and decision.wait and (barred := loop.barred()):
                decision = barred  # rather than wait for a turn that may not start
            if decision.verdict is not Verdict.CONTINUE:
                return (yield from self._may_end(decision))
            yield from self._wait(decision)

    def _may_end(self, decision: Decision) -> Generator[LoopEvent, None, Decision]:
        for stage in self.stages:
            decision = yield from self.loop.through(stage.may_end(decision))
        return decision

    def _doubted(
        self, decision: Decision, number: int, outcome: O | None = None, report: TurnReport | None = None
    ) -> Generator[LoopEvent, None, bool]:
        """Say whether a loop that calls itself complete isn't."""
        for stage in self.stages:
            if (yield from self.loop.through(stage.doubt(decision, number, outcome, report))):
                return True
        return False

    def _iterate(self, plan: Plan | None) -> Generator[LoopEvent, None, Decision]:
        loop = self.loop
        loop.tree = loop.repository.look()
        yield from loop.tell_all(each_of(self.stages, lambda stage: stage.begin_turn(plan)))
        sessions = loop.settings.resume and loop.tool.supports_sessions()
        session = loop.state.session_id
        for stage in self.stages:
            session = stage.session(session)
        request = self.handler.begin_turn(loop.state, plan, session if sessions else None)
        request = replace(
            request,
            first=not self.turned and loop.tool.name not in loop.active.worked,
            added="\n\n".join(filter(None, (request.added, *(stage.words() for stage in self.stages)))),
            timeout=loop.turn_seconds(),
            on_start=loop.active.program,
            on_output=self.handler.show,
            on_notice=self.handler.hook_is_slow,
            on_line=loop.observers.line if loop.settings.observers else None,
            exports=loop.observers.variables,
        )
        began, started = loop.clock.monotonic(), time.time()
        command, result = yield from self._turn(request, plan)
        if not self.handler.others_at_work():  # that looks alike
            yield from loop.end_leftovers()
        self.turned = True
        turn = Turn(
            tool=loop.tool,
            request=request,
            command=command,
            result=result,
            plan=plan,
            sessions=sessions,
            now=loop.clock.now(),
            seconds_left=loop.turn_seconds(),
            repository=loop.repository,
            tree=loop.tree,
        )
        yield from loop.tell_all(loop.ran(request.number))
        yield from loop.tell_all(each_of(self.stages, lambda stage: stage.ran(turn, started)))
        outcome = self.handler.take_in(loop.state, turn)
        if result.left is not None:
            loop.counted(turn, outcome, loop.clock.monotonic() - began, loop.now())
            raise result.left
        if not result.shown and (words := answer_of(outcome)):
            yield from loop.tell(OutputText(request.number, words))
        try:
            real = yield from loop.through(self.handler.check(outcome, turn))
        except BaseException:  # what the turn was is known
            loop.counted(turn, outcome, loop.clock.monotonic() - began, loop.now())
            raise
        cli = _program(command, loop.tool)
        report = TurnReport(turn=turn, real=real, cli=cli, seconds=loop.clock.monotonic() - began)
        return (yield from self._judged(report, real))

    def _judged(self, report: TurnReport, outcome: O) -> Generator[LoopEvent, None, Decision]:
        """Decide by what a turn came to, record it, tell of it."""
        loop, turn, before = self.loop, report.turn, self.loop.state
        if outcome.failure is None:
            loop.active.worked.add(turn.tool.name)
        request, own_session, ended = turn.request, before.session_id, loop.now()
        for stage in self.stages:
            outcome = stage.took(report, outcome)
        decision = self._decided(before, report, outcome)
        try:
            if (yield from self._doubted(decision, request.number, outcome, report)):
                outcome = outcome.not_complete()
                decision = self._decided(before, report, outcome, doubted=True)
        except BaseException:  # while the check ran: what the turn was is known
            loop.counted(turn, report.real, report.seconds, ended)
            deque(each_of(self.stages, lambda stage: stage.settle()), maxlen=0)
            raise
        yield from loop.tell_all(self.handler.keep(loop.state, outcome, decision))
        record = loop.counted(turn, report.real, report.seconds, ended)
        yield from loop.tell_all(each_of(self.stages, lambda stage: stage.settle()))
        for stage in self.stages:
            stage.counted(report, outcome)
        yield from loop.tell(
            IterationEnded(
                iteration=request.number,
                outcome=outcome,
                decision=decision,
                seconds=report.seconds,
                log=request.logs.for_people,
                state=loop.state,
                stderr=request.logs.stderr,
                sessions=self.sessions,
                turn=record,
                session_id=request.session if turn.tool is loop.own else own_session,
                worked=report.worked,
                took=tuple(report.took),
            )
        )
        yield from loop.tell_all(each_of(self.stages, lambda stage: stage.after_turn(report, outcome, decision)))
        if decision.verdict is Verdict.CONTINUE and decision.reason == "":
            loop.state = yield from loop.through(self.handler.between(loop.state, outcome, turn))
        yield from loop.tell_all(loop.ran(request.number))
        return decision

    def _decided(self, before: S, report: TurnReport, outcome: O, *, doubted: bool = False) -> Decision:
        self.loop.state, decision = self.policy.decide(before, outcome, self.loop.moment(doubted=doubted))
        for stage in self.stages:
            decision = stage.judge(report, decision, outcome)
        return decision

    def _turn(
        self, request: TurnRequest, plan: Plan | None
    ) -> Generator[LoopEvent, None, tuple[Command, TurnResult]]:
        loop, tool = self.loop, self.loop.tool
        command, has_begun, has_hooks = Command(), False, False
        search = self._search(request)

        def told(event: Event) -> Iterable[LoopEvent]:
            nonlocal command, has_begun, has_hooks
            if isinstance(event, CommandBuilt):
                command = event.command
                if has_begun:
                    return ()
                has_begun, event = True, self._started(request, command, plan)
            elif isinstance(event, RunProgress):
                loop.active.renew()
            has_hooks = has_hooks or isinstance(event, ProgramEnded)
            return loop.tell(event)

        result = yield from mapped(run_turn(tool, request, search.again), told)
        while command.argv and not has_hooks and absence.printed_nothing(result, request.logs.output):
            why = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            why = why or f"{_program(command, tool)} could not be started"
            if not (yield from mapped(search.again(why), told)):
                break
            again = replace(request, attempt=request.attempt + 1, timeout=loop.turn_seconds())
            result = yield from mapped(run_turn(tool, again, search.again), told)
        if search.began is not None:
            if command.absent or absence.printed_nothing(result, request.logs.output):
                loop.active.worked.discard(tool.name)  # from now on it fails at once
            else:
                yield from loop.tell(search.found(_program(command, tool)))
        return command, result

    def _search(self, request: TurnRequest) -> absence.Search:
        loop = self.loop
        seconds = loop.settings.absent_seconds if loop.tool.name in loop.active.worked else 0.0
        return absence.Search(
            seconds, request.number, loop.clock, lambda: not self.handler.stopped() and loop.seconds_left() != 0
        )

    def _started(self, request: TurnRequest, command: Command, plan: Plan | None) -> IterationStarted:
        output = request.logs.for_people
        self.loop.begins(request.number, output)
        return IterationStarted(
            iteration=request.number,
            argv=command.argv,
            session_id=request.session,
            live=command.live,
            plan=plan,
            log=output,
            state=self.loop.state,
            head=self.loop.tree.head if self.loop.tree else "",
            prompt=request.prompt,
            context=request.context,
        )

    # -- waits ---------------------------------------------------------------------------------------

    def _await_ready(self) -> Generator[LoopEvent, None, None]:
        """Wait for what begins a turn, and tell of it about every second."""
        loop, began = self.loop, self.loop.clock.monotonic()
        for count in itertools.count():
            if self.handler.ready(_SLICE) or self._cuts_wait("") or loop.seconds_left() == 0:
                return
            loop.active.renew()
            stopping.look()
            yield from loop.tell(RunProgress(loop.state.iteration, loop.clock.monotonic() - began, "", "", count))

    def _cuts_wait(self, reason: str) -> bool:
        return any(stage.cuts_wait(reason) for stage in self.stages)

    def _wait(self, decision: Decision) -> Generator[LoopEvent, None, None]:
        """Wait, visibly: an event about every second, and none when there is nothing to wait for."""
        loop, left = self.loop, decision.wait
        if left <= 0:
            return
        until, began = loop.clock.now() + timedelta(seconds=left), loop.clock.monotonic()
        reason = decision.reason or "pause"
        first, waited_from = True, loop.now()
        loop.active.waiting(Pause(reason, decision.detail, until.timestamp()))
        try:
            while left > 0 and not self.handler.stopped() and loop.seconds_left() != 0:
                if self._cuts_wait(reason):
                    break
                yield from loop.tell(
                    Waiting(loop.state.iteration, reason, decision.detail, until, left, first, loop.state)
                )
                first = False
                loop.clock.wait(min(left, _SLICE))
                if decision.ask is not None and loop.clock.monotonic() - began >= decision.ask:
                    break
                # One of the clocks may be set back meanwhile, the other stands still while the machine sleeps.
                passed = loop.clock.monotonic() - began
                left = min((until - loop.clock.now()).total_seconds(), decision.wait - passed)
        finally:
            waited = round(loop.now() - waited_from, 3)
            loop.note("waited", at=waited_from, reason=reason, detail=decision.detail, seconds=waited)
        loop.active.waiting(None)


def _program(command: Command, tool: Tool) -> str:
    """Name the program of a turn, as far as it is known."""
    return os.path.basename(command.argv[0]) if command.argv else command.absent or tool.name
