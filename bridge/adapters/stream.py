"""The clean stream of one program: what it printed, without announcements and questions, by absolute offset."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bridge.adapters.osc import Osc633
from bridge.adapters.queries import Answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.adapters.osc import Mark
    from bridge.adapters.terminal import Terminal

__all__ = ["Stream"]


class Stream:
    """Reads a terminal, answers its program's questions, and keeps what is needed of the rest.

    Args:
        terminal: where it comes from.
        nonce: what genuine announcements end in; empty when any is believed.
        number: of the announcements.
        limit: bytes that are kept of one command's output; of more, the middle goes.
        listener: is given everything that is clean, as it comes.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        nonce: str = "",
        number: str = "633",
        limit: int = 32 * 1024 * 1024,
        listener: Callable[[bytes], None] | None = None,
    ) -> None:
        self.terminal = terminal
        self.listener = listener
        self._last = time.monotonic()
        self._answers = Answers()
        self._osc = Osc633(nonce=nonce, number=number)
        self._limit = limit
        self._kept = bytearray()
        self._base = 0
        self._gap_at = 0
        self._gap = 0

    @property
    def offset(self) -> int:
        """Absolute offset of the end."""
        return self._osc.offset

    @property
    def quiet(self) -> float:
        """Seconds since something came, or was written: silence before an answer says nothing."""
        return time.monotonic() - self._last

    def write(self, data: bytes) -> None:
        """Write to the program."""
        self.terminal.write(data)
        self._last = time.monotonic()

    def pump(self, timeout: float | None) -> tuple[bytes, list[Mark]]:
        """Wait at most `timeout` seconds for something; return what is clean of it, and the announcements."""
        raw = self.terminal.read(timeout)
        if not raw:
            if not self.terminal.ended:
                return b"", []
            rest, marks = self._osc.feed(self._answers.flush())
            data = rest + self._osc.flush()
        else:
            self._last = time.monotonic()
            text, answer = self._answers.feed(raw)
            if answer:
                self.terminal.write(answer)
            data, marks = self._osc.feed(text)
        self._keep(data)
        return data, marks

    def _keep(self, data: bytes) -> None:
        self._kept += data
        if data and self.listener is not None:
            self.listener(data)
        if len(self._kept) > self._limit + self._limit // 4:
            half = self._limit // 2
            excess = len(self._kept) - self._limit
            self._gap_at = half
            self._gap += excess
            del self._kept[half : half + excess]

    def between(self, start: int, end: int) -> tuple[bytes, bool]:
        """The bytes from `start` to `end`, and whether some of them were not kept."""
        if not self._gap or max(end - self._base, 0) <= self._gap_at:
            return bytes(self._kept[max(start - self._base, 0) : max(end - self._base, 0)]), False
        behind = self._base + self._gap_at + self._gap
        if start >= behind:
            return bytes(self._kept[start - self._base - self._gap : max(end - self._base - self._gap, 0)]), False
        head = bytes(self._kept[max(start - self._base, 0) : min(self._gap_at, max(end - self._base, 0))])
        tail_start = max(start - self._base - self._gap, self._gap_at)
        tail = bytes(self._kept[tail_start : max(end - self._base - self._gap, tail_start)])
        return head + b"\n[...]\n" + tail, True

    def forget(self, offset: int) -> None:
        """Drop what lies before `offset`."""
        if self._gap:
            keep = max(self.offset - offset, 0)
            self._kept = self._kept[len(self._kept) - keep :] if keep else bytearray()
            self._base, self._gap, self._gap_at = self.offset - len(self._kept), 0, 0
        elif offset > self._base:
            del self._kept[: offset - self._base]
            self._base = offset
