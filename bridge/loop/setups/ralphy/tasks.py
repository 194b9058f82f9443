"""The list of tasks: Markdown boxes, YAML or JSON, or a folder of Markdown files; read, and ticked in place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import read_bytes, usable, write_atomic
from bridge.base.wording import one_line
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import Plan, plan_items
from bridge.loop.setups.prompted.task_lists import in_order, is_list, read_entries, with_done, with_open
from bridge.loop.setups.ralphy.kind import BOX, LISTS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path


_MARK = re.compile(r"\A(?:- \[.\][ \t]+|title: )")
_HIDES = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|<!--)[^\n]*$", re.MULTILINE)
"""Lines that begin what a plan of another kind has hidden."""
"""What stands in front of a task's words in a list."""


class Task(NamedTuple):
    """One task: `text` is all that is said of it, `heading` the section that it stands in, or ''."""

    file: str
    title: str
    text: str
    heading: str
    done: bool

    @property
    def shown(self) -> str:
        """Its title for people."""
        return one_line(self.title, 100)


def files_of(project: Path, named: str | None) -> list[str]:
    """The files with the tasks, relative to the project: of a folder that is named its Markdown files.

    Raises:
        ConfigurationError: the one that is named isn't there.
    """
    if named is None:
        return [name for name in LISTS if (project / name).is_file()][:1]
    path = project / named
    if path.is_dir():
        return sorted(f"{named.rstrip('/')}/{each.name}" for each in path.glob("*.md") if each.is_file())
    if not path.is_file():
        raise ConfigurationError(f"--tasks {named}: there is no such file\n  next: name one that is there")
    return [named]


def read_tasks(project: Path, named: str | None) -> list[Task]:
    """Read them, in the order in which they are to be done.

    Raises:
        ConfigurationError: a list that can't be read, with line and column; the one that is named isn't there.
    """
    return [task for name in files_of(project, named) for task in _read(_text(project, name), name)]


def _text(project: Path, name: str) -> str:
    with usable(f"the tasks {name}"):
        return read_bytes(project / name).decode("utf-8", "surrogateescape")


def _is_list(text: str, name: str) -> bool:
    """Whether it is YAML or JSON; a file of another name may be anything."""
    if name.endswith((".yaml", ".yml", ".json")):
        return True
    return not name.endswith(".md") and BOX.search(text) is None and is_list(text)


def _read(text: str, name: str) -> list[Task]:
    if _is_list(text, name):
        entries = read_entries(text, name)
        found = [*(each for each in entries if each.done), *in_order(entries)]
        return [Task(name, each.label, _MARK.sub("", each.text), "", each.done) for each in found]
    lines = text.split("\n")
    # Its original takes boxes in code blocks and comments for tasks, too.
    everything = _HIDES.sub(lambda found: " " * len(found[0]), text)
    items = [each for each in plan_items(everything) if BOX.match(lines[each.line - 1])]
    return [Task(name, each.title, _MARK.sub("", each.text), each.heading, each.ticked) for each in items]


def in_words(words: str, *, done: bool) -> Task:
    """A task that stands in no list, or is the one of a swarm's loop."""
    text = _MARK.sub("", words.strip())
    return Task("", text.partition("\n")[0], text, "", done)


def plan_of(tasks: Sequence[Task], aside: Collection[tuple[str, str]] = ()) -> Plan:
    """Say how far they have come; `aside`: files and titles of those that the run has given up."""
    following = next_of(tasks, aside)
    return Plan(sum(each.done for each in tasks), len(tasks), following.shown if following else None)


def next_of(tasks: Sequence[Task], aside: Collection[tuple[str, str]] = ()) -> Task | None:
    """The first that is open, and not given up."""
    return next((each for each in tasks if not each.done and (each.file, each.title) not in aside), None)


def tick(project: Path, task: Task, *, done: bool = True) -> str:
    """Tick a task where it stands by now, or open it again where the agent has ticked it; every other byte stays.

    Returns:
        What is to be told, or ''.

    Raises:
        ConfigurationError: the list can't be read any more.
        ProjectUnusable: it can't be written.
    """
    if not task.file:
        return ""
    text = _text(project, task.file)
    left: list[str] = []
    if not _is_list(text, task.file):
        boxes = [box for box in BOX.finditer(text) if box[2].strip() == task.title]
        still = [box for box in boxes if box[1] == " "]
        at = still[:1] if done else [] if still else boxes[-1:]
        changed = f"{text[: at[0].start(1)]}{'x' if done else ' '}{text[at[0].end(1) :]}" if at else text
        left = [] if boxes else [task.title]
    elif done:
        changed, left = with_done(text, [task.title], key="completed", name=task.file)
    else:
        changed = with_open(text, task.title, name=task.file)
    if changed != text:
        with usable(f"the tasks {task.file}"):
            write_atomic(project / task.file, changed)
    return f"{task.file} has no task {task.shown!r} any more: nothing is ticked there" if left else ""
