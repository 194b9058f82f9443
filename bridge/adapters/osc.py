r"""OSC 633: what shells and REPLs announce about their commands, taken out of the stream.

``ESC ] 633 ; <payload> BEL`` or ``... ESC \``; an adapter's ``markers`` may name another number, such as 133. Our
integration scripts end every payload with a nonce; then a sequence without it is what a program printed: it
is taken out as well and means nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["LONGEST", "Mark", "Osc633", "protocol_number"]

LONGEST = 256 * 1024
"""A sequence that isn't over after so many bytes is no sequence."""

_PAYLOAD = rb"([^\x07\x1b]*(?:\x1b(?!\\)[^\x07\x1b]*)*)(?:\x07|\x1b\\)"
_KNOWN = frozenset("ABCDPKEL")
_MARKER = re.compile(r"\x1b\](\d{1,5});A")


def protocol_number(prompt_start: str) -> str:
    """The number of the sequences, from an adapter's marker of the prompt's start.

    >>> protocol_number("\x1b]133;A\x07"), protocol_number("A")
    ('133', '633')
    """
    match = _MARKER.match(prompt_start)
    return match[1] if match else "633"


class Mark(NamedTuple):
    """One announcement.

    Attributes:
        code: A prompt begins, B input begins, C a command begins, D it ended, P a property, K a continuation
        prompt, L the exit code of the last native program.
        offset: absolute offset in bytes, in the stream without announcements.
        status: exit code with D and L; 0 when the sequence has none that can be read, None with other codes.
        key: name of the property with P.
        value: its value.
    """

    code: str
    offset: int
    status: int | None = None
    key: str = ""
    value: str = ""


class Osc633:
    """Takes announcements out of a stream; a pure function of all bytes so far."""

    def __init__(self, *, nonce: str = "", offset: int = 0, number: str = "633") -> None:
        self._nonce = nonce.encode()
        self._start = b"\x1b]%s;" % number.encode()
        self._sequence = re.compile(re.escape(self._start) + _PAYLOAD)
        self._held = b""
        self.offset = offset
        """Absolute offset of the end of the clean stream."""

    def feed(self, data: bytes) -> tuple[bytes, list[Mark]]:
        """Take bytes; return what is left of them, and the announcements in their order."""
        if not self._held and b"\x1b" not in data:
            self.offset += len(data)
            return data, []
        data = self._held + data
        parts: list[bytes] = []
        marks: list[Mark] = []
        position = 0
        for match in self._sequence.finditer(data):
            self._emit(parts, data[position : match.start()])
            position = match.end()
            if (mark := self._mark(match[1])) is not None:
                marks.append(mark)
        keep = self._unfinished(data, position)
        self._held = data[keep:]
        self._emit(parts, data[position:keep])
        return b"".join(parts), marks

    def flush(self) -> bytes:
        """Give back what was held: nothing more comes."""
        held, self._held = self._held, b""
        self.offset += len(held)
        return held

    def _emit(self, parts: list[bytes], data: bytes) -> None:
        parts.append(data)
        self.offset += len(data)

    def _unfinished(self, data: bytes, position: int) -> int:
        """Where a sequence begins that may still be completed; the length of `data` when there is none."""
        start = data.find(self._start, position)
        if start < 0:
            tail = data.rfind(b"\x1b", max(position, len(data) - len(self._start)))
            return tail if tail >= 0 and self._start.startswith(data[tail:]) else len(data)
        # Too long to be one: let it pass as text, but look whether a newer one has begun.
        return start if len(data) - start <= LONGEST else len(data)

    def _mark(self, payload: bytes) -> Mark | None:
        if self._nonce:
            payload, _, nonce = payload.rpartition(b";")
            if nonce != self._nonce:
                return None
        code, _, rest = payload.decode("utf-8", "surrogateescape").partition(";")
        if code not in _KNOWN:
            return None
        if code in "DL":
            number = rest.partition(";")[0]
            return Mark(code, self.offset, status=int(number) if re.fullmatch(r"-?\d{1,9}", number) else 0)
        if code == "P":
            key, _, value = rest.partition("=")
            return Mark(code, self.offset, key=key, value=value)
        return Mark(code, self.offset, value=rest)
