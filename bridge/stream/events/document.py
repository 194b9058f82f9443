"""An output that is one JSON document: an object, or an array of events, of any layout.

Older CLIs and wrappers print one object without a type; bmalph's analyzer reads a handful of its fields.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bridge.stream.documents import parse_whole
from bridge.stream.events.base import Family, generic_session_id, word
from bridge.stream.events.claude import result_denials, result_usage

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

JSON = "json"
"""The name of the family of an object that no CLI of ours printed."""

DOCUMENT_LIMIT = 16 * 1024 * 1024
"""How many bytes a document may have that is laid out over lines."""

_BLANK = b"\xef\xbb\xbf \t\r\n"
_WARNINGS = 20  # lines that may stand before a document
_OPENINGS = 4  # lines that are tried as its first


class Document:
    """The lines of an output, kept while they may be one document, with warnings before it.

    Read line by line, such a document falls to pieces: an element that fits on a line is taken for an
    event, and what is laid out over several is lost.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] | None = []
        self._size = 0
        self._openings: list[int] = []

    def add(self, line: bytes, *, complete: bool) -> None:
        """Keep a line; `complete` says that it held JSON objects by itself."""
        if self._lines is None:
            return
        number = len(self._lines)
        start = line.lstrip(_BLANK)[:1]
        if start and start in b"{[" and number <= _WARNINGS and len(self._openings) < _OPENINGS:
            if complete and start == b"{" and not self._openings:  # events begin here
                self._lines = None
                return
            self._openings.append(number)
        self._lines.append(line)
        self._size += len(line)
        if self._size > DOCUMENT_LIMIT or (number > _WARNINGS and not self._openings):
            self._lines = None

    def value(self) -> tuple[object, bool]:
        """Give the document, and whether other lines stand before it; None when there is none."""
        lines = self._lines or []
        for opening in self._openings if lines else ():
            text = b"\n".join(line.rstrip(b"\r\n") for line in lines[opening:]).lstrip(_BLANK)
            try:
                value = json.loads(text.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            return value, any(line.strip(_BLANK) for line in lines[:opening])
        return None, False


class OneObject(Family):
    """Reads the one object of an unknown CLI, by bmalph's names."""

    name = JSON

    @staticmethod
    def claims(event: JsonObject) -> bool:  # noqa: ARG004
        """Say no: it is taken when nobody else wants it."""
        return False

    def event(self, event: JsonObject) -> None:
        """Take in the object."""
        self.record = event
        self.session_id = generic_session_id(event)
        self.usage = result_usage(event)
        self.denials = result_denials(event)
        status = event.get("api_error_status")
        self.api_error_status = status if isinstance(status, int) else None
        text = word(event.get("result")) or word(event.get("summary"))
        error = event.get("error")
        if isinstance(error, dict):
            error = error.get("message")
        if event.get("is_error") is True:
            self.failed(text or word(error))
        elif word(error) and not text:
            self.failed(word(error))
        else:
            self.final = text
            self.ended()


def is_result(document: JsonObject) -> bool:
    """Say whether an object carries an answer."""
    return isinstance(document.get("result"), str) or isinstance(document.get("summary"), str)


def single(data: bytes) -> JsonObject | None:
    """Give the one object that the output is, or None.

    Warnings may stand in front of it when it is unmistakably a result; otherwise an object within prose
    is prose.
    """
    body = data.lstrip(_BLANK)
    if not data.rstrip().endswith(b"}"):
        return None
    documents = parse_whole(body)
    if len(documents) != 1:
        return None
    if body.startswith(b"{"):
        return documents[0]
    before = body[: body.index(b"{")].count(b"\n")
    record = documents[0]
    named = "exit_signal" in record or (is_result(record) and generic_session_id(record) is not None)
    return record if named and before <= _WARNINGS and b"```" not in data and b"~~~" not in data else None
