"""The implementation plan: a Markdown file with sections and tasks. Pure: text in, the slices for prompts out.

A task is a heading ``### Task …``, a section one of level two. Below a task's heading, ``Status:`` says planned,
blocked or complete, and ``Depends on:`` names other tasks; both may be bold. What the slices look like is what the
setup's own filter script prints.
"""

from __future__ import annotations

import re
from dataclasses import field
from itertools import takewhile
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.setups import setup_kind

if TYPE_CHECKING:
    from collections.abc import Collection

_TASK = "### Task "
_STATUS = re.compile(r"\*{0,2}Status:\*{0,2}(.*)", re.DOTALL)
_DEPENDS = re.compile(r"\*{0,2}Depends on:")
_NEEDS = re.compile(r"[ \t]*(?:[-*+][ \t]+)?[*_]{0,2}Depends on[*_]{0,2}:", re.IGNORECASE)
"""The same as people write it; what the setup's own filter shows stays as it is."""
_NUMBER = re.compile(r"Task ([0-9]+(?:\.[0-9]+)*)", re.ASCII)

PLAN_FILE = "implementation_plan.md"

_MANY = 30  # with more open tasks than that only the next sections are shown
_SHOWN = 3


@dataclass(slots=True)
class PlannedTask:
    heading: str
    line: int  # from 1
    text: list[str] = field(default_factory=list)  # all its lines
    status: str | None = None
    depends: str | None = None  # its line as it stands

    @property
    def numbers(self) -> list[str]:
        return _NUMBER.findall(self.heading)[:1]

    @property
    def state(self) -> str:
        return self.status or "planned"

    @property
    def complete(self) -> bool:
        return self.state == "complete"

    @property
    def needs(self) -> list[str]:
        line = self.depends or next(filter(_NEEDS.match, self.text), "")
        return _NUMBER.findall(line)

    def summary(self) -> list[str]:
        return [self.heading, f"**Status:** {self.state}", *([self.depends] if self.depends else [])]


@dataclass(slots=True)
class Section:
    """A heading of level two with its tasks; tasks before any section have one without a heading."""

    heading: str | None
    tasks: list[PlannedTask] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return any(not task.complete for task in self.tasks)


@dataclass(slots=True)
class ImplementationPlan:
    sections: list[Section]

    @property
    def tasks(self) -> list[PlannedTask]:
        return [task for section in self.sections for task in section.tasks]

    @property
    def done(self) -> int:
        return sum(task.complete for task in self.tasks)

    @property
    def finished(self) -> set[str]:
        return {number for task in self.tasks if task.complete for number in task.numbers}

    @property
    def complete(self) -> bool:
        return bool(self.tasks) and not any(section.open for section in self.sections)


@dataclass(frozen=True, slots=True)
class Selection:
    """The next task, and what lies around it: both as text without a last newline."""

    task: str
    adjacent: str


def parse(text: str) -> ImplementationPlan:
    sections, task = [Section(None)], None
    for number, line in enumerate(_lines(text), 1):
        if line.startswith(_TASK):
            task = PlannedTask(line, number)
            sections[-1].tasks.append(task)
        elif line.startswith("## "):
            sections.append(Section(line))
            task = None
        if task is None:
            continue
        task.text.append(line)
        if task.status is None and (found := _STATUS.match(line)):
            task.status = _first_word(found[1])
        elif task.depends is None and _DEPENDS.match(line):
            task.depends = line
    return ImplementationPlan([section for section in sections if section.heading is not None or section.tasks])


def header(text: str) -> str:
    """What all tasks share: every line before the first one."""
    return _joined([*takewhile(lambda line: not line.startswith(_TASK), _lines(text))])


def overview(plan: ImplementationPlan) -> str:
    """The plan in short: finished sections on one line each, open ones with a line or three per task."""
    cut = sum(not task.complete for task in plan.tasks) > _MANY
    shown = hidden = planned = 0
    lines: list[str] = []
    for section in plan.sections:
        if not section.open:
            total = len(section.tasks)
            done = f" ({total}/{total} complete)" if total else ""
            lines.append((section.heading or "") + done)
        elif cut and shown == _SHOWN:
            hidden += 1
            planned += sum(task.state == "planned" for task in section.tasks)
        else:
            shown += 1
            lines += [] if section.heading is None else [section.heading]
            for task in section.tasks:
                lines += (f"  {task.line + number}:{line}" for number, line in enumerate(task.summary()))
    if hidden:
        lines.append(f"(+{hidden} more sections with {planned} planned tasks)")
    return _joined(lines)


def select(plan: ImplementationPlan) -> Selection | None:
    """The first planned task, all of whose dependencies are done, in the earliest section with open tasks.

    None when there is no such task; later sections are not looked at, they build on the earlier ones.
    """
    tasks, done = plan.tasks, plan.finished
    section = next((section for section in plan.sections if section.open), Section(None))
    for task in section.tasks:
        if task.state == "planned" and done.issuperset(task.needs):
            number = tasks.index(task)
            near = tasks[max(0, number - 2) : number] + tasks[number + 1 : number + 3]
            adjacent = "\n".join(line for other in near for line in other.summary())
            return Selection("\n".join(task.text).rstrip("\n"), adjacent)
    return None


def open_tasks(text: str) -> list[setup_kind.PlannedTask] | None:
    """Give each task that can be done without anybody's help, with what comes before it; None: there are no tasks.

    What is blocked can't be, nor what depends on that. Sections build on the earlier ones: a section follows when
    the one before it is complete, as for :func:`select`.
    """
    plan = parse(text)
    done = plan.finished
    found: dict[str, int] = {}
    given: list[setup_kind.PlannedTask] = []
    before: list[int] = []
    for section_number, section in enumerate(plan.sections):
        left = [task for task in section.tasks if not task.complete]
        chosen = [task for task in left if task.state == "planned"]
        while True:
            known = done | {*found} | {number for task in chosen for number in task.numbers}
            able = [task for task in chosen if known.issuperset(task.needs)]
            if len(able) == len(chosen):
                break
            chosen = able
        found |= {number: task.line for task in chosen for number in task.numbers}
        for task in chosen:
            needs = [found[number] for number in task.needs if number not in done]
            given.append(
                setup_kind.PlannedTask(
                    line=task.line,
                    heading=task.heading,
                    text="\n".join(task.text).strip(),
                    needs=tuple(dict.fromkeys((*before, *needs))),
                    section=section_number,
                    section_heading=section.heading or "",
                )
            )
        if len(chosen) < len(left):
            break
        before = [task.line for task in chosen] or before
    return given if plan.tasks else None


def with_complete(text: str, headings: Collection[str]) -> tuple[str, list[str]]:
    """Return a plan in which the tasks with these headings are complete, and the headings that it doesn't have.

    >>> with_complete("### Task 1\\n**Status:** planned\\n### Task 2\\n", ["### Task 1", "### Task 3"])
    ('### Task 1\\n**Status:** complete\\n### Task 2\\n', ['### Task 3'])
    """
    lines, left = text.split("\n"), list(headings)
    for task in reversed(parse(text).tasks):
        if task.heading not in left:
            continue
        left.remove(task.heading)
        at = next((number for number, line in enumerate(task.text) if _STATUS.match(line)), None)
        if at is None:
            lines.insert(task.line, "**Status:** complete")
        elif not task.complete:
            old = lines[task.line - 1 + at]
            value = _STATUS.match(old)
            end = "\r" if old.endswith("\r") else ""
            lines[task.line - 1 + at] = f"{old[: value.start(1) if value else 0]} complete{end}"
    return "\n".join(lines), left


def plan_type(text: str) -> str:
    """The value of the first line with ``Plan Type:``; empty without one."""
    return _value(text, "Plan Type:")


def plan_command(text: str) -> str:
    """The value of the first line with ``Plan Command:``: what makes the plan anew; empty without one."""
    return _value(text, "Plan Command:")


@dataclass(frozen=True, slots=True)
class Slices:
    values: dict[str, str] = field(default_factory=dict)  # variable to text, for the template
    missing: bool = False  # there is no plan
    complete: bool = False  # there are tasks, and all are done
    waiting: tuple[str, ...] = ()  # headings of the open tasks, when none of them can be started


SLICES = ("PLAN_HEADER", "TASK_OVERVIEW", "SELECTED_TASK", "ADJACENT_CONTEXT")
"""The variables that hold them."""


def slices(text: str, *, process: bool, strict: bool) -> Slices:
    """Cut the plan for the next iteration.

    Prompts of a plan of the type ``process`` hand out one task each. Strict: only such plans have a selected task,
    and having none is nothing special.
    """
    plan = parse(text)
    values = dict.fromkeys(SLICES, "") | {
        "PLAN_HEADER": header(text).rstrip("\n"),
        "TASK_OVERVIEW": overview(plan).rstrip("\n") if plan.tasks else "",
    }
    if not plan.tasks or (strict and not process):
        return Slices(values)
    chosen = select(plan)
    if chosen is not None:
        values |= {"SELECTED_TASK": chosen.task, "ADJACENT_CONTEXT": chosen.adjacent}
    elif process and not strict:
        waiting = tuple(task.heading.removeprefix("### ") for task in plan.tasks if not task.complete)
        return Slices(values, complete=plan.complete, waiting=waiting)
    return Slices(values)


def _value(text: str, key: str) -> str:
    line = next((line for line in _lines(text) if key in line), "")
    return line.partition(key)[2].replace("*", "").replace("`", "").strip()


def _first_word(text: str) -> str | None:
    words = text.replace("*", " ").replace("`", " ").split()
    return words[0] if words else None


def _lines(text: str) -> list[str]:
    """Lines as bash reads them: only a newline ends one; a carriage return before it is no part of a word."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _joined(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)
