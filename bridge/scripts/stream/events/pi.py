"""pi: ``--mode json`` (measured with 0.87 and 1.3).

The session id is in the first line. A message comes in pieces, then whole, with the tokens that it took and why it
stopped. Status 0 is returned whatever the provider said: an error is a message that stopped with ``error``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.amounts import amount
from bridge.scripts.stream.events.base import Family, Usage, block_texts, kind, mapping, word

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject


class Pi(Family):
    name = "pi"

    def __init__(self) -> None:
        super().__init__()
        self._message = 0

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "session":
                return "cwd" in event and "version" in event
            case "message_update":
                return isinstance(event.get("assistantMessageEvent"), dict)
            case "tool_execution_start" | "tool_execution_end":
                return "toolCallId" in event
        return kind(event) in ("agent_start", "agent_settled")

    def event(self, event: JsonObject) -> None:
        match kind(event):
            case "session":
                self.session_id = word(event.get("id")) or self.session_id
            case "agent_start" | "turn_start":
                self.completed = False
            case "message_update":
                piece = mapping(event.get("assistantMessageEvent"))
                if kind(piece) == "text_delta":
                    self.texts.add(("message", self._message), word(piece.get("delta")))
            case "message_end":
                message = mapping(event.get("message"))
                if message.get("role") == "assistant":
                    self._end(message)

    def _end(self, message: JsonObject) -> None:
        self._count(mapping(message.get("usage")))
        key, self._message = ("message", self._message), self._message + 1
        match message.get("stopReason"):
            case "error" | "aborted":  # it may be asked for anew, and is said again then
                self.texts.drop(key)
                self.failed(word(message.get("errorMessage")) or word(message.get("stopReason")))
            case reason:
                self.texts.put(key, block_texts(message.get("content")))
                if reason == "stop":
                    self.ended()

    def _count(self, usage: JsonObject) -> None:
        self.called(*(usage.get(name) for name in ("input", "output", "cacheRead", "cacheWrite")))
        self.usage = self.usage.plus(
            Usage(
                input_tokens=amount(usage.get("input")),
                output_tokens=amount(usage.get("output")),
                cache_read_tokens=amount(usage.get("cacheRead")),
                cache_creation_tokens=amount(usage.get("cacheWrite")),
                total_cost_usd=amount(mapping(usage.get("cost")).get("total")),
                num_turns=1,
            )
        )
