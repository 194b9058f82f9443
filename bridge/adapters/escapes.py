"""Control sequences of a program's stream: what is taken out of it, and what a prompt pattern sees of the rest."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b\[(?P<csi>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"  # two-character escapes, character sets
    r"|\x08|(?P<line_end>\r+(?=\n))|\r(?!\r*(?:\n|$))|[\x00-\x02\x07\x0e\x0f]"
)
"""One control sequence or control character; one that is not finished yet at the end of the text doesn't match."""

SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
    r"|[\x00-\x02\x07\x0e\x0f]"
)
_WIDEST_GAP = 256

LONGEST = 256 * 1024
"""A sequence that isn't over after so many bytes is text."""
# Another sequence within means that this one was never completed.
_PAYLOAD = rb"([^\x07\x1b]*(?:\x1b(?![\\\]])[^\x07\x1b]*)*)(?:\x07|\x1b\\)"
_CODES = frozenset("ABCDPKEL")
_MARKER = re.compile(r"\x1b\](\d{1,5});A")


def plain(text: str) -> str:
    """`text` without control sequences (colours, titles, cursor movements)."""
    return SEQUENCE.sub("", text) if not text.isprintable() else text


class View(NamedTuple):
    """Visible text; each part of it begins at one of `starts` in `text`, and of `origins` in the original."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def origin(self, position: int) -> int:
        """Offset in the original of a position in `text`."""
        part = bisect_right(self.starts, position) - 1
        return self.origins[part] + position - self.starts[part]


def visible(raw: str) -> View:
    """The view of `raw`; a pure function, so that it doesn't matter in how many reads the text came."""
    if not _CONTROL.search(raw):
        return View(raw, (0,), (0,))
    drawing = _Drawing()
    position = 0
    for match in _CONTROL.finditer(raw):
        if match.start() > position:
            drawing.add(raw[position : match.start()], position)
        position = match.end()
        columns = _columns(match)
        if match[0] == "\b" or match["final"] == "D":
            drawing.back(columns)
        elif match["final"] == "C":
            drawing.add(" " * min(columns, _WIDEST_GAP), match.start())
            drawing.unseen += max(columns - _WIDEST_GAP, 0)
        elif _begins_line(match):
            drawing.add("\n", match.start())
    drawing.add(raw[position:], position)
    return View("".join(drawing.parts), tuple(drawing.starts), tuple(drawing.origins))


class _Drawing:
    """A view that is being made: only what stands before the cursor counts."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.starts, self.origins = [0], [0]
        self.length = 0
        self.unseen = 0
        """Columns of wide gaps that were left out."""

    def add(self, part: str, origin: int) -> None:
        self.parts.append(part)
        self.starts.append(self.length)
        self.origins.append(origin)
        self.length += len(part)
        if "\n" in part:
            self.unseen = 0

    def back(self, columns: int) -> None:
        """Move the cursor back within its line: what it passes will be written over, or follows a prompt."""
        skipped = min(columns, self.unseen)
        self.unseen -= skipped
        columns -= skipped
        while columns and self.parts:
            part = self.parts[-1]
            kept = max(len(part) - columns, part.rfind("\n") + 1)
            self.parts[-1] = part[:kept]
            self.length -= len(part) - kept
            columns -= len(part) - kept
            if kept:
                return
            self.parts.pop(), self.starts.pop(), self.origins.pop()


def _columns(match: re.Match[str]) -> int:
    parameters = match["csi"] or ""
    return int(parameters) if parameters.isdigit() and int(parameters) else 1


def _begins_line(match: re.Match[str]) -> bool:
    final, parameters = match["final"], match["csi"]
    if final in ("H", "f"):
        parameters = parameters.partition(";")[2].partition(";")[0]
    if final in ("H", "f", "G", "`"):
        return parameters in ("", "0", "1")
    # Carriage return; next line, which is how Haskell's editor ends one; index; to the next or previous line.
    return (match[0] == "\r" and not match["line_end"]) or match[0] in ("\x1bE", "\x1bD") or final in ("E", "F")


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
