"""Cline: ``cline -y --json`` (measured with 3.0.65), and the older ask/say messages.

Today's text arrives as content_start events that repeat what was accumulated, then content_end. There
is no session id in the stream. Older messages are told apart by ``ts`` and repeat while partial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.amounts import amount
from bridge.stream.events.base import Family, Usage, kind, mapping, word

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

_SAYS = ("text", "completion_result")
_ASKS = ("completion_result", "followup", "plan_mode_respond")


class Cline(Family):
    """Reads cline's events."""

    name = "cline"

    def __init__(self) -> None:
        super().__init__()
        self._block = 0

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether cline printed it."""
        match kind(event):
            case "agent_event":
                return isinstance(event.get("event"), dict)
            case "hook_event":
                return "hookEventName" in event
            case "run_result":
                return "finishReason" in event
            case "say" | "ask":
                return isinstance(event.get(kind(event)), str)
        return False

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        match kind(event):
            case "agent_event":
                self._agent(mapping(event.get("event")))
            case "run_result":
                self.final = word(event.get("text"))
                self.usage = _usage(event)
                if event.get("finishReason") == "completed":
                    self.ended()
                else:
                    self.failed(self.error or word(event.get("finishReason")))
            case "say":
                self._said(event, word(event.get("say")) in _SAYS)
            case "ask":
                self._said(event, word(event.get("ask")) in _ASKS)

    def _agent(self, event: JsonObject) -> None:
        if kind(event) == "error":
            error = event.get("error")
            self.failed(word(event.get("message")) or word(error) or word(mapping(error).get("message")))
        if event.get("contentType") != "text":
            return
        key = ("block", self._block)
        if kind(event) in ("content_start", "content_update"):
            if "accumulated" in event:
                self.texts.put(key, word(event.get("accumulated")))
            else:
                self.texts.add(key, word(event.get("text")))
        elif kind(event) == "content_end":
            if "text" in event:
                self.texts.put(key, word(event.get("text")))
            self._block += 1

    def _said(self, event: JsonObject, own: bool) -> None:
        if own:
            self.texts.put(("ts", str(event.get("ts"))), word(event.get("text")))
        if "completion_result" in (event.get("say"), event.get("ask")) and event.get("partial") is not True:
            self.ended()


def _usage(event: JsonObject) -> Usage:
    usage = mapping(event.get("usage"))
    return Usage(
        input_tokens=amount(usage.get("inputTokens")),
        output_tokens=amount(usage.get("outputTokens")),
        cache_read_tokens=amount(usage.get("cacheReadTokens")),
        cache_creation_tokens=amount(usage.get("cacheWriteTokens")),
        total_cost_usd=amount(usage.get("totalCost")),
        duration_ms=amount(event.get("durationMs")),
        num_turns=amount(event.get("iterations")),
    )
