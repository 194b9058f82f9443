"""What a bmalph loop does around its turns: quality gates, reviews, and the plan held against what is claimed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bridge.base import json_files, timestamps
from bridge.loop.engine.events import Notice, ReviewEnded
from bridge.loop.engine.plan import context_for
from bridge.loop.setups.bmalph import quality_gates
from bridge.loop.setups.bmalph.policy import BmalphOutcome, BmalphState
from bridge.loop.setups.bmalph.review import ReviewFacts, findings_text, review, review_due
from bridge.loop.setups.bmalph.state_files import FILES, further, lines, reset, status
from bridge.loop.setups.dot_ralph import files
from bridge.loop.setups.dot_ralph.folder import read_plan
from bridge.loop.setups.dot_ralph.handler import FolderHandler, keep_stream
from bridge.loop.setups.dot_ralph.state_files import FolderSetup
from bridge.loop.turn.driver import DriverTool
from bridge.loop.turn.tool import TurnRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.logs import Level
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.dot_ralph.settings import Settings


class BmalphHandler(FolderHandler[BmalphState, BmalphOutcome]):
    """The handler of one run of the loop.

    Args:
        driver: name of the driver, for metrics.
        on_log: is given each line of ``ralph.log`` with its level.
        now: the time, in seconds since the epoch.
    """

    def __init__(
        self,
        folder: Folder,
        settings: Settings,
        loop: LoopSettings,
        *,
        driver: str,
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        setup = FolderSetup(
            folder=folder,
            settings=settings,
            driver=driver,
            started=timestamps.iso(now()),
            reset=reset,
            status=status,
            further=further,
        )
        super().__init__(setup, loop, own=FILES, lines=lines, now=now, on_log=on_log)
        self._settings = settings
        self._reviewed = files.read_line(folder, ".review_last_sha")

    def load(self, state: BmalphState) -> tuple[BmalphState, Iterable[str]]:
        loaded, wrong = super().load(state)
        changed = files.read_line(self.folder, ".loop_diff_summary")
        findings = json_files.read_object(self.folder / files.FINDINGS)
        shown = json_files.to_json(findings, compact=True) if findings else None
        return replace(loaded, changed=changed, findings=shown), wrong

    def read_plan(self) -> Plan | None:
        return read_plan(self.folder)

    def begin_turn(self, state: BmalphState, plan: Plan | None, session: str | None) -> TurnRequest:
        context = context_of(state, plan, resumed=session is not None)
        return TurnRequest(state.iteration + 1, self.loop.prompt, self.new_logs(), context=context, session=session)

    def take_in(self, state: BmalphState, turn: Turn) -> BmalphOutcome:
        outcome = self.outcome(BmalphOutcome, state, turn)
        analysis = outcome.analysis
        outcome = replace(outcome, reported=analysis)
        if outcome.failure is None and analysis is not None:
            before = turn.plan.done if turn.plan else 0
            after = outcome.plan.done if outcome.plan else before
            found = track(analysis.tasks_completed_this_loop, before, after)
            outcome = replace(outcome, analysis=analysis.tracked(found.delta, mismatch=found.mismatch))
        if turn.command.live and self.loop.resume and outcome.failure is None:
            keep_stream(turn.result, turn.request.logs)
        return self.with_session(outcome, turn)

    def check(self, outcome: BmalphOutcome, turn: Turn) -> Generator[LoopEvent, None, BmalphOutcome]:
        if outcome.failure is not None or outcome.analysis is None:
            return outcome
        found = yield from quality_gates.check(
            self._settings,
            outcome.analysis,
            self.loop,
            self.folder.logs,
            number=turn.request.number,
            now=turn.now,
        )
        gate, _ = quality_gates.outcome_of(found)
        outcome = replace(outcome, gates=found, gate=gate)
        if gate != "block":
            return outcome
        return outcome.not_complete()

    def between(
        self, state: BmalphState, outcome: BmalphOutcome, turn: Turn
    ) -> Generator[LoopEvent, None, BmalphState]:
        changes, mode = outcome.changes, self._settings.review_mode
        if changes is None or mode == "off":
            return state
        facts = ReviewFacts(
            loop=turn.request.number,
            interval=self._settings.review_interval,
            tasks_delta=outcome.ticked,
            circuit_closed=state.breaker.state == "CLOSED",
            head=changes.head,
            last_head=self._reviewed,
            dirty=changes.dirty,
        )
        if not review_due(mode, facts):
            return state
        if not isinstance(turn.tool, DriverTool):
            yield Notice(
                f"no review behind a turn of {turn.tool.name}: REVIEW_MODE has the loop's own driver review"
            )
            return state
        for event in review(turn.tool, self._settings, self.loop, turn, last_head=self._reviewed):
            if isinstance(event, ReviewEnded):
                self._reviewed = event.head
                state = replace(state, findings=event.findings or state.findings)
            yield event
        return state


def context_of(state: BmalphState, plan: Plan | None, *, resumed: bool) -> str:
    """Write what the agent gets beside its prompt."""
    doubts = state.breaker.state != "CLOSED"
    return context_for(
        state,
        plan,
        resumed=resumed,
        warnings=(f"Circuit breaker: {state.breaker.state}.",) if doubts else (),
        failing=quality_gates.failing_sentences(state.gates),
        findings=findings_text(state.findings),
    )


class Tracking(NamedTuple):
    """How many boxes were ticked during a run, and whether that contradicts its claim."""

    delta: int
    mismatch: bool


def track(claimed: int, before: int, after: int) -> Tracking:
    """Compare a claim with the ticked boxes before and after a run.

    A loop is to do one task: more than one, claimed or ticked, is a mismatch too, as are boxes that were
    unticked.
    """
    delta = after - before
    return Tracking(delta, claimed != delta or claimed > 1 or delta > 1 or delta < 0)
