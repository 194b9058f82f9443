"""Tasks out of a plan's open boxes, and a plan with some of them done. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import plan_items, unescaped, with_only, with_ticks
from bridge.loop.tasks.task import NothingOpen, Task, check, new_id, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from bridge.loop.engine.plan import PlanItem
    from bridge.loop.setups.setup_kind import PlanKind, PlannedTask


def from_plan(
    text: str, name: str, *, by_heading: bool = False, wide: bool = False, aside: Collection[int] = ()
) -> list[Task]:
    """Read the open boxes of a plan.

    Args:
        name: of its file, for messages.
        by_heading: all open boxes below one heading are one task.
        wide: boxes are those of Wiggum mode.
        aside: lines, from 1, whose boxes are no tasks.

    Raises:
        ConfigurationError: no box is open.
    """
    items = [each for each in plan_items(text, wide=wide) if each.boxes and each.line not in aside]
    if not items:
        raise NothingOpen(f"{name}: no box is open (a line such as `- [ ] write the parser`)")
    groups: list[list[PlanItem]] = []
    for item in items:
        if by_heading and groups and groups[-1][0].heading == item.heading:
            groups[-1].append(item)
        else:
            groups.append([item])
    tasks = []
    for number, group in enumerate(groups, 1):
        title = unescaped((group[0].heading if by_heading else "") or group[0].title)
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
            return from_planned(given, name, by_heading=by_heading)
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
            others = with_only(text, (), wide=self.plan.wide).rstrip() if self.plan.asks == "script" else ""
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


def from_planned(given: Sequence[PlannedTask], name: str, *, by_heading: bool = False) -> list[Task]:
    """Tasks that depend on each other; those that can be started."""
    if not given:
        raise NothingOpen(f"{name}: no task can be started: all are complete, or wait for one that is blocked")
    if unknown := [each for task in given for each in task.unknown]:
        raise ConfigurationError("\n  ".join([*unknown[:20], "next: correct its needs, or take them out"]))
    groups: dict[int, list[PlannedTask]] = {}
    for number, task in enumerate(given):
        groups.setdefault(task.section if by_heading else number, []).append(task)
    group_of = {task.line: key for key, tasks in groups.items() for task in tasks}
    titles = {
        key: re.sub(r"\A#{2,6}[ \t]+", "", (by_heading and tasks[0].section_heading) or tasks[0].heading)
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
