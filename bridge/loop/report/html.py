"""A report as one HTML file: no script, no request to anywhere, light and dark. What an agent wrote is escaped.

It needs what ``ralph-bridge[report]`` brings along.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.amounts import known_sum
from bridge.base.packages import install_command
from bridge.base.wording import duration, one_line
from bridge.errors import ConfigurationError
from bridge.loop.report import run_facts
from bridge.loop.report.time_line import Span, TimeLine, floor, lay_out, unit_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bridge.loop.engine.turn_records import TurnRecord
    from bridge.loop.report.run_report import Report, Run, Wait

_LONGEST = 300
"""Signs of an error that are shown; its log has all of them."""
MOST_FILES = 2000


class Happening(NamedTuple):
    """A turn or a wait; the other one is None."""

    began: float
    seconds: float
    turn: TurnRecord | None
    wait: Wait | None

    @property
    def kind(self) -> str:
        return self.turn.result if self.turn else "wait"

    @property
    def words(self) -> str:
        at = f"{timestamps.clock(self.began)}, {duration(self.seconds)}"
        if self.turn:
            return f"turn {self.turn.turn}, {at}: {self.turn.result}"
        return f"waited, {at}: {one_line(self.wait.reason) if self.wait else ''}"

    @property
    def day(self) -> str:
        return timestamps.shown(self.began, "%A, %d %B %Y")

    @property
    def cells(self) -> tuple[str, ...]:
        """Of a turn, as `_COLUMNS` names them."""
        turn = self.turn
        if turn is None:
            return ()
        row = run_facts.turn_row(turn)
        used = (run_facts.tokens(getattr(turn, name)) for name in _USED)
        plan = run_facts.UNKNOWN if turn.plan is None else "{}/{}".format(*turn.plan)
        return (*row[:4], *used, *row[5:7], plan, one_line(turn.log))

    @property
    def more(self) -> str:
        """Why a turn failed, and what it was refused; '' for most."""
        turn = self.turn
        if turn is None or not (turn.error or turn.refused):
            return ""
        error = one_line((turn.error or "")[:_LONGEST])
        cut = " ..." if turn.error and len(turn.error) > _LONGEST else ""
        status = f" (exit status {turn.status})" if turn.error and turn.status else ""
        refused = f" Refused: {one_line(', '.join(turn.refused))}." if turn.refused else ""
        return f"{error}{cut}{status}{refused}".strip()


class Stretch(NamedTuple):
    """What happened on a row of the time line; None: nobody knows."""

    began: float
    turns: int
    failures: int
    tokens: float | None
    cost: float | None
    done: tuple[int, int] | None


class Chart(NamedTuple):
    """A chart: its title, what it comes to in the end, and its SVG."""

    title: str
    total: str
    svg: str


def html(report: Report) -> str:
    """
    Raises:
        ConfigurationError: the extra isn't installed.
    """
    template, draw = template_named("report.html")
    runs = [_page(run, draw) for run in report.runs]
    page: str = template.render(
        report=report,
        project=report.project,
        kind=f"ralph-bridge report · {report.setup}",
        runs=runs,
        together=dict(run_facts.rows(report.together)) if report.together is not None else None,
        columns=_COLUMNS,
        most_files=MOST_FILES,
    )
    return page


def template_named(name: str) -> tuple[Any, Callable[..., str]]:
    """One of the templates, and what draws charts for it.

    Raises:
        ConfigurationError: the extra isn't installed.
    """
    try:
        import jinja2
        from markupsafe import Markup

        from bridge.loop.report import charts
    except ImportError as error:
        raise ConfigurationError(
            f"--format html takes {error.name}, which isn't installed\n"
            f"  next: {install_command('report')}, or --format md"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bridge.loop.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for words in (duration, run_facts.tokens, run_facts.money, one_line, timestamps.local, timestamps.clock):
        environment.filters[words.__name__] = words

    def draw(*arguments: Any, **options: Any) -> Markup:
        return Markup(charts.growth(*arguments, **options))  # noqa: S704 - of numbers and our own words

    return environment.get_template(name), draw


_COLUMNS = ("turn", "began", "took", "result", "in", "out", "cached", "cost", "files", "plan", "log")


def _page(run: Run, draw: Callable[..., str]) -> dict[str, Any]:
    happenings = sorted(
        [Happening(turn.began, turn.seconds, turn, None) for turn in run.turns]
        + [Happening(wait.began, wait.seconds, None, wait) for wait in run.waits],
        key=lambda each: each.began,
    )
    spans = [Span(index, each.began, each.seconds) for index, each in enumerate(happenings)]
    line = lay_out(spans, run.began, run.ended or run.began)
    kinds = [each.kind for each in happenings]
    return {
        "run": run,
        "facts": dict(run_facts.rows(run)),
        "totals": run.totals,
        "used": {name: known_sum(getattr(turn, name) for turn in run.turns) for name in _USED},
        "happenings": happenings,
        "kinds": {kind: kinds.count(kind) for kind in _KINDS if kind in kinds},
        "line": line,
        "label": clock_for(line.mark, line.seconds),
        "axis": axis_of(line),
        "stretches": _stretches(happenings, line),
        "charts": list(_charts(run, happenings, draw)),
    }


_USED = ("input_tokens", "output_tokens", "cached_tokens")
_KINDS = ("success", "failed", "timeout", "limit", "interrupted", "wait")


def _charts(run: Run, happenings: Sequence[Happening], draw: Callable[..., str]) -> Iterator[Chart]:
    """What has grown; there is no chart of what nobody knows."""
    turns = [each.turn for each in happenings if each.turn]
    if not turns:
        return
    began = run.began or _end(turns[0])
    axis = axis_between(began, _end(turns[-1]))
    yield from amount_charts(turns, began, axis, draw)
    plans = [(_end(turn), turn.plan) for turn in turns if turn.plan is not None]
    if plans:
        before = run.plans[0] or plans[0][1]
        points = [(began, float(before[0])), *((moment, float(plan[0])) for moment, plan in plans)]
        most = max(before[1], *(plan[1] for _, plan in plans))
        drawn = draw(points, title="Tasks done over time", amount=run_facts.tokens, most=most, **axis)
        yield Chart("Plan", f"{plans[-1][1][0]} of {plans[-1][1][1]} tasks done", drawn)


def amount_charts(
    turns: Sequence[TurnRecord], began: float, axis: dict[str, Any], draw: Callable[..., str]
) -> Iterator[Chart]:
    """The tokens and the money of turns, which are in the order of their ends."""
    amounts: tuple[tuple[str, Callable[[TurnRecord], float | None], Callable[[float | None], str]], ...] = (
        ("Tokens", run_facts.used, run_facts.tokens),
        ("Cost", lambda turn: turn.cost_usd, run_facts.money),
    )
    for title, amount, words in amounts:
        known = [(_end(turn), value) for turn in turns if (value := amount(turn)) is not None]
        if any(value for _, value in known):
            sums = accumulate((value for _, value in known), initial=0.0)
            points = list(zip((began, *(moment for moment, _ in known)), sums, strict=True))
            lack = "" if len(known) == len(turns) else f", told by {len(known)} of {len(turns)} turns"
            drawn = draw(points, title=f"{title} over time", amount=words, **axis)
            yield Chart(title, f"{words(points[-1][1])}{lack}", drawn)


def _end(turn: TurnRecord) -> float:
    return turn.began + turn.seconds


def axis_between(began: float, ended: float) -> dict[str, Any]:
    """The axis of a chart of that time, as :func:`bridge.loop.report.charts.growth` takes it."""
    unit = unit_for((ended - began) / 4)
    first, count = floor(began, unit), int((ended - began) // unit) + 2
    return {"marks": [first + unit * number for number in range(count)], "clock": clock_for(unit)}


def _stretches(happenings: Sequence[Happening], line: TimeLine) -> list[Stretch]:
    """Add up what is in the charts, by the rows of the time line; a turn counts where it ended."""
    rows: list[list[TurnRecord]] = [[] for _ in line.rows]
    start = line.rows[0].began
    for each in happenings:
        if each.turn:
            row = int((each.began + each.seconds - start) // line.seconds)
            rows[min(max(row, 0), len(rows) - 1)].append(each.turn)
    return [
        Stretch(
            row.began,
            sum(turn.result != "limit" for turn in turns),
            sum(turn.failed for turn in turns),
            known_sum(map(run_facts.used, turns)),
            known_sum(turn.cost_usd for turn in turns),
            next((turn.plan for turn in reversed(turns) if turn.plan), None),
        )
        for row, turns in zip(line.rows, rows, strict=True)
        if turns
    ]


def clock_for(step: float, whole: float = 0) -> Callable[[float], str]:
    """Say a time as precisely as marks `step` seconds apart need it; with the day where `whole` is long."""
    time_of_day = "%H:%M:%S" if step < 60 else "%H:%M"
    form = "%d %b" if step >= 86400 else f"%d %b {time_of_day}" if whole >= 86400 else time_of_day
    return lambda moment: timestamps.shown(moment, form)


def axis_of(line: TimeLine) -> list[tuple[float, str]]:
    """What stands below the rows: times where all are of the same time, else how far from a row's beginning."""
    count = math.ceil(line.seconds / line.mark)
    size, unit = next(
        (size, unit) for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")) if line.mark >= size
    )
    clock = clock_for(line.mark, line.seconds)
    return [
        (
            number * line.step,
            clock(line.rows[0].began + number * line.mark)
            if line.parallel
            else f"+{number * line.mark / size:g} {unit}",
        )
        for number in range(count)
        if number * line.step < 95 and not (count > 6 and number % 2)
    ]
