"""``run --pull-request``: a loop, its branch's pull request and what becomes of that, on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from bridge.base.wording import tame
from bridge.cli._render import Renderer, drive, last_line
from bridge.cli._terminal import say
from bridge.loop.setups import check
from bridge.loop.swarm.project import open_project
from bridge.loop.swarm.single import PullRequestSeen, PullRun, WorkEnded

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.cli._json_lines import JsonLines
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Setup, SetupKind


def run_pull(
    kind: SetupKind,
    folder: Path,
    setup: Setup | None,
    options: RunOptions,
    asked: dict[str, Any],
    *,
    quiet: bool,
    lines: JsonLines | None,
) -> int:
    """Run it: 0 the pull request is open, or came to the end that was asked for; 1 it isn't, or didn't.

    Args:
        asked: the options about it.
        lines: gets the events, instead of a terminal.
    """
    if options.dry_run:
        raise click.UsageError("--dry-run shows a loop, and --pull-request is about what comes behind it")
    check(kind, options, setup=setup, by_flag=True)
    minutes = asked.pop("watch_minutes")
    if asked["draft"] and asked["merge"]:
        raise click.UsageError("--draft and --merge exclude each other: GitHub merges no draft")
    asked |= {"into": asked["into"] or "", "watch_seconds": minutes * 60}
    asked["watch"] = asked["watch"] or asked["merge"] or asked["reviews"]
    script = options.driver or options.agent
    project = open_project(folder, kind.name, script=script, settings=options.settings, tasks=options.tasks)
    run = PullRun(
        kind=kind,
        setup=setup,
        project=project,
        options=options,
        asked=asked,
        note=lambda line: say(f"note: {line}"),
    )
    if lines is not None:
        return lines.run(run.run()).exit_code
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    renderer = _PullRenderer(run, max_iterations=options.max_iterations, quiet=quiet)
    if not quiet:
        say(f"{kind.title} · {project.folder} · {run.branch}, to a pull request")
    return drive(run.run(), renderer.show, renderer.interrupted).exit_code


class _PullRenderer(Renderer):
    def __init__(self, run: PullRun, *, max_iterations: int | None, quiet: bool) -> None:
        super().__init__(max_iterations=max_iterations, quiet=quiet)
        self._run = run

    def show(self, event: LoopEvent) -> None:
        self._steps_only = self._run.opened is not None and self._run.opened.prints
        if isinstance(event, WorkEnded | PullRequestSeen):
            self.begin()
        super().show(event)

    def _show_line(self, event: LoopEvent) -> None:
        if self._quiet or not isinstance(event, WorkEnded | PullRequestSeen):
            super()._show_line(event)
        elif isinstance(event, WorkEnded):
            say(last_line(self._style, event.end))
        else:
            say(f"pull request #{event.number}: {tame(event.text)}")
