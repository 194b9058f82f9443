"""A swarm on the screen: on a terminal, a table at its bottom; a line per step above it, or elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from bridge.cli._flow import flows
from bridge.cli._terminal import Style, say
from bridge.cli._view import Screen
from bridge.loop.events import Notice
from bridge.swarm.events import SwarmEnded, SwarmStarted, TaskEnded, TaskProgress, TaskSaved, TaskStarted
from bridge.swarm.status import shown
from bridge.wording import duration, plural, tame, usd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from bridge.loop.events import LoopEvent
    from bridge.swarm.opening import Swarm

_HEAD = ("task", "worker", "turn", "time", "cost", "outcome")
_MOST = 12
_COLOURS = {"merged": "green", "nothing to merge": "green", "conflict": "red", "check failed": "red"}


def table(seen: dict[str, Any]) -> list[str]:
    """Give a swarm as the lines of a table: its head, then a line for each task."""
    rows = [_HEAD, *(_row(each) for each in seen["tasks"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lasts = ["", *((each["last"] or "") if each["step"] == "running" else each["title"] for each in seen["tasks"])]
    return [
        ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + f"  {tame(last)}").rstrip()
        for row, last in zip(rows, lasts, strict=True)
    ]


def live_table(seen: dict[str, Any]) -> list[str]:
    """Give what fits at the bottom of a terminal: of many tasks those that are under way, and a count."""
    tasks = seen["tasks"]
    if len(tasks) <= _MOST:
        return table(seen)
    busy = [each for each in tasks if each["step"] in ("running", "saved")][:_MOST]
    waiting = sum(each["step"] == "waiting" for each in tasks)
    return [*table({**seen, "tasks": busy}), f"{seen['merged']} of {len(tasks)} merged, {waiting} waiting"]


def _row(task: dict[str, Any]) -> tuple[str, ...]:
    return (
        tame(task["id"]),
        "-" if task["worker"] is None else str(task["worker"]),
        "-" if task["turn"] is None else str(task["turn"]),
        "-" if task["seconds"] is None else duration(task["seconds"]),
        "-" if task["cost_usd"] is None else usd(task["cost_usd"]),
        task["outcome"] or task["step"],
    )


class SwarmView:
    """Shows the events of one swarm.

    Args:
        quiet: nothing of it.
        screen: what stands at the bottom of the terminal, or None.
    """

    def __init__(self, *, quiet: bool, screen: Screen | None) -> None:
        self._quiet = quiet
        self._screen = screen
        self._style = Style(sys.stderr)

    def show(self, event: LoopEvent) -> None:
        """Show one event."""
        line = self._line(event)
        if line and not self._quiet:
            above: AbstractContextManager[None] = self._screen.above() if self._screen else nullcontext()
            with above:
                say(line)
        elif self._screen is not None:
            self._screen.refresh()

    def over(self) -> None:
        """Nothing more is shown."""

    def _line(self, event: LoopEvent) -> str:
        style = self._style
        match event:
            case SwarmStarted():
                begun = "goes on" if event.resumed else "begins"
                return (
                    f"swarm {event.record.run} {begun}: {plural(len(event.record.tasks), 'task')}, {event.folder}"
                )
            case Notice():
                return f"{style('note:', 'yellow')} {tame(event.text)}"
            case TaskStarted():
                again = f", attempt {event.task.attempt}" if event.task.attempt > 1 else ""
                return f"{self._name(event.task.task.id)} started on worker {event.task.worker}{again}"
            case TaskProgress(kind="notice"):
                return f"{self._name(event.task.task.id)} {style('note:', 'yellow')} {tame(event.text)}"
            case TaskSaved():
                return f"{self._name(event.task.task.id)} complete: {event.task.reason}, to be merged"
            case TaskEnded():
                task = event.task
                outcome = style(task.outcome, _COLOURS.get(task.outcome, "yellow"))
                why = f": {tame(task.detail.splitlines()[0])}" if task.detail and not task.merged else ""
                lost = f" · {style('not saved', 'red')}: {task.unsaved}" if task.unsaved else ""
                return f"{self._name(task.task.id)} {outcome}{why}{lost}"
            case SwarmEnded():
                return f"swarm {event.record.run} ended: {event.reason}"
        return ""

    def _name(self, task_id: str) -> str:
        return self._style(f"[{tame(task_id)}]", "cyan", "bold")


@contextmanager
def swarm_view(swarm: Swarm, *, quiet: bool) -> Iterator[SwarmView]:
    """What shows a swarm's events while the block runs."""
    if quiet or not flows(sys.stderr):
        yield SwarmView(quiet=quiet, screen=None)
        return
    screen = Screen(sys.stderr, lambda: live_table(shown(swarm.record, swarm.folder)))
    with screen:
        yield SwarmView(quiet=quiet, screen=screen)
