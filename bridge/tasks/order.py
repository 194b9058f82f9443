"""The order in which tasks are best begun. Pure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.tasks.model import check, circle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.tasks.model import Task


def ordered(tasks: Sequence[Task], locations: Mapping[str, str] = {}) -> list[Task]:
    """Give tasks by priority, each behind what it needs; those of one priority as they came. So what an urgent task
    needs is as urgent.

    Args:
        tasks: all of them.
        locations: where each was written, for messages.

    Raises:
        ConfigurationError: as for `check`.
    """
    place = {task.id: number for number, task in enumerate(check(tasks, locations))}
    by_urgency = sorted(tasks, key=lambda task: (_urgency(task), place[task.id]), reverse=True)
    found: dict[str, Task] = {}
    left = list(by_urgency)
    while left:
        task = left.pop()
        waiting = {need for need in task.needs if need not in found}
        if waiting:
            left += [task, *(each for each in by_urgency if each.id in waiting)]
        else:
            found.setdefault(task.id, task)
    return list(found.values())


def _urgency(task: Task) -> float:
    return math.inf if task.priority is None else task.priority


def loosened(tasks: Sequence[Task]) -> tuple[list[Task], list[str]]:
    """Leave out the needs that no order could meet, for a source whose one bad task must not stop all others.

    Returns:
        The tasks, and a sentence about each need that was left out.
    """
    known = {task.id for task in tasks}
    notes = [
        f"{task.id} needs {need}, which is none of these tasks: it isn't waited for"
        for task in tasks
        for need in task.needs
        if need not in known
    ]
    left = {task.id: replace(task, needs=tuple(each for each in task.needs if each in known)) for task in tasks}
    while path := circle(left.values()):
        last, first = left[path[-2]], path[-1]
        left[last.id] = replace(last, needs=tuple(each for each in last.needs if each != first))
        notes.append(f"these tasks wait for each other: {' → '.join(path)}: {last.id} doesn't wait for {first}")
    return list(left.values()), notes
