"""The order in which tasks are best begun. Pure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.loop.tasks.task import check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.loop.tasks.task import Task


def ordered(tasks: Sequence[Task], locations: Mapping[str, str] = {}) -> list[Task]:
    """Give tasks by priority, each behind what it needs; those of one priority as they came. So what an urgent task
    needs is as urgent.

    Args:
        locations: where each was written, for messages.

    Raises:
        ConfigurationError: as for `check`.
    """
    place = {task.id: number for number, task in enumerate(check(tasks, locations))}
    urgency = {task.id: (math.inf if task.priority is None else task.priority, place[task.id]) for task in tasks}
    by_id = {task.id: task for task in tasks}
    found: dict[str, Task] = {}
    left = sorted(by_id, key=urgency.__getitem__, reverse=True)
    while left:
        name = left.pop()
        waiting = {need for need in by_id[name].needs if need not in found}
        if waiting:
            left += [name, *sorted(waiting, key=urgency.__getitem__, reverse=True)]
        else:
            found.setdefault(name, by_id[name])
    return list(found.values())


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
    needs = {task.id: [each for each in dict.fromkeys(task.needs) if each in known] for task in tasks}
    done: set[str] = set()
    for start in needs:
        path = {} if start in done else {start: iter([*needs[start]])}  # each needs the next one
        while path:
            name, rest = next(reversed(path.items()))
            need = next(rest, None)
            if need is None:
                done.add(name)
                del path[name]
            elif need in path:
                needs[name].remove(need)
                around = [*[*path][[*path].index(need) :], need]
                shown = " → ".join(around if len(around) < 8 else [*around[:3], "...", *around[-3:]])
                notes.append(f"these tasks wait for each other: {shown}: {name} doesn't wait for {need}")
            elif need not in done:
                path[need] = iter([*needs[need]])
    return [replace(task, needs=tuple(needs[task.id])) for task in tasks], notes


def startable(tasks: Sequence[Task], waits: Mapping[str, str]) -> tuple[list[Task], list[str]]:
    """Leave out tasks that wait for what none of them does, those that need such a task, and needs that no order
    could meet.

    Args:
        tasks: of one source.
        waits: ids of tasks to what they wait for, in words.

    Returns:
        The others, and a sentence about each that was left out.
    """
    refs = {task.id: task.ref for task in tasks}
    waits = dict(waits)
    left = {task.id: task for task in tasks if task.id not in waits}
    while more := {each.id: need for each in left.values() for need in each.needs if need not in left}:
        waits |= {name: refs.get(need, need) for name, need in more.items()}
        left = {name: task for name, task in left.items() if name not in more}
    found, notes = loosened([*left.values()])
    out = [f"{task.ref} waits for {waits[task.id]}: it is left out" for task in tasks if task.id in waits]
    return found, out + notes
