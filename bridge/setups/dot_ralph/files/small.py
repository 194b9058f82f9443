"""The small files: calls of this hour, exit signals, markers of one run, what analysis and review leave."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bridge import timestamps
from bridge.records import delete, read_number, read_object, read_text, write_json, write_text
from bridge.setups.dot_ralph.exits import ExitSignals, read_signals, write_signals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.dot_ralph.folder import Folder


_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Calls:
    """``.call_count`` and ``.last_reset``: how many runs ended well within one clock hour.

    Attributes:
        count: so many so far.
        stamp: the hour, local time, ``YYYYMMDDHH``.
    """

    count: int
    stamp: str

    def at(self, now: datetime) -> Calls:
        """Give the calls of the hour that `now` (local) lies in: none yet in a new one."""
        stamp = timestamps.hour(now.timestamp())
        return self if self.stamp == stamp else Calls(0, stamp)

    def one_more(self) -> Calls:
        """Count a run that ended well."""
        return Calls(self.count + 1, self.stamp)

    def left(self, limit: int) -> int:
        """Say how many more are allowed: never below 0."""
        return max(0, limit - self.count)

    @classmethod
    def read(cls, count: str | None, stamp: str | None) -> Calls:
        """Read the texts of both files; what is no number is 0."""
        text = (count or "").strip()
        return cls(int(text) if _NUMBER.fullmatch(text) else 0, (stamp or "").strip())


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
    return Calls.read(read_text(folder / ".call_count"), read_text(folder / ".last_reset"))


def write_calls(folder: Folder, made: Calls) -> None:
    """Write both files."""
    write_text(folder / ".call_count", f"{made.count}\n")
    write_text(folder / ".last_reset", f"{made.stamp}\n")


def tokens_used(folder: Folder) -> int:
    """Return how many tokens were used in this clock hour (``.token_count``)."""
    return read_number(folder / ".token_count") or 0


def calls_made(folder: Folder, now: float) -> int:
    """Return how many runs have succeeded in this clock hour."""
    return read_calls(folder).at(datetime.fromtimestamp(now)).count


def reset_calls(folder: Folder, now: float) -> None:
    """Start the count of the clock hour at 0, unless it is that hour's already."""
    if read_calls(folder).stamp == timestamps.hour(now):
        return
    # In this order: after a crash in between, the count is thrown away again.
    write_text(folder / ".call_count", "0\n")
    if folder.shapes.tokens:
        write_text(folder / ".token_count", "0\n")
    write_text(folder / ".last_reset", timestamps.hour(now) + "\n")


def read_line(folder: Folder, name: str) -> str:
    """Return the only line of a small file (``.loop_diff_summary``, ``.review_last_sha``), ``""`` without one."""
    return (read_text(folder / name) or "").split("\n", 1)[0].strip()


def write_line(folder: Folder, name: str, text: str | int) -> None:
    """Write a file of one line: ``.loop_start_sha``, ``.review_last_sha``, ``.last_output_length``."""
    write_text(folder / name, f"{text}\n")


def read_analysis(folder: Folder) -> dict[str, Any]:
    """Return the field ``analysis`` of ``.response_analysis``; {} without one."""
    found = (read_object(folder / ".response_analysis") or {}).get("analysis")
    return found if isinstance(found, dict) else {}


def write_findings(folder: Folder, findings: Mapping[str, Any]) -> None:
    """Write ``.review_findings.json``: the object of the model as it is."""
    write_json(folder / ".review_findings.json", dict(findings))


def read_findings(folder: Folder) -> dict[str, Any]:
    """Return ``.review_findings.json``; {} without one."""
    return read_object(folder / ".review_findings.json") or {}


def delete_findings(folder: Folder) -> None:
    """Delete ``.review_findings.json``."""
    delete(folder / ".review_findings.json")
