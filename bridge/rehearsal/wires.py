"""What the three wires have in common: a request read, an answer as one document or as a stream of events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.rehearsal.message import Message

__all__ = ["Event", "Wire", "encode", "instructions", "prompts", "strings"]


class Event(NamedTuple):
    """One event of a stream.

    Attributes:
        name: its ``event:`` line, or ''.
        data: its ``data:``; a string goes out as it is.
        text: it is a piece of the assistant's text: a place to be late, to be cut or to hang.
    """

    name: str
    data: Mapping[str, Any] | str
    text: bool = False


class Wire(Protocol):
    """How one API asks and answers; a module."""

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        """Name the tools that a request offers."""

    def document(self, request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
        """Give the whole answer."""

    def events(self, request: Mapping[str, Any], message: Message) -> Iterator[Event]:
        """Give the answer as a stream."""


def encode(event: Event) -> bytes:
    """Write an event as the stream has it."""
    head = f"event: {event.name}\n" if event.name else ""
    data = event.data if isinstance(event.data, str) else json.dumps(event.data)
    return f"{head}data: {data}\n\n".encode()


def instructions(request: Mapping[str, Any]) -> list[str]:
    """Give what the system said in a request of any wire, one string for each piece of text."""
    told = strings(request.get("system")) + strings(request.get("instructions"))
    for message in _messages(request):
        if message.get("role") in ("system", "developer"):
            told += strings(message.get("content"))
    return told


def _messages(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = request.get("messages") or request.get("input") or []
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


def prompts(request: Mapping[str, Any]) -> list[str]:
    """Give what the user said in a request of any wire, in order, one string for each piece of text."""
    said = strings(words) if isinstance(words := request.get("input"), str) else []
    for message in _messages(request):
        if message.get("role") == "user":
            said += strings(message.get("content"))
    return said


def strings(content: object) -> list[str]:
    """Give the texts of a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
