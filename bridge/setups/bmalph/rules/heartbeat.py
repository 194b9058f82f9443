"""The write heartbeat: how long a run may go without writing a file. Arithmetic only."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = re.compile(r"[0-9]{1,9}")


class WriteTimeout(NamedTuple):
    """After how many seconds without a write a run is ended (0: never), and a warning for people or ''."""

    seconds: int
    warning: str = ""


def write_timeout(minutes: str | int, run_minutes: int, *, override_seconds: str = "") -> WriteTimeout:
    """Work out the effective WRITE_TIMEOUT_MINUTES.

    Args:
        minutes: as set; 0 turns it off, and so does what is no number, with a warning.
        run_minutes: CLAUDE_TIMEOUT_MINUTES; a write timeout that isn't shorter becomes two minutes less.
        override_seconds: ``_HEARTBEAT_TIMEOUT_SECS_OVERRIDE``, a hook for tests.
    """
    text = str(minutes).strip()
    if not _NUMBER.fullmatch(text):
        shown = f"WRITE_TIMEOUT_MINUTES is {text!r}, not a number of minutes: the write timeout is off"
        return WriteTimeout(0, shown)
    effective = int(text)
    if effective >= run_minutes:
        effective = run_minutes - 2
    if effective < 1:
        return WriteTimeout(0)
    if _NUMBER.fullmatch(override_seconds):
        return WriteTimeout(int(override_seconds))
    return WriteTimeout(effective * 60)
