"""Qwen Code: ``--output-format json`` (an array in one line) and ``stream-json``, close to claude's.

Measured with 0.24 and 0.15. An error of the API is printed as a message of the assistant's, too; 0.15 takes it for
the result of a turn that went well, with status 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.stream.events.base import block_texts, kind, mapping, word
from bridge.stream.events.claude import Claude

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

_API_ERROR = re.compile(r"\[API Error: (?:(\d{3})\b)?.*\]\s*", re.DOTALL)


class Qwen(Claude):
    """Reads qwen's events."""

    name = "qwen"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether it is qwen's and not claude's."""
        return kind(event) == "system" and "qwen_code_version" in event

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        if kind(event) == "assistant" and not event.get("parent_tool_use_id"):
            message = mapping(event.get("message"))
            if _API_ERROR.fullmatch(block_texts(message.get("content"))):
                self._drop_pieces()
                return
        super().event(event)

    def _result(self, event: JsonObject) -> None:
        super()._result(event)
        error = word(mapping(event.get("error")).get("message"))
        if found := _API_ERROR.fullmatch(error or word(event.get("result"))):
            self.api_error_status = int(found[1]) if found[1] else None
            error = found[0].strip()
            self.final = ""
        if error:
            self.failed(error)
