"""``fix_plan.md``: its items, done and to do. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Items", "read_items"]

_BOX = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)[ \t\r]*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


class Items(NamedTuple):
    """The items of a plan, in order."""

    done: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All of them."""
        return len(self.done) + len(self.todo)

    @property
    def complete(self) -> bool:
        """True when there are items and all are ticked."""
        return bool(self.done) and not self.todo


def read_items(text: str) -> Items:
    """Read the checkboxes of a plan; examples in code fences are none.

    >>> read_items("- [x] one\\n* [ ] two\\n")
    Items(done=('one',), todo=('two',))
    """
    done: list[str] = []
    todo: list[str] = []
    for box in _BOX.finditer(_FENCE.sub("", text)):
        (todo if box[1] == " " else done).append(box[2])
    return Items(tuple(done), tuple(todo))
