"""cursor-agent: ``--output-format json`` and ``stream-json``, close to claude's.

Not run by us: the shapes are from its public documentation. With partial output, a piece of text is an
assistant event that has ``timestamp_ms`` and no ``model_call_id``; events with the whole message follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.events.base import block_texts, kind, mapping
from bridge.stream.events.claude import Claude

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject


class Cursor(Claude):
    """Reads cursor's events."""

    name = "cursor"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether it is cursor's and not claude's."""
        match kind(event):
            case "system":
                return event.get("subtype") == "init" and "session_id" in event and "tools" not in event
            case "result":
                return "request_id" in event and "num_turns" not in event and "exitCode" not in event
            case "tool_call":
                return "call_id" in event or "tool_call" in event
            case "thinking":
                return event.get("subtype") in ("delta", "completed")
        return False

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        if kind(event) == "assistant" and "timestamp_ms" in event and "model_call_id" not in event:
            self._piece(block_texts(mapping(event.get("message")).get("content")))
            return
        super().event(event)
        if kind(event) == "result":
            # All messages in one string without a break; the last one is what `final_text` means.
            last = "".join("".join(self.texts.all()[-1:]).split())
            if last and "".join(self.final.split()).endswith(last):
                self.final = ""
        if kind(event) in ("assistant", "tool_call", "result"):
            self._next_block()
