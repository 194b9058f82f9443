"""A prompt that a CLI prints before its answer, as some do whose output is plain text: none of it is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHORTEST = 20
"""Bytes of what is looked for; anything shorter may be said by chance."""
_LOOKED_AT = 2000
"""Lines in which it is looked for."""


class Echo:
    """Passes lines on, all but those that are what the CLI was sent, as a whole and in their order.

    Args:
        sent: texts that were sent to it: its stdin, words of its command line.
        take: gets each other line, with its newline.

    >>> lines = []
    >>> echo = Echo([b"Do it.\\nThen say that it is done."], lines.append)
    >>> for line in (b"user\\n", b"Do it.\\n", b"Then say that it is done.\\n", b"I did it.\\n"):
    ...     echo.feed(line)
    >>> echo.end()
    >>> lines
    [b'user\\n', b'I did it.\\n']
    """

    def __init__(self, sent: Iterable[bytes], take: Callable[[bytes], None]) -> None:
        texts = (each.strip() for each in sent)
        self._sent = [[line.rstrip() for line in each.split(b"\n")] for each in texts if len(each) >= _SHORTEST]
        self._take = take
        self._held: list[bytes] = []
        self._seen = 0

    def feed(self, line: bytes) -> None:
        """Take one line, whole, or the last one without its newline."""
        self._seen += 1
        if not self._sent or self._seen > _LOOKED_AT:
            self.end()
            self._take(line)
            return
        self._held.append(line)
        while self._held:
            stripped = [each.rstrip() for each in self._held]
            whole = next((each for each in self._sent if each == stripped), None)
            if whole is not None:
                self._sent.remove(whole)
                self._held.clear()
            elif any(each[: len(stripped)] == stripped for each in self._sent):
                return
            else:
                self._take(self._held.pop(0))

    def end(self) -> None:
        """Pass on what was held back."""
        held, self._held = self._held, []
        for line in held:
            self._take(line)
