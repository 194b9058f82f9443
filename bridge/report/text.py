"""A report for a terminal, 80 columns wide."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from bridge.report.facts import TURN_COLUMNS, rows, turn_row
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.git.tree import FileStat
    from bridge.report.model import Commit, Report, Run

WIDTH = 80
_MOST = 50
"""Turns, commits and files that are listed of one run; the others are counted."""


def render(report: Report) -> str:
    """Return the report as text."""
    blocks = [f"{report.project} · {report.setup}"]
    blocks += ["\n".join(_run(run)) for run in report.runs]
    return "\n\n".join(blocks) + f"\n\nlogs: {report.logs}\n"


def _run(run: Run) -> Iterator[str]:
    yield f"run {run.id}"
    for name, value in rows(run):
        yield from fact(name, value)
    table = [TURN_COLUMNS[:-1], *(turn_row(turn)[:-1] for turn in run.turns[-_MOST:])]
    if run.turns:
        yield ""
        yield from columns(table)
        yield from _more(len(run.turns) - _MOST, "earlier turns")
    for turn in run.turns[-_MOST:]:
        if turn.error:
            yield from textwrap.wrap(
                one_line(turn.error), WIDTH, initial_indent=f"  turn {turn.turn}: ", subsequent_indent=" " * 10
            )
    yield from commit_lines(run.commits)
    yield from file_lines(run.files)


def fact(name: str, value: str) -> Iterator[str]:
    """Give a fact as lines."""
    yield from textwrap.wrap(
        value, WIDTH, initial_indent=f"  {name:<14}", subsequent_indent=" " * 16, break_on_hyphens=False
    ) or [f"  {name:<14}"]


def commit_lines(commits: Sequence[Commit] | None) -> Iterator[str]:
    """List commits, the last ones of many."""
    if commits:
        yield ""
        yield from (
            f"  {textwrap.shorten(f'{each.id} {one_line(each.subject)}', WIDTH - 2)}" for each in commits[-_MOST:]
        )
        yield from _more(len(commits) - _MOST, "earlier commits")


def file_lines(files: Sequence[FileStat] | None) -> Iterator[str]:
    """List changed files, the first ones of many."""
    if files:
        yield ""
        yield from (
            f"  {_count(each.added, '+')} {_count(each.removed, '-')} {one_line(each.path)}"
            for each in files[:_MOST]
        )
        yield from _more(len(files) - _MOST, "further files")


def columns(table: list[tuple[str, ...]]) -> Iterator[str]:
    """Give a table as lines."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"  ... and {count} {what}"


def _count(number: int | None, sign: str) -> str:
    return "  bin" if number is None else f"{sign}{number}".rjust(5)
