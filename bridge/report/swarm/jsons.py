"""The report of a swarm as JSON: ``docs/swarm-report.schema.json`` describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge import timestamps
from bridge.records import to_json

if TYPE_CHECKING:
    from bridge.loop.turn_records import TurnRecord
    from bridge.report.swarm.model import SwarmReport, TaskAttempt

_OF_TURN = ("turn", "seconds", "result", "error", "input_tokens", "output_tokens", "cost_usd")


def render(report: SwarmReport) -> str:
    """Return the report as one JSON document."""
    return to_json(document(report)) + "\n"


def document(report: SwarmReport) -> dict[str, Any]:
    """Return the report as plain values: those of ``swarm status --json``, and more; what nobody knows is None."""
    totals = report.totals
    return {
        "schema": 1,
        **report.seen,
        "setup": report.setup,
        "record": str(report.folder),
        "state": report.state,
        "seconds": report.seconds,
        "seconds_at_work": report.seconds_at_work,
        "seconds_merging": report.seconds_merging,
        "outcomes": report.outcomes,
        "turn_count": totals.turns,
        "failures": totals.failures,
        "tokens": totals.tokens,
        "cost_usd": totals.cost_usd,
        "attempts": [_attempt(each) for each in report.attempts],
        "merges": [each._asdict() | {"began": timestamps.iso(each.began)} for each in report.merges],
        "commits": None if report.commits is None else [each._asdict() for each in report.commits],
        "files": None if report.files is None else [each._asdict() for each in report.files],
    }


def _attempt(attempt: TaskAttempt) -> dict[str, Any]:
    return attempt._asdict() | {
        "began": timestamps.iso(attempt.began),
        "turns": [_turn(each) for each in attempt.turns],
    }


def _turn(turn: TurnRecord) -> dict[str, Any]:
    return {"began": timestamps.iso(turn.began)} | {name: getattr(turn, name) for name in _OF_TURN}
