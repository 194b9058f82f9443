"""Droid: ``exec --output-format stream-json`` (measured with 0.215); what it prints for ``json`` is as claude's.

The session id is on every line. A tool that its level doesn't allow ends the turn, with an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.amounts import amount
from bridge.scripts.stream.events.base import Family, Usage, kind, mapping, refused, word

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject

_REFUSED = "insufficient permission"


class Droid(Family):
    name = "droid"

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[str, JsonObject] = {}

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "system":
                return event.get("subtype") == "init" and "reasoning_effort" in event
            case "message":
                return event.get("role") in ("user", "assistant") and isinstance(event.get("text"), str)
            case "tool_call" | "tool_result":
                return "toolId" in event
            case "completion":
                return "finalText" in event
            case "error":
                return event.get("source") in ("agent_loop", "cli")
        return False

    def event(self, event: JsonObject) -> None:
        self.session_id = word(event.get("session_id")) or self.session_id
        match kind(event):
            case "message" if event.get("role") == "assistant":
                self.texts.put_or_append(("message", word(event.get("id"))), word(event.get("text")))
            case "tool_call":
                self._calls[word(event.get("id"))] = event
            case "tool_result" if _REFUSED in word(mapping(event.get("error")).get("message")):
                call = self._calls.get(word(event.get("id")), {})
                self.denials.append(refused(call.get("toolName"), call.get("parameters")))
            case "error":  # the second one, of the command line, says no more than that it failed
                self.failed(self.error or word(event.get("message")))
            case "completion":
                self._completed(event)

    def _completed(self, event: JsonObject) -> None:
        usage = mapping(event.get("usage"))
        self.final = word(event.get("finalText"))
        self.usage = Usage(
            input_tokens=amount(usage.get("input_tokens")),
            output_tokens=amount(usage.get("output_tokens")),
            cache_read_tokens=amount(usage.get("cache_read_input_tokens")),
            cache_creation_tokens=amount(usage.get("cache_creation_input_tokens")),
            duration_ms=amount(event.get("durationMs")),
            num_turns=amount(event.get("numTurns")),
        )
        self.ended()
