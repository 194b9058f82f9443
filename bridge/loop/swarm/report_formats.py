"""The report of a swarm in the formats of that of a loop; ``docs/swarm-report.schema.json`` describes the JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.json_files import to_json
from bridge.base.wording import columns
from bridge.loop.report import formats
from bridge.loop.report.formats import escaped, wrapped
from bridge.loop.report.html import MOST_FILES, Chart, amount_charts, axis_between, axis_of, template_named
from bridge.loop.report.run_facts import tokens
from bridge.loop.report.time_line import lay_out_lanes
from bridge.loop.swarm.report import TASK_COLUMNS, outcome_of, pulls, strips, swarm_rows, task_row, to_do
from bridge.loop.swarm.swarm_record import MERGED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.loop.engine.turn_records import TurnRecord
    from bridge.loop.swarm.report import SwarmReport, TaskAttempt

_MARKDOWN_WIDTH = 60
_OF_TURN = ("turn", "seconds", "result", "error", "input_tokens", "output_tokens", "cost_usd")
_CLASSES = {
    **dict.fromkeys(MERGED, "success"),
    "complete": "success",
    "running": "running",
    "saved": "running",
    "conflict": "failed",
    "check failed": "failed",
    "closed": "failed",
    "not pushed": "failed",
    "failed": "failed",
    "lost": "failed",
    "timeout": "timeout",
    "incomplete": "timeout",
}
"""Outcome, or step, to the class of the style sheet; any other is ``interrupted``."""


def text(report: SwarmReport) -> str:
    return formats.joined((f"{report.seen['project']} · {report.setup}", "", *_as_text(report)))


def _as_text(report: SwarmReport) -> Iterator[str]:
    yield f"swarm {report.seen['run']}"
    yield from formats.fact_lines(swarm_rows(report))
    yield ""
    yield from columns([TASK_COLUMNS, *map(task_row, report.seen["tasks"])], indent="  ")
    if found := pulls(report):
        yield from ("", *columns(found, indent="  "))
    for task, why, branches, following in to_do(report):
        yield from ("", *wrapped("  ", f"{task}: {why}", 4))
        yield from (f"    branch  {branch}" for branch in branches)
        if following:
            yield f"    next    {following}"
    lanes, legend = strips(report, formats.WIDTH - 12)
    if lanes:
        yield from ("", *wrapped("  ", legend, 2))
        yield from (f"  {name:<9} {signs}" for name, signs in lanes)
    yield from formats.work_lines(report.commits, report.files)
    yield from ("", f"record: {report.folder}")


def markdown(report: SwarmReport) -> str:
    return formats.joined(_as_markdown(report))


def _as_markdown(report: SwarmReport) -> Iterator[str]:
    tasks = report.seen["tasks"]
    yield from formats.fact_table(f"Swarm {escaped(report.seen['run'])}", swarm_rows(report))
    yield ""
    yield from formats.table((*TASK_COLUMNS, "title"), ((*task_row(each), each["title"]) for each in tasks))
    yield ""
    yield from (f"- {escaped(name)}: <{url}>" for name, url in pulls(report))
    for name, why, branches, following in to_do(report):
        yield f"- **{escaped(name)}**: {escaped(why)}"
        yield from (f"  - branch {escaped(branch)}" for branch in branches)
        if following:
            yield f"  - next: {escaped(following)}"
    lanes, legend = strips(report, _MARKDOWN_WIDTH)
    if lanes:
        yield from ("", "```text", legend, *(f"{name:<9} {signs}" for name, signs in lanes), "```")
    yield from formats.commit_list(report.commits)


def json(report: SwarmReport) -> str:
    return to_json(document(report)) + "\n"


def document(report: SwarmReport) -> dict[str, Any]:
    """The report as plain values: those of ``swarm status --json``, and more; what nobody knows is None."""
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
        **formats.work_as_document(report.commits, report.files),
    }


def _attempt(attempt: TaskAttempt) -> dict[str, Any]:
    turns = [_turn(each) for each in attempt.turns]
    return attempt._asdict() | {"began": timestamps.iso(attempt.began), "turns": turns}


def _turn(turn: TurnRecord) -> dict[str, Any]:
    return {"began": timestamps.iso(turn.began)} | {name: getattr(turn, name) for name in _OF_TURN}


# -- HTML --------------------------------------------------------------------------------------------


class LanePiece(NamedTuple):
    """An attempt or a merge on the time line: whose, its class in the style sheet, what it was."""

    task: str
    kind: str
    words: str


def html(report: SwarmReport) -> str:
    """
    Raises:
        ConfigurationError: the extra isn't installed.
    """
    template, draw = template_named("swarm.html")
    lanes = report.lanes()
    line = lay_out_lanes(list(lanes.values()), report.began, report.ended) if lanes else None
    page: str = template.render(
        report=report,
        project=Path(report.seen["project"]),
        kind=f"ralph-bridge swarm report · {report.setup}",
        facts={"into": "", **dict(swarm_rows(report))},
        to_do=list(to_do(report)),
        legend=[(name, count, _class_of(name)) for name, count in report.outcomes.items() if name != "waiting"],
        happenings=[
            LanePiece(each.task, _class_of(each.outcome), each.words) for each in report.attempts_and_merges
        ],
        line=line,
        lanes=list(zip(lanes, line.rows, strict=True)) if line else [],
        axis=axis_of(line) if line else [],
        charts=list(_charts(report, draw)),
        columns=TASK_COLUMNS,
        rows=[(task_row(each), each, _class_of(outcome_of(each))) for each in report.seen["tasks"]],
        most_files=MOST_FILES,
    )
    return page


def _class_of(outcome: str) -> str:
    return _CLASSES.get(outcome, "interrupted")


def _charts(report: SwarmReport, draw: Callable[..., str]) -> Iterator[Chart]:
    """What has grown; there is no chart of what nobody knows."""
    axis = axis_between(report.began, report.ended)
    ends = sorted(each.began + each.seconds for each in report.merges if _class_of(each.outcome) == "success")
    if ends:
        points = [(report.began, 0.0), *((moment, float(n)) for n, moment in enumerate(ends, 1))]
        count = len(report.seen["tasks"])
        drawn = draw(points, title="Tasks merged over time", amount=tokens, most=count, **axis)
        yield Chart("Merged", f"{len(ends)} of {count} tasks", drawn)
    yield from amount_charts(report.turns, report.began, axis, draw)


FORMATS = {"text": text, "md": markdown, "json": json, "html": html}
