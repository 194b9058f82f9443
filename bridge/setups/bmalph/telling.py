"""What a run is worth telling: lines for ``ralph.log``, a record for ``metrics.jsonl``."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from bridge import records
from bridge.setups.bmalph import policy
from bridge.setups.bmalph.files.status import exit_label
from bridge.setups.bmalph.rules.gates import outcome_of
from bridge.setups.bmalph.rules.metrics import MetricsFacts, metrics_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.loop.events import IterationEnded
    from bridge.setups.bmalph.files.logs import Level
    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.rules.metrics import LoopOutcome

__all__ = ["exit_code", "lines_about", "metrics_of"]


def metrics_of(event: IterationEnded, *, driver: str, started: str, now: float) -> dict[str, object]:
    """Return the record of a run for ``metrics.jsonl``.

    Args:
        event: the run.
        driver: name of the driver.
        started: when this run of the loop began.
        now: the time.
    """
    outcome, state = policy.outcome_of(event), policy.state_of(event)
    word: LoopOutcome = "success"
    if state.breaker.is_open:
        word = "circuit_breaker_trip"
    elif event.decision.reason == "api_limit":
        word = "api_limit"
    elif outcome.idle:
        word = "read_only_timeout"
    elif outcome.failure is not None:
        word = "error"
    facts = MetricsFacts(
        run_id=started,
        loop=event.iteration,
        now=datetime.fromtimestamp(now).astimezone(),
        driver=driver,
        outcome=word,
        session_id=state.session_id or "",
        files_changed=outcome.files_changed,
        quality_gate_result=outcome_of(outcome.gates)[1],
        circuit=state.breaker.state.value,
    )
    record: dict[str, object] = json.loads(metrics_line(facts, outcome.reported))
    return record


def lines_about(folder: Folder, event: IterationEnded) -> Iterator[tuple[Level, str]]:
    """Give the lines of ``ralph.log`` about a run, each with its level."""
    failure = event.outcome.failure
    outcome, decision = policy.outcome_of(event), event.decision
    if decision.reason == "api_limit":
        yield "WARN", f"API limit: {decision.detail}"
    elif failure is not None:
        code = exit_code(event)
        label = "write timeout" if outcome.idle else exit_label(code) if code else "failed"
        yield "ERROR", f"Run {label}: {failure}; its output: {folder.name_of(event.log)}"
        for line in _last_lines(event):
            yield "ERROR", f"  stderr: {line}"
    elif outcome.denied:
        commands = outcome.analysis.denied_commands if outcome.analysis else ()
        yield "WARN", f"Permission denied for {', '.join(commands) or 'a tool'}"
    else:
        ran_out = " (it ran out of time, with work done)" if outcome.productive else ""
        files = f"{outcome.files_changed} files changed"
        yield "SUCCESS", f"Completed Loop #{event.iteration}: {files} in {event.seconds:.0f} s{ran_out}"
    analysis = outcome.analysis
    if failure is None and analysis is not None and analysis.has_progress_tracking_mismatch:
        claimed, delta = analysis.tasks_completed_this_loop, analysis.fix_plan_completed_delta
        yield "WARN", f"Progress mismatch: {claimed} tasks claimed, {delta} boxes ticked in the fix plan"
    if outcome.gates is not None:
        level: Level = "INFO" if outcome.gates.overall_status == "pass" else "WARN"
        yield level, f"Quality gates: {outcome.gates.overall_status} (mode {outcome.gates.mode})"


def exit_code(event: IterationEnded) -> int:
    """Give the exit code as the original's shell would have it: 124 after a timeout, 128 + N after a signal."""
    status = event.outcome.status
    if event.outcome.timed_out or event.outcome.idle:
        return 124
    return 128 - status if status < 0 else status


def _last_lines(event: IterationEnded) -> list[str]:
    """Give the last three lines of stderr."""
    text = records.read_text(event.stderr) if event.stderr is not None else None
    return [line for line in (text or "").splitlines() if line.strip()][-3:]
