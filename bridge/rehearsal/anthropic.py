"""Anthropic's messages API, as claude asks it. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge.rehearsal.message import CACHED, INPUT, OUTPUT, pieces, serial
from bridge.rehearsal.wires import Event

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.rehearsal.message import Message

__all__ = ["document", "events", "tools"]


def tools(request: Mapping[str, Any]) -> list[str]:
    """Name the tools that a request offers."""
    return [str(tool.get("name")) for tool in request.get("tools") or []]


def document(request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
    """Give the whole answer."""
    return _head(request) | {
        "content": _blocks(message),
        "stop_reason": _stop(message),
        "usage": _usage(OUTPUT),
    }


def events(request: Mapping[str, Any], message: Message) -> Iterator[Event]:
    """Give the answer as a stream."""

    def event(name: str, *, text: bool = False, **fields: Any) -> Event:
        return Event(name, {"type": name, **fields}, text)

    yield event("message_start", message=_head(request) | {"content": [], "usage": _usage(1)})
    for index, block in enumerate(_blocks(message)):
        match block["type"]:
            case "text":
                empty: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            case "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case _:
                empty = block | {"input": {}}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text)]
        yield event("content_block_start", index=index, content_block=empty)
        if index == 0:
            yield event("ping")
        for delta in deltas:
            yield event("content_block_delta", text=block["type"] == "text", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event(
        "message_delta",
        delta={"stop_reason": _stop(message), "stop_sequence": None},
        usage={"output_tokens": OUTPUT},
    )
    yield event("message_stop")


def _head(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": serial("msg_"),
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
        blocks.append({"type": "tool_use", "id": serial("toolu_"), **call})
    return blocks


def _stop(message: Message) -> str:
    return "end_turn" if message.call is None else "tool_use"


def _usage(output: int) -> dict[str, Any]:
    return {
        "input_tokens": INPUT - CACHED,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED,
        "output_tokens": output,
        "service_tier": "standard",
    }
