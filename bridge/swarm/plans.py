"""The plan of each kind of setup: its tasks, how it looks with one of them alone, and with some of them done."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bridge.errors import ConfigurationError
from bridge.loop.plan import with_only, with_ticks
from bridge.swarm.tasks import Task, check, from_plan, new_id, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from bridge.setups.model import PlanKind, PlannedTask


class TasksReader(Protocol):
    """Reads the tasks of a plan."""

    def __call__(self, text: str, name: str, *, by_heading: bool = False) -> list[Task]:
        """Give a plan's open tasks; `name` is its file's, for messages; `by_heading`: a section is one task."""


class PlanFormat(NamedTuple):
    """What a swarm does with a plan.

    Attributes:
        tasks: reads them.
        only: gives the plan without the tasks of others.
        done: gives the plan with what a task's merge has done, and what of that it doesn't have.
    """

    tasks: TasksReader
    only: Callable[[str, Collection[str]], str]
    done: Callable[[str, Collection[str]], tuple[str, list[str]]]


def format_of(plan: PlanKind, folder: Path) -> PlanFormat:
    """Say how a project's plan is read.

    Args:
        plan: of its kind of setup.
        folder: the project's.
    """
    if plan.planned is not None and plan.ticked is not None:
        return PlanFormat(partial(from_planned, plan.planned), lambda text, _boxes: text, plan.ticked)
    if plan.aside is not None:
        return PlanFormat(partial(_without, partial(plan.aside, folder)), with_only, with_ticks)
    if plan.wide:
        wide = partial(from_plan, wide=True)
        return PlanFormat(wide, partial(with_only, wide=True), partial(with_ticks, wide=True))
    return PlanFormat(from_plan, with_only, with_ticks)


def from_planned(
    read: Callable[[str], Sequence[PlannedTask] | None], text: str, name: str, *, by_heading: bool = False
) -> list[Task]:
    """Read a plan of tasks that depend on each other: those that nothing blocks; else boxes.

    Args:
        read: gives its tasks that can be started; None: it has boxes.
        text: of the plan.
        name: of its file, for messages.
        by_heading: all of a section are one task.

    Raises:
        ConfigurationError: no task can be started.
    """
    given = read(text)
    if given is None:
        return from_plan(text, name, by_heading=by_heading)
    if not given:
        raise ConfigurationError(
            f"{name}: no task can be started: all are complete, or wait for one that is blocked"
        )
    groups: dict[int, list[PlannedTask]] = {}
    for place, task in enumerate(given):
        groups.setdefault(task.section if by_heading else place, []).append(task)
    group_of = {task.line: key for key, tasks in groups.items() for task in tasks}
    titles = {
        key: ((by_heading and tasks[0].section_heading) or tasks[0].heading).lstrip("# ")
        for key, tasks in groups.items()
    }
    ids = {key: new_id(number, titles[key], len(groups)) for number, key in enumerate(groups, 1)}
    found = []
    for key, tasks in groups.items():
        needs = {group_of[line] for task in tasks for line in task.needs} - {key}
        prompt = "\n\n".join(task.text for task in tasks)
        boxes = tuple(task.heading for task in tasks)
        found.append(
            Task(ids[key], one_line(titles[key]), prompt, tuple(ids[each] for each in sorted(needs)), boxes)
        )
    return check(found)


def _without(
    aside: Callable[[str], Collection[int]], text: str, name: str, *, by_heading: bool = False
) -> list[Task]:
    """Read a plan of which some lines are aside: their boxes are nobody's task."""
    return from_plan(text, name, by_heading=by_heading, aside=aside(text))
