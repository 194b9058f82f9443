"""What a run is worth telling: lines for ``ralph.log``, a record for ``metrics.jsonl``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from bridge import records
from bridge.setups.bmalph import policy
from bridge.setups.bmalph.rules.gates import outcome_of
from bridge.setups.dot_ralph.files.status import exit_label
from bridge.stream.analysis import iso
from bridge.stream.events import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.loop.events import IterationEnded
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.stream.analysis import Analysis


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
        changed = outcome.files_changed
        files = f"{changed} file{'s' * (changed != 1)} changed"
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


LoopOutcome = Literal["success", "read_only_timeout", "error", "circuit_breaker_trip", "api_limit"]
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class MetricsFacts:
    """What a record holds beside the analysis.

    Attributes:
        run_id: when this run of the loop began, UTC.
        loop: its number.
        now: when the loop ended.
        driver: PLATFORM_DRIVER.
        outcome: how it ended.
        session_id: the driver's session, or ''.
        files_changed: by git.
        quality_gate_result: 0, 1 or 2, also 0 when no gate ran; null unless the loop was a success.
        circuit: the breaker's state afterwards.
        usage: instead of the analysis', for a CLI that counts whole sessions.
    """

    run_id: str
    loop: int
    now: datetime
    driver: str
    outcome: LoopOutcome
    session_id: str = ""
    files_changed: int = 0
    quality_gate_result: int = 0
    circuit: str = "CLOSED"
    usage: Usage | None = None


def metrics_line(facts: MetricsFacts, analysis: Analysis | None) -> str:
    """Write a record: documented keys in documented order, on one line with its newline.

    Args:
        facts: about the loop.
        analysis: as the analyzer gave it (before gates and plan changed it), or None without one.
    """
    usage = facts.usage or (analysis.usage if analysis else _NO_USAGE)
    if usage.cumulative:  # adding these up would count a session's tokens again and again
        usage = _NO_USAGE
    record: dict[str, Any] = {
        "run_id": facts.run_id,
        "loop": facts.loop,
        "timestamp": iso(facts.now),
        "driver": facts.driver,
        "session_id": facts.session_id,
        "loop_outcome": facts.outcome,
        "duration_ms": usage.duration_ms,
        "duration_api_ms": usage.duration_api_ms,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_creation_tokens": usage.cache_creation_tokens,
        "total_cost_usd": usage.total_cost_usd,
        "num_turns": usage.num_turns,
        "files_changed": facts.files_changed,
        "reported_files_modified": analysis.files_modified if analysis else 0,
        "has_errors": analysis.has_errors if analysis else facts.outcome != "success",
        "exit_signal": analysis.exit_signal if analysis else False,
        "was_read_only_timeout": facts.outcome == "read_only_timeout",
        "quality_gate_result": facts.quality_gate_result if facts.outcome == "success" else None,
        "has_permission_denials": analysis.has_permission_denials if analysis else False,
        "circuit_breaker_state": facts.circuit,
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
