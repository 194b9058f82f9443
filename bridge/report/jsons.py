"""A report as JSON: ``docs/report.schema.json`` describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge import timestamps
from bridge.loop.turn_records import facts
from bridge.records import to_json

if TYPE_CHECKING:
    from bridge.loop.turn_records import TurnRecord
    from bridge.report.model import Report, Run


def render(report: Report) -> str:
    """Return the report as one JSON document."""
    return to_json(document(report)) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain values; what nobody knows is None."""
    return {
        "schema": 1,
        "project": str(report.project),
        "setup": report.setup,
        "logs": str(report.logs),
        "skipped_lines": {str(path): count for path, count in report.skipped.items()},
        "runs": [_run(run) for run in report.runs],
    }


def _run(run: Run) -> dict[str, Any]:
    totals = run.totals
    return {
        "run": run.id,
        "tool": run.tool or None,
        "branch": run.branch,
        "state": run.state,
        "reason": run.reason or None,
        "detail": run.detail or None,
        "began": timestamps.iso(run.began),
        "ended": None if run.ended is None else timestamps.iso(run.ended),
        "seconds": run.seconds,
        "seconds_at_work": totals.seconds,
        "seconds_waited": run.waited,
        "turn_count": totals.turns,
        "failures": run.failures,
        "tokens": totals.tokens,
        "cost_usd": totals.cost_usd,
        "tasks": {"before": _plan(run.plans[0]), "after": _plan(run.plans[1])},
        "commits": None if run.commits is None else [each._asdict() for each in run.commits],
        "files": None
        if run.files is None
        else [{"path": each.path, "added": each.added, "removed": each.removed} for each in run.files],
        "refused": list(run.refused),
        "waits": [each._asdict() | {"began": timestamps.iso(each.began)} for each in run.waits],
        "turns": [_turn(turn) for turn in run.turns],
    }


def _turn(turn: TurnRecord) -> dict[str, Any]:
    values = facts(turn) | {"began": timestamps.iso(turn.began), "refused": list(turn.refused)}
    return values | {"tasks": _plan(values.pop("plan"))}


def _plan(counts: tuple[int, int] | None) -> dict[str, int] | None:
    return None if counts is None else {"done": counts[0], "total": counts[1]}
