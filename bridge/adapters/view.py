r"""What a prompt pattern sees of a stream: text with lines as a terminal shows them, and the way back to offsets.

Control sequences are removed; what moves to the first column begins a new line. A carriage return that no line feed
follows does so too: readline ends a line with ``\r\n ESC[?2004l \r`` before it draws the next prompt.
"""

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

_STRIPPED = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
    r"|[\x00-\x02\x07\x0e\x0f]"
)
_WIDEST_GAP = 256


def plain(text: str) -> str:
    """`text` without control sequences (colours, titles, cursor movements)."""
    return _STRIPPED.sub("", text) if not text.isprintable() else text


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
