"""``logs/metrics.jsonl``: one compact record a loop. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bridge.stream.analysis import iso
from bridge.stream.events import Usage

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.stream.analysis import Analysis

__all__ = ["LoopOutcome", "MetricsFacts", "metrics_line"]

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
