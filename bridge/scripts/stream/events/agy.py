"""Antigravity CLI: ``--print --output-format stream-json``, as it is documented; not held against the program.

What an event is stands in ``event``, and what it holds under a key of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.amounts import amount
from bridge.scripts.stream.events.base import Family, Usage, integer, mapping, word

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject


class Agy(Family):
    name = "agy"

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[int | None, str] = {}

    @staticmethod
    def claims(event: JsonObject) -> bool:
        kind = word(event.get("event"))
        return kind in ("init", "step_update", "result") and isinstance(event.get(kind), dict)

    def event(self, event: JsonObject) -> None:
        kind = word(event.get("event"))
        inner = mapping(event.get(kind))
        named = word(event.get("conversation_id")) or word(inner.get("conversation_id"))
        self.session_id = named or self.session_id
        if kind == "step_update":
            self._step(inner)
        elif kind == "result":
            self._result(inner)

    def _step(self, step: JsonObject) -> None:
        number = integer(step.get("step_index"))
        if step.get("step_type") != "agent_response" and number not in self._said:
            return
        piece, before = word(step.get("text_delta")), self._said.get(number, "")
        if piece == before:  # the last update of a step may repeat all of it
            return
        self._said[number] = before + piece
        self.texts.add(("step", number), piece)

    def _result(self, result: JsonObject) -> None:
        usage = mapping(result.get("usage"))
        self.record = result
        self.usage = Usage(
            input_tokens=amount(usage.get("input_tokens")),
            output_tokens=amount(usage.get("output_tokens")),
            cache_read_tokens=amount(usage.get("cache_read_tokens")),
        )
        if word(result.get("status")) in ("SUCCESS", "OK"):
            self.final = word(result.get("response"))
            self.ended()
        else:
            self.failed(word(result.get("error")) or word(result.get("status")))
