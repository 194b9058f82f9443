"""The report of a swarm for a terminal, 80 columns wide where names allow."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from bridge.report.swarm.model import TASK_COLUMNS, strips, swarm_rows, task_row, to_do
from bridge.report.text import WIDTH, columns, commit_lines, fact, file_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.report.swarm.model import SwarmReport


def render(report: SwarmReport) -> str:
    """Return the report as text."""
    return "\n".join((f"{report.seen['project']} · {report.setup}", "", *_swarm(report))) + "\n"


def _swarm(report: SwarmReport) -> Iterator[str]:
    yield f"swarm {report.seen['run']}"
    for name, value in swarm_rows(report):
        yield from fact(name, value)
    yield ""
    yield from columns([TASK_COLUMNS, *map(task_row, report.seen["tasks"])])
    for task, why, branches, following in to_do(report):
        yield ""
        yield from textwrap.wrap(f"{task}: {why}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        yield from (f"    branch  {branch}" for branch in branches)
        if following:
            yield f"    next    {following}"
    lanes, legend = strips(report, WIDTH - 12)
    if lanes:
        yield from ("", *textwrap.wrap(legend, WIDTH, initial_indent="  ", subsequent_indent="  "))
        yield from (f"  {name:<9} {signs}" for name, signs in lanes)
    yield from commit_lines(report.commits)
    yield from file_lines(report.files)
    yield from ("", f"record: {report.folder}")
