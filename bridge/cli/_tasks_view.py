"""A list of tasks as people see it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.wording import columns, one_line
from bridge.cli._flow import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.loop.tasks.task import Task

_MOST_LABELS = 30
_LEAST_TITLE = 20


def table(tasks: Sequence[Task], width: int | None = None) -> list[str]:
    """Tasks as lines: what each needs by number, titles cut where a terminal has no room for them. Pure.

    Args:
        width: cells of a line; None: as many as it takes.
    """
    number = {task.id: at for at, task in enumerate(tasks, 1)}
    rows = [("", "task", "priority", "needs", "labels")] + [
        (
            str(number[task.id]),
            one_line(task.id),
            "" if task.priority is None else f"{task.priority:g}",
            ranges([number[each] for each in task.needs if each in number]),
            one_line(", ".join(task.labels), _MOST_LABELS),
        )
        for task in tasks
    ]
    filled = [at for at in range(5) if any(row[at] for row in rows[1:])]
    left = columns([*[row[at] for at in filled], "|"] for row in rows)
    titles = ["title", *(one_line(task.title) for task in tasks)]
    room = None if width is None else max(width - len(left[0]) + 1, _LEAST_TITLE)
    return [
        (line[:-1] + (title if room is None else cut(title, room))).rstrip()
        for line, title in zip(left, titles, strict=True)
    ]


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as people write them.

    >>> ranges([3, 1, 2, 7])
    '1-3, 7'
    """
    found: list[list[int]] = []
    for each in sorted(numbers):
        if found and each == found[-1][-1] + 1:
            found[-1].append(each)
        else:
            found.append([each])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)
