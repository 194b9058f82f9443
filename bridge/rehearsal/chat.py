"""OpenAI's chat completions, as opencode and copilot ask them. Pure."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from bridge.rehearsal.message import CACHED, INPUT, OUTPUT, REASONING, pieces, serial
from bridge.rehearsal.wires import Event

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.rehearsal.message import Message

__all__ = ["document", "events", "tools"]

_USAGE = {
    "prompt_tokens": INPUT,
    "completion_tokens": OUTPUT,
    "total_tokens": INPUT + OUTPUT,
    "prompt_tokens_details": {"cached_tokens": CACHED},
    "completion_tokens_details": {"reasoning_tokens": REASONING},
}


def tools(request: Mapping[str, Any]) -> list[str]:
    """Name the tools that a request offers."""
    return [str((tool.get("function") or {}).get("name")) for tool in request.get("tools") or []]


def document(request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
    """Give the whole answer."""
    said: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.think:
        said["reasoning_content"] = message.think
    if message.call is not None:
        said["tool_calls"] = [_call(message, json.dumps(message.call.arguments))]
    choice = {"index": 0, "message": said, "finish_reason": _stop(message)}
    return _head(request, "chat.completion") | {"choices": [choice], "usage": _USAGE}


def events(request: Mapping[str, Any], message: Message) -> Iterator[Event]:
    """Give the answer as a stream."""
    head = _head(request, "chat.completion.chunk")

    def event(delta: dict[str, Any], stop: str | None = None, *, text: bool = False) -> Event:
        return Event("", head | {"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}, text)

    yield event({"role": "assistant", "content": ""})
    if message.think:
        yield event({"reasoning_content": message.think})
    for piece in pieces(message.text):
        yield event({"content": piece}, text=True)
    if message.call is not None:
        yield event({"tool_calls": [{"index": 0, **_call(message, "")}]})
        for piece in pieces(json.dumps(message.call.arguments)):
            yield event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield event({}, _stop(message))
    yield Event("", head | {"choices": [], "usage": _USAGE})
    yield Event("", "[DONE]")


def _head(request: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {
        "id": serial("chatcmpl-"),
        "object": kind,
        "created": int(time.time()),
        "model": request.get("model"),
        "system_fingerprint": "fp_scripted",
    }


def _call(message: Message, arguments: str) -> dict[str, Any]:
    assert message.call is not None
    function = {"name": message.call.name, "arguments": arguments}
    return {"id": serial("call_"), "type": "function", "function": function}


def _stop(message: Message) -> str:
    return "stop" if message.call is None else "tool_calls"
