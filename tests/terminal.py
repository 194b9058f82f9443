"""A program on a terminal: a real pseudo terminal, and what a person would see on its screen."""

from __future__ import annotations

import os
import re
import select
import time
from typing import TYPE_CHECKING

import ptyprocess
import pyte

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

PATIENCE = 60.0
UP, ESCAPE, ENTER, INTERRUPT = b"\x1b[A", b"\x1b", b"\r", b"\x03"


class _Screen(pyte.Screen):
    """pyte takes a request of the kitty keyboard protocol (CSI > 1 u) for a private mode that it knows."""

    def select_graphic_rendition(self, *attributes: int, **_private: bool) -> None:
        super().select_graphic_rendition(*attributes)


class Terminal:
    """Runs a command on a terminal of a size.

    Args:
        argv: the command.
        cwd: where.
        env: its environment.
        size: rows and columns.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (24, 80)
    ) -> None:
        self.raw = b""
        self.screen = _Screen(size[1], size[0])
        self._stream = pyte.ByteStream(self.screen)
        self.process = ptyprocess.PtyProcess.spawn(
            list(argv), cwd=str(cwd), env={**env, "TERM": "xterm-256color"}, dimensions=size
        )

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def press(self, keys: bytes) -> None:
        """Press keys."""
        self.process.write(keys)

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        self.screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def until(self, *words: str) -> str:
        """Wait until all of these (regular expressions) are on the screen; return all of it."""
        end = time.monotonic() + PATIENCE
        while not all(re.search(each, self.text) for each in words):
            assert self._read(end), f"{words} never came:\n{self.text}"
        return self.text

    def until_raw(self, data: bytes) -> None:
        """Wait until the program has written these bytes."""
        end = time.monotonic() + PATIENCE
        while data not in self.raw:
            assert self._read(end), f"{data!r} never came:\n{self.text}"

    def press_until(self, keys: bytes, *words: str) -> str:
        """Press keys, again each second, until these are on the screen: who has just drawn it may hear none."""
        end = time.monotonic() + PATIENCE
        pressed = 0.0
        while not all(re.search(each, self.text) for each in words):
            if time.monotonic() - pressed > 1.0:
                self.press(keys)
                pressed = time.monotonic()
            assert self._read(end), f"{words} never came:\n{self.text}"
        return self.text

    def ended(self) -> int:
        """Wait for the program's end; return its exit status."""
        end = time.monotonic() + PATIENCE
        while self._read(end):
            pass
        self.process.wait()
        status: int | None = self.process.exitstatus
        return -int(self.process.signalstatus or 0) if status is None else status

    def _read(self, end: float) -> bool:
        """Take in what comes next; False: the program has ended."""
        assert time.monotonic() < end, f"nothing more came:\n{self.text}"
        if not select.select([self.process.fd], [], [], 0.2)[0]:
            return True
        try:
            data = os.read(self.process.fd, 65536)
        except OSError:
            return False
        self.raw += data
        # Answers to questions about the terminal, and keyboard modes, are none of the screen's.
        self._stream.feed(re.sub(rb"\x1b\[[<>=?][\d;]*[uc]", b"", data))
        return bool(data)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.close(force=True)
