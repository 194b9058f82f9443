"""From the engine's events to the loop's files and the lines of ``ralph.log``."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge import records
from bridge.errors import ProjectUnusable
from bridge.files import write_atomic
from bridge.loop.policy import Verdict
from bridge.setups.bmalph.gates import results_document
from bridge.setups.bmalph.metrics import metrics_of
from bridge.setups.bmalph.policy import BmalphState, outcome_of
from bridge.setups.bmalph.stories import collapse_plan
from bridge.setups.dot_ralph.files import breaker, small
from bridge.setups.dot_ralph.files.status import exit_label, write_finished
from bridge.setups.dot_ralph.folder import fix_plan
from bridge.setups.dot_ralph.policy import state_of
from bridge.setups.dot_ralph.recording import FolderRecorder, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.loop.events import IterationEnded, LoopEnded, ReviewEnded
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.settings import Settings


class BmalphRecorder(FolderRecorder):
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
        super().__init__(folder, settings, log=log)
        self._driver = driver
        self._started = started

    def keep(self, event: IterationEnded, now: float) -> None:
        """Keep what a run leaves."""
        folder, outcome, state = self._folder, outcome_of(event), event.state
        assert isinstance(state, BmalphState)
        write_finished(folder, succeeded=outcome.failure is None, now=now)
        if outcome.failure is not None:
            records.delete(folder / ".response_analysis")
            return
        small.write_calls(folder, state.calls)
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
            with suppress(ProjectUnusable):  # a plan that somebody has linked from outside is theirs
                text = records.read_text(path) or ""
                if (collapsed := collapse_plan(text)) != text:
                    records.write_text(path, collapsed)

    def metrics(self, event: IterationEnded, now: float) -> dict[str, object]:
        """Give the record of a run for ``metrics.jsonl``."""
        return metrics_of(event, driver=self._driver, started=self._started, now=now)

    def lines_about(self, event: IterationEnded) -> Iterator[tuple[Level, str]]:
        """Give the lines of ``ralph.log`` about a run, each with its level."""
        yield from super().lines_about(event)
        outcome = outcome_of(event)
        analysis, gates = outcome.analysis, outcome.gates
        if outcome.failure is None and analysis is not None and analysis.has_progress_tracking_mismatch:
            claimed, delta = analysis.tasks_completed_this_loop, analysis.fix_plan_completed_delta
            yield "WARN", f"Progress mismatch: {claimed} tasks claimed, {delta} boxes ticked in the fix plan"
        if gates is not None:
            level: Level = "INFO" if gates.overall_status == "pass" else "WARN"
            yield level, f"Quality gates: {gates.overall_status} (mode {gates.mode})"

    def ended_status(self, event: IterationEnded, now: float) -> None:
        """Write ``status.json`` after a run, where the loop goes on."""
        loop, code = event.iteration, exit_code(event)
        match event.decision.reason:
            case "api_limit":
                self.status(loop, "api_limit", "paused", now)
            case "write_timeout":  # the original's "retrying" is no word of its readers (trap T22)
                self.status(loop, "write_timeout", "running", now, code=code)
            case "permission_denied":
                self.status(loop, "permission_denied", "running", now)
            case _ if event.outcome.failure is not None:
                reason = exit_label(code) if code else "error"
                self.status(loop, "failed", "error", now, reason=reason, code=code)
            case _:
                self.status(loop, "completed", "success", now, code=code or None)

    def reviewed(self, event: ReviewEnded) -> None:
        """A review has run."""
        folder = self._folder
        path = folder.logs / f"review_loop_{event.iteration}.log"
        with records.usable(path):
            write_atomic(path, event.output)
        small.write_line(folder, ".review_last_sha", event.head)
        if event.findings:
            small.write_findings(folder, json.loads(event.findings))
        outcome = "with findings" if event.findings else f"without findings (exit status {event.status})"
        self._log("INFO", f"Review of loop #{event.iteration} ended {outcome}")

    def ended(self, event: LoopEnded, now: float) -> None:
        """The loop is over."""
        loop = event.iterations
        if event.verdict is Verdict.COMPLETE:
            self.completed(event, loop, now)
            return
        circuit = state_of(event).breaker
        if circuit.is_open:
            tripped = circuit.current_loop == loop and loop > 0
            self.reset("circuit_breaker_trip" if tripped else "circuit_breaker_open", loop, now)
            # The breaker's own doings reach the file here when a loop never ran.
            breaker.save(self._folder, circuit, None)
            self.status(loop, "circuit_breaker_open", "halted", now, reason=event.reason)
            self._log("ERROR", f"Circuit breaker is open: {circuit.reason}")
            self._log("INFO", "Next: look at the last output, then `ralph-bridge reset`, or wait for the cooldown")
        elif event.reason == "permission_denied":
            self.reset("permission_denied", loop, now)
            self.status(loop, "permission_denied", "halted", now, reason="permission_denied")
            self._log("ERROR", f"Halted: {event.detail}")
        else:
            halted = event.reason == "consecutive_failures" or event.permanent is not None
            self.status(loop, event.reason, "halted" if halted else "stopped", now, reason=event.reason)
            self._log("ERROR" if halted else "INFO", f"Ended incomplete: {event.detail}")

    def further(self, code: int | None) -> dict[str, object]:
        """Give the keys of ``status.json`` that only this loop's has."""
        return {"driver_exit_code": code, **gates_shown(self._folder)}


def gates_shown(folder: Folder) -> dict[str, object]:
    """What ``status.json`` says about the quality gates: nothing where none ran."""
    gates = records.read_object(folder / ".quality_gate_results")
    if gates is None:
        return {}
    return {"quality_gates": {name: gates.get(name) for name in ("overall_status", "mode")}}
