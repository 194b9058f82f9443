"""Kimi Code: ``--output-format stream-json`` (measured with 2.1).

Messages as its API has them (``role``, ``content``, ``tool_calls``), and ``meta`` lines. The session id is in the
last line, which only a turn has that ended well; why another one failed stands on stderr. No tokens, no cost.
Releases before 2 print the messages alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.scripts.stream.events.base import Family, block_texts, integer, kind, word

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject


class Kimi(Family):
    name = "kimi"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        if "type" not in event and event.get("role") in ("assistant", "tool"):
            return "content" in event or "tool_calls" in event
        return event.get("role") == "meta" and bool(kind(event))

    def event(self, event: JsonObject) -> None:
        match event.get("role"), kind(event):
            case "assistant", _:
                self.error, self.api_error_status = None, None  # the provider is back
                self.texts.append(block_texts(event.get("content")))
            case "meta", "turn.step.retrying":
                self.error = word(event.get("error_message")) or self.error
                self.api_error_status = integer(event.get("status_code"))
            case "meta", "session.resume_hint":
                self.session_id = word(event.get("session_id")) or self.session_id
                self.ended()
