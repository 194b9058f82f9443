"""Whether a program that prints nothing more has anything left to do, as far as the system shows that (Linux)."""

from __future__ import annotations

import os

from bridge.base.process.table import cpu_ticks, members

_IDLE = 2
"""Clock ticks that a runtime takes between two looks for nothing but its own housekeeping."""


class Rest:
    """Looks at a program and all that it has started.

    At rest are those that compute nothing, have no socket open, and were there when it first printed something: who
    waits for a model has a connection, who waits for a tool has started one.

    Args:
        leader: pid of the program, which leads a session.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._first: set[int] | None = None
        self._ticks: int | None = None

    def printed(self) -> None:
        """Note that it does something."""
        self._ticks = None
        if self._first is None:
            self._first = self._all()

    def look(self) -> bool:
        """Say whether it has been at rest since the look before; False the first time, and where nobody can see."""
        now = self._all()
        if self._first is None or not now <= self._first or not all(map(_talks_to_nobody, now)):
            self._ticks = None
            return False
        before, self._ticks = self._ticks, sum(map(cpu_ticks, now))
        return before is not None and self._ticks - before <= _IDLE

    def _all(self) -> set[int]:
        return {self._leader, *members(self._leader)}


def _talks_to_nobody(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return not any(os.readlink(f"{folder}/{each}").startswith("socket:") for each in os.listdir(folder))
    except OSError:  # another user's, one that has just ended, or no such folder at all
        return False
