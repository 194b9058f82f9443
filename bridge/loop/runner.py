"""The loop itself, thin: it runs what the driver builds, and asks :mod:`bridge.loop.decide` what next."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from bridge.errors import (
    BridgeError,
    HookError,
    OutputNotFound,
    OutputUnreadable,
)
from bridge.git.repository import Repository
from bridge.loop import breaker as breakers
from bridge.loop.briefing import context_for
from bridge.loop.checking import check
from bridge.loop.commands import prepare_command
from bridge.loop.decide import Decision, Limits, Rules, State, Verdict, begin, decide
from bridge.loop.events import (
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    Notice,
    OutputText,
    ReviewEnded,
    Waiting,
)
from bridge.loop.judging import answer_of, build_outcome, checked, interruption
from bridge.loop.launching import Launcher
from bridge.loop.options import GateSettings, LoopSettings, ReviewSettings
from bridge.loop.outcome import Outcome, failure_of
from bridge.loop.ports import LoopDriver, WallClock
from bridge.loop.review import ReviewFacts, review_due
from bridge.loop.reviewing import review
from bridge.loop.turn import keep_stream, not_started
from bridge.loop.turn_records import Tally, TurnRecord, begun, interrupted
from bridge.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from bridge.loop.ports import Clock, RunLogs, Store, Tool
    from bridge.loop.turn_records import Result

__all__ = [
    "GateSettings",
    "Limits",
    "LoopDriver",
    "LoopSettings",
    "ReviewSettings",
    "Rules",
    "context_for",
    "prepare_command",
    "run_loop",
    "run_turns",
]

_SLICE = 1.0


def run_loop(
    driver: LoopDriver, settings: LoopSettings, *, store: Store, clock: Clock | None = None
) -> Generator[LoopEvent, None, None]:
    """Run the loop to its end, yielding what happens; the last event is a :class:`LoopEnded`.

    Close the generator (``contextlib.closing``) when you leave early: that ends the CLI's process group.

    Args:
        driver: the tool.
        settings: how to run it.
        store: the project's files.
        clock: the time; None for the real one.

    Raises:
        bridge.errors.BridgeError: the driver failed, the CLI can't be started, a file can't be written.
    """
    yield from run_turns(Launcher(driver, settings, store), settings, store=store, clock=clock)


def run_turns(
    tool: Tool, settings: LoopSettings, *, store: Store, clock: Clock | None = None
) -> Generator[LoopEvent, None, None]:
    """Run the loop with any tool; otherwise as :func:`run_loop`.

    Args:
        tool: runs the turns.
        settings: how to run it.
        store: the project's files.
        clock: the time; None for the real one.
    """
    yield from _Loop(tool, settings, store, clock or WallClock()).run()


class _Loop:
    """One run of the loop; `state` is where it stands."""

    def __init__(self, tool: Tool, settings: LoopSettings, store: Store, clock: Clock) -> None:
        self.tool = tool
        self.settings = settings
        self.store = store
        self.clock = clock
        self.state = State()
        self.sessions = False
        self.helped = False
        self.reviewed = settings.review.last_head
        self.repository: Repository | None = None
        if settings.measure:
            self.repository = Repository(settings.project, settings.files, env=settings.env)
        self.tally = Tally()
        self.under_way: TurnRecord | None = None

    def run(self) -> Generator[LoopEvent, None, None]:
        self.started = self.clock.monotonic()
        notices = self.store.begin()
        try:
            yield from map(Notice, notices)
            self.sessions = self.settings.resume and self.tool.supports_sessions()
            decision = yield from self._iterations()
            end = LoopEnded(
                decision.verdict,
                decision.reason,
                decision.detail,
                self.state.iteration,
                self._elapsed(),
                self.state,
                self.tally.totals,
            )
            self.store.record(end)
        except BaseException as error:
            with suppress(BridgeError):
                action, reason = interruption(error)
                turn = self.under_way and interrupted(self.under_way, reason, self.clock.now().timestamp())
                self.store.record(LoopInterrupted(action, reason, self.state.iteration, error, self.state, turn))
            raise
        finally:
            self.store.end()
        yield end

    def _iterations(self) -> Generator[LoopEvent, None, Decision]:
        settings = self.settings
        first = True
        while True:
            self.state, wrong = self.store.load(self.state)
            yield from map(Notice, wrong)
            if settings.rules.breaker is not None and self.state.breaker is not None:
                rules = settings.rules.breaker
                # CB_AUTO_RESET is for a circuit that an earlier run of the loop left open.
                rules = rules if first else replace(rules, auto_reset=False)
                prepared, transition = breakers.prepare(self.state.breaker, rules, self.clock.now())
                self.state = replace(self.state, breaker=prepared, transition=transition)
            first = False
            decision = begin(
                self.state,
                self.store.read_plan(),
                limits=settings.limits,
                rules=settings.rules,
                now=self.clock.now(),
                elapsed=self._elapsed(),
            )
            if decision.verdict is not Verdict.CONTINUE:
                return decision
            if decision.wait:
                yield from self._wait(decision)
                continue
            decision = yield from self._iterate()
            if decision.verdict is not Verdict.CONTINUE:
                return decision
            yield from self._wait(decision)

    def _iterate(self) -> Generator[LoopEvent, None, Decision]:
        settings, iteration = self.settings, self.state.iteration + 1
        session = self.state.session_id if self.sessions else None
        before = self.store.read_plan()
        tree = self.repository.look() if self.repository else None
        context = context_for(self.state, before, resumed=session is not None)
        argv, live, broken = self.tool.command(context, session, first=iteration == 1)
        logs = self.store.new_logs(iteration)
        head = tree.head if tree else ""
        began = self.clock.monotonic()
        self.under_way = begun(iteration, self.clock.now().timestamp(), logs.output, settings.project)
        yield self._record(
            IterationStarted(iteration, tuple(argv), session, live, before, logs.output, self.state, head)
        )
        run = not_started(broken)
        if not broken:
            left = self._turn_seconds()
            run = yield from self.tool.run(iteration, argv, logs, live=live, timeout=left)
        outcome = build_outcome(
            run,
            replace(self.state, session_id=session),
            settings,
            iteration=iteration,
            logs=logs,
            changes=self.repository.changes(tree) if self.repository else None,
            plans=(before, self.store.read_plan()),
            now=self.clock.now(),
        )
        words = answer_of(outcome)
        if words and not run.shown:
            yield self._record(OutputText(iteration, words))
        if live and settings.resume and failure_of(outcome) is None:
            keep_stream(run, logs)
        outcome = self._with_session(outcome, logs)
        outcome = checked(
            outcome,
            lambda analysis: check(
                settings.gates,
                analysis,
                project=settings.project,
                env=settings.env,
                loop=iteration,
                now=self.clock.now(),
            ),
        )
        self.state, decision = decide(
            self.state,
            outcome,
            settings.limits,
            rules=settings.rules,
            now=self.clock.now(),
            elapsed=self._elapsed(),
        )
        seconds = self.clock.monotonic() - began
        analysis = outcome.analysis
        turn = self.tally.add(
            self._turn_record(iteration, outcome, seconds, logs.output), analysis.usage if analysis else None
        )
        self.under_way = None
        yield self._record(
            IterationEnded(
                iteration, outcome, decision, seconds, logs.output, self.state, logs.stderr, self.sessions, turn
            )
        )
        if outcome.denied and not self.helped:
            self.helped = True
            refused = outcome.analysis.denied_commands if outcome.analysis else ()
            yield self._record(DenialHelp(iteration, refused, self.tool.denial_help()))
        if decision.verdict is Verdict.CONTINUE and decision.reason == "":
            yield from self._review(iteration, outcome)
        return decision

    def _turn_record(self, iteration: int, outcome: Outcome, seconds: float, log: Path) -> TurnRecord:
        failure = failure_of(outcome)
        result: Result = "failed" if failure else "success"
        if outcome.timed_out or outcome.idle:
            result = "timeout"
        elif failure and outcome.limit is not None:
            result = "limit"
        return TurnRecord(
            turn=iteration,
            began=self.clock.now().timestamp() - seconds,
            seconds=seconds,
            result=result,
            status=outcome.status,
            error=failure,
            session=outcome.session_id,
            files_changed=outcome.files_changed if outcome.changes else None,
            committed=outcome.changes.committed if outcome.changes else None,
            log=os.path.relpath(log, self.settings.project),
        )

    def _with_session(self, outcome: Outcome, logs: RunLogs) -> Outcome:
        """Find the session that the run left behind; also of one that was ended, whose work goes on (trap T20)."""
        ended = outcome.timed_out or outcome.idle
        failed = failure_of(outcome) is not None
        if not self.sessions or (failed and not (ended and self.settings.rules.keep_session)):
            return outcome
        found = None
        try:
            found = self.tool.recover_session_id(str(logs.output))
        except HookError:  # a session less costs some reading; the loop goes on
            pass
        except (OutputNotFound, OutputUnreadable):  # `git clean -fdx` of the agent takes ignored logs, too
            found = validate_session_id(outcome.analysis.session_id) if outcome.analysis else None
        return replace(outcome, session_id=found)

    def _review(self, iteration: int, outcome: Outcome) -> Generator[LoopEvent, None, None]:
        breaker, changes, wanted = self.state.breaker, outcome.changes, self.settings.review
        reviewer = self.tool.reviewer
        if self.repository is None or changes is None or wanted.mode == "off" or reviewer is None:
            return
        facts = ReviewFacts(
            loop=iteration,
            interval=wanted.interval,
            tasks_delta=outcome.ticked,
            circuit_closed=breaker is None or breaker.state == "CLOSED",
            head=changes.head,
            last_head=self.reviewed,
            dirty=changes.dirty,
        )
        if not review_due(wanted.mode, facts):
            return
        for event in review(
            reviewer,
            replace(self.settings, timeout=self._turn_seconds()),
            self.store,
            self.repository,
            iteration=iteration,
            head=changes.head,
            last_head=self.reviewed,
        ):
            if isinstance(event, ReviewEnded):
                self.reviewed = event.head
                self.state = replace(self.state, findings=event.findings or self.state.findings)
            yield self._record(event)

    def _wait(self, decision: Decision) -> Generator[LoopEvent, None, None]:
        """Wait, visibly: an event about every second, and none when there is nothing to wait for."""
        until = self.clock.now() + timedelta(seconds=decision.wait)
        first = True
        limit = self.settings.limits.max_seconds
        while (left := (until - self.clock.now()).total_seconds()) > 0:
            if limit is not None and self._elapsed() >= limit:
                return
            reason = decision.reason or "pause"
            yield self._record(
                Waiting(self.state.iteration, reason, decision.detail, until, left, first, self.state)
            )
            first = False
            self.clock.wait(min(left, _SLICE))

    def _record(self, event: LoopEvent) -> LoopEvent:
        self.store.record(event)
        return event

    def _turn_seconds(self) -> float | None:
        """What is left for a turn: its own time, and no more than the loop's."""
        most, timeout = self.settings.limits.max_seconds, self.settings.timeout
        if most is None:
            return timeout
        left = max(most - self._elapsed(), 0.0)
        return left if timeout is None else min(left, timeout)

    def _elapsed(self) -> float:
        return self.clock.monotonic() - self.started
