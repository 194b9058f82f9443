"""What single turns print, kept within bounds: one turn's log is cut, all of them are compressed, then deleted."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bridge.base.files import beside, copy_times, delete, descriptor, in_folder, leads_to, move, open_file, usable

if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

MB = 1024 * 1024
TURN_LOG_BYTES = 200 * MB
_LEAST = 4096
_CHUNK = 1 << 20


class TurnLog:
    """The log of one turn: unbuffered, so that whoever follows it sees each line when it comes; of one that grows
    too long the beginning and the end are kept, a quarter of the bound each.

    Session ids stand at the beginning or at the end, and what is kept are whole lines: the hooks of drivers and
    agents read a log that was cut as they read any other. One event in between says how much is missing.

    Args:
        path: the file; begun anew.
        max_bytes: its longest; 0: any length.

    Raises:
        ProjectUnusable: it can't be written, for one because the disk is full.
    """

    def __init__(self, path: Path, max_bytes: int = TURN_LOG_BYTES) -> None:
        self._path = path
        self._most = max_bytes
        with usable(f"the log {path}"):
            self._file = descriptor(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            # Cut through a descriptor of its own (one that appends can't write elsewhere), which is there from the
            # beginning: a tool may delete the file's name while it goes on writing.
            self._cut = Cut(beside(self._file), max_bytes, _event)

    @property
    def notice(self) -> str:
        """What to tell people: that it was cut; '' while it wasn't."""
        if not self._cut.left_out:
            return ""
        return (
            f"{self._path.name} is cut: the turn printed more than {_shown(self._most)};"
            " the beginning and the end are kept"
        )

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        with usable(f"the log {self._path}"):
            while left:  # it may take a part only
                left = left[os.write(self._file, left) :]
        self.bound()
        return len(data)

    def bound(self) -> None:
        """Cut it if it is too long, whoever has written to it."""
        with usable(f"the log {self._path}"):
            self._cut.bound()

    def flush(self) -> None: ...

    def close(self) -> None:
        os.close(self._file)
        self._cut.close()

    def __enter__(self) -> TurnLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                with usable(f"the log {self._path}"):
                    self._restore()
        finally:
            self.close()

    def _restore(self) -> None:
        """Write it anew where a tool has deleted it, or an older one has taken its place: as `git clean -fdx` and
        `git reset --hard` do, and whoever reads it next would find nothing, or the words of another turn."""
        if leads_to(self._path, self._file):
            return
        part = self._path.with_name(f".{self._path.name}.{os.urandom(6).hex()}.tmp")

        def copy() -> None:
            os.lseek(self._file, 0, os.SEEK_SET)
            with os.fdopen(self._file, "rb", closefd=False) as source, open_file(part, "wb") as target:
                shutil.copyfileobj(source, target, _CHUNK)
            move(part, self._path)

        in_folder(self._path.parent, copy)


def _event(missing: int) -> str:
    return json.dumps({"type": "ralph_bridge_cut", "left_out_bytes": missing})


class Cut:
    """Leaves out the middle of a file that grows too long, in place, as often as need be.

    Args:
        descriptor: readable and writable, and not one that only appends; closed by :meth:`close`.
        max_bytes: the file's longest; half of that is left then. 0: any length.
        note: gives the line that stands for so many bytes.
    """

    def __init__(self, descriptor: int, max_bytes: int, note: Callable[[int], str]) -> None:
        self._file = descriptor
        self._most = max_bytes and max(max_bytes, _LEAST)
        self._note = note
        self._head = 0
        self._torn = self._line = b""
        self.left_out = 0
        """Bytes that are no longer there."""

    def bound(self) -> None:
        """Cut the file if it is too long, whoever has written to it."""
        file, share = self._file, self._most // 4
        size = os.fstat(file).st_size
        if not self._most or size <= self._most:
            return
        if not self.left_out:
            begins = os.pread(file, share, 0)
            self._head = begins.rfind(b"\n") + 1 or share
            self._torn = b"" if begins[: self._head].endswith(b"\n") else b"\n"  # one line is as long as this
        tail = size - share
        tail += os.pread(file, share, tail).find(b"\n") + 1
        self.left_out += tail - self._head - len(self._line)
        self._line = self._torn + self._note(self.left_out).encode() + b"\n"
        os.pwrite(file, self._line, self._head)
        source, target = tail, self._head + len(self._line)
        while data := os.pread(file, _CHUNK, source):
            os.pwrite(file, data, target)
            source, target = source + len(data), target + len(data)
        os.ftruncate(file, target)

    def close(self) -> None:
        os.close(self._file)


def logs_of_turns(folder: Path, names: re.Pattern[str]) -> list[list[Path]]:
    """Give the logs in a folder by turn, that of the oldest first.

    Args:
        folder: it need not exist.
        names: what their names match, whole; its first group tells the turns from each other.
    """
    found: dict[str, list[tuple[float, Path]]] = {}
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if (match := names.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    found.setdefault(match[1], []).append((entry.stat().st_mtime, folder / entry.name))
    turns = sorted(found.values(), key=lambda each: max(each))
    return [[path for _, path in sorted(each)] for each in turns]


def _bytes_of(folder: Path, names: re.Pattern[str]) -> int:
    size = 0
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if names.fullmatch(entry.name):
                with suppress(FileNotFoundError):
                    size += entry.stat(follow_symlinks=False).st_size
    return size


def bound_logs(folder: Path, names: re.Pattern[str], max_bytes: int, say: Callable[[str], None]) -> None:
    """Keep the logs of turns within a number of bytes together: compressed first, then the oldest deleted.

    Args:
        folder, names: see :func:`logs_of_turns`; the last turn's stay as they are.
        max_bytes: of all of them together; 0: any number.
        say: gets a line about each file that is compressed or deleted.
    """
    if not max_bytes:
        return
    if _bytes_of(folder, names) <= max_bytes:
        return
    files = logs_of_turns(folder, names)
    size = sum(path.stat().st_size for each in files for path in each)
    for act, word in ((_compressed, "compressed"), (_deleted, "deleted")):
        for each in files[:-1]:
            for number, path in enumerate(each):
                if size <= max_bytes:
                    return
                with suppress(FileNotFoundError):
                    before = path.stat().st_size
                    with usable(f"the log {path}"):
                        each[number] = act(path)
                    after = each[number].stat().st_size if each[number].exists() else 0
                    if after != before or act is _deleted:
                        size += after - before
                        say(f"{path.name} is {word}: the logs of turns exceed {_shown(max_bytes)}")


def new_log(folder: Path, name: str) -> Path:
    """Make the log of a turn: ``NAME.log``, or ``NAME-2.log`` and so on where an earlier one is (trap T17).

    Raises:
        ProjectUnusable: it can't be made.
    """
    number = 1
    with usable(folder):
        while True:
            path = folder / (f"{name}.log" if number == 1 else f"{name}-{number}.log")
            number += 1
            if unused(path):
                with suppress(FileExistsError):
                    os.close(in_folder(folder, partial(descriptor, path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
                    return path


def unused(path: Path) -> bool:
    """Say whether no log has that name, and no compressed one had it."""
    return not (path.exists() or path.with_name(f"{path.name}.gz").exists())


def _shown(size: int) -> str:
    return f"{size / MB:.3g} MB"


def _compressed(path: Path) -> Path:
    if path.suffix == ".gz" or not path.stat().st_size:
        return path
    import gzip

    target = path.with_name(f"{path.name}.gz")
    part = path.with_name(f".{path.name}.gzipping.tmp")  # as bridge.base.files names its own, for those who sweep
    with open_file(path) as source, open_file(part, "wb") as target_file:
        with gzip.GzipFile("", "wb", 6, target_file) as packed:
            shutil.copyfileobj(source, packed, _CHUNK)
        copy_times(source, target_file)
    move(part, target)
    delete(path, missing=False)
    return target


def _deleted(path: Path) -> Path:
    delete(path)
    return path
