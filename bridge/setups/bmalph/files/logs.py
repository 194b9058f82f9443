"""Logs: ``ralph.log``, ``live.log``, and the outputs of single runs, which never share a name (trap T17)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge import stamps
from bridge.records import to_json, usable

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.bmalph.folder import Folder

__all__ = ["Level", "RunLogs", "append_metrics", "log", "new_run_logs", "prune_run_logs", "start_live_log"]

Level = Literal["INFO", "WARN", "ERROR", "SUCCESS", "LOOP", "DEBUG"]
_RUN_LOG = re.compile(r"claude_(?:output|stderr)_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(?:-\d+)?)(?:_stream)?\.log")


class RunLogs(NamedTuple):
    """The logs of one run: the CLI's stdout, the whole stream (live runs), its stderr."""

    output: Path
    stream: Path
    stderr: Path


def log(folder: Folder, level: Level, message: str, now: float, *, max_bytes: int = 0, keep: int = 4) -> str:
    """Append one line to ``ralph.log`` and return it, without its newline.

    Args:
        folder: the loop's folder.
        level: as in the original.
        message: control characters become blanks: readers take the log line by line.
        now: the time.
        max_bytes: size at which the file is put aside as ``ralph.log.1`` first; 0: never.
        keep: how many of those there are.
    """
    shown = "".join(each if each.isprintable() else " " for each in message)
    line = f"[{stamps.local(now)}] [{level}] {shown}"
    path = folder.logs / "ralph.log"
    with usable(path):
        folder.logs.mkdir(parents=True, exist_ok=True)
        if max_bytes:
            with suppress(FileNotFoundError):
                if path.stat().st_size >= max_bytes:
                    _rotate(path, keep)
        with open(path, "ab") as file:  # one write: lines of two writers don't mix
            file.write(line.encode("utf-8", "replace") + b"\n")
    return line


def _rotate(path: Path, keep: int) -> None:
    for number in range(keep, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        with suppress(FileNotFoundError):
            os.replace(newer, older)


def new_run_logs(folder: Folder, now: float) -> RunLogs:
    """Create the output file of a run and return the names of its three logs.

    The documented name has the second only; the second run of a second gets ``-2`` behind it, and so on.
    """
    with usable(folder.logs):
        folder.logs.mkdir(parents=True, exist_ok=True)
        stamp = stamps.file_name(now)
        number = 1
        while True:
            name = stamp if number == 1 else f"{stamp}-{number}"
            output = folder.logs / f"claude_output_{name}.log"
            try:
                os.close(os.open(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
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
            path.unlink(missing_ok=True)
    return len(gone)


def start_live_log(folder: Folder, loop: int, now: float) -> Path:
    """Begin ``live.log`` anew for a run and return it; what the agent says is appended to it."""
    path = folder / "live.log"
    with usable(path):
        if path.exists() and not path.is_file():
            path.unlink()  # a FIFO would hold us for ever
        path.write_bytes(f"\n\n=== Loop #{loop} - {stamps.local(now)} ===\n".encode())
    return path


def append_metrics(folder: Folder, record: dict[str, object]) -> None:
    """Append one record to ``logs/metrics.jsonl`` (section 4.14), on one line.

    What a crash has left of a line is closed first, so that it costs no second one.
    """
    path = folder.logs / "metrics.jsonl"
    with usable(path):
        folder.logs.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as file:
            torn = file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + to_json(record, compact=True).encode() + b"\n")
