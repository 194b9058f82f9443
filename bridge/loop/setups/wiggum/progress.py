"""What the agent keeps about its work: ``fix_plan.md``, a list of items, and ``progress.txt``, a block per
iteration. Pure.

A block has one of two forms. The long one has a level-3 heading per section and bullets below it; the short one has
the text behind a colon in the heading's line. Agents mix them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bridge.base.records import dataclass
from bridge.loop.engine.plan import WIDE_BOX, without_examples

_HEADING = re.compile(
    r"^#{1,3}[ \t]*(?:\*\*)?Iteration[ \t]+#?(?P<number>\d{1,9})\b(?P<rest>[^\n]*)$", re.IGNORECASE | re.MULTILINE
)
_SECTION = re.compile(
    r"^(?:#{2,5}[ \t]*|[*_]{2}[ \t]*|[-*][ \t]+(?:\*\*)?)?(?P<name>Completed|Attempted|Next|Blockers)\b"
    r"[ \t]*(?:\([^)\n]*\))?(?:\*\*)?[ \t]*(?P<colon>:?)(?:\*\*)?[ \t]*(?P<rest>[^\n]*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_NONE = re.compile(r"(?:none|nothing|n/?a|-+)\.?", re.IGNORECASE)
_AUTO = "(auto)"
"""Marks the heading of a block that the host wrote."""


class Items(NamedTuple):
    done: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return len(self.done) + len(self.todo)

    @property
    def complete(self) -> bool:
        return bool(self.done) and not self.todo


def read_items(text: str) -> Items:
    """Read the checkboxes of a plan; examples in code, and what a comment hides, don't count.

    >>> read_items("- [x] one\\n* [ ] two\\n")
    Items(done=('one',), todo=('two',))
    """
    boxes = list(WIDE_BOX.finditer(without_examples(text)))
    return Items(
        tuple(each[2].rstrip(" \t\r") for each in boxes if each[1] != " "),
        tuple(each[2].rstrip(" \t\r") for each in boxes if each[1] == " "),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    iteration: int
    timestamp: str = ""  # '' without one
    completed: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    auto: bool = False  # the host wrote it


def read_blocks(text: str) -> tuple[Block, ...]:
    """Read the blocks of a file, in their order; what stands between them is ignored."""
    headings = list(_HEADING.finditer(text))
    ends = [*(each.start() for each in headings[1:]), len(text)]
    return tuple(_block(each, text[each.end() : end]) for each, end in zip(headings, ends, strict=False))


def count_blocks(text: str, iteration: int) -> int:
    return sum(int(each["number"]) == iteration for each in _HEADING.finditer(text))


def host_block(block: Block) -> str:
    """Write the block that stands in for one the agent didn't write, marked as such."""
    sections = (
        ("Completed", block.completed),
        ("Attempted (failed)", block.attempted),
        ("Next", block.next),
        ("Blockers", block.blockers),
    )
    parts = [f"## Iteration {block.iteration} - {block.timestamp} {_AUTO}\n"]
    for name, entries in sections:
        lines = [" ".join(each.split()) for each in entries]
        parts.append(f"### {name}\n" + "".join(f"- {line}\n" for line in lines or ["None"]))
    return "\n".join(parts)


def _block(heading: re.Match[str], body: str) -> Block:
    sections: dict[str, list[str]] = {"completed": [], "attempted": [], "next": [], "blockers": []}
    current: list[str] | None = None
    for line in body.splitlines():
        section = _SECTION.match(line)
        # A bullet "- Next to it …" is an entry; a section of the short form has its colon.
        if section and (line.startswith("#") or section["colon"]):
            current = sections[section["name"].lower()]
            _add(current, section["rest"])
        elif re.match(r"#{1,6}[ \t]", line):
            current = None
        elif current is not None:
            _add(current, line)
    time = _TIME.search(heading["rest"])
    return Block(
        iteration=int(heading["number"]),
        timestamp=time[0] if time else "",
        **{name: tuple(entries) for name, entries in sections.items()},
        auto=_AUTO in heading["rest"],
    )


def _add(entries: list[str], line: str) -> None:
    text = _BULLET.sub("", line).strip().removeprefix("[").removesuffix("]").strip()
    if text and not _NONE.fullmatch(text):
        entries.append(text)
