"""Logs of bounded size: the loop's own, line by line, and the outputs of single turns."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from bridge import stamps
from bridge.records import usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["Level", "LiveLog", "append_line", "bound_logs", "log_line"]

Level = Literal["INFO", "WARN", "ERROR", "SUCCESS", "LOOP", "DEBUG"]


def log_line(path: Path, level: Level, message: str, now: float, *, max_bytes: int = 0, keep: int = 4) -> str:
    """Append one line to a loop's log and return it, without its newline.

    Args:
        path: the log; its folder is made if need be.
        level: as in the original.
        message: control characters become blanks: readers take the log line by line.
        now: the time.
        max_bytes: size at which the file is put aside as ``NAME.1`` first; 0: never.
        keep: how many of those there are.
    """
    shown = "".join(each if each.isprintable() else " " for each in message)
    line = f"[{stamps.local(now)}] [{level}] {shown}"
    append_line(path, line, max_bytes=max_bytes, keep=keep)
    return line


def append_line(path: Path, line: str, *, max_bytes: int = 0, keep: int = 4) -> None:
    """Append one line, in one write: lines of two writers don't mix.

    What a crash has left of a line is closed first, so that it costs no second one. See :func:`log_line`.
    """
    with usable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if max_bytes:
            with suppress(FileNotFoundError):
                if path.stat().st_size >= max_bytes:
                    _rotate(path, keep)
        with open(path, "a+b") as file:
            torn = file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + line.encode("utf-8", "replace") + b"\n")


def _rotate(path: Path, keep: int) -> None:
    for number in range(keep, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        with suppress(FileNotFoundError):
            os.replace(newer, older)


class LiveLog:
    """What the tool says while it says it: one file, begun anew with each turn, that ``watch`` follows.

    Args:
        path: the file.
        now: the time, in seconds since the epoch.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._file: BinaryIO | None = None

    def begin(self, title: str) -> None:
        """Begin it anew."""
        self.close()
        path = self._path
        with usable(path):
            if path.exists() and not path.is_file():
                path.unlink()  # a FIFO would hold us for ever
            path.write_bytes(f"\n\n=== {title} - {stamps.local(self._now())} ===\n".encode())
            # Unbuffered, and at the end of whatever is there: whoever follows it sees each line at once.
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115

    def write(self, data: bytes) -> None:
        """Append."""
        if self._file is not None:
            with usable(self._path):
                self._file.write(data)

    def close(self) -> None:
        """Let go of the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def bound_logs(turns: Iterable[Iterable[Path]], *, max_bytes: int, say: Callable[[str], None]) -> None:
    """Keep the logs of turns within a number of bytes together: compressed first, then the oldest deleted.

    Args:
        turns: the files of each turn, the oldest first; the last turn's stay as they are.
        max_bytes: of all of them together; 0: any number.
        say: is told of each file that is compressed or deleted.
    """
    if not max_bytes:
        return
    files = [[path for path in each if path.is_file()] for each in turns]
    size = sum(path.stat().st_size for each in files for path in each)
    for act, word in ((_compressed, "compressed"), (_deleted, "deleted")):
        for each in files[:-1]:
            for number, path in enumerate(each):
                if size <= max_bytes:
                    return
                with suppress(FileNotFoundError):
                    before = path.stat().st_size
                    with usable(path):
                        each[number] = act(path)
                    after = each[number].stat().st_size if each[number].exists() else 0
                    if after != before:
                        size += after - before
                        say(f"{path.name} is {word}: the logs of turns exceed {max_bytes // (1024 * 1024)} MB")


def _compressed(path: Path) -> Path:
    if path.suffix == ".gz":
        return path
    target = path.with_name(f"{path.name}.gz")
    part = path.with_name(f".{path.name}.part.gz.tmp")
    with open(path, "rb") as source, gzip.open(part, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(source, packed, 1 << 20)
    os.utime(part, (path.stat().st_atime, path.stat().st_mtime))
    os.replace(part, target)
    path.unlink()
    return target


def _deleted(path: Path) -> Path:
    path.unlink(missing_ok=True)
    return path
