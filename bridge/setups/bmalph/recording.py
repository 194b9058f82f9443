"""From the engine's events to the loop's files and the lines of ``ralph.log``."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bridge import records
from bridge.files import write_atomic
from bridge.loop.policy import LIMITS, Verdict
from bridge.setups.bmalph.layout import fix_plan
from bridge.setups.bmalph.policy import outcome_of, state_of
from bridge.setups.bmalph.rules.gates import results_document
from bridge.setups.bmalph.rules.stories import collapse_plan
from bridge.setups.bmalph.turn_report import exit_code, lines_about, metrics_of
from bridge.setups.dot_ralph.files import breaker, logs, sessions, small
from bridge.setups.dot_ralph.files.status import Status, exit_label, write_finished, write_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopInterrupted, Waiting
    from bridge.setups.bmalph.policy import BmalphState
    from bridge.setups.bmalph.rules.review import ReviewEnded
    from bridge.setups.bmalph.settings import Settings
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.files.status import State as StatusWord
    from bridge.setups.dot_ralph.folder import Folder

DONE = "Ralph has completed the project"
_EVERY = 60.0
"""Seconds between two writes of status.json while the loop waits: a sign of life, no more."""


class Recorder:
    """Writes what follows from each event.

    Args:
        folder: the loop's folder.
        settings: of the project.
        driver: name of the driver, for metrics.
        started: when this run of the loop began; the run id of its metrics.
        log: writes one line to ``ralph.log``.
    """

    def __init__(
        self,
        folder: Folder,
        settings: Settings,
        *,
        driver: str,
        started: str,
        log: Callable[[Level, str], None],
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._driver = driver
        self._started = started
        self._log = log
        self._session = ""
        self._written = 0.0

    def started_run(self, event: IterationStarted, now: float) -> None:
        """A run is about to start."""
        folder = self._folder
        small.write_line(folder, ".loop_start_sha", event.head)
        state = state_of(event)
        if state.transition is not None:  # a cooldown is over
            breaker.save(folder, state.breaker, state.transition)
            self._log("INFO", f"Circuit breaker: {state.breaker.reason}")
        self._session = event.session_id or ""
        self._log("LOOP", f"=== Starting Loop #{event.iteration} ===")
        resumes = f", resumes session {event.session_id}" if event.session_id else ""
        most = self._settings.timeout_minutes
        if event.argv:
            self._log("INFO", f"Calling the agent (timeout {most} min{resumes})")
        self._status(state_of(event), event.iteration, "executing", "running", now)

    def ended_run(self, event: IterationEnded, now: float) -> None:
        """A run is over."""
        folder, outcome, state = self._folder, outcome_of(event), state_of(event)
        failure = outcome.failure
        write_finished(folder, succeeded=failure is None, now=now)
        if failure is None:
            self._keep(event)
        else:
            small.delete_analysis(folder)
        self._keep_session(event, now)
        if event.decision.reason != "api_limit":
            breaker.save(folder, state.breaker, state.transition)
            if state.transition is not None:
                moved = state.transition
                self._log("WARN", f"Circuit breaker: {moved.from_state} -> {moved.to_state}: {moved.reason}")
        logs.append_metrics(folder, metrics_of(event, driver=self._driver, started=self._started, now=now))
        for level, line in lines_about(folder, event):
            self._log(level, line)
        if event.decision.verdict is Verdict.CONTINUE:
            self._ended_status(event, failure, now)

    def _keep(self, event: IterationEnded) -> None:
        """Keep what a run that ended well leaves."""
        folder, outcome, state = self._folder, outcome_of(event), state_of(event)
        records.write_text(folder / ".call_count", f"{state.calls.count}\n")
        records.write_text(folder / ".last_reset", f"{state.calls.stamp}\n")
        if outcome.analysis is not None:
            analysis = outcome.analysis.denials_handled() if outcome.denied else outcome.analysis
            analysis = replace(analysis, output_file=folder.name_of(event.log))
            records.write_text(folder / ".response_analysis", analysis.to_json())
            if analysis.output_format == "text":
                small.write_line(folder, ".last_output_length", analysis.output_length)
        small.write_exit_signals(folder, state.signals)
        if outcome.gates is not None:
            records.write_json(folder / ".quality_gate_results", results_document(outcome.gates))
        if state.changed:
            small.write_line(folder, ".loop_diff_summary", state.changed)
        else:
            records.delete(folder / ".loop_diff_summary")
        if not outcome.denied:
            small.delete_findings(folder)
        if outcome.ticked > 0 and (path := fix_plan(folder)) is not None:
            text = records.read_text(path) or ""
            if (collapsed := collapse_plan(text)) != text:
                with records.usable(path):
                    write_atomic(path, collapsed)

    def _keep_session(self, event: IterationEnded, now: float) -> None:
        if sessions.keep_agent_session(self._folder, event, self._session, now):
            self._log("WARN", f"Session {self._session} is dropped: {event.decision.detail}")

    def _ended_status(self, event: IterationEnded, failure: str | None, now: float) -> None:
        state, loop = state_of(event), event.iteration
        match event.decision.reason:
            case "api_limit":
                self._status(state, loop, "api_limit", "paused", now)
            case "write_timeout":  # the original's "retrying" is no word of its readers (trap T22)
                self._status(state, loop, "write_timeout", "running", now, code=exit_code(event))
            case "permission_denied":
                self._status(state, loop, "permission_denied", "running", now)
            case _ if failure is not None:
                code = exit_code(event)
                reason = exit_label(code) if code else "error"
                self._status(state, loop, "failed", "error", now, reason=reason, code=code)
            case _:
                self._status(state, loop, "completed", "success", now, code=exit_code(event) or None)

    def waiting(self, event: Waiting, now: float) -> None:
        """The loop waits: status.json says so, and is written anew once a minute."""
        if not event.first and now - self._written < _EVERY:
            return
        if event.first and event.reason in (*LIMITS, "retry"):
            until = event.until.strftime("%Y-%m-%d %H:%M:%S")
            self._log("INFO", f"Waiting until {until} ({event.reason}): {event.detail}")
        if event.reason in LIMITS:
            until_seconds = event.until.timestamp()
            self._status(state_of(event), event.iteration, event.reason, "paused", now, reset=until_seconds)

    def reviewed(self, event: ReviewEnded) -> None:
        """A review has run."""
        folder = self._folder
        path = folder.logs / f"review_loop_{event.iteration}.log"
        with records.usable(path):
            path.write_bytes(event.output)
        small.write_line(folder, ".review_last_sha", event.head)
        if event.findings:
            small.write_findings(folder, json.loads(event.findings))
        outcome = "with findings" if event.findings else f"without findings (exit status {event.status})"
        self._log("INFO", f"Review of loop #{event.iteration} ended {outcome}")

    def ended(self, event: LoopEnded, now: float) -> None:
        """The loop is over."""
        loop = event.iterations
        if event.verdict is Verdict.COMPLETE:
            self._reset("project_complete", loop, now)
            self._status(state_of(event), loop, "graceful_exit", "completed", now, reason=event.reason)
            self._log("SUCCESS", f"{DONE}: {event.reason}")
            self._log("INFO", f"Loops: {loop}")
            self._log("INFO", f"Calls in this hour: {state_of(event).calls.count}")
            self._log("INFO", f"Why: {event.detail}")
            return
        circuit = state_of(event).breaker
        if circuit.is_open:
            tripped = circuit.current_loop == loop and loop > 0
            self._reset("circuit_breaker_trip" if tripped else "circuit_breaker_open", loop, now)
            # The breaker's own doings reach the file here when a loop never ran.
            breaker.save(self._folder, circuit, None)
            self._status(state_of(event), loop, "circuit_breaker_open", "halted", now, reason=event.reason)
            self._log("ERROR", f"Circuit breaker is open: {circuit.reason}")
            self._log("INFO", "Next: look at the last output, then `ralph-bridge reset`, or wait for the cooldown")
        elif event.reason == "permission_denied":
            self._reset("permission_denied", loop, now)
            self._status(state_of(event), loop, "permission_denied", "halted", now, reason="permission_denied")
            self._log("ERROR", f"Halted: {event.detail}")
        else:
            halted = event.reason == "consecutive_failures"
            self._status(
                state_of(event), loop, event.reason, "halted" if halted else "stopped", now, reason=event.reason
            )
            self._log("ERROR" if halted else "INFO", f"Ended incomplete: {event.detail}")

    def interrupted(self, event: LoopInterrupted, now: float) -> None:
        """The loop was ended in the middle."""
        if event.action == "interrupted":
            self._log("INFO", f"Interrupted ({event.reason}); the agent has been ended")
            if event.reason.startswith("SIG"):
                self._reset("manual_interrupt", event.iteration, now)
            self._finish(now)
            self._status(state_of(event), event.iteration, "interrupted", "stopped", now, reason=event.reason)
            return
        said = str(event.error).splitlines()[0] if event.error is not None and str(event.error) else event.reason
        self._log("ERROR", f"Unexpected end: {said}")
        self._finish(now)
        self._status(state_of(event), event.iteration, "unexpected_exit", "stopped", now, reason=event.reason)

    def _finish(self, now: float) -> None:
        if (records.read_object(self._folder / "progress.json") or {}).get("status") == "executing":
            write_finished(self._folder, succeeded=False, now=now)

    def _reset(self, reason: str, loop: int, now: float) -> None:
        sessions.reset_session(self._folder, reason, now, loop=loop)

    def _status(
        self,
        state: BmalphState,
        loop: int,
        action: str,
        word: StatusWord,
        now: float,
        *,
        reason: str = "",
        code: int | None = None,
        reset: float | None = None,
    ) -> None:
        calls = state.calls.at(datetime.fromtimestamp(now)).count
        most = self._settings.max_calls_per_hour
        self._written = now
        status = Status(loop, calls, most, action, word, reason, reset)
        write_status(self._folder, status, now, driver_exit_code=code, **gates_shown(self._folder))


def gates_shown(folder: Folder) -> dict[str, object]:
    """What ``status.json`` says about the quality gates: nothing where none ran."""
    gates = records.read_object(folder / ".quality_gate_results")
    if gates is None:
        return {}
    return {"quality_gates": {name: gates.get(name) for name in ("overall_status", "mode")}}
