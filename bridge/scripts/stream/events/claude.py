"""Claude Code, and the two that print nearly its events: cursor, and Qwen Code.

Claude: ``--output-format json`` (one object, or an array with ``--verbose``) and ``stream-json``.

Amp prints the same events. Measured with claude 2.1: the session id is on every line; ``subtype`` says
"success" even when ``is_error`` is true; an interrupt ends the stream without a result, status 0.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from bridge.base.amounts import amount
from bridge.base.patterns import lazy
from bridge.base.timestamps import moment
from bridge.scripts.stream.events.base import (
    Family,
    Usage,
    block_texts,
    generic_session_id,
    integer,
    items,
    kind,
    mapping,
    refused,
    squeezed,
    word,
)

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject

SYNTHETIC = "<synthetic>"
"""The model's name on messages that the CLI wrote itself: errors, notices of limits."""

_USED_UP = "usage_limit_reached"
"""What 2.1.330 calls every limit of an account, whatever its words for it are; one of requests has another name."""


TURNS_USED_UP = ("error_max_turns", "FatalTurnLimitedError")
"""How claude and its kin, and gemini, name an end by their own limit of turns: what was done until then counts."""

_API_ERROR = lazy(r"\s*\[API Error: (?:(\d{3})\b)?.*\]\s*", re.DOTALL)
"""What gemini's kin print in the place of an answer."""


class Claude(Family):
    name = "claude"
    counted: ClassVar[tuple[str, ...]] = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    """What a call of the model was given."""

    def __init__(self) -> None:
        super().__init__()
        self._block = 0
        self._block_stopped = True
        self._given: list[object] = []

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "result":
                return "exitCode" not in event and any(key in event for key in ("result", "subtype", "is_error"))
            case "assistant" | "user":
                return isinstance(event.get("message"), dict)
            case "system":
                return "subtype" in event and "session_id" in event
            case "stream_event":
                return isinstance(event.get("event"), dict)
            case "rate_limit_event":
                return "rate_limit_info" in event
        return False

    def event(self, event: JsonObject) -> None:
        if self.session_id is None or kind(event) == "result":
            self.session_id = generic_session_id(event) or self.session_id
        if event.get("parent_tool_use_id"):  # a sub-agent's: the output of a tool
            return
        match kind(event):
            case "assistant":
                self._assistant(event)
            case "stream_event":
                self._delta(mapping(event.get("event")))
            case "result":
                self._result(event)
                self._sized(event)
            case "system" if event.get("subtype") == "init":
                self.model = word(event.get("model"))
            case "system" if event.get("subtype") == "api_retry":
                self.error = word(event.get("error")) or self.error
            case "rate_limit_event":
                self._limit(mapping(event.get("rate_limit_info")))

    def _assistant(self, event: JsonObject) -> None:
        if info := mapping(mapping(event.get("api_error_params")).get("rate_limit_info")):
            self._limit(info)
        message = mapping(event.get("message"))
        self._call(mapping(message.get("usage")))
        text = block_texts(message.get("content"))
        if not text:
            return
        self._drop_pieces()
        if message.get("model") != SYNTHETIC:
            self.texts.append(text)
        elif kind_of_error := word(event.get("error")):
            self.error, self.error_kind = text, kind_of_error

    def _drop_pieces(self) -> None:
        self.texts.drop(("block", self._block))

    def _delta(self, event: JsonObject) -> None:
        """Pieces of a message count until the message itself arrives, so a cut stream keeps its text."""
        match kind(event):
            case "message_delta":  # only now is known how much it has made
                self.called(*self._given, mapping(event.get("usage")).get("output_tokens"))
            case "message_start":
                self._call(mapping(mapping(event.get("message")).get("usage")))
                if not self._block_stopped:  # begun anew after a cut connection
                    self._drop_pieces()
                self._next_block()
            case "content_block_start":
                self._next_block()
                self._block_stopped = False
                self._piece(word(mapping(event.get("content_block")).get("text")))
            case "content_block_delta":
                delta = mapping(event.get("delta"))
                if kind(delta) == "text_delta":
                    self._piece(word(delta.get("text")))
            case "content_block_stop":
                self._block_stopped = True

    def _next_block(self) -> None:
        self._block += 1
        self._block_stopped = True

    def _piece(self, text: str) -> None:
        if text:
            self.texts.add(("block", self._block), text)

    def _call(self, usage: JsonObject) -> None:
        self._given = [usage.get(name) for name in self.counted]
        self.called(*self._given, usage.get("output_tokens"))

    def _sized(self, event: JsonObject) -> None:
        """Take the window from the sums of a result; and the mean of its calls, where no message told of one."""
        models = mapping(event.get("modelUsage"))
        own = [models[self.model]] if self.model in models else [*models.values()]
        windows = [found for each in own if (found := amount(mapping(each).get("contextWindow")))]
        self.size = replace(self.size, window=max(windows, default=None))
        usage, turns = mapping(event.get("usage")), integer(event.get("num_turns"))
        if self.size.tokens is None and turns and turns > 0:
            given = [amount(usage.get(name)) or 0 for name in (*self.counted, "output_tokens")]
            self.called(*(each // turns for each in given))

    def _result(self, event: JsonObject) -> None:
        self.record = event
        usage, denials = result_usage(event), result_denials(event)
        if amount(event.get("result_index")):  # not the first of this process: a task in the background woke it
            cost, waited = usage.total_cost_usd, usage.duration_api_ms  # of the process so far
            usage = replace(self.usage.plus(usage), total_cost_usd=cost, duration_api_ms=waited)
            denials = self.denials + denials
        self.usage, self.denials = usage, denials
        self.api_error_status = integer(event.get("api_error_status"))
        text = word(event.get("result"))
        if event.get("is_error") is True or word(event.get("subtype")).startswith("error"):
            errors = event.get("errors")
            listed = "\n".join(filter(None, map(word, errors))) if isinstance(errors, list) else ""
            self.failed(text or listed or word(event.get("subtype")))
            if event.get("subtype") in TURNS_USED_UP:
                self.error_kind = word(event.get("subtype"))
            if event.get("api_error") == _USED_UP:
                self.limit_type = self.limit_type or ""
            return
        if found := _API_ERROR.fullmatch(text):
            self.api_error_status = self.api_error_status or (int(found[1]) if found[1] else None)
            self.failed(text.strip())
            return
        self.final = text
        self.ended()

    def _limit(self, info: JsonObject) -> None:
        rejected = info.get("status") == "rejected"
        self.reset_at = moment(info.get("resetsAt")) if rejected else None
        self.limit_type = (word(info.get("rateLimitType")) or None) if rejected else None


def result_usage(record: JsonObject) -> Usage:
    usage = mapping(record.get("usage")) or mapping(mapping(record.get("metadata")).get("usage"))
    return Usage(
        input_tokens=amount(usage.get("input_tokens")),
        output_tokens=amount(usage.get("output_tokens")),
        cache_read_tokens=amount(usage.get("cache_read_input_tokens")),
        cache_creation_tokens=amount(usage.get("cache_creation_input_tokens")),
        total_cost_usd=amount(record.get("total_cost_usd")),
        duration_ms=amount(record.get("duration_ms")),
        duration_api_ms=amount(record.get("duration_api_ms")),
        num_turns=amount(record.get("num_turns")),
    )


def result_denials(record: JsonObject) -> list[str]:
    return [
        refused(denial.get("tool_name"), denial.get("tool_input"))
        for denial in items(record.get("permission_denials"))
    ]


class Cursor(Claude):
    """Reads the events of cursor-agent, ``--output-format json`` and ``stream-json``.

    Not run by us: the shapes are from its public documentation. With partial output, a piece of text is an
    assistant event that has ``timestamp_ms`` and no ``model_call_id``; events with the whole message follow.
    """

    name = "cursor"

    @staticmethod
    def claims(event: JsonObject) -> bool:
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
        if kind(event) == "assistant" and "timestamp_ms" in event and "model_call_id" not in event:
            self._piece(block_texts(mapping(event.get("message")).get("content")))
            return
        super().event(event)
        if kind(event) == "result":
            # All messages in one string without a break; the last one is what `final_text` means.
            last = squeezed("".join(self.texts.all()[-1:]))
            if last and squeezed(self.final).endswith(last):
                self.final = ""
        if kind(event) in ("assistant", "tool_call", "result"):
            self._next_block()


class Qwen(Claude):
    """Reads the events of Qwen Code, ``--output-format json`` (an array in one line) and ``stream-json``.

    Measured with 0.24 and 0.15. An error of the API is printed as a message of the assistant's, too; 0.15 takes it
    for the result of a turn that went well, with status 0.
    """

    name = "qwen"
    counted: ClassVar[tuple[str, ...]] = ("input_tokens",)  # what came from its cache is in it

    @staticmethod
    def claims(event: JsonObject) -> bool:
        return kind(event) == "system" and "qwen_code_version" in event

    def event(self, event: JsonObject) -> None:
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
