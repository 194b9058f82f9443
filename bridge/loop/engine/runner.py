"""The one loop, the same for every setup: load, decide, run a turn, decide, record, wait.

Here are the moments of a run and their order, whatever ends it; what is done at them is the business of stages
(:mod:`bridge.loop.engine.stages`), one object per feature. What differs from setup to setup is asked of a policy
(:mod:`bridge.loop.engine.policy`) and a handler (:mod:`bridge.loop.engine.handler`), whose files the store writes
(:mod:`bridge.loop.engine.store`).
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.base.git.ignore import keep_out
from bridge.base.process import stopping
from bridge.base.process.stopping import StopRequested
from bridge.errors import BridgeError
from bridge.loop.engine.context import LoopContext
from bridge.loop.engine.events import (
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    Notice,
    RunOpened,
    interruption,
)
from bridge.loop.engine.handler import WallClock
from bridge.loop.engine.inbox import STOPPED
from bridge.loop.engine.iterations import Iterations
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.stages import stages_of
from bridge.loop.engine.stages.stage import each_of
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.turn_records import interrupted

if TYPE_CHECKING:
    from collections.abc import Generator

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.handler import Clock, TurnHandler
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.policy import Policy
    from bridge.loop.turn.tool import Tool

S = TypeVar("S", bound=LoopState)
O = TypeVar("O", bound=Outcome)  # noqa: E741


def run_loop(
    tool: Tool,
    policy: Policy[S, O],
    handler: TurnHandler[S, O],
    settings: LoopSettings,
    *,
    active: ActiveRun,
    state: S,
    clock: Clock | None = None,
) -> Generator[LoopEvent, None, None]:
    """Run a loop to its end, yielding what happens; the last event is a :class:`LoopEnded`.

    Close the generator (``contextlib.closing``) when you leave early: that ends the tool's process group.

    Args:
        handler: does what the setup has around a turn; its store writes the setup's files.
        active: holds the project while the loop runs; entered here unless it is already.
        state: where the loop begins.
        clock: the time; None for the real one.

    Raises:
        bridge.errors.ProjectBusy: another loop is at work in the project.
        bridge.errors.BridgeError: the tool failed in the first turn, a file can't be written.
    """
    loop = LoopContext(tool, handler, settings, active, state, clock or WallClock())
    yield from _Runner(loop, policy).run()


class _Runner(Generic[S, O]):
    def __init__(self, loop: LoopContext[S], policy: Policy[S, O]) -> None:
        self.loop = loop
        self.policy = policy
        self.handler: TurnHandler[S, O] = loop.handler
        self.stages = stages_of(loop)

    def run(self) -> Generator[LoopEvent, None, None]:
        loop, active = self.loop, self.loop.active
        with ExitStack() as held:
            for stage in self.stages:
                held.enter_context(stage)
            held.enter_context(active)
            # First: where a stage refuses to go on, what is written by then is no work either.
            left_out = keep_out(loop.settings.project, loop.store.folder, loop.settings.files, loop.settings.env)
            left = [*each_of(self.stages, lambda stage: stage.hold())]
            loop.observe()
            loop.store.open(active, loop.state)
            kept = [*each_of(self.stages, lambda stage: stage.open())]
            notices = (*left, *self.handler.open(active), *filter(None, [left_out]), *kept)
            loop.record(RunOpened(active.before))
            loop.begin()
            try:
                try:
                    yield from map(Notice, notices)
                    decision = yield from Iterations(loop, self.stages, self.policy).run()
                except BaseException as error:
                    stopping.close()
                    ending = self._ending(error)
                    self._interrupted(error, ending)
                    if ending is None:
                        raise
                    decision = ending
                words = decision.detail, *(each.last_words() for each in self.stages)
                decision = replace(decision, detail="; ".join(filter(None, words)))
                stopping.close()
                end = yield from self._finish(decision)
                loop.observers.close()
                yield from loop.tell_all(loop.observers.problems())
            finally:
                self.handler.close()
                loop.observers.close()
        yield end

    def _finish(self, decision: Decision) -> Generator[LoopEvent, None, LoopEnded]:
        """End what is left running, put down the end: also where a signal comes meanwhile."""
        loop = self.loop
        try:
            yield from loop.end_leftovers()
            yield from loop.tell_all(each_of(self.stages, lambda stage: stage.ended()))
        except BaseException:
            with suppress(BridgeError):
                end = self._ended(decision)
                loop.ends(end.verdict.value, end.reason, end.detail)
                loop.store.record(end)
                deque(self.handler.follow_up(end), maxlen=0)
            raise
        end = self._ended(decision)
        loop.observers.take(end)  # first: whatever can't be written, somebody gets to know that it is over
        loop.ends(end.verdict.value, end.reason, end.detail)
        loop.store.record(end)
        yield from self.handler.follow_up(end)
        return end

    def _ended(self, decision: Decision) -> LoopEnded:
        loop = self.loop
        loop.active.over(decision.reason, decision.detail)
        return LoopEnded(
            decision.verdict,
            decision.reason,
            decision.detail,
            loop.state.iteration,
            loop.elapsed(),
            loop.state,
            loop.tally.totals,
            decision.status,
            loop.permanent if decision.verdict is Verdict.INCOMPLETE else None,
            loop.idle,
        )

    def _ending(self, error: BaseException) -> Decision | None:
        """Give the ordinary end that an exception is here; None: it is raised."""
        if isinstance(error, GeneratorExit):
            return None
        if isinstance(error, StopRequested):
            return Decision(Verdict.INCOMPLETE, STOPPED, "the program that runs it has asked for that")
        return self.handler.ended_by(error)

    def _interrupted(self, error: BaseException, ending: Decision | None) -> None:
        """Put down that the loop ends in the middle; what can't be written now is no reason to hide why."""
        loop = self.loop
        action, reason = interruption(error)
        if ending is not None and isinstance(error, Exception):
            reason = ending.reason
        turn = None
        with suppress(BridgeError):
            for line in chain(loop.ran(loop.number), each_of(self.stages, lambda stage: stage.ended())):
                loop.store.record(Notice(line))
        with suppress(BridgeError):
            deque(each_of(self.stages, lambda stage: stage.settle()), maxlen=0)
        with suppress(BridgeError):
            if loop.under_way is not None:
                turn = loop.keep(interrupted(loop.under_way, reason, loop.now()))
        loop.under_way = None
        if ending is not None:  # it is told of as a loop that has ended: in the iteration that was begun last
            loop.state = replace(loop.state, iteration=max(loop.state.iteration, loop.number))
            return
        if action == "interrupted":
            loop.active.over(reason)
        with suppress(BridgeError):
            loop.ends("interrupted", reason, "" if action == "interrupted" else str(error))
        try:
            with suppress(BridgeError):
                deque(loop.end_leftovers(), maxlen=0)
        finally:  # a second signal may have come
            interrupted_by = LoopInterrupted(action, reason, loop.state.iteration, error, loop.state, turn)
            loop.observers.take(interrupted_by)
            with suppress(BridgeError):
                loop.store.record(interrupted_by)
                deque(self.handler.follow_up(interrupted_by), maxlen=0)
