"""What a run of a CLI came to: from the bytes of its output to an :class:`Analysis`, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.errors import OutputUnreadable
from bridge.stream.analysis.limits import find_limit, is_overload, limit_in_events, own_words, reset_time
from bridge.stream.analysis.model import (
    Analysis,
    Limit,
    LimitKind,
    PermanentFailure,
    PermanentReason,
    RunFacts,
    iso,
)
from bridge.stream.analysis.permanent import find_permanent
from bridge.stream.analysis.scan import Length, Scan, fingerprint
from bridge.stream.analysis.verdict import json_verdict, text_verdict
from bridge.stream.events import Answer, Reader
from bridge.stream.events.base import clean
from bridge.stream.events.gemini import TOO_MANY_REQUESTS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


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
            found = text_verdict(answer, self._scan, length, facts)
        else:
            if answer.family == "text":  # one document that carries no answer
                session_id = self._reader.session_id()
                answer = replace(answer, family="json", text="", final_text="", session_id=session_id)
            found = json_verdict(answer, facts)
        return _completed(found, answer, length, facts)


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
        limit=limit if permanent is None else None,
        permanent=permanent,
        has_errors=answer.is_error or found.has_errors,
        error_fingerprint=fingerprint(own_error.strip().split("\n", 1)[0])
        if own_error
        else found.error_fingerprint,
        malformed=answer.malformed,
    )


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
