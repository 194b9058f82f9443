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
    r"|\x08|\r(?!\n|$)|[\x00-\x02\x07\x0e\x0f]"
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
    parts: list[str] = []
    starts, origins = [0], [0]
    length = position = 0

    def add(part: str, origin: int) -> None:
        nonlocal length
        parts.append(part)
        starts.append(length)
        origins.append(origin)
        length += len(part)

    for match in _CONTROL.finditer(raw):
        if match.start() > position:
            add(raw[position : match.start()], position)
        position = match.end()
        if match[0] == "\b":
            while parts and not parts[-1]:
                parts.pop(), starts.pop(), origins.pop()
            if parts and parts[-1][-1] != "\n":
                parts[-1] = parts[-1][:-1]
                length -= 1
            continue
        if part := _shown(match):
            add(part, match.start())
    add(raw[position:], position)
    return View("".join(parts), tuple(starts), tuple(origins))


def _shown(match: re.Match[str]) -> str:
    """The text in the view for a control sequence."""
    final, parameters = match["final"], match["csi"]
    if final in ("H", "f"):
        parameters = parameters.partition(";")[2].partition(";")[0]
    if final in ("H", "f", "G", "`"):  # to a column
        return "\n" if parameters in ("", "0", "1") else ""
    if final == "C":
        return " " * min(int(parameters) if parameters.isdigit() and int(parameters) else 1, _WIDEST_GAP)
    # Carriage return; next line, which is how Haskell's editor ends one; index; to the next or previous line.
    return "\n" if match[0] in ("\r", "\x1bE", "\x1bD") or final in ("E", "F") else ""
