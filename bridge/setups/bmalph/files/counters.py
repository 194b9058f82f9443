"""The small files: calls of this hour, exit signals, markers of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.setups.bmalph.files import stamps
from bridge.setups.bmalph.files.records import delete, read_number, read_object, read_text, write_json, write_text
from bridge.setups.bmalph.settings import ROLLING_WINDOW

if TYPE_CHECKING:
    from bridge.setups.bmalph.folder import Folder

__all__ = [
    "ExitSignals",
    "clear_exit_signals",
    "count_call",
    "read_calls",
    "read_diff_summary",
    "read_exit_signals",
    "read_line",
    "reset_calls",
    "write_diff_summary",
    "write_exit_signals",
    "write_line",
]

_SUMMARY = 144


@dataclass(frozen=True, slots=True)
class ExitSignals:
    """``.exit_signals``: numbers of the loops that gave each signal, the last five of each."""

    test_only_loops: tuple[int, ...] = ()
    done_signals: tuple[int, ...] = ()
    completion_indicators: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.test_only_loops or self.done_signals or self.completion_indicators)


def read_exit_signals(folder: Folder) -> ExitSignals:
    """Read ``.exit_signals``; what isn't to its format counts as none."""
    record = read_object(folder / ".exit_signals") or {}
    return ExitSignals(*(_numbers(record.get(name)) for name in ExitSignals.__slots__))


def _numbers(value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, list) else []
    return tuple(each for each in numbers if isinstance(each, int) and not isinstance(each, bool))[-ROLLING_WINDOW:]


def write_exit_signals(folder: Folder, signals: ExitSignals) -> None:
    """Write ``.exit_signals``, cut to the last five of each."""
    record = {name: list(getattr(signals, name))[-ROLLING_WINDOW:] for name in ExitSignals.__slots__}
    write_json(folder / ".exit_signals", record)


def clear_exit_signals(folder: Folder) -> None:
    """Write an empty ``.exit_signals``."""
    record: dict[str, list[int]] = {name: [] for name in ExitSignals.__slots__}
    write_json(folder / ".exit_signals", record, compact=True)


def read_calls(folder: Folder, now: float) -> int:
    """Return how many runs have succeeded in this clock hour."""
    if (read_text(folder / ".last_reset") or "").strip() != stamps.hour(now):
        return 0
    return read_number(folder / ".call_count") or 0


def reset_calls(folder: Folder, now: float) -> None:
    """Start the count of the clock hour at 0, unless it is that hour's already."""
    if (read_text(folder / ".last_reset") or "").strip() == stamps.hour(now):
        return
    # In this order: after a crash in between, the count is thrown away again.
    write_text(folder / ".call_count", "0\n")
    write_text(folder / ".last_reset", stamps.hour(now) + "\n")


def count_call(folder: Folder, now: float) -> int:
    """Count one successful run and return how many there are in this hour."""
    reset_calls(folder, now)
    calls = read_calls(folder, now) + 1
    write_text(folder / ".call_count", f"{calls}\n")
    return calls


def read_line(folder: Folder, name: str) -> str:
    """Return the only line of a small file (``.loop_start_sha``, ``.review_last_sha``), ``""`` without one."""
    return (read_text(folder / name) or "").split("\n", 1)[0].strip()


def write_line(folder: Folder, name: str, text: str | int) -> None:
    """Write a file of one line: ``.loop_start_sha``, ``.review_last_sha``, ``.last_output_length``."""
    write_text(folder / name, f"{text}\n")


def write_diff_summary(folder: Folder, changes: list[tuple[str, int, int]]) -> str:
    """Write ``.loop_diff_summary`` for the next loop's context, and return it.

    Args:
        folder: the loop's folder.
        changes: path, lines added, lines removed, each path once. None at all: the file goes.
    """
    if not changes:
        delete(folder / ".loop_diff_summary")
        return ""
    summary = "Changed: " + ", ".join(
        f"{' '.join(path.split())} (+{added}/-{gone})" for path, added, gone in changes
    )
    if len(summary) > _SUMMARY:
        summary = summary[:_SUMMARY] + "..."
    write_line(folder, ".loop_diff_summary", summary)
    return summary


def read_diff_summary(folder: Folder) -> str:
    """Return the summary of the loop before."""
    return read_line(folder, ".loop_diff_summary")
