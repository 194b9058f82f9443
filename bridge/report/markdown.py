"""A report as Markdown, for a pull request. What an agent wrote is escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.report.facts import TURN_COLUMNS, rows, turn_row
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.report.model import Report, Run

_MOST = 200
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&@])")


def render(report: Report) -> str:
    """Return the report as Markdown."""
    return "\n".join(line for run in report.runs for line in _run(run)) + "\n"


def escaped(text: str) -> str:
    """Make text literal: no markup, no link, no mention."""
    return _SPECIAL.sub(lambda sign: f"&#{ord(sign[1])};" if sign[1] in "<>&@" else f"\\{sign[1]}", one_line(text))


def _run(run: Run) -> Iterator[str]:
    yield from (f"### Run {escaped(run.id)}", "", "| | |", "|---|---|")
    for name, value in rows(run):
        yield f"| {name} | {escaped(value)} |"
    if run.turns:
        yield from ("", "<details><summary>Turns</summary>", "")
        yield f"| {' | '.join(TURN_COLUMNS)} | error |"
        yield "|---" * (len(TURN_COLUMNS) + 1) + "|"
        for turn in run.turns[-_MOST:]:
            yield f"| {' | '.join(map(escaped, (*turn_row(turn), turn.error or '')))} |"
        yield from ("", "</details>")
    if run.commits:
        yield ""
        yield from (f"- `{each.id}` {escaped(each.subject)}" for each in run.commits[-_MOST:])
    yield ""
