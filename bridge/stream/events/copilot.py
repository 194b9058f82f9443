"""GitHub Copilot CLI: ``--output-format json`` (measured with 1.0.102). Without it the output is plain text.

The summary handed to its tool task_complete is the assistant's answer too, and may be the only place of
a status block (drift D14).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.amounts import amount
from bridge.stream.events.base import Family, Usage, kind, mapping, word

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

_PREFIXES = ("assistant.", "session.", "user.", "tool.", "model.")


class Copilot(Family):
    """Reads copilot's events."""

    name = "copilot"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether copilot printed it."""
        if kind(event) == "result":
            return "exitCode" in event
        return kind(event).startswith(_PREFIXES) and isinstance(event.get("data"), dict)

    def event(self, event: JsonObject) -> None:
        """Take in one event; a message with a parent tool call is a sub-agent's."""
        data = mapping(event.get("data"))
        if data.get("parentToolCallId"):
            return
        match kind(event):
            case "assistant.message":
                self.texts.put_or_say(("message", word(data.get("messageId"))), word(data.get("content")))
            case "assistant.message_delta":
                self.texts.add(("message", word(data.get("messageId"))), word(data.get("deltaContent")))
            case "session.task_complete":
                self.final = word(data.get("summary"))
            case "session.error":
                status = data.get("statusCode")
                self.api_error_status = status if isinstance(status, int) else None
                self.error_kind = word(data.get("errorType"))
                self.failed(word(data.get("message")))
            case "result":
                self._result(event)

    def _result(self, event: JsonObject) -> None:
        self.session_id = word(event.get("sessionId")) or self.session_id
        usage = mapping(event.get("usage"))
        self.usage = Usage(
            duration_ms=amount(usage.get("sessionDurationMs")),
            duration_api_ms=amount(usage.get("totalApiDurationMs")),
        )
        if event.get("exitCode") == 0:
            self.ended()
        else:
            self.failed(self.error or f"exit code {event.get('exitCode')}")
