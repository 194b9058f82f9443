r"""Escape sequences that are taken out of a program's stream: announcements, and questions to the terminal.

Announcements are OSC 633: ``ESC ] 633 ; <payload> BEL`` or ``... ESC \``; an adapter's ``markers`` may name another
number, such as 133. Our integration scripts end every payload with a nonce and the prompt's number (``NONCE.7``);
then a sequence without them is something a program printed: it is taken out as well and means nothing.

A program that asks its terminal and gets no answer waits, or takes the next command for one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bridge.adapters.view import plain

LONGEST = 256 * 1024
"""A sequence that isn't over after so many bytes is text."""
# Another sequence within means that this one was never completed.
_PAYLOAD = rb"([^\x07\x1b]*(?:\x1b(?![\\\]])[^\x07\x1b]*)*)(?:\x07|\x1b\\)"
_CODES = frozenset("ABCDPKEL")
_MARKER = re.compile(r"\x1b\](\d{1,5});A")


def protocol_number(prompt_start: str) -> str:
    """The number of the sequences, from an adapter's marker of the prompt's start.

    >>> protocol_number("\x1b]133;A\x07"), protocol_number("A")
    ('133', '633')
    """
    match = _MARKER.match(prompt_start)
    return match[1] if match else "633"


class Announcement(NamedTuple):
    """One announcement.

    Attributes:
        code: A prompt begins, B input begins, C a command begins, D it ended, P a property, K a continuation
            prompt, L the exit code of the last native program.
        offset: absolute offset in bytes, in the stream without announcements.
        status: exit code with D and L; 0 when the sequence has none that can be read, None with other codes.
        key: name of the property with P.
        value: its value.
        number: of the prompt that it belongs to, where announcements have a nonce.
    """

    code: str
    offset: int
    status: int | None = None
    key: str = ""
    value: str = ""
    number: int | None = None


class Announcements:
    """Takes announcements out of a stream; a pure function of all bytes so far."""

    def __init__(self, *, nonce: str = "", number: str = "633") -> None:
        self._nonce = nonce.encode()
        self.has_nonce = bool(nonce)
        self._start = b"\x1b]%s;" % number.encode()
        self._sequence = re.compile(re.escape(self._start) + _PAYLOAD)
        self._incomplete = b""
        self.offset = 0
        """Absolute offset of the end of the clean stream."""

    def feed(self, data: bytes) -> tuple[bytes, list[Announcement]]:
        if not self._incomplete and b"\x1b" not in data:
            self.offset += len(data)
            return data, []
        data = self._incomplete + data
        parts: list[bytes] = []
        marks: list[Announcement] = []
        position = 0
        for match in self._sequence.finditer(data):
            self._emit(parts, data[position : match.start()])
            position = match.end()
            if (mark := self._mark(match[1])) is not None:
                marks.append(mark)
        keep = self._unfinished(data, position)
        self._incomplete = data[keep:]
        self._emit(parts, data[position:keep])
        return b"".join(parts), marks

    def flush(self) -> bytes:
        """Return the start of a sequence that will never be completed: nothing more comes."""
        rest, self._incomplete = self._incomplete, b""
        self.offset += len(rest)
        return rest

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

    def _mark(self, payload: bytes) -> Announcement | None:
        prompt = None
        if self._nonce:
            payload, _, last = payload.rpartition(b";")
            nonce, _, digits = last.partition(b".")
            if nonce != self._nonce:
                return None
            prompt = int(digits) if digits.isdigit() and len(digits) < 10 else None
        code, _, rest = payload.decode("utf-8", "surrogateescape").partition(";")
        if code not in _CODES:
            return None
        if code in "DL":
            number = rest.partition(";")[0]
            status = int(number) if re.fullmatch(r"-?\d{1,9}", number) else 0
            return Announcement(code, self.offset, status=status, number=prompt)
        if code == "P":
            key, _, value = rest.partition("=")
            return Announcement(code, self.offset, key=key, value=value, number=prompt)
        return Announcement(code, self.offset, value=rest, number=prompt)


_QUESTION = re.compile(
    rb"\x1b\[(?P<status>5)n"  # device status
    rb"|\x1b\[(?P<cursor>\??)6n"  # cursor position, and DEC's
    rb"|\x1b\[(?P<attributes>>?)0?c"  # device attributes, primary and secondary
    rb"|\x1b\[>0?(?P<version>q)"  # name and version
    rb"|\x1b\[\?u"  # kitty's keyboard protocol: no answer means no
    rb"|\x1b\[\?(?P<mode>\d+)\$p"  # is this mode supported
    rb"|\x1b\](?P<colour>1[01]);\?(?:\x07|\x1b\\)"  # foreground, background
)
_PREFIX = re.compile(rb"\x1b(\[([>?]?\d{0,4}\$?)?|\](1([01](;\??(\x1b)?)?)?)?)?\Z")
_COLOURS = {b"10": b"d0d0/d0d0/d0d0", b"11": b"0000/0000/0000"}


class Questions:
    """Takes a program's questions out of its stream and answers them; a pure function of all bytes so far."""

    def __init__(self) -> None:
        self._incomplete = b""
        self._line = b""

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        if not self._incomplete and b"\x1b" not in data:
            self._follow(data)
            return data, b""
        data = self._incomplete + data
        parts: list[bytes] = []
        answers: list[bytes] = []
        position = 0
        for match in _QUESTION.finditer(data):
            parts.append(data[position : match.start()])
            self._follow(parts[-1])
            position = match.end()
            answers.append(self._answer(match))
        unfinished = _PREFIX.search(data, max(position, len(data) - 12))
        keep = unfinished.start() if unfinished else len(data)
        self._incomplete = data[keep:]
        parts.append(data[position:keep])
        self._follow(parts[-1])
        return b"".join(parts), b"".join(answers)

    def flush(self) -> bytes:
        """Return the start of a question that will never be completed: nothing more comes."""
        rest, self._incomplete = self._incomplete, b""
        return rest

    def _follow(self, data: bytes) -> None:
        """Keep the current line, which gives the column when a program asks."""
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        self._line = (data[cut:] if cut else self._line + data)[-4096:]

    def _answer(self, match: re.Match[bytes]) -> bytes:
        asked = match.lastgroup
        if asked == "cursor":
            column = len(plain(self._line.decode("utf-8", "replace"))) + 1
            return b"\x1b[%s1;%dR" % (match["cursor"], column)
        if asked == "attributes":
            return b"\x1b[>41;354;0c" if match["attributes"] else b"\x1b[?62;22c"
        if asked == "colour":
            return b"\x1b]%s;rgb:%s\x1b\\" % (match["colour"], _COLOURS[match["colour"]])
        if asked == "mode":
            return b"\x1b[?%s;0$y" % match["mode"]
        return {"status": b"\x1b[0n", "version": b"\x1bP>|ralph-bridge\x1b\\"}.get(asked or "", b"")
