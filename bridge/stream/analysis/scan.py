"""Plain text, line by line: what bmalph's analyzer looks for in all of it, in bounded memory."""

from __future__ import annotations

from bridge.stream.analysis.fingerprint import is_error_line
from bridge.stream.analysis.words import COMPLETION, IMPLEMENTING, NO_WORK, SUMMARY, TESTING

__all__ = ["Scan"]

_SUMMARY_LENGTH = 100
_LINE_LIMIT = 64 * 1024  # characters of a line that are looked at


class Scan:
    """What the lines so far hold.

    Attributes:
        complete: a completion keyword.
        no_work: a phrase that says that there is nothing to do.
        testing: a phrase about running tests, and none about implementing anything.
        errors: how many lines report errors.
        first_error: the first of them.
        summary: the first line that sums something up, at most 100 characters.
    """

    def __init__(self) -> None:
        self.complete = False
        self.no_work = False
        self.errors = 0
        self.first_error = ""
        self.summary = ""
        self._testing = False
        self._implementing = False

    @property
    def testing(self) -> bool:
        """Tests were run, and nothing else was done."""
        return self._testing and not self._implementing

    def line(self, data: bytes) -> None:
        """Take in one line."""
        line = data[:_LINE_LIMIT].decode("utf-8", "replace").strip("\ufeff\r\n")
        self.complete = self.complete or COMPLETION.search(line) is not None
        self.no_work = self.no_work or NO_WORK.search(line) is not None
        self._testing = self._testing or TESTING.search(line) is not None
        self._implementing = self._implementing or IMPLEMENTING.search(line) is not None
        if is_error_line(line):
            self.errors += 1
            self.first_error = self.first_error or line
        if not self.summary and SUMMARY.search(line):
            self.summary = line.strip()[:_SUMMARY_LENGTH]


class Length:
    """Counts the characters of UTF-8 in chunks of any size; newlines at the end don't count."""

    def __init__(self) -> None:
        self._characters = 0
        self._newlines = 0

    def add(self, chunk: bytes) -> None:
        """Take in a chunk."""
        kept = chunk.rstrip(b"\n")
        trailing = len(chunk) - len(kept)
        if kept:
            self._characters += self._newlines + len(kept.translate(None, _CONTINUATION))
            self._newlines = 0
        self._newlines += trailing

    @property
    def value(self) -> int:
        """How many characters so far."""
        return self._characters


_CONTINUATION = bytes(range(0x80, 0xC0)) + b"\0"
