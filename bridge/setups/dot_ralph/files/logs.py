"""Logs: ``ralph.log``, ``live.log``, and the outputs of single runs, which never share a name (trap T17)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from bridge import timestamps
from bridge.files import delete, descriptor, make_folder
from bridge.loop.logs import Level, append_line, log_line
from bridge.records import to_json, usable
from bridge.turn.logs import bound_logs, unused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.setups.dot_ralph.folder import Folder

__all__ = ["Level", "RunLogs", "append_metrics", "bound_run_logs", "log", "new_run_logs", "prune_run_logs"]

_RUN_LOG = re.compile(
    r"claude_(?:output|stderr)_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(?:-\d+)?)(?:_stream)?\.log(?:\.gz)?"
)


class RunLogs(NamedTuple):
    """The logs of one run: the CLI's stdout, the whole stream (live runs), its stderr."""

    output: Path
    stream: Path
    stderr: Path


def log(folder: Folder, level: Level, message: str, now: float, *, max_bytes: int = 0, keep: int = 4) -> str:
    """Append one line to ``ralph.log`` and return it; see :func:`bridge.loop.logs.log_line`."""
    return log_line(folder.logs / "ralph.log", level, message, now, max_bytes=max_bytes, keep=keep)


def new_run_logs(folder: Folder, now: float) -> RunLogs:
    """Create the output file of a run and return the names of its three logs.

    The documented name has the second only; the second run of a second gets ``-2`` behind it, and so on.
    """
    with usable(folder.logs):
        make_folder(folder.logs)
        stamp = timestamps.file_name(now)
        number = 1
        while True:
            name = stamp if number == 1 else f"{stamp}-{number}"
            output = folder.logs / f"claude_output_{name}.log"
            if not unused(output):
                number += 1
                continue
            try:
                os.close(descriptor(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                number += 1
                continue
            stream = folder.logs / f"claude_output_{name}_stream.log"
            return RunLogs(output, stream, folder.logs / f"claude_stderr_{name}.log")


def prune_run_logs(folder: Folder, keep: int) -> int:
    """Delete the logs of all but the newest `keep` runs (0: none are deleted); return how many files went."""
    if not keep:
        return 0
    runs: dict[tuple[str, int], list[Path]] = {}
    with suppress(FileNotFoundError), usable(folder.logs):
        for name in os.listdir(folder.logs) if folder.logs.is_dir() else ():
            if match := _RUN_LOG.fullmatch(name):
                stamp, number = match[1][:19], int(match[1][20:] or 1)
                runs.setdefault((stamp, number), []).append(folder.logs / name)
    gone = [path for run in sorted(runs)[:-keep] for path in runs[run]]
    for path in gone:
        with usable(path):
            delete(path)
    return len(gone)


def bound_run_logs(folder: Folder, max_bytes: int, say: Callable[[str], None]) -> None:
    """Keep the logs of all runs within so many bytes; see :func:`bridge.turn.logs.bound_logs`."""
    bound_logs(folder.logs, _RUN_LOG, max_bytes, say)


def append_metrics(folder: Folder, record: dict[str, object]) -> None:
    """Append one record to ``logs/metrics.jsonl``, on one line."""
    append_line(folder.logs / "metrics.jsonl", to_json(record, compact=True))
