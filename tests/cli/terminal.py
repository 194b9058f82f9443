"""A terminal for tests: what stands on the screen after all that was written to it, and folds what it holds when it
becomes narrower, as today's terminals do."""

from __future__ import annotations

import re

from rich.cells import cell_len

_TOKEN = re.compile(r"\x1b\[([0-9;:?]*)([A-Za-z])|.", re.DOTALL)


class Terminal:
    """Lines as they were written; a row is what fits of them.

    Args:
        width: cells in a row.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[list[str]] = [[]]
        self._line = self._at = 0

    def feed(self, text: str) -> None:
        """Take what a program writes. Colours are not looked at; anything else that isn't known is an error."""
        for found in _TOKEN.finditer(text):
            number, command = found[1], found[2]
            if command is None:
                self._char(found[0])
            elif command == "A":
                self._up(int(number or 1))
            elif command == "J":
                del self.lines[self._line][self._at :], self.lines[self._line + 1 :]
            else:
                assert command == "m", found[0]

    def rows(self) -> list[str]:
        """What is seen, without blanks at the ends."""
        found = []
        for line in self.lines:
            starts = self._starts(line)
            for begin, end in zip(starts, [*starts[1:], len(line)], strict=True):
                found.append("".join(line[begin:end]).rstrip(" "))
        return found

    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.rows()).strip("\n")

    def _char(self, char: str) -> None:
        line = self.lines[self._line]
        if char == "\n":
            self._line, self._at = self._line + 1, 0
            if self._line == len(self.lines):
                self.lines.append([])
        elif char == "\r":
            self._at = self._starts(line)[self._row()]
        else:
            assert char.isprintable() or char in "\u200d\u200c", repr(char)
            line[self._at : self._at + 1] = [char]
            self._at += 1

    def _up(self, rows: int) -> None:
        for _ in range(rows):
            row = self._row()
            if row == 0:
                assert self._line > 0, "beyond the top"
                self._line -= 1
                self._at = self._starts(self.lines[self._line])[-1]
            else:
                self._at = self._starts(self.lines[self._line])[row - 1]

    def _row(self) -> int:
        """Which row of its line the cursor is in; behind a full row it is still in that one."""
        line = self.lines[self._line]
        at = self._at - 1 if self._at == len(line) and self._at else self._at
        return max(n for n, start in enumerate(self._starts(line)) if start <= at)

    def _starts(self, line: list[str]) -> list[int]:
        starts, cells = [0], 0
        for n, char in enumerate(line):
            wide = cell_len(char)
            if cells + wide > self.width:
                starts.append(n)
                cells = 0
            cells += wide
        return starts
