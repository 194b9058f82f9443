"""A swarm on the screen: on a terminal, a table at its bottom; a line per step above it, or elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

from bridge.base.wording import columns, duration, plural, tame, usd
from bridge.cli._flow import flows
from bridge.cli._terminal import Style, say, show
from bridge.cli._view import Screen
from bridge.loop.engine.events import Notice
from bridge.loop.swarm.events import (
    SwarmEnded,
    SwarmStarted,
    TaskEnded,
    TaskProgress,
    TaskSaved,
    TaskStarted,
    TaskWatched,
)
from bridge.loop.swarm.status import outcome_of, shown
from bridge.loop.swarm.swarm_record import MERGED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.swarm.opening import Swarm
    from bridge.loop.swarm.swarm_record import TaskRecord

_HEAD = ("task", "worker", "turn", "time", "cost", "outcome")
_MOST = 12
_COLOURS = {**dict.fromkeys(MERGED, "green"), "conflict": "red", "check failed": "red"}


def table(seen: dict[str, Any]) -> list[str]:
    lasts = [(each["last"] or "") if each["step"] == "running" else each["title"] for each in seen["tasks"]]
    rows = [(*_row(each), tame(last)) for each, last in zip(seen["tasks"], lasts, strict=True)]
    return columns([(*_HEAD, ""), *rows])


def live_table(seen: dict[str, Any]) -> list[str]:
    """What fits at the bottom of a terminal: of many tasks those that are under way, and a count."""
    tasks = seen["tasks"]
    if len(tasks) <= _MOST:
        return table(seen)
    busy = [each for each in tasks if each["step"] in ("running", "saved", "watched")][:_MOST]
    waiting = sum(each["step"] == "waiting" for each in tasks)
    return [*table({**seen, "tasks": busy}), f"{seen['merged']} of {len(tasks)} {_done(seen)}, {waiting} waiting"]


def _done(seen: dict[str, Any]) -> str:
    return "proposed" if seen["pull_requests"] else "merged"


def _row(task: dict[str, Any]) -> tuple[str, ...]:
    return (
        tame(task["id"]),
        "-" if task["worker"] is None else str(task["worker"]),
        "-" if task["turn"] is None else str(task["turn"]),
        "-" if task["seconds"] is None else duration(task["seconds"]),
        "-" if task["cost_usd"] is None else usd(task["cost_usd"]),
        outcome_of(task),
    )


class SwarmView:
    """Shows the events of one swarm; `screen` is what stands at the bottom of the terminal."""

    def __init__(self, *, quiet: bool, screen: Screen | None) -> None:
        self._quiet = quiet
        self._screen = screen
        self._style = Style(sys.stderr)

    def show(self, event: LoopEvent) -> None:
        line = self._line(event)
        if line and not self._quiet:
            above: AbstractContextManager[None] = self._screen.above() if self._screen else nullcontext()
            with above:
                say(line)
        elif self._screen is not None:
            self._screen.refresh()

    def _line(self, event: LoopEvent) -> str:
        style = self._style
        match event:
            case SwarmStarted():
                begun, tasks = "goes on" if event.resumed else "begins", plural(len(event.record.tasks), "task")
                return f"swarm {event.record.run} {begun}: {tasks}, {event.folder}"
            case Notice():
                return f"{style('note:', 'yellow')} {tame(event.text)}"
            case TaskStarted(task=task):
                again = f", attempt {task.attempt}" if task.attempt > 1 else ""
                return f"{self._name(task)} started on worker {task.worker}{again}"
            case TaskProgress(kind="notice", task=task):
                return f"{self._name(task)} {style('note:', 'yellow')} {tame(event.text)}"
            case TaskSaved(task=task):
                return f"{self._name(task)} complete: {task.reason}, to be merged"
            case TaskWatched(task=task):
                number = tame(str(task.pull.get("number", "?")))
                return f"{self._name(task)} pull request #{number}: {tame(event.text)}"
            case TaskEnded(task=task):
                outcome = style(task.outcome, _COLOURS.get(task.outcome, "yellow"))
                why = f": {tame(task.detail.splitlines()[0])}" if task.detail and not task.merged else ""
                lost = f" · {style('not saved', 'red')}: {task.unsaved}" if task.unsaved else ""
                return f"{self._name(task)} {outcome}{' ' * bool(task.pull)}{task.pull.get('url', '')}{why}{lost}"
            case SwarmEnded():
                return f"swarm {event.record.run} ended: {event.reason}"
        return ""

    def _name(self, record: TaskRecord) -> str:
        return self._style(f"[{tame(record.task.id)}]", "cyan", "bold")


def drive_swarm(swarm: Swarm, *, quiet: bool = False) -> int:
    """Show a swarm to its end, and what it came to; gives the exit code."""
    screen = None
    if not quiet and flows(sys.stderr):
        screen = Screen(sys.stderr, lambda: live_table(shown(swarm.record, swarm.folder)))
    with screen or nullcontext():
        end = _to_its_end(swarm.events(), SwarmView(quiet=quiet, screen=screen).show)
    show(lines_of(shown(end.record, swarm.folder)))
    return end.status


def _to_its_end(events: Generator[LoopEvent, None, None], show_event: Callable[[LoopEvent], None]) -> SwarmEnded:
    """Show what a swarm tells; a signal is its own to handle, wherever it comes."""
    came: BaseException | None = None
    with closing(events):
        while True:
            event = next(events) if came is None else events.throw(came)
            came = None
            try:
                show_event(event)
            except (KeyboardInterrupt, SystemExit, BrokenPipeError) as error:
                came = SystemExit(141) if isinstance(error, BrokenPipeError) else error
            if isinstance(event, SwarmEnded):
                return event


def follow(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Show a swarm that another process runs until it ends; gives what was seen last."""
    last: list[str] = []
    seen = look()
    screen = Screen(sys.stderr, lambda: live_table(seen)) if flows(sys.stderr) else None
    with screen or nullcontext():
        while (seen := look())["state"] in ("starting", "running", "waiting"):
            steps = [f"{each['id']}: {each['outcome'] or each['step']}" for each in seen["tasks"]]
            if screen is None:
                say(*(step for step in steps if step not in last))
            last = steps
            time.sleep(0.5)
    return seen


def headline(seen: dict[str, Any]) -> str:
    cost = f" · {usd(seen['cost_usd'])}" if seen["cost_usd"] else ""
    why = f" · {seen['end']}" if seen["end"] and seen["state"] == "ended" else ""
    merged = f"{seen['merged']} of {plural(len(seen['tasks']), 'task')} {_done(seen)}"
    pulls = seen["pull_requests"]
    where = f"{seen['into']} of {pulls['repository']}" if pulls else seen["branch"]
    return f"swarm {seen['run']} · {seen['state']}{why} · {merged} into {where}{cost}"


def lines_of(seen: dict[str, Any]) -> str:
    """A swarm for people: the table, and what can be done about each task that isn't merged."""
    from bridge.cli._swarm_view import table

    style = Style(sys.stdout)
    head, *rows = table(seen)
    lines = [headline(seen), "", style(head, "bold"), *rows]
    for each in seen["tasks"]:
        if each["next"] or each["unsaved"]:
            lines += ["", f"{each['id']}: {each['outcome'] or 'not started'}" + _because(each["detail"])]
            lines += [f"  branch  {name}" for name in filter(None, [each["branch"], *each["kept"]])]
        if each["unsaved"]:
            lines.append(f"  not saved: {each['unsaved']}; it is in {each['tree']}")
        elif each["kept"] and not each["next"]:
            lines += ["", f"{each['id']} is merged, and has left more on {', '.join(each['kept'])}"]
        if each["next"]:
            lines.append(f"  next    {each['next']}")
    for each in filter(lambda task: task["untold"], seen["tasks"]):
        again = f"`ralph-bridge swarm resume {seen['run']}` tries again"
        lines += ["", f"{seen['source']} isn't told of {each['id']}: {each['untold']}", f"  next    {again}"]
    if pulls := [each for each in seen["tasks"] if each["pull_request"]]:
        lines += ["", *columns([(each["id"], each["pull_request"]["url"]) for each in pulls])]
    elif seen["landed"]:
        lines += ["", f"{seen['into']} was not moved: {seen['landed']}"]
    elif seen["merged"] and seen["state"] == "ended" and not seen["pull_requests"]:
        lines += ["", f"the result is on {seen['into']}" if seen["into"] else f"next: git merge {seen['branch']}"]
    return "\n".join(lines) + "\n"


def _because(detail: str | None) -> str:
    return f": {detail.splitlines()[0]}" if detail else ""
