"""The files of a bmalph project as the loop's store: each written as the loop goes."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge import records, timestamps
from bridge.files import write_atomic
from bridge.loop.context import context_for
from bridge.loop.events import (
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LeftoversEnded,
    LoopEnded,
    LoopInterrupted,
    Notice,
    RunProgress,
    Waiting,
)
from bridge.loop.logs import LiveLog
from bridge.loop.outcome import build_outcome, left_session
from bridge.loop.plan import Plan, parse_plan
from bridge.loop.store import Store
from bridge.setups.bmalph.files import breaker, crash, logs, sessions, small, status
from bridge.setups.bmalph.layout import fix_plan
from bridge.setups.bmalph.loop_settings import gate_settings, review_settings
from bridge.setups.bmalph.policy import BmalphOutcome, BmalphState
from bridge.setups.bmalph.recording import Recorder
from bridge.setups.bmalph.rules import gates
from bridge.setups.bmalph.rules.exits import track
from bridge.setups.bmalph.rules.review import ReviewEnded, ReviewFacts, findings_text, review, review_due
from bridge.turn.driver import DriverTool
from bridge.turn.logs import MB
from bridge.turn.tool import TurnLogs, TurnRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.loop.store import LoopSettings, Turn
    from bridge.setups.bmalph.files.logs import Level
    from bridge.setups.bmalph.layout import Folder
    from bridge.setups.bmalph.settings import Settings
    from bridge.turn.tool import TurnResult


class BmalphStore(Store[BmalphState, BmalphOutcome]):
    """The store of one run of the loop.

    Args:
        folder: the loop's folder.
        settings: of the project.
        loop: the same for the loop.
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
        self.folder = folder
        self.settings = settings
        self._loop = loop
        self._gates = gate_settings(settings)
        self._review = review_settings(folder, settings)
        self._reviewed = self._review.last_head
        self._on_log = on_log
        self._now = now
        self._live_log = LiveLog(folder / "live.log", now=now)
        self._recorder = Recorder(folder, settings, driver=driver, started=timestamps.iso(now()), log=self.log)

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder.logs

    # -- before a turn -------------------------------------------------------------------------------

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Sort what a crashed run left, start the session."""
        with records.usable(self.folder.logs):
            self.folder.logs.mkdir(parents=True, exist_ok=True)
        now = self._now()
        sorted_out = crash.sort_out(self.folder, active.before, now)
        sessions.start_session(self.folder, now)
        logs.prune_run_logs(self.folder, self.settings.run_logs_keep)
        for line in self.settings.notices:  # said on stderr already, where a dashboard's user never looks
            self._write_log("WARN", line)
        for line in (*active.notices, *sorted_out):
            self.log("INFO", line)
        return (*active.notices, *sorted_out)

    def load(self, state: BmalphState) -> tuple[BmalphState, Iterable[str]]:
        """Read what others may have changed: counters, signals, breaker, session, results of the loop before."""
        folder, now = self.folder, self._now()
        sessions.touch_session(folder, now)
        small.reset_calls(folder, now)
        if not (folder / ".exit_signals").exists():
            small.clear_exit_signals(folder)
        circuit = breaker.load(folder, now)
        if not (folder / breaker.FILE).exists() or breaker.is_corrupt(folder):
            breaker.save(folder, circuit)
        if not isinstance(records.read_json(folder / breaker.HISTORY), list):
            breaker.save_history(folder, [])
        resumed = sessions.Resume(None)
        if self.settings.session_continuity:
            resumed = sessions.resume_id(folder, expiry_hours=self.settings.session_expiry_hours, now=now)
        analysis = small.read_analysis(folder)
        findings = small.read_findings(folder)
        wrong = [f"the session is not resumed: {resumed.dropped}"] if resumed.dropped else []
        for line in wrong:
            self.log("WARN", line)
        loaded = replace(
            state,
            session_id=resumed.session_id,
            signals=small.read_exit_signals(folder),
            exit_signal=analysis.get("exit_signal") is True,
            breaker=circuit,
            calls=small.read_calls(folder),
            previous=str(analysis.get("work_summary") or ""),
            changed=small.read_diff_summary(folder),
            findings=records.to_json(findings, compact=True) if findings else None,
            output_length=records.read_number(folder / ".last_output_length"),
        )
        return loaded, wrong

    def read_plan(self) -> Plan | None:
        """Read the fix plan."""
        path = fix_plan(self.folder)
        text = records.read_text(path) if path else None
        return None if text is None else parse_plan(text)

    def begin_turn(self, state: BmalphState, plan: Plan | None, session: str | None) -> TurnRequest:
        """Keep the logs of all turns within their bound; name this one's, which carry the time."""
        most = int(self.settings.turn_logs_mb * MB)
        logs.bound_run_logs(self.folder, most, lambda line: self.log("INFO", line))
        made = logs.new_run_logs(self.folder, self._now())
        stream = made.stream if self._loop.live else None
        return TurnRequest(
            state.iteration + 1,
            self._loop.prompt,
            TurnLogs(made.output, made.stderr, stream),
            context=context_of(state, plan, resumed=session is not None),
            session=session,
        )

    # -- after a turn --------------------------------------------------------------------------------

    def take_in(self, state: BmalphState, turn: Turn) -> BmalphOutcome:
        """Judge the output, see to the session and the logs, and hold the plan against what is claimed."""
        plans = (turn.plan, self.read_plan())
        outcome = build_outcome(
            BmalphOutcome,
            turn.result,
            turn.request,
            now=turn.now,
            changes=turn.changes,
            plans=plans,
            promise=self._loop.promise,
            last_length=state.output_length,
        )
        analysis = outcome.analysis
        outcome = replace(outcome, reported=analysis)
        if outcome.failure is None and analysis is not None:
            before = plans[0].done if plans[0] else 0
            found = track(analysis.tasks_completed_this_loop, before, plans[1].done if plans[1] else before)
            outcome = replace(outcome, analysis=analysis.tracked(found.delta, mismatch=found.mismatch))
        if turn.command.live and self._loop.resume and outcome.failure is None:
            _keep_stream(turn.result, turn.request.logs)
        if turn.sessions:
            outcome = replace(outcome, session_id=left_session(outcome, turn.tool, turn.request))
        return outcome

    def check(self, outcome: BmalphOutcome, turn: Turn) -> BmalphOutcome:
        """Run the quality gates after a turn that ended well, and let them have their say."""
        if outcome.failure is not None or outcome.analysis is None:
            return outcome
        found = gates.check(
            self._gates,
            outcome.analysis,
            project=self._loop.project,
            env=self._loop.environment,
            loop=turn.request.number,
            now=turn.now,
        )
        gate, _ = gates.outcome_of(found)
        outcome = replace(outcome, gates=found, gate=gate)
        if gate != "block":
            return outcome
        not_complete = outcome.analysis.not_complete() if outcome.analysis else None
        return replace(outcome, analysis=not_complete, exit_signal=False, promised=False)

    def between(
        self, state: BmalphState, outcome: BmalphOutcome, turn: Turn
    ) -> Generator[LoopEvent, None, BmalphState]:
        """Review the work when that is due."""
        changes, wanted = outcome.changes, self._review
        if changes is None or wanted.mode == "off" or not isinstance(turn.tool, DriverTool):
            return state
        facts = ReviewFacts(
            loop=turn.request.number,
            interval=wanted.interval,
            tasks_delta=outcome.ticked,
            circuit_closed=state.breaker.state == "CLOSED",
            head=changes.head,
            last_head=self._reviewed,
            dirty=changes.dirty,
        )
        if not review_due(wanted.mode, facts):
            return state
        for event in review(turn.tool.driver, wanted, self._loop, turn, last_head=self._reviewed):
            if isinstance(event, ReviewEnded):
                self._reviewed = event.head
                state = replace(state, findings=event.findings or state.findings)
            yield event
        return state

    # -- what the loop tells -------------------------------------------------------------------------

    def show(self, data: bytes) -> None:
        """Append to ``live.log``."""
        self._live_log.write(data)

    def record(self, event: LoopEvent) -> Iterable[LoopEvent]:
        """Write what follows from an event."""
        now = self._now()
        match event:
            case IterationStarted():
                self._live_log.begin(f"Loop #{event.iteration}")
                self._recorder.started_run(event, now)
            case IterationEnded():
                self._live_log.close()
                self._recorder.ended_run(event, now)
            case Waiting():
                self._recorder.waiting(event, now)
            case ReviewEnded():
                self._recorder.reviewed(event)
            case LoopEnded():
                self._recorder.ended(event, now)
            case LoopInterrupted():
                self._live_log.close()
                self._recorder.interrupted(event, now)
            case _:
                self._log_event(event, now)
        return ()

    def _log_event(self, event: LoopEvent, now: float) -> None:
        """Write what only the log, or who watches, wants to know."""
        match event:
            case RunProgress():
                status.write_running(
                    self.folder, poll=event.count, elapsed=event.elapsed, last_line=event.last_line, now=now
                )
                if self.settings.verbose:
                    self.log("INFO", f"{int(event.elapsed)} s: {event.tool or event.last_line}"[:300])
            case DenialHelp():  # on a terminal it is shown as it is
                for line in filter(None, event.text.split("\n")):
                    self._write_log("WARN", line)
            case Notice():
                self.log("WARN", event.text)
            case LeftoversEnded():
                self.log("INFO", str(event))

    def close(self) -> None:
        """Let go of the log that people watch."""
        self._live_log.close()

    def log(self, level: Level, message: str) -> None:
        """Write one line to ``ralph.log``, and pass it on."""
        self._on_log(level, self._write_log(level, message))

    def _write_log(self, level: Level, message: str) -> str:
        most = self.settings.log_max_mb * 1024 * 1024
        return logs.log(self.folder, level, message, self._now(), max_bytes=most, keep=self.settings.log_keep)


def context_of(state: BmalphState, plan: Plan | None, *, resumed: bool) -> str:
    """Write what the agent is told beside its prompt."""
    doubts = state.breaker.state != "CLOSED"
    return context_for(
        state,
        plan,
        resumed=resumed,
        warnings=(f"Circuit breaker: {state.breaker.state}.",) if doubts else (),
        failing=gates.failing_sentences(state.gates),
        findings=findings_text(state.findings),
    )


def _keep_stream(result: TurnResult, files: TurnLogs) -> None:
    """The whole stream of a live turn goes to a file of its own, and its result takes its place."""
    if files.stream is None:
        return
    with suppress(FileNotFoundError):  # the agent has tidied up
        if result.result is not None:
            os.replace(files.output, files.stream)
            write_atomic(files.output, result.result)
            return
        try:
            os.link(files.output, files.stream)
        except OSError:  # a file system without links
            shutil.copyfile(files.output, files.stream)
