"""Output that is too long to be passed on whole: its head, its tail, and a file with everything."""

from __future__ import annotations

import os
import tempfile
from typing import NamedTuple

__all__ = ["HEAD", "LIMIT", "TAIL", "Shortened", "shorten", "spill"]

LIMIT = 15_000
"""Longest output, in characters, that is passed on whole by the command line."""
HEAD, TAIL = 1_000, 2_000
_SLACK = 200


class Shortened(NamedTuple):
    """head and tail of a text, and how many characters lie between them."""

    head: str
    tail: str
    left_out: int

    def text(self, where: str) -> str:
        """Both, with a line between them that says what is missing and where it is."""
        gap = f"[{self.left_out} characters left out{f'; everything is in {where}' if where else ''}]"
        return f"{self.head.rstrip()}\n\n{gap}\n\n{self.tail.lstrip()}"


def shorten(text: str, *, limit: int = LIMIT) -> Shortened | None:
    """Cut `text` at line ends near HEAD and TAIL characters; None when it isn't longer than `limit`."""
    if len(text) <= limit:
        return None
    head = _near(text, min(HEAD, limit // 3))
    tail = _near(text, len(text) - min(TAIL, limit // 2))
    return Shortened(text[:head], text[tail:], tail - head)


def _near(text: str, position: int) -> int:
    """The line end that is closest to `position`, as far as there is one nearby."""
    before = text.rfind("\n", max(position - _SLACK, 0), position)
    after = text.find("\n", position, position + _SLACK)
    near = [each + 1 for each in (before, after) if each >= 0]
    return min(near, key=lambda each: abs(each - position), default=position)


def spill(text: str, *, folder: str | None = None) -> str:
    """Write `text` to a file that only this user may read; returns its path. Raises OSError."""
    place = os.path.join(folder or tempfile.gettempdir(), f"ralph-bridge-output-{os.getuid()}")
    os.makedirs(place, mode=0o700, exist_ok=True)
    status = os.lstat(place)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        place = tempfile.mkdtemp(prefix="ralph-bridge-output-")  # somebody else's, or open to others
    descriptor, path = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=place)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    return path
