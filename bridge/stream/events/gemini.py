"""Gemini CLI: ``--output-format json`` (one object) and ``stream-json`` (measured with 0.61).

The prompt is echoed as a message of the user's. Exit status 0 is no proof: an empty answer ends so, too, with a
result whose status is "error".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.events.base import Family, kind, mapping, word
from bridge.stream.events.details import Usage, amount, refused, total

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject


class Gemini(Family):
    """Reads gemini's events."""

    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._block = 0
        self._called: dict[str, tuple[str, object]] = {}

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether gemini printed it."""
        match kind(event):
            case "init":
                return "session_id" in event and "model" in event
            case "message":
                return "timestamp" in event and "role" in event and isinstance(event.get("content"), str)
            case "result":
                return event.get("status") in ("success", "error") and ("stats" in event or "error" in event)
        return "type" not in event and isinstance(event.get("response"), str) and "stats" in event

    def event(self, event: JsonObject) -> None:
        """Take in one event, or the only object."""
        self.session_id = word(event.get("session_id")) or self.session_id
        match kind(event):
            case "message" if event.get("role") == "assistant":
                self.texts.add(("block", self._block), word(event.get("content")))
            case "tool_use":
                self._block += 1
                self._called[word(event.get("tool_id"))] = word(event.get("tool_name")), event.get("parameters")
            case "tool_result":
                self._tool(event)
            case "error" if event.get("severity") != "warning":
                self.failed(word(event.get("message")))
            case "result":
                self.record = event
                stats = mapping(event.get("stats"))
                self.usage = Usage(
                    input_tokens=amount(stats.get("input_tokens")),
                    output_tokens=amount(stats.get("output_tokens")),
                    cache_read_tokens=amount(stats.get("cached")),
                    duration_ms=amount(stats.get("duration_ms")),
                )
                if event.get("status") == "success":
                    self.ended()
                else:
                    self.failed(word(mapping(event.get("error")).get("message")))
            case "":
                self._object(event)

    def _tool(self, event: JsonObject) -> None:
        error = mapping(event.get("error"))
        message = word(error.get("message"))
        if error.get("type") == "policy_violation" or "requires user confirmation" in message:
            self.denials.append(refused(*self._called.get(word(event.get("tool_id")), ("", None))))

    def _object(self, event: JsonObject) -> None:
        self.record = event
        for model in mapping(mapping(event.get("stats")).get("models")).values():
            tokens = mapping(mapping(model).get("tokens"))
            self.usage = Usage(
                input_tokens=total(self.usage.input_tokens, tokens.get("prompt")),
                output_tokens=total(self.usage.output_tokens, tokens.get("candidates")),
                cache_read_tokens=total(self.usage.cache_read_tokens, tokens.get("cached")),
            )
        self.final = word(event.get("response"))
        if error := word(mapping(event.get("error")).get("message")):
            self.failed(error)
        else:
            self.ended()
