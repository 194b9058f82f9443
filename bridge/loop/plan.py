"""The fix plan: a Markdown file whose checkboxes say what is done. Pure: text in, facts out."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What the existing controllers count: a dash, one blank, a box. `*` and numbered items are no tasks.
_BOX = re.compile(r"^[ \t]*- \[([ xX])\][ \t]*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plan:
    """How far a plan has come: ticked boxes, all boxes, and the first open task's text."""

    done: int
    total: int
    next_task: str | None

    @property
    def complete(self) -> bool:
        """True when there are tasks and all are ticked: a plan without boxes says nothing."""
        return 0 < self.total == self.done


def parse_plan(text: str) -> Plan:
    """Count the checkboxes in `text`.

    >>> parse_plan("# Plan\\n- [x] one\\n- [ ] two\\n")
    Plan(done=1, total=2, next_task='two')
    """
    done = total = 0
    next_task = None
    for box in _BOX.finditer(text):
        total += 1
        if box[1] != " ":
            done += 1
        elif next_task is None:
            next_task = box[2].strip()
    return Plan(done, total, next_task)
