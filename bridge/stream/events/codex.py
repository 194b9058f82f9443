"""Codex: ``codex exec --json``, one event a line (measured with 0.169), and the older ``msg`` envelope.

An item of type error before the turn is a warning; an error event may be a reconnect that succeeds.
Only turn.completed and turn.failed are final.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.amounts import amount
from bridge.stream.events.base import Family, Usage, block_texts, kind, mapping, word

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

_MESSAGE = ("agent_message", "assistant_message")
_TOOLS = ("command_execution", "file_change")
_NO_BOX = re.compile(
    r"error building bubblewrap command|error running landlock|bwrap: |sandbox-exec: |codex-linux-sandbox: "
)
"""What a command prints that codex's own sandbox did not even start."""
_OLD = ("session_configured", "agent_message", "task_complete", "task_started", "error", "stream_error")


class Codex(Family):
    """Reads codex's events."""

    name = "codex"

    def __init__(self) -> None:
        super().__init__()
        self._turn = 0
        self._worked = False
        self._no_box = ""

    @staticmethod
    def claims(event: JsonObject) -> bool:
        """Say whether codex printed it."""
        match kind(event):
            case "thread.started":
                return "thread_id" in event
            case "turn.started" | "turn.completed" | "turn.failed":
                return True
            case "item.started" | "item.updated" | "item.completed":
                return isinstance(event.get("item"), dict)
        return kind(mapping(event.get("msg"))) in _OLD

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        match kind(event):
            case "thread.started":
                self.session_id = self.session_id or word(event.get("thread_id")) or None
            case "item.started" | "item.updated" | "item.completed":
                self._item(mapping(event.get("item")))
            case "turn.completed":
                self.usage = _usage(mapping(event.get("usage")))
                if self._no_box and not self._worked:  # codex ends with 0 all the same
                    self.failed(f"no command could be run: {self._no_box}")
                else:
                    self.ended()
            case "turn.failed":
                self.failed(_message(event))
            case "turn.started":
                self.completed = False
                self._turn += 1
                self._worked, self._no_box = False, ""
            case "error":
                self.failed(_message(event))
            case "":
                self._old(mapping(event.get("msg")))

    def _item(self, item: JsonObject) -> None:
        if kind(item) in _TOOLS and word(item.get("status")) in ("completed", "failed"):
            output = word(item.get("aggregated_output")).strip()
            if word(item.get("status")) == "failed" and _NO_BOX.match(output):
                self._no_box = self._no_box or output.splitlines()[0]
            else:
                self._worked = True
        if (kind(item) or word(item.get("item_type"))) in _MESSAGE:
            text = word(item.get("text")) or block_texts(item.get("content"))
            # Ids start anew at every turn: a log may hold several.
            self.texts.put_or_say((self._turn, word(item.get("id"))), text)

    def _old(self, msg: JsonObject) -> None:
        match kind(msg):
            case "session_configured":
                self.session_id = self.session_id or word(msg.get("session_id")) or None
            case "agent_message":
                self.texts.say(word(msg.get("message")))
            case "task_complete":
                self.final = word(msg.get("last_agent_message"))
                self.ended()
            case "error":
                self.failed(word(msg.get("message")))


def _usage(usage: JsonObject) -> Usage:
    """Measured: what turn.completed counts are the tokens of the thread so far, resumed turns included."""
    return Usage(
        input_tokens=amount(usage.get("input_tokens")),
        output_tokens=amount(usage.get("output_tokens")),
        cache_read_tokens=amount(usage.get("cached_input_tokens")),
        cache_creation_tokens=amount(usage.get("cache_write_input_tokens")),
        cumulative=True,
    )


def _message(event: JsonObject) -> str:
    error = event.get("error")
    return word(mapping(error).get("message")) or word(error) or word(event.get("message"))
