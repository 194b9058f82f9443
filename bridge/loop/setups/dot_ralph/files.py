"""What lies in ``.ralph``: how each file is read, by the loop and by those who only look."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.files import delete
from bridge.base.json_files import read_number, read_object, read_text, usable
from bridge.base.records import dataclass
from bridge.loop.engine.run_record import read_run
from bridge.loop.setups.dot_ralph.exits import ExitSignals, read_signals

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.folder import Folder

CALLS, HOUR, TOKENS = ".call_count", ".last_reset", ".token_count"
SIGNALS, ANALYSIS, FINDINGS = ".exit_signals", ".response_analysis", ".review_findings.json"
RUN_LOG = re.compile(
    r"claude_(?:output|stderr)_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(?:-\d+)?)(?:_stream)?\.log(?:\.gz)?"
)


_NUMBER = re.compile(r"[0-9]{1,9}")


# -- calls, signals, what the last turn left -----------------------------------------------------------


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


def read_calls(folder: Folder) -> Calls:
    return Calls.read(read_text(folder / CALLS), read_text(folder / HOUR))


def calls_made(folder: Folder, now: float) -> int:
    return read_calls(folder).at(datetime.fromtimestamp(now)).count


def tokens_used(folder: Folder, now: float) -> int:
    same = read_calls(folder).stamp == timestamps.hour(now)
    return (read_number(folder / TOKENS) or 0) if same else 0


def read_exit_signals(folder: Folder) -> ExitSignals:
    return read_signals(read_text(folder / SIGNALS))


def read_line(folder: Folder, name: str) -> str:
    """Return the only line of a small file (``.loop_diff_summary``, ``.review_last_sha``), ``""`` without one."""
    return (read_text(folder / name) or "").split("\n", 1)[0].strip()


def read_analysis(folder: Folder) -> dict[str, Any]:
    """Return the field ``analysis`` of the last analysis; {} without one."""
    found = (read_object(folder / ANALYSIS) or {}).get("analysis")
    return found if isinstance(found, dict) else {}


def stale_files(folder: Folder) -> list[str]:
    """Name the files that a run has left which did not end in order; they are sorted out at the next start."""
    run = read_run(folder.path)
    if run is not None and (run.end is not None or run.alive):
        return []
    found = [SIGNALS] if read_exit_signals(folder) else []
    if (folder / ANALYSIS).exists() and found:
        found.append(ANALYSIS)
    if (read_object(folder / "progress.json") or {}).get("status") == "executing":
        found.append("progress.json")
    return found


# -- logs of runs --------------------------------------------------------------------------------------


def prune_run_logs(folder: Folder, keep: int) -> int:
    """Delete the logs of all but the newest `keep` runs (0: none are deleted); return how many files went."""
    if not keep:
        return 0
    runs: dict[tuple[str, int], list[Path]] = {}
    with suppress(FileNotFoundError), usable(folder.logs):
        for name in os.listdir(folder.logs) if folder.logs.is_dir() else ():
            if match := RUN_LOG.fullmatch(name):
                stamp, number = match[1][:19], int(match[1][20:] or 1)
                runs.setdefault((stamp, number), []).append(folder.logs / name)
    gone = [path for run in sorted(runs)[:-keep] for path in runs[run]]
    for path in gone:
        with usable(path):
            delete(path)
    return len(gone)
