"""The plan of each kind of setup: its tasks, how it looks with one of them alone, and with some of them done."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.plan import with_only, with_ticks
from bridge.setups.ralph_loop.plan import parse, startable, with_complete
from bridge.swarm.tasks import Task, check, from_plan, new_id, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path


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


def format_of(kind: str, folder: Path) -> PlanFormat:
    """Say how a project's plan is read.

    Args:
        kind: of its loop.
        folder: the project's.
    """
    match kind:
        case "wiggum":
            wide = partial(from_plan, wide=True)
            return PlanFormat(wide, partial(with_only, wide=True), partial(with_ticks, wide=True))
        case "ralph-loop":
            return PlanFormat(from_implementation_plan, lambda text, _boxes: text, with_complete)
        case "frankbria":
            return PlanFormat(partial(_without_optional, folder), with_only, with_ticks)
    return PlanFormat(from_plan, with_only, with_ticks)


def from_implementation_plan(text: str, name: str, *, by_heading: bool = False) -> list[Task]:
    """Read the plan of a ralph-loop setup: planned tasks that nothing blocks, with what they depend on; else boxes.

    A task needs those that it depends on, and all of the section before, as for the setup's own loop.

    Args:
        text: of the plan.
        name: of its file, for messages.
        by_heading: all of a section are one task.

    Raises:
        ConfigurationError: no task can be started.
    """
    plan = parse(text)
    if not plan.tasks:
        return from_plan(text, name, by_heading=by_heading)
    given = startable(plan)
    if not given:
        raise ConfigurationError(
            f"{name}: no task can be started: all are complete, or wait for one that is blocked"
        )
    section_of = {task.line: number for number, section in enumerate(plan.sections) for task in section.tasks}
    groups: dict[int, list[int]] = {}
    for place, (task, _) in enumerate(given):
        groups.setdefault(section_of[task.line] if by_heading else place, []).append(place)
    group_of = {given[place][0].line: key for key, places in groups.items() for place in places}
    titles = {
        key: ((by_heading and plan.sections[key].heading) or given[places[0]][0].heading).lstrip("# ")
        for key, places in groups.items()
    }
    ids = {key: new_id(number, titles[key], len(groups)) for number, key in enumerate(groups, 1)}
    tasks = []
    for key, places in groups.items():
        needs = {group_of[each.line] for place in places for each in given[place][1]} - {key}
        prompt = "\n\n".join("\n".join(given[place][0].text).strip() for place in places)
        boxes = tuple(given[place][0].heading for place in places)
        tasks.append(
            Task(ids[key], one_line(titles[key]), prompt, tuple(ids[each] for each in sorted(needs)), boxes)
        )
    return check(tasks)


def _without_optional(folder: Path, text: str, name: str, *, by_heading: bool = False) -> list[Task]:
    """Read a plan of which some sections are optional: their boxes are nobody's task."""
    from bridge.setups.frankbria import rc
    from bridge.setups.frankbria.layout import folder_of, optional_lines
    from bridge.setups.frankbria.settings import resolve

    try:
        settings = resolve(folder_of(folder), env=os.environ, rc=rc.read(folder, os.environ))
    except BridgeError:
        return from_plan(text, name, by_heading=by_heading)  # the loops will say what is wrong
    aside = optional_lines(text, settings.optional_sections.split(","))
    return from_plan(text, name, by_heading=by_heading, aside={n for n, each in enumerate(aside, 1) if each})
