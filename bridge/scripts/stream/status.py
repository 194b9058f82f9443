"""What an assistant says about its own progress: the RALPH_STATUS block, and completion promises.

Both look at the assistant's own text (:attr:`bridge.scripts.stream.events.Answer.text`), never at raw output:
the prompt spells out the block and the promise, so a raw search ends a loop in its first iteration.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

_ANSI = lazy(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What markdown puts around a line: quote marks, bullets, numbers, emphasis, code.
_BEFORE = r"[\s>*_`#|+-]*(?:\d+[.)]\s+)?[\s*_`]*"
_START = lazy(r"-{3}\s*RALPH_STATUS\s*-{3}[\s*_`]*$")
_HEADING = lazy(_BEFORE + r"RALPH_STATUS[\s*_`]*:[\s*_`|>-]*(?:#.*)?")
_END = lazy(r"-{3}\s*END_RALPH_STATUS\s*-{3}")
_FENCE = lazy(r"[>\s]*(?:`{3}|~{3})")
_KEY = lazy(_BEFORE + r"([A-Za-z][A-Za-z_ -]*?)[\s*_`]*")
_SIGN = lazy(r"[:=]")
_DECORATED = 200
"""Characters that a key may have with all that is around it. The pattern takes the square of the time
for a longer one, and a model that has lost its way repeats one dash for as long as it may."""
_LONGEST_KEY = len("TASKS_COMPLETED_THIS_LOOP") + 4
_TAIL = r"(?:[.,;!]|\s*(?:\(|#|//|[-\u2013\u2014]\s).*)?$"  # a remark behind a value
_BOOL = lazy(r"(true|false)" + _TAIL, re.IGNORECASE)
_INT = lazy(r"(\d{1,9})(?:\s+[A-Za-z(].*|[.,;])?$")
_WORD = lazy(r"([A-Za-z][A-Za-z_ -]*?)" + _TAIL)


def _constant(word: str) -> str:
    return re.sub(r"[ -]+", "_", word.strip("*_`").upper())


_FIELDS: dict[str, tuple[str, re.Pattern[str], Callable[[str], str | bool | int]]] = {
    "STATUS": ("status", _WORD, _constant),
    "TESTS_STATUS": ("tests_status", _WORD, _constant),
    "WORK_TYPE": ("work_type", _WORD, _constant),
    "EXIT_SIGNAL": ("exit_signal", _BOOL, lambda word: word.lower() == "true"),
    "TASKS_COMPLETED_THIS_LOOP": ("tasks_completed", _INT, int),
    "FILES_MODIFIED": ("files_modified", _INT, int),
}
"""The field of each key, how its value begins, and what that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusBlock:
    """One RALPH_STATUS block. A field that is missing or unreadable is None.

    Attributes:
        status: IN_PROGRESS, COMPLETE, BLOCKED or another word, in capitals.
        exit_signal: whether the loop shall end.
        tests_status: PASSING, FAILING, NOT_RUN or another word, in capitals.
        work_type: IMPLEMENTATION, TESTING or another word, in capitals.
        recommendation: one line of prose.
        terminated: False when both the end marker and the end of its code fence are missing.
    """

    status: str | None = None
    exit_signal: bool | None = None
    tasks_completed: int | None = None
    tests_status: str | None = None
    files_modified: int | None = None
    work_type: str | None = None
    recommendation: str | None = None
    terminated: bool = True

    @property
    def asks_to_end(self) -> bool | None:
        """What it says of the loop's end; None: nothing. A block that was cut ends none."""
        return self.exit_signal if self.terminated else False


def parse_status(text: str) -> StatusBlock | None:
    """The last RALPH_STATUS block of a text that says something, or None.

    The start marker ends its line, with or without prose in front of it (``Done. ---RALPH_STATUS---``); the end
    marker may stand anywhere. Quotes, bullets, emphasis, code fences and ANSI colours around lines and values
    don't matter, nor does the case of a key. The last block counts, so an
    example quoted earlier doesn't; a template (``STATUS: IN_PROGRESS | COMPLETE``) has no values and is
    passed over. A block without an end marker goes on to the next start or the end of the text; one of which not
    even the first line has arrived is a block without fields. Of a key given twice, the last readable value counts.

    A line ``RALPH_STATUS:`` that has nothing else on it starts a block as well, whose keys are indented, as in
    YAML, or begin their lines as they do between markers. Prose behind it is none of it.
    """
    blocks = _Blocks()
    for line in _ANSI.sub("", text).splitlines():
        if line.strip():
            blocks.take(line)
    return blocks.last_of_all()


class _Blocks:
    def __init__(self) -> None:
        self._last: StatusBlock | None = None
        self._fields: dict[str, str | bool | int] | None = None
        self._indent: int | None = None  # of the heading, in a block that has one
        self._begun = 0  # lines that a cut may still have left: a marker alone on its line, and part of another
        self._whole = False

    def take(self, raw: str) -> None:
        line = raw.strip()
        marked = "RALPH_STATUS" in line
        self._begun = max(0, self._begun - 1) if len(line) < _LONGEST_KEY else 0
        below = self._indent is not None
        if marked and (start := _START.search(line)):
            self._start(None, alone=not line[: start.start()].strip(" >*_`#|+-"))
        elif marked and (below or self._fields != {}) and _within(_HEADING, line):
            self._start(_indent(raw), alone=True)
        elif (self._fields and _FENCE.match(line)) or (below and not self._belongs(raw)):
            self._end(terminated=True)
        elif self._fields is not None:
            self._read(line, _END.search(line) if marked else None)

    def last_of_all(self) -> StatusBlock | None:
        if self._fields == {} and self._begun and self._last is None:
            return StatusBlock(terminated=False)
        self._end(terminated=self._indent is not None and self._whole)
        return self._last

    def _start(self, indent: int | None, *, alone: bool) -> None:
        self._end(terminated=self._indent is not None)
        self._fields, self._indent, self._begun = {}, indent, 2 if alone else 0

    def _end(self, *, terminated: bool) -> None:
        if self._fields:
            self._last = StatusBlock(**self._fields, terminated=terminated)  # type: ignore[arg-type]
        self._fields = self._indent = None

    def _belongs(self, line: str) -> bool:
        """Whether a line goes on with the block below a heading."""
        key = _key_of(line.strip())
        known = key is not None and key[0] in (*_FIELDS, "RECOMMENDATION")
        deeper = self._indent is not None and _indent(line) > self._indent
        return known or deeper or bool(_FENCE.match(line)) or bool(_END.search(line))

    def _read(self, line: str, end: re.Match[str] | None) -> None:
        assert self._fields is not None
        key = _key_of(line[: end.start()] if end else line)
        self._whole = key is not None and bool(key[1].strip())
        if key and not _read(*key, self._fields):
            self._whole = False
        if end:
            self._end(terminated=True)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _key_of(line: str) -> tuple[str, str] | None:
    """Split a line into its key, as the fields are named, and what stands behind it."""
    sign = _SIGN.search(line)
    key = _within(_KEY, line[: sign.start()]) if sign else None
    return (re.sub(r"[ -]", "_", key[1].upper()), line[sign.end() :]) if sign and key else None


def _within(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return pattern.fullmatch(text) if len(text) <= _DECORATED else None


def _read(key: str, value: str, fields: dict[str, str | bool | int]) -> bool:
    """Take in a field; say whether it could be read, as one that nobody asks for can."""
    value = value.strip(" \t*_`\"'")
    if key in _FIELDS:
        name, pattern, read = _FIELDS[key]
        if found := pattern.match(re.sub(" +", " ", value)):
            fields[name] = read(found[1])
        return found is not None
    # Placeholder of the template: <one line> or [one line].
    if key == "RECOMMENDATION" and value and not re.fullmatch(r"<.*>|\[.*\]", value):
        fields["recommendation"] = value
    return True


def find_promise(text: str, promise: str = "COMPLETE") -> bool:
    """Whether the text holds ``<promise>PROMISE</promise>``.

    Literal and case-sensitive, never a pattern; white space inside the tags is collapsed. Another
    promise in front doesn't hide the right one, nor does a tag that was never closed. Anywhere in the
    text counts, in prose, quotes and code fences too, as in the controllers that brought the
    convention: a model that is told to print the tag often puts it into backquotes. Only a sentence
    that says that it is not given, or not yet, gives none, nor does one that goes on behind the
    backquotes: it speaks of the tag.

    >>> find_promise("Done: <promise>COMPLETE</promise>")
    True
    >>> find_promise("I won't say <promise>COMPLETE</promise> yet.")
    False
    >>> find_promise("All is done: `<promise>COMPLETE</promise>`")
    True
    >>> find_promise("The loop waits for `<promise>COMPLETE</promise>`, two tasks are left.")
    False
    """
    wanted = " ".join(promise.split())
    if not wanted:
        return False
    pieces = text.split("<promise>")
    for before, piece in itertools.pairwise(pieces):
        found, closed, after = piece.partition("</promise>")
        given = closed and " ".join(found.split()) == wanted
        if given and not _is_put_off(before, after) and not _is_mentioned(before, after):
            return True
    return False


_SAY = r"(?:output|emit|say|print|give|giv|write|writ|send|includ|post|declar)\w*"
_NOT_GIVEN = lazy(
    rf"\b(?:not|never|cannot|(?:wo|do|ca|have|has|did|should|must)n['\u2019]t)\s+(?:\w+\s+){{0,3}}{_SAY}\b[^.!?\n]*\Z"
    rf"|\b(?:once|until|unless|when|after|before|if)\b[^.!?\n]{{0,120}}\b(?:will|would|can|should|['\u2019]ll)\s+"
    rf"(?:\w+\s+){{0,2}}{_SAY}\b[^.!?\n]*\Z",
    re.IGNORECASE,
)
_NOT_YET = lazy(
    r"[\W_]*\b(?:yet|once|until|only (?:when|once|after|if)|when (?:all|every|the|it))\b", re.IGNORECASE
)
_SENTENCE = 300


def _is_put_off(before: str, after: str) -> bool:
    """Whether the words around a promise say that it isn't given, or not yet."""
    if _NOT_GIVEN.search(before[-_SENTENCE:]):
        return True
    line = before[-_SENTENCE:].rpartition("\n")[2]
    return bool(line.strip(" \t`*_>\"'-")) and _NOT_YET.match(after[:_SENTENCE].partition("\n")[0]) is not None


def _is_mentioned(before: str, after: str) -> bool:
    """Whether a promise between these stands in backquotes in the middle of a sentence."""
    front, back = before.rpartition("\n")[2], after.partition("\n")[0]
    return front[-1:] == "`" == back[:1] and all(re.search(r"\w", part) for part in (front, back))
