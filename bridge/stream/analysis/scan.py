"""Plain text: what bmalph's analyzer looks for in all of it, in bounded memory."""

from __future__ import annotations

from bridge.stream.analysis.fingerprint import error_lines
from bridge.stream.analysis.words import COMPLETION, ERRORS, IMPLEMENTING, NO_WORK, SUMMARY, TESTING

_SUMMARY_LENGTH = 100


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

    def lines(self, data: bytes) -> None:
        """Take in whole lines, as many as there are: together they are looked at much faster."""
        text = data.decode("utf-8", "replace")
        lowered = text.lower()
        self.complete = self.complete or COMPLETION.within(lowered)
        self.no_work = self.no_work or NO_WORK.within(lowered)
        self._testing = self._testing or TESTING.within(lowered)
        self._implementing = self._implementing or IMPLEMENTING.within(lowered)
        if ERRORS.within(lowered):
            found = error_lines(line.strip("\ufeff\r") for line in text.split("\n"))
            self.errors += len(found)
            self.first_error = self.first_error or (found[0] if found else "")
        if not self.summary and SUMMARY.within(lowered):
            line = next(line for line in text.split("\n") if SUMMARY.within(line.lower()))
            self.summary = line.strip("\ufeff\r\t ")[:_SUMMARY_LENGTH]


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
