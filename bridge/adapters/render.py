"""What a terminal would show of some output: endless rows, no wrapping, colours kept.

Progress bars come out as their last state, cursor movements as where they led, full-screen programs as one line.
Lines without anything special, which are nearly all, pass as they are (tabs included).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACEHOLDER = "[interactive screen session]"
_FARTHEST = 10_000
_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]|\x1b(?!\[[0-9;:]*m)")
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f]+)"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\|$)"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\|$)"
    r"|\x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[ -/]*(?P<escape>[0-~])"
    r"|(?P<control>[\x00-\x1f\x7f])"
)
_ALTERNATE = re.compile(r"\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|\Z)", re.DOTALL)
_SGR = re.compile(r"\x1b\[[0-9;:]*m")
_ONLY_BLANKS = re.compile(r"^ +$", re.MULTILINE)
_BLANK = re.compile(r"(?:\x1b\[[0-9;:]*m|[ \t])*\Z")


def render(text: str, *, sgr: bool = True) -> str:
    """`text` as it would be seen, lines joined by line feeds, colours reset at the end; without `sgr` removed."""
    if "\x1b[?" in text:
        text = _ALTERNATE.sub(_replaced, text)
    if not sgr:
        text = _SGR.sub("", text)
    text = text.replace("\r\n", "\n")
    shown = "\n".join(_drawn(text)) if _SPECIAL.search(text) else _ONLY_BLANKS.sub("", text)
    last = _SGR.match(shown, shown.rfind("\x1b[")) if sgr and "\x1b[" in shown else None
    return shown + "\x1b[0m" if last is not None and last[0] not in ("\x1b[m", "\x1b[0m") else shown


def _drawn(text: str) -> Iterator[str]:
    screen = _ScreenModel()
    position = 0
    while True:
        if screen.is_fresh:
            special = _SPECIAL.search(text, position)
            stretch = text.rfind("\n", position, special.start() if special else len(text)) + 1
            if stretch > position:
                screen.add(text[position : stretch - 1].split("\n"))
                position = stretch
        end = text.find("\n", position)
        screen.line(text[position:] if end < 0 else text[position:end])
        if end < 0:
            return screen.shown()
        screen.line_feed()
        position = end + 1


def _replaced(match: re.Match[str]) -> str:
    before = "" if match.start() == 0 or match.string[match.start() - 1] in "\r\n" else "\r\n"
    return f"{before}{_PLACEHOLDER}\r\n"


def trimmed(text: str) -> str:
    """`text` without the blank rows at its start and its end."""
    start, end = 0, len(text)
    while (newline := text.rfind("\n", start, end)) >= 0 and _BLANK.match(text[newline + 1 : end]):
        end = newline
    while (newline := text.find("\n", start, end)) >= 0 and _BLANK.match(text[start:newline]):
        start = newline + 1
    if _BLANK.match(text[start:end]):
        return ""
    before, after = _SGR.findall(text[:start]), _SGR.findall(text[end:])
    return "".join(before) + text[start:end] + "".join(after)


class _ScreenModel:
    """Rows of cells; a row is a string until something is written over it."""

    def __init__(self) -> None:
        self.rows: list[str | list[str]] = [""]
        self.row = self.column = 0
        self.saved = (0, 0)
        self.colour = ""  # SGR sequences that wait for the next character
        self.link = ""

    @property
    def is_fresh(self) -> bool:
        """Whether what comes makes a new row at the end, as it is."""
        return self.rows[-1] == "" and self.row + 1 == len(self.rows) and not (self.column or self.colour)

    def add(self, rows: list[str]) -> None:
        self.rows[self.row :] = [*rows, ""]
        self.row += len(rows)

    def line_feed(self) -> None:
        self.column = 0
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")

    def line(self, line: str) -> None:
        line = line.rstrip("\r") if self.rows[self.row] == "" and self.column == 0 else line
        if not _SPECIAL.search(line) and self.rows[self.row] == "" and self.column == 0 and not self.colour:
            self.rows[self.row] = line
            self.column = len(line)  # more than there are columns when it has colours: only the end counts
            return
        for match in _TOKEN.finditer(line):
            if match["text"]:
                self._write(match["text"])
            elif match["control"]:
                self._control(match["control"])
            elif match["final"]:
                self._sequence(match[0], match["final"], match["parameters"])
            elif match["escape"]:
                self._escape(match["escape"])
            elif match["osc"] is not None and match["osc"].startswith("8;"):
                uri = match["osc"].split(";", 2)[-1]
                if self.link and not uri:
                    self._write(f"<{self.link}>")
                self.link = uri

    def shown(self) -> Iterator[str]:
        if self.colour and not isinstance(self.rows[self.row], str):
            self._cells().append(self.colour)
        found = (row if isinstance(row, str) else "".join(row) for row in self.rows)
        return (row.rstrip(" ") if row.endswith(" ") and not row.strip(" ") else row for row in found)

    def _cells(self) -> list[str]:
        row = self.rows[self.row]
        if isinstance(row, str):
            row = self.rows[self.row] = _split(row)
        return row

    def _write(self, text: str) -> None:
        cells = self._cells()
        if self.column > len(cells):
            cells.extend(" " * (self.column - len(cells)))
        new = [self.colour + text[0], *text[1:]]
        self.colour = ""
        cells[self.column : self.column + len(new)] = new
        self.column += len(new)

    def _escape(self, char: str) -> None:
        if char in "78":
            self._sequence("", "s" if char == "7" else "u", "")
        elif char in "ED":  # next line; index
            column = 0 if char == "E" else self.column
            self.line_feed()
            self.column = column
        elif char == "M":
            self._go(self.row - 1)

    def _control(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char == "\t":
            width = 8 - self.column % 8
            if self.column >= len(self._cells()):
                self._write(" " * width)
            else:
                self.column += width

    def _go(self, row: int) -> None:
        self.row = min(max(row, 0), len(self.rows) + _FARTHEST)
        while len(self.rows) <= self.row:
            self.rows.append("")

    def _sequence(self, whole: str, final: str, parameters: str) -> None:
        if parameters.startswith(("?", ">", "<", "=")):
            return
        if final == "m":
            self.colour += whole
            return
        numbers = [min(int(each), _FARTHEST) if each.isdigit() else 0 for each in parameters.split(";")]
        if final in "GABCDEFHdfsu`":
            self._move(final, numbers)
        else:
            self._edit(final, numbers[0], max(numbers[0], 1))

    def _move(self, final: str, numbers: list[int]) -> None:
        count = max(numbers[0], 1)
        if final in "su":
            if final == "s":
                self.saved = (self.row, self.column)
            self._go(self.saved[0])
            self.column = self.saved[1]
        elif final in "ABEF":
            self._go(self.row + (count if final in "BE" else -count))
            self.column = 0 if final in "EF" else self.column
        elif final == "C":
            self.column = min(self.column + count, _FARTHEST)
        elif final == "D":
            self.column = max(self.column - count, 0)
        elif final in "G`":
            self.column = count - 1
        else:
            self._go(count - 1)
            if final != "d":
                self.column = max(numbers[1] if len(numbers) > 1 else 1, 1) - 1

    def _edit(self, final: str, first: int, count: int) -> None:
        cells = self._cells()
        at = self.column
        if final == "K":
            if first == 0:
                del cells[at:]
            elif first == 1:
                cells[: at + 1] = " " * min(at + 1, len(cells))
            else:
                cells.clear()
        elif final == "J":
            self._erase(first)
        elif final == "X":
            cells[at : at + count] = " " * len(cells[at : at + count])
        elif final == "P":
            del cells[at : at + count]
        elif final == "@" and at < len(cells):
            cells[at:at] = " " * count
        elif final == "L":
            self.rows[self.row : self.row] = [""] * min(count, 1000)
        elif final == "M":
            del self.rows[self.row : self.row + count]
            self._go(self.row)

    def _erase(self, what: int) -> None:
        if what == 0:
            del self._cells()[self.column :]
            del self.rows[self.row + 1 :]
        elif what == 1:
            self.rows[: self.row] = [""] * self.row
            self._cells()[: self.column + 1] = " " * min(self.column + 1, len(self._cells()))
        else:
            self.rows[:] = [""] * len(self.rows)


def _split(row: str) -> list[str]:
    """A row as cells; colours belong to the next character, tabs become blanks."""
    cells: list[str] = []
    colour = ""
    for match in re.finditer(r"\x1b\[[0-9;:]*m|[\s\S]", row):
        if len(match[0]) > 1:
            colour += match[0]
        elif match[0] == "\t":
            cells.append(colour + " ")
            cells.extend(" " * (7 - (len(cells) - 1) % 8))
            colour = ""
        else:
            cells.append(colour + match[0])
            colour = ""
    if colour:
        cells.append(colour)
    return cells
