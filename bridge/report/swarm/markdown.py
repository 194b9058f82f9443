"""The report of a swarm as Markdown, for a pull request. What an agent wrote is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.report.markdown import escaped
from bridge.report.swarm.model import TASK_COLUMNS, strips, swarm_rows, task_row, to_do

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.report.swarm.model import SwarmReport

_WIDTH = 60
_MOST = 200


def render(report: SwarmReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_swarm(report)) + "\n"


def _swarm(report: SwarmReport) -> Iterator[str]:
    yield from (f"### Swarm {escaped(report.seen['run'])}", "", "| | |", "|---|---|")
    for name, value in swarm_rows(report):
        yield f"| {name} | {escaped(value)} |"
    yield from ("", f"| {' | '.join(TASK_COLUMNS)} | title |", "|---" * (len(TASK_COLUMNS) + 1) + "|")
    for task in report.seen["tasks"]:
        yield f"| {' | '.join(map(escaped, (*task_row(task), task['title'])))} |"
    yield ""
    for name, why, branches, following in to_do(report):
        yield f"- **{escaped(name)}**: {escaped(why)}"
        yield from (f"  - branch {escaped(branch)}" for branch in branches)
        if following:
            yield f"  - next: {escaped(following)}"
    lanes, legend = strips(report, _WIDTH)
    if lanes:
        yield from ("", "```text", legend)
        yield from (f"{name:<9} {signs}" for name, signs in lanes)
        yield "```"
    if report.commits:
        yield ""
        yield from (f"- `{each.id}` {escaped(each.subject)}" for each in report.commits[-_MOST:])
    yield ""
