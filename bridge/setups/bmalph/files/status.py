"""``status.json``: where the loop stands, for dashboards, ``doctor`` and ``status``; and ``progress.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from bridge import timestamps
from bridge.records import read_object, write_json

if TYPE_CHECKING:
    from bridge.setups.bmalph.layout import Folder

__all__ = [
    "SPINNER",
    "State",
    "Status",
    "exit_label",
    "read_status",
    "write_finished",
    "write_running",
    "write_status",
]

State = Literal["running", "halted", "stopped", "completed", "success", "graceful_exit", "paused", "error"]
"""What its readers (bmalph's dashboard, monitors) know; anything else is "corrupt" for them (trap T22)."""

_STATES = frozenset(get_args(State))
SPINNER = ("⠋", "⠙", "⠹", "⠸")


@dataclass(frozen=True, slots=True)
class Status:
    """What ``status.json`` says.

    Attributes:
        loop_count: the iteration, from 1; 0 before the first.
        calls_made_this_hour, max_calls_per_hour: successful runs of this clock hour, and how many may be.
        last_action: what the loop did last, in the original's words.
        status: one of :data:`State`.
        exit_reason: why the loop ended; ``""`` while it hasn't.
        driver_exit_code: exit status of the CLI, where that is of interest.
        next_reset: when calls are possible again, in seconds since the epoch; None: at the full hour.
    """

    loop_count: int
    calls_made_this_hour: int
    max_calls_per_hour: int
    last_action: str
    status: State
    exit_reason: str = ""
    driver_exit_code: int | None = None
    next_reset: float | None = None


def write_status(folder: Folder, status: Status, now: float) -> None:
    """Write ``status.json``. Results of quality gates are merged in when there are any.

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
        "driver_exit_code": status.driver_exit_code,
    }
    gates = read_object(folder / ".quality_gate_results")
    if gates is not None:
        record["quality_gates"] = {name: gates.get(name) for name in ("overall_status", "mode")}
    write_json(folder / "status.json", record)


def read_status(folder: Folder) -> dict[str, Any] | None:
    """Return what ``status.json`` holds, whoever wrote it; None when it holds no object."""
    return read_object(folder / "status.json")


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


def write_finished(folder: Folder, *, succeeded: bool, now: float) -> None:
    """Write ``progress.json`` at the end of a run."""
    outcome = "completed" if succeeded else "failed"
    write_json(folder / "progress.json", {"status": outcome, "timestamp": timestamps.local(now)}, compact=True)


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
