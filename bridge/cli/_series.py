"""``run --from``: a loop for each task of a source, one after the other, on a terminal."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from bridge.base.wording import one_line
from bridge.cli._render import Renderer, drive, first_lines, last_line, preview, preview_without
from bridge.cli._terminal import say
from bridge.errors import ProjectCodeNotRun
from bridge.loop.loops import found_kind
from bridge.loop.setups import check
from bridge.loop.setups.options import RunOptions
from bridge.loop.tasks import open_source
from bridge.loop.tasks.series import Series, TaskLoopEnded, TaskLoopStarted
from bridge.loop.tasks.task import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.cli._json_lines import JsonLines
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.tasks.source_updates import How
    from bridge.loop.tasks.task import Filters


def run_series(
    folder: Path,
    setup_name: str | None,
    source: str,
    filters: Filters,
    given: dict[str, Any],
    *,
    quiet: bool,
    lines: JsonLines | None,
    write_back: How,
    stop_on_failure: bool,
) -> int:
    """Run the loops: 0 all tasks are done, 1 some aren't, 4 the CLI can't be used as it is.

    Args:
        source: as ``--from`` names it.
        given: the other options of ``run``.
        lines: gets the events, instead of a terminal.
    """
    options = RunOptions.of(given)
    for name, value in (("WORDS", options.words), ("--tasks", options.tasks), ("--mode", options.mode)):
        if value:
            raise click.UsageError(f"{name} and --from exclude each other: the source says what is to be done")
    kind, setup = found_kind(folder, setup_name, options)
    shows = not options.dry_run or "dry_run" in kind.options
    check(kind, options if shows else RunOptions.of(given | {"dry_run": False}), setup=setup, by_flag=True)
    project = setup.project if setup is not None else folder
    note = cache(lambda line: say(f"note: {line}"))  # a source that is read anew says the same again
    asked = Asked(project=project, plan=kind.plan, filters=filters, tell=note)
    opened = open_source(source, asked)
    series = Series(
        kind=kind,
        setup=setup,
        project=project,
        options=options,
        source=opened,
        name=opened.lasting(source),
        how=write_back,
        stop_on_failure=stop_on_failure,
    )
    if options.dry_run:
        return _preview(series, shows=shows)
    if lines is not None:
        return lines.run(series.run()).exit_code
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    renderer = _SeriesRenderer(series, quiet=quiet)
    if not quiet:
        say(f"{kind.title} · {project} · tasks of {one_line(source, 200)}")
    return drive(series.run(), renderer.show, renderer.interrupted).exit_code


def _preview(series: Series, *, shows: bool) -> int:
    try:
        with series.first(opens=shows) as (tasks, opened):
            for task, became in tasks:
                needs = f" · needs {', '.join(task.needs)}" if task.needs else ""
                say(one_line(f"{became or 'open'}: {task.id}  {task.title}{needs}", 300))
            return 0 if opened is None else preview(opened)
    except ProjectCodeNotRun as error:
        _preview(series, shows=False)
        return preview_without(error)


class _SeriesRenderer(Renderer):
    """Prints the events of all loops, each below a line that says which task it is about."""

    def __init__(self, series: Series, *, quiet: bool) -> None:
        super().__init__(max_iterations=None, quiet=quiet)
        self._series = series

    def show(self, event: LoopEvent) -> None:
        if isinstance(event, TaskLoopEnded):
            self.begin()
        super().show(event)

    def _show_line(self, event: LoopEvent) -> None:
        if isinstance(event, TaskLoopStarted):
            self._task(event)
        elif isinstance(event, TaskLoopEnded):
            if not self._quiet:
                say(last_line(self._style, event.end))
        else:
            super()._show_line(event)

    def _task(self, event: TaskLoopStarted) -> None:
        opened = self._series.opened
        begun = None if opened is None else opened.begun()
        self._of = None if begun is None else begun[1].limits.max_iterations
        if self._quiet:
            return
        say(self._style(f"task {event.number} of {event.of}: {one_line(event.title)}", "bold"))
        self._opening = None if begun is None else first_lines(*begun)
