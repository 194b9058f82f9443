"""The stories of a bmalph plan: what is claimed held against what is ticked, and finished ones made short. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_DONE_STORY = re.compile(r"[ \t]*-[ \t]*\[[xX]\][ \t]*Story \d")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTE = re.compile(r"[ \t]+>")


class Tracking(NamedTuple):
    """How many boxes were ticked during a run, and whether that contradicts its claim."""

    delta: int
    mismatch: bool


def track(claimed: int, before: int, after: int) -> Tracking:
    """Compare a claim with the ticked boxes before and after a run.

    A loop is to do one task: more than one, claimed or ticked, is a mismatch too, as are boxes that were
    unticked.
    """
    delta = after - before
    return Tracking(delta, claimed != delta or claimed > 1 or delta > 1 or delta < 0)


def collapse_plan(text: str) -> str:
    """Drop the indented quote under each finished story; newlines of every kind stay as they are.

    >>> collapse_plan("- [x] Story 1.1: Login\\n  > As a user\\n- [ ] Story 1.2: Logout\\n  > As a user\\n")
    '- [x] Story 1.1: Login\\n- [ ] Story 1.2: Logout\\n  > As a user\\n'
    """
    kept = []
    dropping = False
    for line in _LINE.findall(text):
        if dropping and _QUOTE.match(line):
            continue
        dropping = _DONE_STORY.match(line) is not None
        kept.append(line)
    return "".join(kept)
