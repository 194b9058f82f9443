"""``status.json``: where the loop stands, for dashboards, ``doctor`` and ``status``; and ``progress.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from bridge import timestamps
from bridge.records import write_json

if TYPE_CHECKING:
    from bridge.setups.dot_ralph.folder import Folder

State = Literal["running", "halted", "stopped", "completed", "success", "graceful_exit", "paused", "error"]
"""What its readers (bmalph's dashboard, monitors) know; anything else is "corrupt" for them (trap T22)."""

_STATES = frozenset(get_args(State))
SPINNER = ("⠋", "⠙", "⠹", "⠸")


@dataclass(frozen=True, slots=True)
class Status:
    """What ``status.json`` says.

    Attributes:
        loop_count: the iteration, from 1; 0 before the first.
        calls_made_this_hour, max_calls_per_hour: calls that count in this clock hour, and how many may be.
        last_action: what the loop did last, in the original's words.
        status: one of :data:`State`.
        exit_reason: why the loop ended; ``""`` while it hasn't.
        next_reset: when calls are possible again, in seconds since the epoch; None: at the full hour.
    """

    loop_count: int
    calls_made_this_hour: int
    max_calls_per_hour: int
    last_action: str
    status: State
    exit_reason: str = ""
    next_reset: float | None = None


def write_status(folder: Folder, status: Status, now: float, **more: object) -> None:
    """Write ``status.json``; `more` are the keys that only one setup's has.

    Raises:
        ValueError: a status that readers don't know.
        ProjectUnusable: the system refuses.
    """
    if status.status not in _STATES:
        raise ValueError(f"{status.status!r} is none of {', '.join(sorted(_STATES))}")
    reset = timestamps.next_hour(now) if status.next_reset is None else status.next_reset
    record: dict[str, Any] = {
        "timestamp": timestamps.iso(now),
        "loop_count": status.loop_count,
        "calls_made_this_hour": status.calls_made_this_hour,
        "max_calls_per_hour": status.max_calls_per_hour,
        "last_action": status.last_action,
        "status": status.status,
        "exit_reason": status.exit_reason,
        "next_reset": timestamps.clock(reset),
        **more,
    }
    write_json(folder / "status.json", record)


def write_running(folder: Folder, *, poll: int, elapsed: float, last_line: str, now: float) -> None:
    """Write ``progress.json`` while a run lasts; valid JSON whatever the CLI prints (trap T10).

    Args:
        folder: the loop's folder.
        poll: how many times it was written in this run; turns the spinner.
        elapsed: seconds since the run began.
        last_line: the last line of the CLI's output; the first 80 bytes of it are shown.
        now: the time.
    """
    shown = last_line.encode("utf-8", "replace")[:80].decode("utf-8", "ignore")
    record = {
        "status": "executing",
        "indicator": SPINNER[poll % len(SPINNER)],
        "elapsed_seconds": int(elapsed),
        "last_output": shown,
        "timestamp": timestamps.local(now),
    }
    write_json(folder / "progress.json", record)


def write_finished(folder: Folder, *, succeeded: bool, now: float, outcome: str = "", **more: object) -> None:
    """Write ``progress.json`` at the end of a run; `outcome` is another word for it, `more` are further keys."""
    record = {"status": outcome or ("completed" if succeeded else "failed"), **more}
    write_json(folder / "progress.json", record | {"timestamp": timestamps.local(now)}, compact=True)


def exit_label(status: int) -> str:
    """Name an exit status as the original does.

    >>> exit_label(124), exit_label(7)
    ('timed out', 'error (exit 7)')
    """
    names = {
        0: "completed",
        1: "error",
        124: "timed out",
        130: "interrupted (SIGINT)",
        137: "killed (OOM or SIGKILL)",
        143: "terminated (SIGTERM)",
    }
    return names.get(status, f"error (exit {status})")
