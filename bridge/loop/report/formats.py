"""A report as text for a terminal, as Markdown for a pull request, and as JSON (``docs/report.schema.json``).

What an agent wrote is escaped in Markdown.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.json_files import to_json
from bridge.base.wording import columns, one_line, tame
from bridge.loop.engine.turn_records import facts as turn_facts
from bridge.loop.report.html import html
from bridge.loop.report.run_facts import TURN_COLUMNS, rows, turn_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.base.git.tree import FileStat
    from bridge.loop.engine.turn_records import Totals, TurnRecord
    from bridge.loop.report.run_report import Commit, Report, Run

WIDTH = 80
_MOST_LINES = 50
"""Turns, commits and files that text lists of one run; the others are counted."""
_MOST_ROWS = 200
"""Turns and commits that Markdown lists of one run."""
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&@])")


def text(report: Report) -> str:
    lines = [f"{report.project} · {report.setup}", ""]
    for run in report.runs:
        lines += [*_run_as_text(run), ""]
    if report.together is not None:
        lines += [_together(report), *fact_lines(rows(report.together)), ""]
    return joined([*lines, f"logs: {report.logs}"])


def joined(lines: Iterable[str]) -> str:
    """Each is one, whatever is in it: records that an agent can write, and the names of folders."""
    return "".join(f"{tame(line)}\n" for line in lines)


def _together(report: Report) -> str:
    return f"these {len(report.runs)} runs together"


def _run_as_text(run: Run) -> Iterator[str]:
    yield f"run {run.id}"
    yield from fact_lines(rows(run))
    turns = run.turns[-_MOST_LINES:]
    if turns:
        yield ""
        yield from columns([TURN_COLUMNS[:-1], *(turn_row(turn)[:-1] for turn in turns)], indent="  ")
        yield from _more(len(run.turns) - _MOST_LINES, "earlier turns")
    for turn in turns:
        if turn.error:
            yield from wrapped(f"  turn {turn.turn}: ", one_line(turn.error), 10)
    yield from work_lines(run.commits, run.files)


def fact_lines(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in facts:
        label = f"  {name:<14}" if len(name) < 14 else f"  {name}  "
        yield from wrapped(label, value, 16) or [label]


def wrapped(label: str, value: str, indent: int) -> list[str]:
    """Lines of :data:`WIDTH`; a word that is longer, such as a path, stays whole."""
    return textwrap.wrap(
        value,
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def work_lines(commits: Sequence[Commit] | None, files: Sequence[FileStat] | None) -> Iterator[str]:
    """The last ones of many commits, the first ones of many files."""
    if commits:
        yield ""
        for commit in commits[-_MOST_LINES:]:
            yield f"  {textwrap.shorten(f'{commit.id} {one_line(commit.subject)}', WIDTH - 2)}"
        yield from _more(len(commits) - _MOST_LINES, "earlier commits")
    if files:
        yield ""
        for file in files[:_MOST_LINES]:
            yield f"  {_count(file.added, '+')} {_count(file.removed, '-')} {one_line(file.path)}"
        yield from _more(len(files) - _MOST_LINES, "further files")


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"  ... and {count} {what}"


def _count(number: int | None, sign: str) -> str:
    return "  bin" if number is None else f"{sign}{number}".rjust(5)


# -- Markdown ----------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    lines = [line for run in report.runs for line in _run_as_markdown(run)]
    if report.together is not None:
        lines += fact_table(_together(report).capitalize(), rows(report.together))
    return joined(lines)


def escaped(text: str) -> str:
    """Make text literal: no markup, no link, no mention."""
    return _MARKUP.sub(lambda sign: f"&#{ord(sign[1])};" if sign[1] in "<>&@" else f"\\{sign[1]}", one_line(text))


def _run_as_markdown(run: Run) -> Iterator[str]:
    yield from fact_table(f"Run {escaped(run.id)}", rows(run))
    if run.turns:
        yield from ("", "<details><summary>Turns</summary>", "")
        yield from table(
            (*TURN_COLUMNS, "error"), ((*turn_row(turn), turn.error or "") for turn in run.turns[-_MOST_ROWS:])
        )
        yield from ("", "</details>")
    yield from commit_list(run.commits)


def fact_table(title: str, facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"### {title}", "", "| | |", "|---|---|")
    yield from (f"| {name} | {escaped(value)} |" for name, value in facts)


def table(head: Sequence[str], cells: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in cells)


def commit_list(commits: Sequence[Commit] | None) -> Iterator[str]:
    if commits:
        yield ""
        yield from (f"- `{each.id}` {escaped(each.subject)}" for each in commits[-_MOST_ROWS:])
    yield ""


# -- JSON --------------------------------------------------------------------------------------------


def json(report: Report) -> str:
    return to_json(document(report)) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The report as plain values; what nobody knows is None."""
    return {
        "schema": 1,
        "project": str(report.project),
        "setup": report.setup,
        "logs": str(report.logs),
        "skipped_lines": {str(path): count for path, count in report.skipped.items()},
        "runs": [_run_as_document(run) for run in report.runs],
        "together": None if report.together is None else _run_as_document(report.together),
    }


def _run_as_document(run: Run) -> dict[str, Any]:
    totals = run.totals
    return {
        "run": run.id,
        "tool": run.tool or None,
        "task": run.task or None,
        "branch": run.branch,
        "pull_request": None if run.pull_request is None else dict(run.pull_request),
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
        **work_as_document(run.commits, run.files),
        "refused": list(run.refused),
        "waits": [each._asdict() | {"began": timestamps.iso(each.began)} for each in run.waits],
        "checks": [each._asdict() | {"ended": timestamps.iso(each.ended)} for each in run.checks],
        "tools": [_tool(tool, totals) for tool, totals in run.by_tool.items()],
        "tool_changes": [each._asdict() | {"at": timestamps.iso(each.at)} for each in run.changes],
        "turns": [_turn(turn) for turn in run.turns],
    }


def work_as_document(
    commits: Sequence[Commit] | None, files: Sequence[FileStat] | None
) -> dict[str, list[dict[str, Any]] | None]:
    return {
        name: None if found is None else [each._asdict() for each in found]
        for name, found in (("commits", commits), ("files", files))
    }


def _tool(tool: str, totals: Totals) -> dict[str, Any]:
    counts = {"turn_count": totals.turns, "failed": totals.failures, "seconds_at_work": totals.seconds}
    return {"tool": tool, **counts, "tokens": totals.tokens, "cost_usd": totals.cost_usd}


def _turn(turn: TurnRecord) -> dict[str, Any]:
    values = turn_facts(turn) | {"began": timestamps.iso(turn.began), "refused": list(turn.refused)}
    return values | {"tasks": _plan(values.pop("plan"))}


def _plan(counts: tuple[int, int] | None) -> dict[str, int] | None:
    return None if counts is None else {"done": counts[0], "total": counts[1]}


FORMATS = {"text": text, "md": markdown, "json": json, "html": html}
