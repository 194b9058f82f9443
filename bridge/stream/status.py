"""What an assistant says about its own progress: the RALPH_STATUS block, and completion promises.

Both look at the assistant's own text (:attr:`bridge.stream.events.Answer.text`), never at raw output:
the prompt spells out the block and the promise, so a raw search ends a loop in its first iteration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What markdown puts around a line: quote marks, bullets, numbers, emphasis, code.
_BEFORE = r"[\s>*_`#|+-]*(?:\d+[.)]\s+)?[\s*_`]*"
_START = re.compile(r"-{3}\s*RALPH_STATUS\s*-{3}[\s*_`]*$")
_END = re.compile(r"-{3}\s*END_RALPH_STATUS\s*-{3}")
_FENCE = re.compile(r"[>\s]*(?:`{3}|~{3})")
_KEY = re.compile(_BEFORE + r"([A-Za-z][A-Za-z_ -]*?)[\s*_`]*")
_SIGN = re.compile(r"[:=]")
_DECORATED = 200
"""Characters that a key may have with all that is around it. The pattern takes the square of the time
for a longer one, and a model that has lost its way repeats one dash for as long as it may."""
_LONGEST_KEY = len("TASKS_COMPLETED_THIS_LOOP") + 4
_TAIL = r"(?:[.,;!]|\s*(?:\(|#|//|[-\u2013\u2014]\s).*)?$"  # a remark behind a value
_BOOL = re.compile(r"(true|false)" + _TAIL, re.IGNORECASE)
_INT = re.compile(r"(\d{1,9})(?:\s+[A-Za-z(].*|[.,;])?$")
_WORD = re.compile(r"([A-Za-z][A-Za-z_ -]*?)" + _TAIL)


@dataclass(frozen=True, slots=True)
class StatusBlock:
    """One RALPH_STATUS block. A field that is missing or unreadable is None.

    Attributes:
        status: IN_PROGRESS, COMPLETE, BLOCKED or another word, in capitals.
        exit_signal: whether the loop shall end.
        tasks_completed: tasks completed in this loop.
        tests_status: PASSING, FAILING, NOT_RUN or another word, in capitals.
        files_modified: how many.
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
    """Give the last RALPH_STATUS block of a text that says something, or None.

    The start marker ends its line, with or without prose in front of it (``Done. ---RALPH_STATUS---``); the end
    marker may stand anywhere. Quotes, bullets, emphasis, code fences and ANSI colours around lines and values
    don't matter, nor does the case of a key. The last block counts, so an
    example quoted earlier doesn't; a template (``STATUS: IN_PROGRESS | COMPLETE``) has no values and is
    passed over. A block without an end marker goes on to the next start or the end of the text; one of which not
    even the first line has arrived is a block without fields. Of a key given twice, the last readable value counts.
    """
    last: StatusBlock | None = None
    fields: dict[str, str | bool | int] | None = None
    begun = 0  # lines that a cut may still have left: a marker alone on its line, and the beginning of another
    for line in filter(None, map(str.strip, _ANSI.sub("", text).splitlines())):
        marked = "RALPH_STATUS" in line
        begun = max(0, begun - 1) if len(line) < _LONGEST_KEY else 0
        if marked and (start := _START.search(line)):
            last = _block(fields, terminated=False) or last
            fields = {}
            begun = 0 if line[: start.start()].strip(" >*_`#|+-") else 2
        elif fields and _FENCE.match(line):
            last, fields = _block(fields, terminated=True), None
        elif fields is not None:
            end = _END.search(line) if marked else None
            told = line[: end.start()] if end else line
            if (sign := _SIGN.search(told)) and (key := _within(_KEY, told[: sign.start()])):
                _read(key[1], told[sign.end() :], fields)
            if end:
                last = _block(fields, terminated=True) or last
                fields = None
    if fields == {} and begun and last is None:
        return StatusBlock(terminated=False)
    return _block(fields, terminated=False) or last


def _within(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return pattern.fullmatch(text) if len(text) <= _DECORATED else None


def _block(fields: dict[str, str | bool | int] | None, *, terminated: bool) -> StatusBlock | None:
    return StatusBlock(**fields, terminated=terminated) if fields else None  # type: ignore[arg-type]


def _read(key: str, value: str, fields: dict[str, str | bool | int]) -> None:
    value = value.strip().strip("*_`\"'").strip()
    words = re.sub(" +", " ", value)
    match re.sub(r"[ -]", "_", key.upper()):
        case "STATUS" | "TESTS_STATUS" | "WORK_TYPE" as name:
            if found := _WORD.match(words):
                fields[name.lower()] = re.sub(r"[ -]+", "_", found[1].strip("*_`").upper())
        case "EXIT_SIGNAL":
            if found := _BOOL.match(words):
                fields["exit_signal"] = found[1].lower() == "true"
        case "TASKS_COMPLETED_THIS_LOOP" | "FILES_MODIFIED" as name:
            if found := _INT.match(words):
                fields[name.lower().removesuffix("_this_loop")] = int(found[1])
        case "RECOMMENDATION":
            # Placeholder of the template: <one line> or [one line].
            if value and not re.fullmatch(r"<.*>|\[.*\]", value):
                fields["recommendation"] = value


def find_promise(text: str, promise: str = "COMPLETE") -> bool:
    """Say whether the text holds ``<promise>PROMISE</promise>``.

    Literal and case-sensitive, never a pattern; white space inside the tags is collapsed. Another
    promise in front doesn't hide the right one, nor does a tag that was never closed. Anywhere in the
    text counts, in prose, quotes and code fences too, as in the controllers that brought the
    convention: a model that is told to print the tag often puts it into backquotes.

    Args:
        text: the assistant's own text; for a Stop hook, that of its last message.
        promise: what stands between the tags.
    """
    wanted = " ".join(promise.split())
    if not wanted:
        return False
    for piece in text.split("<promise>")[1:]:
        found, closed, _ = piece.partition("</promise>")
        if closed and " ".join(found.split()) == wanted:
            return True
    return False
