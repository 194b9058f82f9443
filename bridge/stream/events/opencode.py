"""OpenCode: ``opencode run --format json``, today's events and the older ones (traps T5, D5, D6).

Today (measured with 1.18): step_start, text, reasoning, tool_use, step_finish, error, each with a
``sessionID`` (capital D); a text comes whole. Older: session.created, message.updated, message.completed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.amounts import total
from bridge.stream.events.base import Family, block_texts, kind, mapping, refused, word

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

_TODAY = ("step_start", "text", "reasoning", "tool_use", "step_finish", "error")
_SESSION = ("session.created", "session.updated")
_MESSAGE = ("message.updated", "message.completed")


class OpenCode(Family):
    """Reads opencode's events."""

    name = "opencode"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether opencode printed it."""
        if kind(event) in _TODAY:
            return "sessionID" in event
        if kind(event) in _MESSAGE:
            return bool(word(mapping(event.get("message")).get("role")))
        return kind(event) in _SESSION

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        self.session_id = self.session_id or session_id(event)
        part = mapping(event.get("part"))
        match kind(event):
            case "text" if not (part.get("synthetic") or part.get("ignored")):
                self.texts.put_or_say(("part", word(part.get("id"))), word(part.get("text")))
            case "step_start":
                self.completed = False
            case "tool_use":
                self._tool(part)
            case "step_finish":
                self._count(part)
                if part.get("reason") == "stop":
                    self.ended()
                else:  # tool-calls: there is another step to come; length: it was cut
                    self.completed = False
            case "error":
                error = mapping(event.get("error"))
                status = mapping(error.get("data")).get("statusCode")
                self.api_error_status = status if isinstance(status, int) else None
                self.error_kind = word(error.get("name"))
                self.failed(word(mapping(error.get("data")).get("message")) or word(error.get("name")))
            case "message.updated" | "message.completed":
                self._message(event)

    def _tool(self, part: JsonObject) -> None:
        """A refused tool has no field of its own, only its error's words."""
        state = mapping(part.get("state"))
        if state.get("status") == "error" and "rejected permission" in word(state.get("error")):
            self.denials.append(refused(part.get("tool"), state.get("input")))

    def _count(self, part: JsonObject) -> None:
        tokens = mapping(part.get("tokens"))
        cache = mapping(tokens.get("cache"))
        self.usage = replace(
            self.usage,
            input_tokens=total(self.usage.input_tokens, tokens.get("input")),
            output_tokens=total(self.usage.output_tokens, tokens.get("output")),
            cache_read_tokens=total(self.usage.cache_read_tokens, cache.get("read")),
            cache_creation_tokens=total(self.usage.cache_creation_tokens, cache.get("write")),
            total_cost_usd=total(self.usage.total_cost_usd, part.get("cost")),
            num_turns=total(self.usage.num_turns, 1),
        )

    def _message(self, event: JsonObject) -> None:
        """Take in an older event: each update carries the whole message as it is by then."""
        message = mapping(event.get("message"))
        if message.get("role") != "assistant":
            return
        sources = (message.get("parts"), message.get("content"), event.get("parts"), message.get("text"))
        text = next((found for source in sources if (found := block_texts(source))), "")
        if text:
            self.texts.put_or_say(("message", word(message.get("id"))), text)
        if kind(event) == "message.completed":
            self.ended()


def session_id(event: JsonObject) -> str | None:
    """Give the id on one event, today's or older, or None."""
    session = mapping(event.get("session"))
    found = (event.get("sessionID"), session.get("id"), event.get("session_id"), event.get("sessionId"))
    return next((text for value in found if (text := word(value))), None)
