"""The fix plan, a Markdown file whose checkboxes say what is done; and the context of a turn: the few sentences
that tell an agent where the loop stands. Pure."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection

    from bridge.loop.engine.state import LoopState

_BOX = lazy(
    r"^\ufeff?[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX]|[~/]?(?=\](?:\s|\Z)))\](?![\[(])[ \t]*(.*)$", re.MULTILINE
)
"""Open is one with nothing in it, too, and one that is begun: it would seem to be no task."""
WIDE_BOX = lazy(r"^\ufeff?[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)$", re.MULTILINE)
"""What Wiggum mode counts: any bullet, any number; not in code fences. The text may have blanks at its end."""
_CODE = (
    r"^\ufeff?(?P<indent>[ \t]*)(?:(?:[-*+]|\d+[.)])[ \t]+)?(?P<fence>`{3,}(?=[^`\n]*$)|~{3,}).*?"
    r"(?:^[ \t]*(?P=fence)[`~]*[ \t\r]*$|(?=^(?!(?P=indent))[ \t]*[^\s])"
)
"""A code block; one that nobody closes ends with the item of a list that it is in."""
FENCE = lazy(rf"{_CODE}|\Z)", re.MULTILINE | re.DOTALL)
"""Or with the text: all that may be code."""
_BLOCK = r"\n[ \t]*(?:\r?\n|(?:[-*+]|\d+[.)]|#{1,6})[ \t]|`{3}|~{3})"
_COMMENT = rf"^\ufeff?[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?<!--.*?-->|(?<![`\\])<!--(?:(?!{_BLOCK}).)*?-->"
"""One that begins in the middle of a line ends before the next paragraph, item or heading, or there is none."""
_EXAMPLE = lazy(rf"{_CODE})|{_COMMENT}", re.MULTILINE | re.DOTALL)
"""What shows or hides boxes: a code block, a comment. One that isn't closed hides nothing beside its item, or a
plan with open tasks would seem complete."""
_BEGUN = lazy(rf"{_CODE})|(?<!`)<!--", re.MULTILINE | re.DOTALL)


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
    boxes = [(_ticked(box), box[2].strip()) for box in _boxes(text, wide=False).values()]
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
        boxes: labels of the open boxes in it, its own first: their texts, and which one of these in the plan where
            several boxes say the same, such as ``run the tests (2)``.
        places: their lines, from 1.
        heading: the nearest heading above, without its signs; '' before the first.
    """

    line: int
    end: int
    title: str
    text: str
    ticked: bool
    boxes: tuple[str, ...]
    places: tuple[int, ...]
    heading: str


_HEADING = lazy(r"\ufeff?#{1,6}[ \t]+(.*)")


def plan_items(text: str, *, wide: bool = False) -> list[PlanItem]:
    """Give what a plan asks for, item by item. An open box below a ticked one is an item of its own.

    Args:
        wide: boxes are those of Wiggum mode.

    >>> [(each.title, each.line, each.end) for each in plan_items("- [ ] one\\n  - [ ] a\\n- [ ] two\\n")]
    [('one', 1, 2), ('two', 3, 3)]
    """
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    found_boxes = {text.count("\n", 0, box.start()): (box, label) for label, box in _boxes(text, wide=wide).items()}
    within = {
        line
        for hidden in _EXAMPLE.finditer(text)
        for line in range(
            text.count("\n", 0, hidden.start()) + 1, text.count("\n", 0, max(hidden.start(), hidden.end() - 1)) + 1
        )
    }
    items: list[PlanItem] = []
    heading = ""
    at = 0
    while at < len(lines):
        if found := _HEADING.match(lines[at]):
            heading = found[1].rstrip(" \t#")
        if at not in found_boxes:
            at += 1
            continue
        box, _ = found_boxes[at]
        end = at + 1 if _ticked(box) else _end_of_item(lines, at, within)
        own = lines[at:end]
        indent = _indent(own[0])
        inside = {line + 1: found_boxes[line] for line in range(at, end) if line in found_boxes}
        boxes = {line: label for line, (each, label) in inside.items() if not _ticked(each)}
        shown = "\n".join(line[min(indent, _indent(line)) :] for line in own)
        items.append(
            PlanItem(
                line=at + 1,
                end=end,
                title=box[2].strip(),
                text=shown,
                ticked=_ticked(box),
                boxes=tuple(boxes.values()),
                places=tuple(boxes),
                heading=heading,
            )
        )
        at = end
    return items


def _end_of_item(lines: list[str], at: int, within: Collection[int]) -> int:
    """Where an item ends; what it has of code and comments is whole, however it is indented."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        if not lines[number].strip():
            continue
        if number not in within and _indent(lines[number]) <= _indent(lines[at]):
            break
        end = number + 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def without_examples(text: str) -> str:
    """The same text with NULs in place of what is code or a comment; lines stay where they are."""
    return _EXAMPLE.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)


def escaped(text: str) -> str:
    """A plan whose words begin no comment: outside of code each that would has a backslash, as Markdown has it."""
    return _BEGUN.sub(lambda found: rf"\{found[0]}" if found[0] == "<!--" else found[0], text)


def unescaped(words: str) -> str:
    """Words of a plan as `escaped` was given them."""
    return words.replace(r"\<!--", "<!--")


def _boxes(text: str, *, wide: bool) -> dict[str, re.Match[str]]:
    """The boxes of a plan by their labels; examples in code and what a comment hides have none."""
    shown = without_examples(text)
    found: dict[str, re.Match[str]] = {}
    for box in (WIDE_BOX if wide else _BOX).finditer(shown):
        words = label = box[2].strip()
        again = 1
        while label in found:
            again += 1
            label = f"{words} ({again})"
        found[label] = box
    return found


def _ticked(box: re.Match[str]) -> bool:
    return box[1] in ("x", "X")


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
    """Tick the boxes with these labels; one that is ticked already stays so.

    Returns:
        The plan, and the labels that it doesn't have.

    >>> with_ticks("- [ ] one\\n- [ ] two\\n- [ ] two\\n", ["one", "two (2)", "three"])
    ('- [x] one\\n- [ ] two\\n- [x] two\\n', ['three'])
    """
    known = _boxes(text, wide=wide)
    ticked, left = [], []
    for label in boxes:
        # Where people have taken away one of the same words that was done, the last one is meant.
        words = re.sub(r" \(\d+\)\Z", "", label)
        same = [each for each in known.values() if each[2].strip() == words]
        box = known.get(label) or (same[-1] if same else None)
        if box is None:
            left.append(label)
        elif not _ticked(box):
            ticked.append(box.span(1))
    for start, end in sorted(ticked, reverse=True):
        text = f"{text[:start]}x{text[end:]}"
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
