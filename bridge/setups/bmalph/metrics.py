"""The record of a run for ``metrics.jsonl``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from bridge.setups.bmalph import gates
from bridge.setups.bmalph.policy import outcome_of
from bridge.setups.dot_ralph.policy import state_of
from bridge.stream.analysis import iso
from bridge.stream.events import Usage

if TYPE_CHECKING:
    from bridge.loop.events import IterationEnded
    from bridge.stream.analysis import Analysis

RunOutcome = Literal["success", "read_only_timeout", "error", "circuit_breaker_trip", "api_limit"]
_NO_USAGE = Usage()


def metrics_of(event: IterationEnded, *, driver: str, started: str, now: float) -> dict[str, object]:
    """Return the record of a run.

    Args:
        event: the run.
        driver: name of the driver.
        started: when this run of the loop began.
        now: the time, in seconds since the epoch.
    """
    outcome, state = outcome_of(event), state_of(event)
    word: RunOutcome = "success"
    if state.breaker.is_open:
        word = "circuit_breaker_trip"
    elif event.decision.reason == "api_limit":
        word = "api_limit"
    elif outcome.idle:
        word = "read_only_timeout"
    elif outcome.failure is not None:
        word = "error"
    return metrics_record(
        outcome.reported,
        run_id=started,
        loop=event.iteration,
        now=datetime.fromtimestamp(now).astimezone(),
        driver=driver,
        outcome=word,
        session_id=state.session_id or "",
        files_changed=outcome.files_changed,
        gates_result=gates.outcome_of(outcome.gates)[1],
        circuit=state.breaker.state.value,
    )


def metrics_record(
    analysis: Analysis | None,
    *,
    run_id: str,
    loop: int,
    now: datetime,
    driver: str,
    outcome: RunOutcome,
    session_id: str = "",
    files_changed: int = 0,
    gates_result: int = 0,
    circuit: str = "CLOSED",
) -> dict[str, object]:
    """Make a record: documented keys in documented order.

    Args:
        analysis: as the analyzer gave it (before gates and plan changed it), or None without one.
        run_id: when this run of the loop began, UTC.
        loop: its number.
        now: when the loop ended.
        driver: PLATFORM_DRIVER.
        outcome: how it ended.
        session_id: the driver's session, or ''.
        files_changed: by git.
        gates_result: 0, 1 or 2, also 0 when no gate ran; null unless the loop was a success.
        circuit: the breaker's state afterwards.
    """
    usage = analysis.usage if analysis else _NO_USAGE
    if usage.cumulative:  # adding these up would count a session's tokens again and again
        usage = _NO_USAGE
    return {
        "run_id": run_id,
        "loop": loop,
        "timestamp": iso(now),
        "driver": driver,
        "session_id": session_id,
        "loop_outcome": outcome,
        "duration_ms": usage.duration_ms,
        "duration_api_ms": usage.duration_api_ms,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_creation_tokens": usage.cache_creation_tokens,
        "total_cost_usd": usage.total_cost_usd,
        "num_turns": usage.num_turns,
        "files_changed": files_changed,
        "reported_files_modified": analysis.files_modified if analysis else 0,
        "has_errors": analysis.has_errors if analysis else outcome != "success",
        "exit_signal": analysis.exit_signal if analysis else False,
        "was_read_only_timeout": outcome == "read_only_timeout",
        "quality_gate_result": gates_result if outcome == "success" else None,
        "has_permission_denials": analysis.has_permission_denials if analysis else False,
        "circuit_breaker_state": circuit,
    }
