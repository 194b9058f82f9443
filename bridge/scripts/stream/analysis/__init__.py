"""What a run of a CLI came to: from the bytes of its output to an :class:`Analysis`, in bounded memory."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from bridge.base.clis import own_words as own_words_of
from bridge.base.patterns import lazy
from bridge.errors import OutputUnreadable
from bridge.scripts.stream.analysis.limits import (
    find_limit,
    is_overload,
    limit_in_events,
    own_words,
    reset_time,
    tells_of_work,
)
from bridge.scripts.stream.analysis.limits import is_own as is_own_limit
from bridge.scripts.stream.analysis.model import (
    Analysis,
    Limit,
    LimitKind,
    PermanentFailure,
    PermanentReason,
    RunFacts,
    iso,
)
from bridge.scripts.stream.analysis.permanent import find_permanent
from bridge.scripts.stream.analysis.permanent import is_own as is_own_failure
from bridge.scripts.stream.analysis.scan import Length, Scan, fingerprint
from bridge.scripts.stream.analysis.verdict import json_verdict, text_verdict
from bridge.scripts.stream.events import Answer, Reader
from bridge.scripts.stream.events.base import clean, squeezed
from bridge.scripts.stream.events.claude import TURNS_USED_UP
from bridge.scripts.stream.events.gemini import TOO_MANY_REQUESTS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from datetime import datetime


__all__ = [
    "Analysis",
    "Analyzer",
    "Limit",
    "LimitKind",
    "PermanentFailure",
    "PermanentReason",
    "RunFacts",
    "analyze",
    "analyze_file",
    "fingerprint",
    "is_overload",
    "iso",
    "reset_time",
]

LINE_LIMIT = 32 * 1024 * 1024
"""How many bytes a line may have; a longer one is read in pieces, and is no event."""

_HELD = 16 * 1024 * 1024
_CHUNK = 1024 * 1024
_STDERR_TAIL = 64 * 1024


class Analyzer:
    """Takes in an output in chunks of any size, as it comes or afterwards.

    How it was cut into chunks makes no difference. Kept are at most one line, 16 MiB of what is no event
    and 16 MiB of the assistant's text.
    """

    def __init__(self) -> None:
        self._reader = Reader(held_limit=_HELD)
        self._scan = Scan()
        self._length = Length()
        self._pieces: list[bytes] = []
        self._text: list[bytes] = []
        self._pending = 0

    def feed(self, chunk: bytes) -> None:
        self._length.add(chunk)
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._add(line)
            self._end(b"\n")
        self._add(rest)
        self._scan_text()

    @property
    def prints_events(self) -> bool:
        """Whether what was printed so far are events of a known CLI."""
        return self._reader.family is not None

    @property
    def closings(self) -> int:
        """Events so far that close a turn."""
        return self._reader.closings

    def answered(self) -> bool:
        """Whether the CLI has answered, and has begun nothing since."""
        return self._reader.answered()

    def reports_failure(self) -> bool:
        """Whether what it has printed so far ends in an error."""
        return self._reader.answer().is_error

    def _add(self, piece: bytes) -> None:
        while self._pending + len(piece) > LINE_LIMIT:
            room = LINE_LIMIT - self._pending
            self._pieces.append(piece[:room])
            self._end(b"")
            piece = piece[room:]
        if piece:
            self._pieces.append(piece)
            self._pending += len(piece)

    def _end(self, newline: bytes) -> None:
        line = b"".join(self._pieces) + newline
        self._pieces.clear()
        self._pending = 0
        self._reader.feed(line)
        if self._reader.family is None:
            self._text.append(line)

    def _scan_text(self) -> None:
        if self._text:
            self._scan.lines(b"".join(self._text))
            self._text.clear()

    def finish(self, facts: RunFacts) -> Analysis:
        """Judge what was fed; nothing may be fed afterwards."""
        if self._pieces:
            self._end(b"")
        self._scan_text()
        answer, length = self._reader.answer(), self._length.value
        if answer.shape == "text":
            if error := _error_alone(answer.text, facts.now):
                answer = replace(answer, is_error=True, error=error)
            found = text_verdict(answer, self._scan, length, facts)
        else:
            if answer.completed and not answer.is_error and (error := _own_alone(answer.final_text)):
                answer = replace(answer, is_error=True, error=error, text="", final_text="")
            if _is_only_its_error(answer) and _own_alone(answer.text):  # some print it as the assistant's, too
                answer = replace(answer, text="", final_text="")
            if answer.family == "text":  # one document that carries no answer
                session_id = self._reader.session_id()
                answer = replace(answer, family="json", text="", final_text="", session_id=session_id)
            found = json_verdict(answer, facts)
        return _completed(found, answer, length, facts)


def _is_only_its_error(answer: Answer) -> bool:
    return answer.is_error and squeezed(answer.text) == squeezed(answer.error or "")


_API_ERROR = lazy(r"\[?api error(?::| \()", re.IGNORECASE)
_ERROR = lazy(r"(?:fatal )?\w*error: \S|(?:execution error|internal server error)\W*$", re.IGNORECASE)
_TOO_LONG = lazy(r"(?:prompt|input) is too long\W*", re.IGNORECASE)
_ADVICE = lazy(r"/[a-z-]+ ")  # a command of the CLI's: "/upgrade to increase your usage limit"
_LINES, _OWN_LINES, _ALONE = 20, 3, 4000


def _error_alone(text: str, now: datetime) -> str:
    """The words of a plain text that are all a CLI's own report of failure, or whose last line tells of a limit and
    when that ends; '' of any other."""
    last = text[-_ALONE:].rstrip().rpartition("\n")[2].strip()
    if is_own_limit(last) and reset_time(last, now) is not None:
        return last
    if len(text) > _ALONE:
        return ""
    lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if not lines or len(lines) > _LINES:
        return ""
    return "\n".join(lines) if all(map(_is_own, _reports(lines))) else ""


def _reports(lines: list[str]) -> list[str]:
    """The lines without the CLI's advice below the first."""
    return [line for number, line in enumerate(lines) if not (number and _ADVICE.match(line))]


def _own_alone(text: str) -> str:
    """The words of an answer in events, where they are all a CLI's own, as about a limit; else ''."""
    lines = list(dict.fromkeys(line.strip() for line in text[: _ALONE + 1].splitlines() if line.strip()))
    own = len(text) <= _ALONE and 0 < len(lines) <= _OWN_LINES
    return "\n".join(lines) if own and all(map(_is_certain, _reports(lines))) else ""


def _is_certain(line: str) -> bool:
    if is_own_limit(line) or is_own_failure(line) or _TOO_LONG.fullmatch(line):
        return True
    return _API_ERROR.match(line) is not None and not tells_of_work(line)


def _is_own(line: str) -> bool:
    if _is_certain(line):
        return True
    return _ERROR.match(line) is not None and not tells_of_work(line)


def analyze(chunks: Iterable[bytes], facts: RunFacts) -> Analysis:
    """Analyse an output that comes in chunks or lines. Raises only what `chunks` raises."""
    analyzer = Analyzer()
    for chunk in chunks:
        analyzer.feed(chunk)
    return analyzer.finish(facts)


def analyze_file(path: str | os.PathLike[str], facts: RunFacts) -> Analysis:
    """Analyse a log; one that doesn't exist counts as empty.

    Raises:
        OutputUnreadable: it exists and can't be read.
    """
    try:
        with open(path, "rb") as file:
            return analyze(iter(lambda: file.read(_CHUNK), b""), facts)
    except FileNotFoundError:
        return analyze((), facts)
    except OSError as error:
        raise OutputUnreadable(
            f"the output file {str(path)!r} can't be read: {error.strerror or error}\n"
            "  next: check what it is, and its permissions"
        ) from error


def _completed(found: Analysis, answer: Answer, length: int, facts: RunFacts) -> Analysis:
    limit = _limit(answer, facts)
    permanent = find_permanent(answer, limit, facts)
    own_error = (answer.error or "").strip().split("\n", 1)[0] if answer.is_error else ""
    return replace(
        found,
        loop_number=facts.loop_number,
        timestamp=iso(facts.now),
        output_file=facts.output_file,
        has_progress=facts.files_changed > 0,
        files_modified=facts.files_changed if facts.files_changed > 0 else found.files_modified,
        output_length=length,
        has_permission_denials=bool(found.denied_commands),
        permission_denial_count=len(found.denied_commands),
        usage=answer.usage,
        session_id=clean((answer.session_id or "").replace("\r", "")),
        family=answer.family,
        text=answer.text,
        last_text=answer.final_text,
        completed_turn=answer.completed,
        is_error=answer.is_error,
        error=answer.error,
        api_error_status=answer.api_error_status,
        turns_used_up=answer.error_kind in TURNS_USED_UP or _turns_used_up(answer, facts),
        limit=limit if permanent is None else None,
        permanent=permanent,
        has_errors=answer.is_error or found.has_errors,
        error_fingerprint=fingerprint(own_error.strip().split("\n", 1)[0])
        if own_error
        else found.error_fingerprint,
        malformed=answer.malformed,
        size=answer.size,
    )


def _turns_used_up(answer: Answer, facts: RunFacts) -> bool:
    """Whether a CLI that prints plain text, or its stderr, says that its own limit of turns has ended it."""
    if not (answer.is_error or facts.exit_status):
        return False
    stderr = facts.stderr[-_STDERR_TAIL:].decode("utf-8", "replace")
    texts = answer.error or "", stderr, answer.text if answer.shape == "text" else ""
    lines = (text.rstrip().rpartition("\n")[2] for text in texts)
    return any(_of_turns().match(line.strip()) for line in lines)


@cache
def _of_turns() -> re.Pattern[str]:
    words = "|".join(own_words_of("turns_used_up"))
    return re.compile(rf"(?:[^\w\s]\s*)?(?:(?:fatal )?error:\s*)?(?:{words})", re.IGNORECASE)


def _limit(answer: Answer, facts: RunFacts) -> Limit | None:
    if answer.completed and not answer.is_error and facts.ended_well:
        return None
    texts = [answer.error] if answer.error else []
    stderr = facts.stderr[-_STDERR_TAIL:].decode("utf-8", "replace")
    if facts.timed_out:  # it may have been busy with anything; only a plain statement counts
        texts.append(own_words(stderr))
    elif facts.exit_status != 0:
        texts.append(stderr)
        if answer.shape == "text":
            texts.append(own_words(answer.text))
    status = answer.api_error_status
    if answer.family == "gemini" and facts.exit_status == TOO_MANY_REQUESTS:
        status = 429
    found = find_limit(texts, facts.now, api_error_status=status)
    if answer.limit_type is not None or answer.reset_at is not None:
        return limit_in_events(answer.limit_type or "", answer.reset_at, found, answer.error or "")
    return found
