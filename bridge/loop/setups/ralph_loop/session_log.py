"""The log of a session: its exact lines (pure), and the file that gets them."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bridge.base.files import beside, descriptor, usable
from bridge.loop.turn.logs import Cut, bound_logs, unused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridge.loop.setups.ralph_loop.policy import SessionState

_SESSION = re.compile(r"(session-\d{8}-\d{6}-[\w-]+)\.log(?:\.gz)?")

RULE = "=" * 80
NO_RESPONSE = "⚠ Agent produced no response — possible budget exhaustion or transient failure"
PLAN_DONE = "All tasks of the implementation plan are complete."


def begins(iteration: int, now: datetime, mode: str, prompt: str) -> list[str]:
    return [RULE, f"ITERATION {iteration}  {now:%Y-%m-%d %H:%M:%S}", f"mode: {mode}  prompt: {prompt}", RULE]


def done(iteration: int, seconds: int) -> list[str]:
    return [RULE, f"ITERATION {iteration} DONE in {seconds}s ----"]


def retry(number: int, most: int) -> str:
    return f"Agent failure, retry {number}/{most}..."


def limited(what: str, until: datetime) -> str:
    return f"API limit: {what}; waiting until {until:%Y-%m-%d %H:%M:%S}"


def waits(what: str, until: datetime) -> str:
    return f"{what}; waiting until {until:%Y-%m-%d %H:%M:%S}"


def timed_out(limit: str) -> str:
    return f"⚠ Agent ran for too long and was ended ({limit})"


def mute(seconds: float) -> str:
    return f"⚠ Agent printed nothing for too long and was ended ({seconds / 60:g} minutes)"


def replan(command: str) -> str:
    return f"Agent requested re-planning. Run '{command}' to regenerate the implementation plan."


def blocked(names: Sequence[str], command: str) -> list[str]:
    """Open tasks are left and none can be started; `command` makes another plan."""
    return [
        f"No task of the implementation plan can be started; open and waiting: {', '.join(names)}.",
        f"Run '{command}' to regenerate the plan, or edit it.",
    ]


def nudge() -> list[str]:
    lines = ["Process build complete.", "Run 'ralph align-specs' to bring the specs in line with what was built."]
    width = max(map(len, lines))
    edge = "+" + "-" * (width + 2) + "+"
    return [edge, *(f"| {line:<{width}} |" for line in lines), edge]


def summary(state: SessionState, *, iterations: int, seconds: int, reason: str, code: int) -> list[str]:
    return [
        RULE,
        "SESSION SUMMARY",
        RULE,
        f"Iterations: {iterations}  Successful: {state.successful}  Failed: {state.failed}",
        f"Duration: {seconds}s",
        *([line] if (line := state.context.line()) else []),
        f"Exit: {reason} (code {code})",
        RULE,
    ]


class SessionLog:
    """``logs/session-YYYYMMDD-HHMMSS-MODE.log``, a file of its own for each session.

    Hooks append to it, too (``log``), so nothing is held back here.

    Args:
        folder: the folder of logs; it exists.
        mode: the end of the name.
        now: local time; when that name is taken, the first free second after it.
        max_bytes: the middle of it is left out when it grows longer; 0: never.

    Raises:
        bridge.errors.ProjectUnusable: the folder can't be written to.
    """

    def __init__(self, folder: Path, mode: str, now: datetime, *, max_bytes: int = 0) -> None:
        self._line_open = False
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND
        with usable("the session's log"):
            while True:
                self.path = folder / f"session-{now:%Y%m%d-%H%M%S}-{mode}.log"
                try:
                    if unused(self.path):
                        self._file = descriptor(self.path, flags)
                        self._cut = Cut(beside(self._file), max_bytes, _left_out)
                        return
                except FileExistsError:
                    pass
                now += timedelta(seconds=1)

    def write(self, data: bytes) -> None:
        if data:
            self._line_open = not data.endswith(b"\n")
        with usable("the session's log"):
            while data:
                data = data[os.write(self._file, data) :]
            self._cut.bound()

    def line(self, text: str, *, apart: bool = True) -> None:
        """Append a line; `apart`: end one that is open first."""
        start = "\n" if apart and self._line_open else ""
        self.write(f"{start}{text}\n".encode("utf-8", "surrogateescape"))

    def close(self) -> None:
        os.close(self._file)
        self._cut.close()


def _left_out(missing: int) -> str:
    return f"[... {missing} bytes of this log are left out: it grew too long ...]"


def bound_sessions(folder: Path, max_bytes: int, say: Callable[[str], None]) -> None:
    bound_logs(folder, _SESSION, max_bytes, say)
