"""What a filter prints, as text, while it prints it: whether bash runs it or one jq."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_PAUSE = 0.03  # s: after which the beginning of a line is shown


class Filtering(Protocol):
    """A filter at work."""

    @property
    def status(self) -> int | None:
        """0 to 255 once it has ended."""

    def read(self) -> bytes:
        """The next piece of output, as soon as there is one; b"" at the end."""

    def read_within(self, seconds: float | None) -> bytes | None:
        """The same; None when there is nothing for so long."""

    def terminate(self) -> None:
        """End it, from another thread; what it has printed can still be read."""

    def close(self) -> None:
        """End it and free everything. May be repeated."""


class Display:
    """An iterator over text (str with surrogateescape): whole lines at once, and what comes without a newline
    when nothing has followed it for some milliseconds.

    It closes itself at its end; before that, `close` or a ``with`` block does.
    """

    def __init__(self, filtering: Filtering) -> None:
        self._filtering = filtering
        self._text = self._texts()

    @property
    def status(self) -> int | None:
        return self._filtering.status

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._text)

    def _texts(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        begun: list[str] = []  # a line that is not whole yet: many lines at once come in pieces that end anywhere
        piece: bytes | None = None
        try:
            while piece != b"":
                piece = self._filtering.read_within(_PAUSE if begun else None)
                # Not splitlines(): a carriage return or a form feed ends no line.
                *lines, rest = decode(piece or b"", final=piece == b"").split("\n")
                for line in lines:
                    yield "".join((*begun, line, "\n"))
                    begun.clear()
                if rest:
                    begun.append(rest)
                if not piece and begun:
                    yield "".join(begun)
                    begun.clear()
        finally:
            self._filtering.close()

    def pieces(self) -> Iterator[bytes]:
        """The same as bytes, in pieces as they come. Read either this or the text."""
        try:
            while piece := self._filtering.read():
                yield piece
        finally:
            self._filtering.close()

    def terminate(self) -> None:
        self._filtering.terminate()

    def close(self) -> None:
        self._filtering.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
