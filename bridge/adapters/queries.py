"""Questions that programs ask their terminal, and what ours answers.

A program that asks and gets no answer waits, or takes the next command for one.
"""

from __future__ import annotations

import re

__all__ = ["Answers"]

_QUERY = re.compile(
    rb"\x1b\[(?P<status>[56])n"  # device status, cursor position
    rb"|\x1b\[\?6n"  # cursor position, DEC's
    rb"|\x1b\[0?c"  # primary device attributes
    rb"|\x1b\[>0?c"  # secondary
    rb"|\x1b\[>0?q"  # name and version
    rb"|\x1b\[\?u"  # kitty's keyboard protocol
    rb"|\x1b\[\?(?P<mode>\d+)\$p"  # is this mode supported
    rb"|\x1b\](?P<colour>1[01]);\?(?:\x07|\x1b\\)"  # foreground, background
)
_PREFIX = re.compile(rb"\x1b(\[([>?]?\d{0,4}\$?)?|\](1([01](;\??(\x1b)?)?)?)?)?\Z")
_COLOURS = {b"10": b"d0d0/d0d0/d0d0", b"11": b"0000/0000/0000"}


class Answers:
    """Takes questions out of a stream and answers them; a pure function of all bytes so far."""

    def __init__(self) -> None:
        self._held = b""
        self._line = b""

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take bytes; return what is left of them, and what is to be written back."""
        if not self._held and b"\x1b" not in data:
            self._seen(data)
            return data, b""
        data = self._held + data
        parts: list[bytes] = []
        answers: list[bytes] = []
        position = 0
        for match in _QUERY.finditer(data):
            parts.append(data[position : match.start()])
            self._seen(parts[-1])
            position = match.end()
            answers.append(self._answer(match))
        unfinished = _PREFIX.search(data, max(position, len(data) - 12))
        keep = unfinished.start() if unfinished else len(data)
        self._held = data[keep:]
        parts.append(data[position:keep])
        self._seen(parts[-1])
        return b"".join(parts), b"".join(answers)

    def flush(self) -> bytes:
        """Give back what was held: nothing more comes."""
        held, self._held = self._held, b""
        return held

    def _seen(self, data: bytes) -> None:
        """Keep the current line: the column is told from it when somebody asks."""
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        self._line = (data[cut:] if cut else self._line + data)[-4096:]

    def _answer(self, match: re.Match[bytes]) -> bytes:
        asked = match[0]
        if match["status"] == b"5":
            return b"\x1b[0n"
        if asked.endswith(b"6n"):
            from bridge.adapters.view import plain

            column = len(plain(self._line.decode("utf-8", "replace"))) + 1
            return b"\x1b[%s1;%dR" % (b"?" if b"?" in asked else b"", column)
        if match["colour"]:
            return b"\x1b]%s;rgb:%s\x1b\\" % (match["colour"], _COLOURS[match["colour"]])
        if match["mode"]:
            return b"\x1b[?%s;0$y" % match["mode"]
        if asked.endswith(b"c"):
            return b"\x1b[>41;354;0c" if b">" in asked else b"\x1b[?62;22c"
        if asked.endswith(b"q"):
            return b"\x1bP>|ralph-bridge\x1b\\"
        return b""  # kitty's protocol: no answer means no
