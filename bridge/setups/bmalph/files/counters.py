"""The small files: calls of this hour, exit signals, markers of one run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bridge import timestamps
from bridge.records import read_text, write_json, write_text
from bridge.setups.bmalph.rules import calls
from bridge.setups.bmalph.rules.exits import ExitSignals, read_signals, write_signals

if TYPE_CHECKING:
    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.rules.calls import Calls

__all__ = [
    "calls_made",
    "clear_exit_signals",
    "read_calls",
    "read_diff_summary",
    "read_exit_signals",
    "read_line",
    "reset_calls",
    "write_exit_signals",
    "write_line",
]


def read_exit_signals(folder: Folder) -> ExitSignals:
    """Read ``.exit_signals``; what isn't to its format counts as none."""
    return read_signals(read_text(folder / ".exit_signals"))


def write_exit_signals(folder: Folder, signals: ExitSignals) -> None:
    """Write ``.exit_signals``."""
    write_text(folder / ".exit_signals", write_signals(signals))


def clear_exit_signals(folder: Folder) -> None:
    """Write an empty ``.exit_signals``."""
    record: dict[str, list[int]] = {name: [] for name in ExitSignals.__slots__}
    write_json(folder / ".exit_signals", record, compact=True)


def read_calls(folder: Folder) -> Calls:
    """Read ``.call_count`` and ``.last_reset``; what isn't to their format counts as none."""
    return calls.read_calls(read_text(folder / ".call_count"), read_text(folder / ".last_reset"))


def calls_made(folder: Folder, now: float) -> int:
    """Return how many runs have succeeded in this clock hour."""
    return read_calls(folder).at(datetime.fromtimestamp(now)).count


def reset_calls(folder: Folder, now: float) -> None:
    """Start the count of the clock hour at 0, unless it is that hour's already."""
    if read_calls(folder).stamp == timestamps.hour(now):
        return
    # In this order: after a crash in between, the count is thrown away again.
    write_text(folder / ".call_count", "0\n")
    write_text(folder / ".last_reset", timestamps.hour(now) + "\n")


def read_line(folder: Folder, name: str) -> str:
    """Return the only line of a small file (``.loop_start_sha``, ``.review_last_sha``), ``""`` without one."""
    return (read_text(folder / name) or "").split("\n", 1)[0].strip()


def write_line(folder: Folder, name: str, text: str | int) -> None:
    """Write a file of one line: ``.loop_start_sha``, ``.review_last_sha``, ``.last_output_length``."""
    write_text(folder / name, f"{text}\n")


def read_diff_summary(folder: Folder) -> str:
    """Return the summary of the loop before."""
    return read_line(folder, ".loop_diff_summary")
