"""The report of a swarm as one HTML file, as that of a loop: no script, no request to anywhere."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.report import facts
from bridge.report.html import MOST_FILES, Chart, axis_between, axis_of, template_named
from bridge.report.swarm.model import TASK_COLUMNS, outcome_of, swarm_rows, task_row, to_do
from bridge.report.time_line import lay_out_lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.report.swarm.model import SwarmReport

KINDS = {
    "merged": "success",
    "nothing to merge": "success",
    "complete": "success",
    "running": "running",
    "saved": "running",
    "conflict": "failed",
    "check failed": "failed",
    "failed": "failed",
    "lost": "failed",
    "timeout": "timeout",
    "incomplete": "timeout",
}
"""Outcome, or step, to the class of the style sheet; any other is ``interrupted``."""


class LanePiece(NamedTuple):
    """An attempt or a merge on the time line: whose, its class, what it was."""

    task: str
    kind: str
    words: str


def render(report: SwarmReport) -> str:
    """Return the report as HTML.

    Raises:
        ConfigurationError: the extra isn't installed.
    """
    template, draw = template_named("swarm.html")
    happenings = [LanePiece(each.task, _kind(each.outcome), each.words) for each in report.attempts]
    happenings += [LanePiece(each.task, _kind(each.outcome), each.words) for each in report.merges]
    lanes = report.lanes()
    line = lay_out_lanes(list(lanes.values()), report.began, report.ended) if lanes else None
    page: str = template.render(
        report=report,
        project=Path(report.seen["project"]),
        kind=f"ralph-bridge swarm report · {report.setup}",
        facts={"into": "", **dict(swarm_rows(report))},
        to_do=list(to_do(report)),
        legend=[(name, count, _kind(name)) for name, count in report.outcomes.items() if name != "waiting"],
        happenings=happenings,
        line=line,
        lanes=list(zip(lanes, line.rows, strict=True)) if line else [],
        axis=axis_of(line) if line else [],
        charts=list(_charts(report, draw)),
        columns=TASK_COLUMNS,
        rows=[(task_row(each), each, _kind(outcome_of(each))) for each in report.seen["tasks"]],
        most_files=MOST_FILES,
    )
    return page


def _kind(outcome: str) -> str:
    return KINDS.get(outcome, "interrupted")


def _charts(report: SwarmReport, draw: Callable[..., str]) -> Iterator[Chart]:
    """Draw what has grown; there is no chart of what nobody knows."""
    axis = axis_between(report.began, report.ended)
    ends = sorted(each.began + each.seconds for each in report.merges if _kind(each.outcome) == "success")
    if ends:
        points = [(report.began, 0.0), *((moment, float(n)) for n, moment in enumerate(ends, 1))]
        count = len(report.seen["tasks"])
        drawn = draw(points, title="Tasks merged over time", amount=facts.tokens, most=count, **axis)
        yield Chart("Merged", f"{len(ends)} of {count} tasks", drawn)
    turns = report.turns
    for title, amount, words in (
        ("Tokens", facts.used, facts.tokens),
        ("Cost", lambda turn: turn.cost_usd, facts.money),
    ):
        told = [(turn.began + turn.seconds, value) for turn in turns if (value := amount(turn)) is not None]
        if any(value for _, value in told):
            sums = accumulate((value for _, value in told), initial=0.0)
            points = list(zip((report.began, *(moment for moment, _ in told)), sums, strict=True))
            lack = "" if len(told) == len(turns) else f", told by {len(told)} of {len(turns)} turns"
            drawn = draw(points, title=f"{title} over time", amount=words, **axis)
            yield Chart(title, f"{words(points[-1][1])}{lack}", drawn)
