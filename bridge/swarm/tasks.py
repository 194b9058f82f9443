"""What a swarm is to do: tasks out of a plan, lines of text, or YAML; and a plan with some of it done. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError
from bridge.loop.plan import plan_items, with_only, with_ticks
from bridge.resources import likely

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from bridge.loop.plan import PlanItem
    from bridge.setups.model import PlanKind, PlannedTask

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,63}")
_BAD_ID = "can't name a branch: letters, digits, `.`, `_` and `-`, at most 64"
_LONGEST_TITLE = 100
_KEYS = ("id", "prompt", "title", "needs")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: what one loop is to do.

    Attributes:
        id: its name in branches, folders and ``needs``: letters, digits, ``.``, ``_`` and ``-``.
        title: one line for people.
        prompt: what the agent is told.
        needs: ids of tasks that have to be merged before it begins.
        boxes: texts of the plan's boxes that its merge ticks.
    """

    id: str
    title: str
    prompt: str
    needs: tuple[str, ...] = ()
    boxes: tuple[str, ...] = ()


def from_plan(
    text: str, name: str, *, by_heading: bool = False, wide: bool = False, aside: Collection[int] = ()
) -> list[Task]:
    """Read the open boxes of a plan.

    Args:
        text: of the plan.
        name: of its file, for messages.
        by_heading: all open boxes below one heading are one task.
        wide: boxes are those of Wiggum mode.
        aside: lines, from 1, whose boxes are no tasks.

    Raises:
        ConfigurationError: no box is open.
    """
    items = [each for each in plan_items(text, wide=wide) if each.boxes and each.line not in aside]
    if not items:
        raise ConfigurationError(f"{name}: no box is open (a line such as `- [ ] write the parser`)")
    groups: list[list[PlanItem]] = []
    for item in items:
        if by_heading and groups and groups[-1][0].heading == item.heading:
            groups[-1].append(item)
        else:
            groups.append([item])
    tasks = []
    for number, group in enumerate(groups, 1):
        title = (group[0].heading if by_heading else "") or group[0].title
        boxes = tuple(box for item in group for box in item.boxes)
        text = "\n".join(item.text for item in group)
        tasks.append(Task(new_id(number, title, len(groups)), one_line(title), text, boxes=boxes))
    return tasks


@dataclass(frozen=True, slots=True)
class PlanFormat:
    """What a swarm does with the plan of a kind of setup, in a project's folder."""

    plan: PlanKind
    folder: Path

    def tasks(self, text: str, name: str, *, by_heading: bool = False) -> list[Task]:
        """Read its open tasks; the arguments as for `from_plan`."""
        if self.plan.planned is not None and (given := self.plan.planned(text, name)) is not None:
            return _from_planned(given, name, by_heading=by_heading)
        aside = self.plan.aside(self.folder, text) if self.plan.aside is not None else ()
        return from_plan(text, name, by_heading=by_heading, wide=self.plan.wide, aside=aside)

    def only(self, text: str, task: Task, before: str) -> str:
        """The plan for a task's own loop, without the tasks of others; one of another form that can't be written
        stays whole.

        Args:
            text: of the plan; '' where there is none.
            before: what an earlier attempt came to, or ''.
        """
        boxes = self._has_boxes(text)
        if self.plan.alone is not None and not (boxes and text.strip()):
            return self.plan.alone(text, task.boxes, task.prompt, before)
        if not boxes:
            return text
        if task.boxes:
            text = with_only(text, task.boxes, wide=self.plan.wide)
        else:
            first, *rest = task.prompt.splitlines()
            box = f"- [ ] {first}\n" + "".join(f"  {line}".rstrip() + "\n" for line in rest)
            # A prompt of the setup's own may ask for what else a plan says.
            others = with_only(text, (), wide=self.plan.wide).rstrip() if self.plan.asks == "prompt" else ""
            text = f"{others or '# Fix plan'}\n\n{box}"
        return f"{text.rstrip()}\n\n# What came before\n\n{before}\n" if before else text

    def done(self, text: str, boxes: Collection[str]) -> tuple[str, list[str]]:
        """The plan with what a task's merge has done, and what of that it doesn't have."""
        if self.plan.ticked is not None and not self._has_boxes(text):
            return self.plan.ticked(text, boxes)
        return with_ticks(text, boxes, wide=self.plan.wide)

    def _has_boxes(self, text: str) -> bool:
        """Whether it is no plan of another form."""
        return self.plan.planned is None or self.plan.planned(text, "the plan") is None


def _from_planned(given: Sequence[PlannedTask], name: str, *, by_heading: bool) -> list[Task]:
    """Tasks that depend on each other; those that can be started."""
    if not given:
        raise ConfigurationError(
            f"{name}: no task can be started: all are complete, or wait for one that is blocked"
        )
    groups: dict[int, list[PlannedTask]] = {}
    for number, task in enumerate(given):
        groups.setdefault(task.section if by_heading else number, []).append(task)
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


# -- files -------------------------------------------------------------------------------------------


def from_lines(text: str, name: str) -> list[Task]:
    """Read a task from each line that isn't blank and doesn't begin with ``#``.

    Raises:
        ConfigurationError: there is none.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ConfigurationError(f"{name}: no task: each line that isn't blank or a comment (#) is one")
    return [Task(new_id(number, line, len(lines)), one_line(line), line) for number, line in enumerate(lines, 1)]


def from_yaml(text: str, name: str) -> list[Task]:
    """Read a list of mappings with ``prompt``, and perhaps ``id``, ``title`` and ``needs``.

    Raises:
        ConfigurationError: what can't be used, with file and line; all of it at once.
    """
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark is not None else name
        raise ConfigurationError(f"{where}: no YAML: {getattr(error, 'problem', None) or error}") from None
    entries = found.get("tasks") if isinstance(found, dict) else found
    nodes: Any = root
    if isinstance(root, yaml.MappingNode):
        nodes = next((value for key, value in root.value if key.value == "tasks"), root)
    if not isinstance(entries, list) or not entries:
        raise ConfigurationError(f"{name}: expected a list of tasks, such as `- {{id: parser, prompt: ...}}`")
    lines = [node.start_mark.line + 1 for node in nodes.value]
    problems: list[str] = []
    tasks = [
        task
        for number, (entry, line) in enumerate(zip(entries, lines, strict=True), 1)
        if (task := _from_entry(entry, f"{name}:{line}", number, len(entries), problems)) is not None
    ]
    if problems:
        raise ConfigurationError("\n  ".join(problems))
    return check(tasks, {task.id: f"{name}:{line}" for task, line in zip(tasks, lines, strict=True)})


def _from_entry(entry: Any, where: str, number: int, count: int, problems: list[str]) -> Task | None:
    if isinstance(entry, str):
        entry = {"prompt": entry}
    if not isinstance(entry, dict):
        problems.append(f"{where}: a task is a mapping with `prompt`, or a text")
        return None
    problems += [
        f"{where}: unknown key {key!r}{likely(str(key), _KEYS)}; known: {', '.join(_KEYS)}"
        for key in entry
        if key not in _KEYS
    ]
    prompt, needs = entry.get("prompt"), entry.get("needs") or []
    if not isinstance(prompt, str) or not prompt.strip():
        problems.append(f"{where}: `prompt` is missing or empty")
        return None
    needs = [needs] if isinstance(needs, str) else needs
    if not isinstance(needs, list):
        problems.append(f"{where}: `needs` is a list of ids")
        return None
    title = str(entry.get("title") or prompt.strip().splitlines()[0])
    named = entry.get("id")
    task_id = new_id(number, title, count) if named is None else str(named)
    if not _ID.fullmatch(task_id):
        problems.append(f"{where}: id {task_id!r} {_BAD_ID}")
        return None
    return Task(task_id, one_line(title), prompt.strip(), tuple(map(str, needs)))


def check(tasks: Sequence[Task], locations: Mapping[str, str] = {}) -> list[Task]:
    """Refuse what can't be done in any order.

    Args:
        tasks: all of them.
        locations: where each was written, for messages.

    Raises:
        ConfigurationError: an id that can't name a branch, or comes twice; ``needs`` that name no task, or go round
            in a circle.
    """
    known = {task.id for task in tasks}
    problems = [f"id {name!r} {_BAD_ID}" for name in known if not _ID.fullmatch(name)]
    lower = [task.id.lower() for task in tasks]  # a file system may not tell them apart
    for task in tasks:
        where = f"{locations[task.id]}: " if task.id in locations else ""
        if lower.count(task.id.lower()) > 1:
            problems.append(f"{where}id {task.id!r} comes twice")
        problems += [
            f"{where}{task.id} needs {need!r}, which is no task{likely(need, known)}"
            for need in task.needs
            if need not in known
        ]
    if not problems and (circle := _circle(tasks)):
        problems.append(f"these tasks wait for each other: {' → '.join(circle)}")
    if problems:
        raise ConfigurationError("\n  ".join(dict.fromkeys(problems)))
    return list(tasks)


def _circle(tasks: Iterable[Task]) -> list[str]:
    """Give ids along a circle of needs; empty without one."""
    needs = {task.id: task.needs for task in tasks}
    left = dict(needs)
    while free := [name for name, wanted in left.items() if not any(each in left for each in wanted)]:
        for name in free:
            del left[name]
    if not left:
        return []
    path = [next(iter(left))]
    while (following := next(each for each in needs[path[-1]] if each in left)) not in path:
        path.append(following)
    return [*path[path.index(following) :], following]


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"


def new_id(number: int, title: str, count: int) -> str:
    """Name a task by its number and the words of its title that a branch may have."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in words:
        if len(slug) + len(word) > 28:
            break
        slug += f"-{word}"
    return f"{number:0{max(2, len(str(count)))}}{slug}"
