"""The fix plan, a Markdown file whose checkboxes say what is done; and the context of a turn: the few sentences
that tell an agent where the loop stands. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from bridge.loop.policy import LoopState

# What the existing controllers count: a dash, one blank, a box. `*` and numbered items are no tasks.
_BOX = re.compile(r"^[ \t]*- \[([ xX])\][ \t]*(.*)$", re.MULTILINE)
WIDE_BOX = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)$", re.MULTILINE)
"""What Wiggum mode counts: any bullet, any number; not in code fences. The text may have blanks at its end."""
FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Plan:
    """How far a plan has come: ticked boxes, all boxes, and the first open task's text.

    Attributes:
        open_optional: open boxes that nobody waits for, and that `total` is without.
        open: texts of the open ones, in the order in which they are taken; empty where nobody has listed them.
    """

    done: int
    total: int
    next_task: str | None
    open_optional: int = 0
    open: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def complete(self) -> bool:
        """True when there are tasks and all are ticked: a plan without boxes says nothing."""
        return 0 < self.total == self.done


def parse_plan(text: str) -> Plan:
    """Count the checkboxes in `text`.

    >>> parse_plan("# Plan\\n- [x] one\\n- [ ] two\\n")
    Plan(done=1, total=2, next_task='two', open_optional=0)
    """
    boxes = [(box[1] != " ", box[2].strip()) for box in _BOX.finditer(text)]
    return plan_of(boxes)


def plan_of(tasks: Collection[tuple[bool, str]]) -> Plan:
    """Say how far tasks have come: of each whether it is done, and its text."""
    left = tuple(text for done, text in tasks if not done)
    return Plan(len(tasks) - len(left), len(tasks), next(iter(left), None), open=left)


def without(plan: Plan | None, skipped: Collection[str]) -> Plan | None:
    """Give a plan without the open tasks that are to be left alone: nobody waits for them.

    >>> without(parse_plan("- [x] one\\n- [ ] two\\n- [ ] three\\n"), ["two"])
    Plan(done=1, total=2, next_task='three', open_optional=1)
    """
    if plan is None or not skipped:
        return plan
    left = tuple(text for text in plan.open if text not in skipped)
    aside = len(plan.open) - len(left)
    if not aside:
        return replace(plan, next_task=None) if plan.next_task in skipped else plan
    following = next(iter(left), None)
    return replace(
        plan, total=plan.total - aside, next_task=following, open_optional=plan.open_optional + aside, open=left
    )


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A box with what belongs to it: the lines below that are indented further, boxes among them.

    Attributes:
        line: of the box, from 1.
        end: the last of its lines.
        title: the text of the box.
        text: all its lines, without the indentation of the first.
        ticked: whether the box is.
        boxes: texts of the open boxes in it, its own first.
        heading: the nearest heading above, without its signs; '' before the first.
    """

    line: int
    end: int
    title: str
    text: str
    ticked: bool
    boxes: tuple[str, ...]
    heading: str


_HEADING = re.compile(r"#{1,6}[ \t]+(.*)")


def plan_items(text: str, *, wide: bool = False) -> list[PlanItem]:
    """Give what a plan asks for, item by item. An open box below a ticked one is an item of its own.

    Args:
        text: the plan.
        wide: boxes are those of Wiggum mode.

    >>> [(each.title, each.line, each.end) for each in plan_items("- [ ] one\\n  - [ ] a\\n- [ ] two\\n")]
    [('one', 1, 2), ('two', 3, 3)]
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    found_boxes = {text.count("\n", 0, box.start()): box for box in _boxes(text, wide=wide)}
    items: list[PlanItem] = []
    heading = ""
    at = 0
    while at < len(lines):
        if found := _HEADING.match(lines[at]):
            heading = found[1].rstrip(" \t#")
        box = found_boxes.get(at)
        if box is None:
            at += 1
            continue
        end = at + 1 if box[1] != " " else _end_of_item(lines, at)
        own = lines[at:end]
        indent = _indent(own[0])
        inside = [found_boxes[line] for line in range(at, end) if line in found_boxes]
        boxes = [each[2].strip() for each in inside if each[1] == " "]
        shown = "\n".join(line[min(indent, _indent(line)) :] for line in own)
        items.append(PlanItem(at + 1, end, box[2].strip(), shown, box[1] != " ", tuple(boxes), heading))
        at = end
    return items


def _end_of_item(lines: list[str], at: int) -> int:
    end = at + 1
    for number in range(at + 1, len(lines)):
        if not lines[number].strip():
            continue
        if _indent(lines[number]) <= _indent(lines[at]):
            break
        end = number + 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _boxes(text: str, *, wide: bool) -> list[re.Match[str]]:
    if not wide:
        return list(_BOX.finditer(text))
    return list(WIDE_BOX.finditer(FENCE.sub(lambda fence: re.sub(r"[^\n]", "\0", fence[0]), text)))


def with_only(text: str, boxes: Collection[str], *, wide: bool = False) -> str:
    """Give a plan without the boxes of other tasks, ticked or not.

    >>> with_only("# Plan\\n- [x] one\\n- [ ] two\\n  more\\n- [ ] three\\n", ["two"])
    '# Plan\\n- [ ] two\\n  more\\n'
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    gone = {
        number
        for item in plan_items(text, wide=wide)
        if item.ticked or not {*item.boxes} & {*boxes}
        for number in range(item.line, item.end + 1)
    }
    return "".join(line for number, line in enumerate(lines, 1) if number not in gone)


def with_ticks(text: str, boxes: Collection[str], *, wide: bool = False) -> tuple[str, list[str]]:
    """Tick the boxes with these texts, the first open one of each.

    Returns:
        The plan, and the texts for which there is no open box.

    >>> with_ticks("- [ ] one\\n- [ ] two\\n", ["two", "three"])
    ('- [ ] one\\n- [x] two\\n', ['three'])
    """
    left = list(boxes)
    ticked = []
    for box in _boxes(text, wide=wide):
        if box[1] == " " and box[2].strip() in left:
            left.remove(box[2].strip())
            ticked.append(box.start(1))
    for at in reversed(ticked):
        text = f"{text[:at]}x{text[at + 1 :]}"
    return text, left


# -- the context of a turn ----------------------------------------------------------------------------

CONTEXT_LIMIT = 500
_CONTINUED = "Session continued: you have read the specs already, go on where you stopped. "
_WROTE_NOTHING = (
    "The last run was ended because it only read and wrote no file: start with a change to a file now. "
)


def context_for(
    state: LoopState,
    plan: Plan | None,
    *,
    resumed: bool,
    warnings: tuple[str, ...] = (),
    failing: tuple[str, ...] = (),
    findings: str = "",
) -> str:
    """Write what an agent gets beside its prompt: sentences in a settled order, each ending in a blank.

    Args:
        state: where the loop stands.
        plan: the fix plan, or None.
        resumed: the agent's session goes on.
        warnings: sentences about the loop's own state.
        failing: sentences about checks that fail.
        findings: of a review; these and the advice behind a turn that wrote nothing don't count for the limit.
    """
    parts = [f"Loop #{state.iteration + 1}. "]
    if resumed:
        parts.append(_CONTINUED)
    if plan is not None and plan.total:
        parts.append(f"Remaining tasks: {plan.total - plan.done}. ")
        if plan.next_task:
            parts.append(f"Next: {plan.next_task.strip()[:100]}. ")
    parts += [f"{warning} " for warning in warnings]
    if previous := whole_characters(state.previous, 200):
        parts.append(f"Previous: {previous}. ")
    parts += [f"{failure} " for failure in failing]
    if changed := whole_characters(state.changed.strip(), 150):
        parts.append(f"{changed}. ")
    # A NUL can't be part of an argument, and cutting it out by bash is what it would come to.
    context = "".join(parts).replace("\0", "")[:CONTEXT_LIMIT]
    if findings:
        context += findings.rstrip() + " "
    return context + (_WROTE_NOTHING if state.wrote_nothing else "")


def whole_characters(text: str, limit: int) -> str:
    """Cut a text to so many bytes of UTF-8, without half a character at its end."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
