"""What the coding CLIs print, one reader per family, and :class:`Reader`, which tells whose output it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.scripts.stream.documents import BLANKS, HELD_LIMIT, WARNINGS, Document, Held, parse_line, parse_whole
from bridge.scripts.stream.events.base import (
    Answer,
    Family,
    NoTexts,
    Usage,
    closes,
    generic_session_id,
    generic_session_ids,
    integer,
    mapping,
    word,
)
from bridge.scripts.stream.events.claude import Claude, Cursor, Qwen, result_denials, result_usage
from bridge.scripts.stream.events.droid import Droid
from bridge.scripts.stream.events.families import Agy, Cline, Codex, Copilot, Kimi, OpenCode
from bridge.scripts.stream.events.gemini import Gemini
from bridge.scripts.stream.events.pi import Pi

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.scripts.stream.documents import JsonObject

__all__ = ["FAMILIES", "Answer", "Reader", "Usage", "read_output"]

FAMILIES: dict[str, type[Family]] = {
    "codex": Codex,
    "opencode": OpenCode,
    "cline": Cline,
    "copilot": Copilot,
    "gemini": Gemini,
    "kimi": Kimi,
    "agy": Agy,
    "pi": Pi,
    "droid": Droid,  # from here on before claude: they claim less
    "qwen": Qwen,
    "cursor": Cursor,
    "claude": Claude,
}
"""Asked in this order; the first that claims an event reads the output from there on."""

_FENCES = (b"```", b"~~~")


class _OneObject(Family):
    """The one object, without a type, of an older CLI or a wrapper, by bmalph's names; nobody else wants it."""

    name = "json"

    def event(self, event: JsonObject) -> None:
        self.record = event
        self.session_id = generic_session_id(event)
        self.usage = result_usage(event)
        self.denials = result_denials(event)
        self.api_error_status = integer(event.get("api_error_status"))
        text = word(event.get("result")) or word(event.get("summary"))
        error = word(mapping(event.get("error")).get("message")) or word(event.get("error"))
        if event.get("is_error") is True or (error and not text):
            self.failed(text or error)
        else:
            self.final = text
            self.ended()


class Reader:
    """Reads an output line by line, while the CLI runs or afterwards.

    The first event that a family claims decides, unless it stands in a markdown code fence: then it is
    a plain-text answer that shows one. Before that, lines are held, since they may be plain text or one
    document spread over lines; afterwards nothing is kept but the assistant's text.

    Args:
        text: False to gather no text, for the session id alone.
        held_limit: how many bytes of what is no event are kept; of more, the last ones.

    Attributes:
        malformed: lines so far that were neither blank nor JSON.
        closings: events so far that close a turn.
    """

    def __init__(self, *, text: bool = True, held_limit: int = HELD_LIMIT) -> None:
        self.malformed = self.closings = 0
        self._closed = False
        self._family: Family | None = None
        self._events = 0
        self._first: JsonObject = {}
        self._document = Document()
        self._settled: tuple[Family | None, str] | None = None
        self._held = Held(held_limit)
        self._fences = 0
        self._unknown = 0
        self._ids: set[str] = set()
        self._text = text

    @property
    def family(self) -> str | None:
        return self._family.name if self._family else None

    def feed(self, line: bytes) -> None:
        """Take in one line, with or without its newline. Never raises."""
        self._settled = None
        events = parse_line(line)
        self._document.add(line, complete=bool(events))
        if events is None:
            self.malformed += 1
            if line.lstrip().startswith(_FENCES):
                self._fences += 1
        for event in events or ():
            self._take(event)
        if self._family is None:
            self._held.add(line)

    def _take(self, event: JsonObject) -> None:
        if self._family is None:
            self._family = None if self._fences % 2 else self._family_of(event)
            if self._family is None:
                self._unknown += 1
                if len(self._ids) < 2:  # two differ already
                    self._ids.update(generic_session_ids(event))
                return
            self._held.clear()
            self._first = event
        elif self._events == 1 and type(self._family) is Claude and not Claude.claims(event):
            self._begin_anew(event)
        self._events += 1
        self._family.event(event)
        closing = closes(self._family.name, event)
        self._closed = self._closed if closing is None else closing
        self.closings += closing is True

    def _begin_anew(self, event: JsonObject) -> None:
        """Where the second event is another family's, the first one was, too: several begin as claude does."""
        if (other := self._family_of(event)) is not None:
            other.event(self._first)
            self._family = other

    def answer(self) -> Answer:
        """What the lines so far amount to; more may be fed afterwards."""
        family, shape = self._settle()
        answer = Answer("text", "", "")
        if family is not None:
            answer = family.answer(shape, self.malformed if family is self._family else 0)
            if not isinstance(family, _OneObject) or _is_result(family.record) or family.is_error:
                return answer
        text = self._held.data().decode("utf-8-sig", "replace").replace("\r\n", "\n").strip("\n")
        return replace(answer, family="text", text=text, final_text=text, session_id=None, completed=None)

    def answered(self) -> bool:
        """Whether the CLI has answered, by the event that closes a turn or by one whole document, and has begun
        nothing since.
        """
        if self._family is not None:
            return self._closed
        whole, _ = self._settle()
        return (
            self._document.value()[0] is not None and whole is not None and bool(whole.completed or whole.is_error)
        )

    def session_id(self) -> str | None:
        """The session id: also that of an object, or of JSON lines, that no CLI of ours printed."""
        family, _ = self._settle()
        if family is not None and (family.session_id or family is not self._family):
            return family.session_id
        return next(iter(self._ids)) if self._agreed() else None

    def _agreed(self) -> bool:
        """Whether lines of no known family are events, and not examples in prose, and name one session."""
        return len(self._ids) == 1 and not self._fences and self._unknown > self.malformed

    def _settle(self) -> tuple[Family | None, str]:
        if self._settled is None:
            self._settled = self._whole() or self._lines() or (None, "text")
        return self._settled

    def _whole(self) -> tuple[Family, str] | None:
        """Try everything as the one document that its first line began."""
        value, after_text = self._document.value()
        if isinstance(value, dict) and not after_text:
            return self._fed([value]) or _one(value), "object"
        if isinstance(value, list):
            events = [item for item in value if isinstance(item, dict)]
            results = [event for event in events if event.get("type") == "result"]
            if after_text and (self._fences or not results):
                return None
            return self._fed(events) or _one(results[-1] if results else {}), "array"
        return None

    def _lines(self) -> tuple[Family, str] | None:
        """Take the events line by line; without any, what was held may be events spread over lines."""
        if self._family is not None:
            return self._family, "object" if self._events == 1 and self._family.record else "stream"
        data = self._held.data()
        if b"{" not in data:
            return None
        events = [] if self._fences else parse_whole(data)
        if (family := self._fed(events)) is not None:
            return family, "object" if len(events) == 1 and family.record else "stream"
        return (_one(found), "object") if (found := _single(data)) is not None else None

    def _fed(self, events: list[JsonObject]) -> Family | None:
        family: Family | None = None
        for event in events:
            family = family or self._family_of(event)
            if family is not None:
                family.event(event)
        return family

    def _family_of(self, event: JsonObject) -> Family | None:
        family = next((family() for family in FAMILIES.values() if family.claims(event)), None)
        if family is not None and not self._text:
            family.texts = NoTexts()
        return family


def _one(record: JsonObject) -> Family:
    family = _OneObject()
    family.event(record)
    return family


def read_output(lines: Iterable[bytes]) -> Answer:
    """Read a whole output; `lines` may be an open binary file."""
    reader = Reader()
    for line in lines:
        reader.feed(line)
    return reader.answer()


def _is_result(document: JsonObject) -> bool:
    return isinstance(document.get("result"), str) or isinstance(document.get("summary"), str)


def _single(data: bytes) -> JsonObject | None:
    """The one object that the output is, or None.

    Warnings may stand in front of it when it is unmistakably a result; otherwise an object within prose
    is prose.
    """
    body = data.lstrip(BLANKS)
    if not data.rstrip().endswith(b"}"):
        return None
    documents = parse_whole(body)
    if len(documents) != 1:
        return None
    if body.startswith(b"{"):
        return documents[0]
    before = body[: body.index(b"{")].count(b"\n")
    record = documents[0]
    named = "exit_signal" in record or (_is_result(record) and generic_session_id(record) is not None)
    return record if named and before <= WARNINGS and b"```" not in data and b"~~~" not in data else None
