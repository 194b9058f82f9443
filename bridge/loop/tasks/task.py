"""A task, wherever it comes from; and where tasks come from, one object each."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from dataclasses import fields
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from bridge.base import wording
from bridge.base.encodings import decoded
from bridge.base.files import ANYWHERE, read_bytes, usable
from bridge.base.records import dataclass
from bridge.base.resources import likely
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from bridge.loop.setups.setup_kind import PlanKind

ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,63}")
BAD_ID = "can't name a branch: letters, digits, `.`, `_` and `-`, at most 64"
_LONGEST_TITLE = 100
_MOST_TOLD = 20
_MOST_NOTES = 10
USUAL = 1_000
"""So many tasks of a tracker are read where nobody says how many."""
MOST = 10_000
"""No more can be asked for."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task: what one loop is to do.

    Attributes:
        id: its name in branches, folders and ``needs``: letters, digits, ``.``, ``_`` and ``-``.
        title: one line for people.
        prompt: what the agent is told.
        needs: ids of tasks that have to be merged before it begins.
        boxes: texts of the plan's boxes that its merge ticks.
        ref: what its source calls it, such as ``#69``; '': nothing comes back to one.
        priority: the lower, the earlier; None: it has none.
        labels: of its source.
    """

    id: str
    title: str
    prompt: str
    needs: tuple[str, ...] = ()
    boxes: tuple[str, ...] = ()
    ref: str = ""
    priority: float | None = None
    labels: tuple[str, ...] = ()


class NothingOpen(ConfigurationError):
    """A source can be read, and holds no open task."""


class Source(ABC):
    """One place that tasks come from: a file, a folder, a tracker.

    What is read there is text from outside: never a command, an option or a terminal's escape.
    """

    under_way: Collection[str] = ()
    """What it calls those that an earlier loop of the same run was at: they are open, whatever it was told."""

    @abstractmethod
    def tasks(self) -> list[Task]:
        """Give the open ones, in the order in which they are best begun.

        Raises:
            NothingOpen: there is none.
            ConfigurationError: it can't be read; says where.
        """

    def again(self, ref: str) -> Task:
        """Read one anew by what its source calls it, such as ``#69``; by then it may be closed.

        Raises:
            ConfigurationError: there is none, or it can't be read.
        """
        for task in self.tasks():
            if task.ref == ref:
                return task
        raise ConfigurationError(f"{ref}: its source has no such task that is open\n  next: look there")

    def begun(self, task: Task) -> None:
        """A loop has begun to work on it."""
        del task

    def done(self, task: Task, comment: str, *, close: bool) -> None:
        """It is done; `comment` says what came of it, for people; `close` it, too. What was said already isn't said
        again: who has comments looks first for one of its own with the same mark (`loop.tasks.back.mark_of`).

        Raises:
            BridgeError: it can't be said now; the caller tries again later.
        """
        del task, comment, close

    def failed(self, task: Task, comment: str) -> None:
        """It isn't done, and nobody works on it any more; the same of saying so."""
        del task, comment

    def comment(self, task: Task, comment: str) -> None:
        """Somebody works on it, and says how it goes; the same of saying so."""
        del task, comment

    def lasting(self, name: str) -> str:
        """What opens it again, whatever an agent changes in the project meanwhile, such as ``github:me/app``.

        Args:
            name: by which it was opened, such as ``github:``.
        """
        return name

    def closing(self, task: Task) -> str:
        """The words by which the merge of a pull request closes it, such as ``Fixes #69``; '': nothing does."""
        del task
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which of a tracker's tasks are asked for; what isn't given doesn't matter.

    Attributes:
        label: they have all of these. milestone: theirs. search: words, as the tracker searches. assignee: theirs.
        limit: so many are read at most.
    """

    label: tuple[str, ...] = ()
    milestone: str | None = None
    search: str | None = None
    assignee: str | None = None
    limit: int | None = None

    def given(self) -> list[str]:
        """The names of those that are given."""
        return [each.name for each in fields(self) if getattr(self, each.name) not in (None, ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a source.

    Attributes:
        project: the project's folder.
        argument: what stands behind its name and a colon.
        plan: how the plans of the project's kind of setup are read.
        by_heading: all open boxes below one heading are one task.
        filters: which of them.
        tell: is called with what people should know and no command fails for, such as a need that is left out.
    """

    project: Path
    argument: str = ""
    plan: PlanKind | None = None
    by_heading: bool = False
    filters: Filters = Filters()
    tell: Callable[[str], None] = lambda _: None

    def tell_all(self, notes: Sequence[str]) -> None:
        """Call `tell` with the first of many notes, and with how many more there are."""
        for each in notes[:_MOST_NOTES]:
            self.tell(each)
        if (more := len(notes) - _MOST_NOTES) > 0:
            self.tell(f"... and {more:,} more like these")

    def file(self, default: str = "") -> Path:
        """The file that the argument names, from the project's folder, unless it is absolute.

        Raises:
            ConfigurationError: it names none.
        """
        if not (name := self.argument or default):
            raise ConfigurationError("a file is missing behind the colon\n  next: such as plan:fix_plan.md")
        return self.project / name

    def text(self, path: Path) -> str:
        """Read such a file, in whatever Unicode it is.

        Raises:
            ConfigurationError: there is none.
        """
        if path.is_dir():
            raise ConfigurationError(f"{path}: it is a folder, expected a file with tasks\n  next: name one in it")
        if (text := text_of(path, root=ANYWHERE)) is None:
            raise ConfigurationError(f"{path}: there is no such file with tasks\n  next: correct its name")
        return text


def text_of(path: Path, *, root: str) -> str | None:
    """What is in a file of tasks, without a mark of its encoding; None: there is none."""
    with usable(path), suppress(FileNotFoundError, NotADirectoryError):
        data = read_bytes(path, root=root)
        _, codec = decoded(data)
        return data.decode(codec, "replace").removeprefix("\ufeff")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A kind of source.

    Attributes:
        name: in front of the colon. title: for people.
        takes: what stands behind it, as people call it.
        open: gives one; raises ConfigurationError.
        filters: names of the `Filters` that it knows.
    """

    name: str
    title: str
    takes: str
    open: Callable[[Asked], Source]
    filters: frozenset[str] = frozenset()


def check(tasks: Sequence[Task], locations: Mapping[str, str] = {}) -> list[Task]:
    """Refuse what can't be done in any order.

    Args:
        locations: where each was written, for messages.

    Raises:
        ConfigurationError: an id that can't name a branch, or comes twice; ``needs`` that name no task, or go round
            in a circle.
    """
    known = {task.id for task in tasks}
    problems = [f"id {name!r} {BAD_ID}" for name in known if not ID.fullmatch(name)]
    lower = Counter(task.id.lower() for task in tasks)  # a file system may not tell them apart
    for task in tasks:
        where = f"{locations[task.id]}: " if task.id in locations else ""
        if lower[task.id.lower()] > 1:
            problems.append(f"{where}id {task.id!r} comes twice")
        for need in task.needs:
            if need not in known:
                hint = likely(need, known) if len(problems) < _MOST_TOLD else ""
                problems.append(f"{where}{task.id} needs {need!r}, which is no task{hint}")
    if not problems and (path := circle(tasks)):
        problems.append(f"these tasks wait for each other: {' → '.join(path)}")
    if problems:
        shown = list(dict.fromkeys(problems))
        more = [f"and {len(shown) - _MOST_TOLD} more"] if len(shown) > _MOST_TOLD else []
        raise ConfigurationError("\n  ".join(shown[:_MOST_TOLD] + more))
    return list(tasks)


def circle(tasks: Iterable[Task]) -> list[str]:
    """Give ids along a circle of needs, from the one that comes first of them; empty without one."""
    needs = {task.id: task.needs for task in tasks}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        path: list[str] = error.args[1][:0:-1]
        first = path.index(next(name for name in needs if name in path))
        return [*path[first:], *path[: first + 1]]
    return []


def one_line(text: str) -> str:
    """A title: one line that is not too long, and steers no terminal."""
    return wording.one_line(text, _LONGEST_TITLE)


def new_id(number: int, title: str, count: int) -> str:
    """Name a task by its number and the words of its title that a branch may have."""
    return named_id(f"{number:0{max(2, len(str(count)))}}", title)


def named_id(name: str, title: str) -> str:
    """Name a task by what its source calls it, such as ``T012``, and words of its title; '' where neither has a
    letter or digit that a branch may have.
    """
    name = re.sub(r"(?!(?<=\d)\.(?=\d))[^A-Za-z0-9]+", "-", name).strip("-")[:30]
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in words:
        if len(slug) + len(word) > 28:
            break
        slug += f"-{word}"
    return f"{name}{slug}".lstrip("-")
