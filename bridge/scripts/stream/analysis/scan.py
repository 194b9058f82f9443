"""Plain text: the words that mean something where nothing better is said, and the lines that report errors.

The words are bmalph's, and count only where its analyzer counts them: in plain text and in event streams,
never against a status block (trap T4) and never in a run that failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable


class Words:
    """Phrases, looked for in lower-case text.

    Args:
        phrases: in lower case.
        whole: only where no letter, digit or underscore is next to them.
    """

    def __init__(self, *phrases: str, whole: bool = False) -> None:
        self._phrases = phrases
        self._pattern = lazy(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)") if whole else None

    def within(self, lowered: str) -> bool:
        # Looking for a plain string is many times faster than for a pattern, and outputs are long.
        if not any(phrase in lowered for phrase in self._phrases):
            return False
        return self._pattern is None or self._pattern.search(lowered) is not None


COMPLETION = Words(
    "done", "complete", "finished", "all tasks complete", "project complete", "ready for review", whole=True
)
NO_WORK = Words("nothing to do", "no changes", "already implemented", "up to date", whole=True)
TESTING = Words("running tests", "npm test", "bats", "pytest", "jest")
IMPLEMENTING = Words("implementing", "creating", "writing", "adding", "function", "class")
SUMMARY = Words("summary", "completed", "implemented")
ERRORS = Words("error", "exception", "fatal")

_PREAMBLE_LINES = 5
_BLOCK = "---RALPH_STATUS---"
_DENIED = ("permission denied:", "denied permission:")
_DENIED_WHAT = ("approval", "tool", "command", "blocked", "not allowed", "not permitted")
_APPROVAL = "approval required:"
_APPROVAL_WHAT = ("run", "proceed", "tool", "command", "blocked")
_PHRASES = (
    "requires approval before it can run",
    "requires approval before it can proceed",
    "not allowed to use tool",
    "not permitted to use tool",
)


def preamble(text: str) -> list[str]:
    """The first lines of an answer: at most five, up to a blank line or the status block."""
    lines: list[str] = []
    for line in text.lstrip("\r\n").split("\n", _PREAMBLE_LINES)[:_PREAMBLE_LINES]:
        stripped = line.strip()
        if not stripped or _BLOCK in stripped:
            break
        lines.append(stripped)
    return lines


def refusal(text: str) -> bool:
    """Whether an answer opens with a tool being refused; further down, the same words are what it is about."""
    return any(map(_refused, preamble(text)))


def _refused(line: str) -> bool:
    lowered = line.lower()
    if lowered.startswith(_DENIED):
        return any(word in lowered for word in _DENIED_WHAT)
    if lowered.startswith(_APPROVAL):
        return any(word in lowered.removeprefix(_APPROVAL) for word in _APPROVAL_WHAT)
    return any(phrase in lowered for phrase in _PHRASES)


_SUMMARY_LENGTH = 100
_CONTINUATION = bytes(range(0x80, 0xC0)) + b"\0"


class Scan:
    """What the lines so far hold: words, how many errors and the first, the first line that sums something up."""

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
        kept = chunk.rstrip(b"\n")
        trailing = len(chunk) - len(kept)
        if kept:
            self._characters += self._newlines + len(kept.translate(None, _CONTINUATION))
            self._newlines = 0
        self._newlines += trailing

    @property
    def value(self) -> int:
        return self._characters


# -- errors ------------------------------------------------------------------------------------------

_LENGTH = 200
# A field such as "is_error": false is a name, no error.
_FIELD = lazy(r'"([^"]*)":')
_ERROR = lazy(
    r"^(?:Error|ERROR|error):|\]: error|Link: error|Error occurred|failed with error"
    r"|[Ee]xception|Fatal|FATAL"
)
_ANSI = lazy(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CHANGING = (
    (lazy(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (lazy(r"\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\s?[ap]m\b)?", re.IGNORECASE), "TIME"),
    (lazy(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "HEX"),
    (lazy(r"\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b", re.IGNORECASE), "HEX"),
    (lazy(r"(?:[A-Za-z]:)?(?:[\w.~@+-]*[/\\])+[\w.@+-]*"), "PATH"),
    (lazy(r"\d+(?:[.,]\d+)*"), "N"),
)


def is_error_line(line: str) -> bool:
    """Whether a line reports an error; one that spells the name of such a field doesn't count."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    return _ERROR.search(line) is not None and not any("error" in name for name in _FIELD.findall(line))


def error_lines(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if is_error_line(line)]


def fingerprint(line: str) -> str:
    """What is left of an error's line without times, hexadecimal ids, paths and numbers; '' of a blank one.

    The circuit breaker opens when one error repeats; bmalph calls any error the same (trap T18).

    >>> fingerprint("Error: cannot read /tmp/a1/x.ts:14 after 3.2 s")
    'Error: cannot read PATH:N after N s'
    """
    text = _ANSI.sub("", line[: 4 * _LENGTH])
    for pattern, name in _CHANGING:
        text = pattern.sub(name, text)
    return " ".join(text.split())[:_LENGTH]
