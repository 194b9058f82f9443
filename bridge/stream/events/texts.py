"""How the assistant's text is gathered out of messages and pieces of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

TEXT_LIMIT = 16 * 1024 * 1024
"""How many characters of an assistant's text are kept; of more, the last ones."""


class Texts:
    """Messages in the order of their first piece; a complete message replaces its pieces.

    Beyond `limit` characters the oldest messages are forgotten; one message alone may be longer.
    """

    def __init__(self, limit: int = TEXT_LIMIT) -> None:
        self._pieces: dict[Hashable, list[str]] = {}
        self._size = 0
        self._said = 0
        self._limit = limit

    def put(self, key: Hashable, text: str) -> None:
        """Set a message, in the place where its first piece arrived."""
        if text or key in self._pieces:
            self._size += len(text) - sum(map(len, self._pieces.get(key, ())))
            self._pieces[key] = [text]
            self._forget(key)

    def put_or_say(self, key: tuple[object, str], text: str) -> None:
        """Set a message by its id, or add it when the id is missing."""
        if key[1]:
            self.put(key, text)
        else:
            self.say(text)

    def say(self, text: str) -> None:
        """Add a message that has no key and won't change."""
        self._said += 1
        self.put(("said", self._said), text)

    def add(self, key: Hashable, piece: str) -> None:
        """Add a piece to a message."""
        self._pieces.setdefault(key, []).append(piece)
        self._size += len(piece)
        self._forget(key)

    def drop(self, key: Hashable) -> None:
        """Forget a message: its complete form arrives by another name, or it was begun anew."""
        if key in self._pieces:
            self._size -= sum(map(len, self._pieces[key]))
            self._pieces[key] = []  # kept in place: its complete form may arrive by the same key

    def all(self) -> list[str]:
        """Give the messages that aren't empty."""
        return [text for pieces in self._pieces.values() if (text := "".join(pieces))]

    def _forget(self, newest: Hashable) -> None:
        if self._size <= self._limit:
            return
        while self._size > self._limit // 2:  # by halves: not at every message anew
            oldest = next(iter(self._pieces))
            if oldest == newest:
                break
            self._size -= sum(map(len, self._pieces.pop(oldest)))
        if len(pieces := self._pieces[newest]) > 1 and self._size > self._limit:
            kept = "".join(pieces)[-self._limit // 2 :]
            self._size += len(kept) - sum(map(len, pieces))
            self._pieces[newest] = [kept]


class NoTexts(Texts):
    """Keeps nothing, for whoever wants the session id only."""

    def put(self, key: Hashable, text: str) -> None:
        """Forget a message."""

    def add(self, key: Hashable, piece: str) -> None:
        """Forget a piece."""
