"""``ralph-bridge demo``: a whole loop in a throwaway project, with a scripted CLI."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.base.clis import DEFAULT_DRIVER, shipped_drivers
from bridge.base.resources import shown_script
from bridge.base.wording import columns, duration, plural
from bridge.cli._failures import guarded
from bridge.cli._help import completes
from bridge.cli._render import used
from bridge.cli._terminal import Style, say, show, text_width

if TYPE_CHECKING:
    from bridge.loop.demo.project import DemoProject
    from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded, LoopEvent


_NAMES = tuple(shipped_drivers())
_WIDTH = 80
_BESIDE = 42
"""What a row of the table takes beside the task, session and all."""


@click.command()
@click.option("--driver", type=click.Choice(_NAMES), metavar="NAME", default=DEFAULT_DRIVER, show_default=True,
              help=f"The driver to use: {', '.join(_NAMES)}.")  # fmt: skip
@click.option("--keep/--no-keep", default=True, show_default=True,
              help="Keep the project, to look at it afterwards.")  # fmt: skip
@click.option("--dir", "folder", metavar="DIR", shell_complete=completes("DIR"),
              help="Make the project in DIR.  [default: a new temporary folder]")  # fmt: skip
@click.option("--iterations", type=click.IntRange(1, 50), metavar="N", default=4, show_default=True,
              help="Number of tasks in the plan.")  # fmt: skip
@click.option("--swarm", is_flag=True, help="Six tasks and three workers: one conflict, one failing check.")
def demo(*, driver: str, keep: bool, folder: str | None, iterations: int, swarm: bool) -> int:
    """Watch a loop run to its end: a real driver script and a real git project, no model, no network.

    A scripted stand-in for the driver's CLI does one task of the plan per iteration and commits it.
    """
    with guarded():
        base = Path(os.path.abspath(folder)) if folder else Path(tempfile.mkdtemp(prefix="ralph-bridge-demo-"))
        existed = bool(folder) and base.exists()
        ours = not existed or (base.is_dir() and not any(base.iterdir()))
        try:
            return _swarm(base, driver) if swarm else _demo(base, driver, iterations, keep=keep)
        finally:
            if ours and not keep:
                for name in ("project", "bin", "trees"):
                    shutil.rmtree(base / name, ignore_errors=True)
            if not existed:
                with suppress(OSError):  # it stays when something is in it
                    base.rmdir()


def _demo(base: Path, driver: str, iterations: int, *, keep: bool) -> int:
    from bridge.cli._render import Renderer, drive
    from bridge.loop.demo.project import make_project
    from bridge.loop.engine.events import IterationEnded, IterationStarted
    from bridge.loop.engine.policy import Limits, Verdict
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.plain.opening import run_plain
    from bridge.loop.setups.plain.settings import loop_settings
    from bridge.loop.turn.driver import DriverTool
    from bridge.scripts.driver import Driver

    delay = 0.03 if sys.stdout.isatty() else 0.0
    project = make_project(base, driver, iterations=iterations, delay=delay)
    say(f"{plural(iterations, 'open task')}, and a scripted stand-in for {project.cli}, in {project.folder}")
    limits = Limits(max_iterations=iterations + 2)
    renderer = Renderer(max_iterations=limits.max_iterations)
    shown: list[LoopEvent] = []

    def show(event: LoopEvent) -> None:
        shown.append(event)
        renderer.show(event)

    with Driver.load(driver, cwd=project.folder, env=project.env) as script:
        say(f"{script.display_name()} · driver {shown_script(script.script)}")
        settings = loop_settings(
            project.folder,
            RunOptions(max_iterations=limits.max_iterations, max_failures=3, resume=True),
            env=project.env,
        )
        events = run_plain(DriverTool(script, settings, f"driver {driver}"), settings)
        end = drive(events, show, renderer.interrupted)
    started = [each for each in shown if isinstance(each, IterationStarted)]
    ended = [each for each in shown if isinstance(each, IterationEnded)]
    _report(project, started, ended, end, keep=keep)
    return 0 if end.verdict is Verdict.COMPLETE else 1


def _swarm(base: Path, driver: str) -> int:
    """Show a swarm; 0 when it came to what it was to show."""
    from bridge.cli._swarm_view import drive_swarm
    from bridge.loop.demo.project import SWARM_CHECK, SWARM_TASKS, make_project
    from bridge.loop.swarm.opening import Swarm

    project = make_project(base, driver, iterations=len(SWARM_TASKS), wanted=SWARM_TASKS)
    os.environ.update(project.env)  # for the workers, which are processes of their own
    tasks = plural(len(SWARM_TASKS), "open task")
    say(f"{tasks}, three workers, and a scripted stand-in for {project.cli}, in {project.folder}")
    swarm = Swarm(
        project.folder,
        jobs=3,
        check=SWARM_CHECK,
        redo_conflicts=False,  # to be seen
        trees=base / "trees",
        options={"driver": driver, "max_iterations": 2},
    )
    drive_swarm(swarm)
    outcomes = sorted(each.outcome for each in swarm.record.tasks)
    return 0 if outcomes == ["check failed", "conflict", *["merged"] * 4] else 1


def _report(
    project: DemoProject,
    started: list[IterationStarted],
    ended: list[IterationEnded],
    end: LoopEnded,
    *,
    keep: bool,
) -> None:
    style, width = Style(sys.stdout), min(_WIDTH, text_width(sys.stdout))
    header = ("iteration", "task", "session", "seconds")
    rows = []
    for begin, done in zip(started, ended, strict=True):
        task, *more = textwrap.wrap((begin.plan.next_task if begin.plan else None) or "-", max(width - _BESIDE, 12))
        session = _session(begin.session_id, done.outcome.session_id)
        rows.append((str(begin.iteration), task, session, f"{done.seconds:.2f}".rjust(len("seconds"))))
        rows += [("", each, "", "") for each in more]
    head, *lines = columns([header, *rows])
    out = ["", style(head, "bold"), *lines, ""]
    plan = ended[-1].outcome.plan if ended else None
    ticked = f"{plan.done} of {plan.total} tasks ticked and committed, " if plan else ""
    runs = f"{plural(end.iterations, 'iteration')} in {duration(end.seconds)}"
    out += textwrap.wrap(f"{runs}: {ticked}{end.detail} ({end.reason}).", width)
    made_up = f"{used(end.totals)}. No model was asked: tokens and money are what the stand-in makes up."
    out += textwrap.wrap(made_up, width)
    if keep:
        out += [
            "",
            f"project   {project.folder}",
            f"commits   git -C {project.folder} log --stat",
            f"plan      {project.folder / '.ralph' / '@fix_plan.md'}",
            f"report    ralph-bridge report --project {project.folder}",
            f"raw logs  {project.folder / '.ralph' / 'logs'}",
            f"stand-in  {project.bin}",
            "next      ralph-bridge run, in a project of your own with a .ralph/PROMPT.md",
        ]
    show("\n".join(out) + "\n")


def _session(before: str | None, after: str | None) -> str:
    if after is None:
        return "none"
    short = after[:12] if after.startswith("ses_") else after[:8]
    return f"{short} {'resumed' if before == after else 'new'}"
