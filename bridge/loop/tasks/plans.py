"""Plans as sources of tasks: open boxes, and lists of stories in all dialects; what is done is ticked there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.encodings import decoded, encoded
from bridge.base.files import ANYWHERE, read_bytes, usable, write_atomic
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import with_ticks
from bridge.loop.setups.prompted.task_lists import LAST, held_up, planned, read_entries, with_done
from bridge.loop.tasks.checkboxes import PlanFormat, from_plan, from_planned
from bridge.loop.tasks.task import Asked, Source, SourceKind, Task, one_line
from bridge.loop.tasks.task_order import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


_BOX = re.compile(r"\A(?:[-*+]|\d+[.)])[ \t]+\[ \][ \t]*")


class FileOfTasks(Source):
    """A file in which a task is done by its being changed.

    Args:
        asked: which file.
        read: gives the tasks of a text, with the file's name for messages.
        ticked: gives the text with some done, from the text and what they are called in it.
        default: the file that is meant where none is named.
    """

    def __init__(
        self,
        asked: Asked,
        read: Callable[[str, str], list[Task]],
        ticked: Callable[[str, Sequence[str]], tuple[str, list[str]]],
        default: str = "",
    ) -> None:
        self._asked, self._read, self._ticked = asked, read, ticked
        self.path: Path = asked.file(default)

    def tasks(self) -> list[Task]:
        return ordered(self._read(self._asked.text(self.path), str(self.path)))

    def done(self, task: Task, comment: str, *, close: bool) -> None:
        del comment  # such a file has no place for it
        if not close:
            return
        with usable(self.path):
            text, codec = decoded(read_bytes(self.path, root=ANYWHERE))
            ticked, left = self._ticked(text, task.ref.split("\n"))
            if ticked != text:
                write_atomic(self.path, encoded(ticked, codec), root=ANYWHERE)
        if left:
            raise ConfigurationError(
                f"{self.path}: {'; '.join(left)}: it isn't there any more, or in other words\n"
                "  next: tick it by hand"
            )


def with_refs(tasks: Sequence[Task]) -> list[Task]:
    """Have each task's source call it by its boxes, which no plan of a project has; what is a task is no box in its
    own text.
    """
    return [replace(each, ref="\n".join(each.boxes), boxes=(), prompt=_BOX.sub("", each.prompt)) for each in tasks]


def _plan(asked: Asked) -> Source:
    def read(text: str, name: str) -> list[Task]:
        found = None if asked.plan is None or asked.plan.planned is None else asked.plan.planned(text, name)
        if found is not None:
            return with_refs(from_planned(found, name, by_heading=asked.by_heading))
        wide = asked.plan is not None and asked.plan.wide
        return with_refs(from_plan(text, name, by_heading=asked.by_heading, wide=wide))

    def ticked(text: str, boxes: Sequence[str]) -> tuple[str, list[str]]:
        plan = asked.plan
        if plan is None:
            return with_ticks(text, boxes)
        return PlanFormat(plan, asked.project).done(text, boxes)

    return FileOfTasks(asked, read, ticked)


def from_stories(text: str, name: str) -> list[Task]:
    """Read the open ones of a list of stories, by priority.

    Raises:
        ConfigurationError: it is none, or none is open.
    """
    entries = {each.label: each for each in read_entries(text, name)}
    found = with_refs(from_planned(planned(text, name) or [], name))
    own = ((each, entries[each.ref]) for each in found)
    return [
        replace(task, title=one_line(entry.title), priority=None if entry.priority == LAST else entry.priority)
        for task, entry in own
    ]


def _stories(asked: Asked) -> Source:
    def read(text: str, name: str) -> list[Task]:
        waiting = held_up(read_entries(text, name))
        asked.tell_all([f"{each.label} waits for what is put off: it is left out" for each in waiting])
        return from_stories(text, name)

    return FileOfTasks(asked, read, lambda text, labels: with_done(text, labels), "prd.json")


KINDS = {
    "plan": SourceKind(name="plan", title="open boxes of a plan", takes="FILE", open=_plan),
    "prd": SourceKind(name="prd", title="stories in JSON or YAML", takes="FILE", open=_stories),
}
