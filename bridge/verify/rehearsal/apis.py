"""The APIs that CLIs ask models by: requests read, answers written as one document or as a stream. Pure.

Here stands what they share, Anthropic's and Google's; OpenAI's two are in ``openai.py``.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.verify.rehearsal.scenario import Message, ModelTurn

INPUT, CACHED, OUTPUT, REASONING = 1234, 1000, 56, 12
"""The tokens that every answer reports; those from the cache are among the input's."""

_CHUNK = 24  # characters that a model streams at a time
_IDS = count(1)


class StreamEvent(NamedTuple):
    """One event of a stream: its ``event:`` line, or '', and its ``data:``; a string goes out as it is.

    text: it is a piece of the assistant's text, where an answer can be late, cut off or hang.
    """

    name: str
    data: Mapping[str, Any] | str
    text: bool = False

    def encode(self) -> bytes:
        head = f"event: {self.name}\n" if self.name else ""
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        return f"{head}data: {data}\n\n".encode()


class Api(Protocol):
    """How one API asks and answers."""

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        """The names of the tools that a request offers."""

    def document(self, request: Mapping[str, Any], message: Message) -> Mapping[str, Any]: ...

    def events(self, request: Mapping[str, Any], message: Message) -> Iterator[StreamEvent]: ...


def system_texts(request: Mapping[str, Any]) -> list[str]:
    texts = _texts(request.get("system")) + _texts(request.get("instructions"))
    texts += _texts(_mapping(request.get("systemInstruction")).get("parts"))
    for message in _messages(request):
        if message.get("role") in ("system", "developer"):
            texts += _texts(message.get("content"))
    return texts


def user_texts(request: Mapping[str, Any]) -> list[str]:
    texts = _texts(words) if isinstance(words := request.get("input"), str) else []
    for message in _messages(request):
        if message.get("role") == "user":
            texts += _texts(message.get("content") or message.get("parts"))
    return texts


def _messages(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = request.get("messages") or request.get("input") or request.get("contents") or []
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


def _texts(content: object) -> list[str]:
    """The texts of a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def chunks(text: str) -> list[str]:
    return [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)] or [""]


def new_id(prefix: str) -> str:
    return f"{prefix}{next(_IDS):08x}"


class Messages:
    """Anthropic's messages API, as claude asks it."""

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        return [str(tool.get("name")) for tool in request.get("tools") or []]

    def document(self, request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
        return _messages_head(request) | {
            "content": _blocks(message),
            "stop_reason": _messages_stop(message),
            "usage": _messages_usage(OUTPUT),
        }

    def events(self, request: Mapping[str, Any], message: Message) -> Iterator[StreamEvent]:
        def event(name: str, *, text: bool = False, **fields: Any) -> StreamEvent:
            return StreamEvent(name, {"type": name, **fields}, text)

        yield event("message_start", message=_messages_head(request) | {"content": [], "usage": _messages_usage(1)})
        for index, block in enumerate(_blocks(message)):
            match block["type"]:
                case "text":
                    empty: dict[str, Any] = {"type": "text", "text": ""}
                    deltas = [{"type": "text_delta", "text": chunk} for chunk in chunks(block["text"])]
                case "thinking":
                    empty = {"type": "thinking", "thinking": "", "signature": ""}
                    deltas = [{"type": "thinking_delta", "thinking": chunk} for chunk in chunks(block["thinking"])]
                    deltas.append({"type": "signature_delta", "signature": block["signature"]})
                case _:
                    empty = block | {"input": {}}
                    text = json.dumps(block["input"])
                    deltas = [{"type": "input_json_delta", "partial_json": chunk} for chunk in chunks(text)]
            yield event("content_block_start", index=index, content_block=empty)
            if index == 0:
                yield event("ping")
            for delta in deltas:
                yield event("content_block_delta", text=block["type"] == "text", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        yield event(
            "message_delta",
            delta={"stop_reason": _messages_stop(message), "stop_sequence": None},
            usage={"output_tokens": OUTPUT},
        )
        yield event("message_stop")


def _messages_head(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(message: Message) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if message.think:
        blocks.append({"type": "thinking", "thinking": message.think, "signature": "c2NyaXB0ZWQ="})
    if message.text or message.call is None:
        blocks.append({"type": "text", "text": message.text})
    if message.call is not None:
        call = {"name": message.call.name, "input": message.call.arguments}
        blocks.append({"type": "tool_use", "id": new_id("toolu_"), **call})
    return blocks


def _messages_stop(message: Message) -> str:
    return "end_turn" if message.call is None else "tool_use"


def _messages_usage(output: int) -> dict[str, Any]:
    return {
        "input_tokens": INPUT - CACHED,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED,
        "output_tokens": output,
        "service_tier": "standard",
    }


class GenerateContent:
    """Google's generateContent, as gemini asks it. What it streams is an answer each, with a part of the whole."""

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        listed = [tool.get("functionDeclarations") or [] for tool in request.get("tools") or []]
        return [str(tool.get("name")) for tools in listed for tool in tools]

    def document(self, request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
        if _mapping(request.get("generationConfig")).get("responseJsonSchema"):  # which model shall answer?
            return _content(
                [{"text": '{"complexity_reasoning": "It is simple.", "complexity_score": 1}'}], last=True
            )
        return _content(_content_parts(message, [message.text]), last=True)

    def events(self, request: Mapping[str, Any], message: Message) -> Iterator[StreamEvent]:  # noqa: ARG002
        *parts, end = _content_parts(message, chunks(message.text))
        for part in parts:
            yield StreamEvent("", _content([part]), "text" in part and "thought" not in part)
        yield StreamEvent("", _content([end], last=True))


def _content_parts(message: Message, texts: Sequence[str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": message.think, "thought": True}] if message.think else []
    parts += [{"text": text} for text in texts if text]
    if message.call is not None:
        parts.append({"functionCall": {"name": message.call.name, "args": message.call.arguments}})
    return parts or [{"text": ""}]


def _content(parts: list[dict[str, Any]], *, last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if not last:
        return {"candidates": [candidate], "modelVersion": "scripted-model"}
    usage = {
        "promptTokenCount": INPUT,
        "cachedContentTokenCount": CACHED,
        "candidatesTokenCount": OUTPUT - REASONING,
        "thoughtsTokenCount": REASONING,
        "totalTokenCount": INPUT + OUTPUT,
    }
    ended = {"candidates": [candidate | {"finishReason": "STOP"}], "usageMetadata": usage}
    return ended | {"modelVersion": "scripted-model"}


_LIMITED = "This request would exceed your account's rate limit. Please try again later."
_ERRORS = {
    401: ("authentication_error", "invalid x-api-key", "UNAUTHENTICATED"),
    429: ("rate_limit_error", _LIMITED, "RESOURCE_EXHAUSTED"),
    529: ("overloaded_error", "Overloaded", "UNAVAILABLE"),
}
"""What an error is called, its words, and what Google calls it."""
_ERROR = ("api_error", "Internal server error", "INTERNAL")
GENERATE = (":generateContent", ":streamGenerateContent")


def refusal(turn: ModelTurn, path: str, now: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Give the body and the headers of a turn's error; `now` is seconds since 1970."""
    kind, usual, google = _ERRORS.get(turn.status, _ERROR)
    words = turn.message or usual
    resets = int(now + turn.resets_in)
    if turn.limit and path.endswith("/responses"):  # ChatGPT's usage limit is the responses API's alone
        error = {
            "type": "usage_limit_reached",
            "message": turn.message or "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": resets,
            "resets_in_seconds": int(turn.resets_in),
        }
        return {"error": error}, {}
    if path.endswith(GENERATE):
        return {"error": {"code": turn.status, "message": words, "status": google}}, {}
    body = {"type": "error", "error": {"type": kind, "message": words, "code": kind}}
    return body, _subscription_headers(turn, resets) if turn.limit else {}


def _subscription_headers(turn: ModelTurn, resets: int) -> dict[str, str]:
    """The headers by which claude distinguishes a subscription's limit from a rate limit."""
    window = "7d" if turn.limit == "seven_day" else "5h"
    head = "anthropic-ratelimit-unified-"
    return {
        f"{head}status": "rejected",
        f"{head}reset": str(resets),
        f"{head}representative-claim": turn.limit,
        f"{head}{window}-status": "rejected",
        f"{head}{window}-reset": str(resets),
        f"{head}{window}-utilization": "1.0",
        f"{head}overage-status": "rejected",
        f"{head}overage-disabled-reason": "org_level_disabled",
        "retry-after": str(int(turn.resets_in)),
        "x-should-retry": "false",
    }


def streams(request: Mapping[str, Any], path: str) -> bool:
    return bool(request.get("stream")) or path.endswith(GENERATE[1])
