"""From the lines of an output to an :class:`Answer`: which family it is, and its reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.documents import Held, parse_line, parse_whole
from bridge.stream.events.base import Answer, Family, NoTexts, clean, generic_session_id, word
from bridge.stream.events.claude import Claude
from bridge.stream.events.cline import Cline
from bridge.stream.events.codex import Codex
from bridge.stream.events.copilot import Copilot
from bridge.stream.events.cursor import Cursor
from bridge.stream.events.opencode import OpenCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.stream.documents import JsonObject

__all__ = ["FAMILIES", "Reader", "read_output"]

FAMILIES: dict[str, type[Family]] = {
    "codex": Codex,
    "opencode": OpenCode,
    "cline": Cline,
    "copilot": Copilot,
    "cursor": Cursor,  # before claude: it claims less
    "claude": Claude,
}
"""Asked in this order; the first that claims an event reads the output from there on."""

_FENCES = (b"```", b"~~~")


class Reader:
    """Reads an output line by line, while the CLI runs or afterwards.

    The first event that a family claims decides, unless it stands in a markdown code fence: then it is
    a plain-text answer that shows one. Before that, lines are held, since they may be plain text or one
    document spread over lines; afterwards nothing is kept but the assistant's text.

    Args:
        text: False to gather no text, for the session id alone.

    Attributes:
        malformed: lines so far that were neither blank nor JSON.
    """

    def __init__(self, *, text: bool = True) -> None:
        self.malformed = 0
        self._family: Family | None = None
        self._held = Held()
        self._fences = 0
        self._text = text

    @property
    def family(self) -> str | None:
        """Name of the family, once it is known."""
        return self._family.name if self._family else None

    def feed(self, line: bytes) -> None:
        """Take in one line, with or without its newline. Never raises."""
        events = parse_line(line)
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
                return
            self._held.clear()
        self._family.event(event)

    def answer(self) -> Answer:
        """Give what the lines so far amount to; more may be fed afterwards."""
        if self._family is not None:
            return self._family.answer(self.malformed)
        data = self._held.data()
        if (family := self._spread(data)) is not None:
            return family.answer()
        if _is_result(document := _single(data)):
            return _json(document)
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").strip("\n")
        return Answer(family="text", text=text, final_text=text)

    def session_id(self) -> str | None:
        """Give the session id alone: also that of one object that no CLI of ours printed."""
        if self._family is not None:
            return self._family.session_id
        data = self._held.data()
        if (family := self._spread(data)) is not None:
            return family.session_id
        return generic_session_id(_single(data))

    def _spread(self, data: bytes) -> Family | None:
        """Try what was held as events that are spread over lines."""
        family: Family | None = None
        if b"{" in data and not self._fences:  # in a fence, it is an answer that shows some
            for event in parse_whole(data):
                family = family or self._family_of(event)
                if family is not None:
                    family.event(event)
        return family

    def _family_of(self, event: JsonObject) -> Family | None:
        family = next((family() for family in FAMILIES.values() if family.claims(event)), None)
        if family is not None and not self._text:
            family.texts = NoTexts()
        return family


def read_output(lines: Iterable[bytes]) -> Answer:
    """Read a whole output; `lines` may be an open binary file."""
    reader = Reader()
    for line in lines:
        reader.feed(line)
    return reader.answer()


def _single(data: bytes) -> JsonObject:
    """Give the one object that the output is, or an empty one: an object within prose is prose."""
    documents = parse_whole(data) if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else []
    return documents[0] if len(documents) == 1 and data.rstrip().endswith(b"}") else {}


def _is_result(document: JsonObject) -> bool:
    """Wrappers and older CLIs print one object without a type: the analyzer of bmalph reads those."""
    return isinstance(document.get("result"), str) or isinstance(document.get("summary"), str)


def _json(document: JsonObject) -> Answer:
    text = clean(word(document.get("result")) or word(document.get("summary")))
    failed = document.get("is_error") is True
    return Answer(
        family="json",
        text="" if failed else text,
        final_text="" if failed else text,
        session_id=generic_session_id(document),
        completed=not failed,
        is_error=failed,
        error=text if failed else None,
    )
