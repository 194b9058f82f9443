"""OpenAI's two APIs: chat completions, and responses. Pure."""

from __future__ import annotations

import json
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from bridge.verify.rehearsal.apis import CACHED, INPUT, OUTPUT, REASONING, StreamEvent, chunks, new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.verify.rehearsal.scenario import Message


class ChatCompletions:
    """OpenAI's chat completions, as opencode, copilot and qwen ask them."""

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        return [str((tool.get("function") or {}).get("name")) for tool in request.get("tools") or []]

    def document(self, request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
        reply: dict[str, Any] = {"role": "assistant", "content": message.text}
        if message.think:
            reply["reasoning_content"] = message.think
        if message.call is not None:
            reply["tool_calls"] = [_chat_call(message, json.dumps(message.call.arguments))]
        choice = {"index": 0, "message": reply, "finish_reason": _chat_stop(message)}
        return _chat_head(request, "chat.completion") | {"choices": [choice], "usage": _CHAT_USAGE}

    def events(self, request: Mapping[str, Any], message: Message) -> Iterator[StreamEvent]:
        head = _chat_head(request, "chat.completion.chunk")

        def event(delta: dict[str, Any], stop: str | None = None, *, text: bool = False) -> StreamEvent:
            return StreamEvent("", head | {"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}, text)

        yield event({"role": "assistant", "content": ""})
        if message.think:
            yield event({"reasoning_content": message.think})
        for chunk in chunks(message.text):
            yield event({"content": chunk}, text=True)
        if message.call is not None:
            yield event({"tool_calls": [{"index": 0, **_chat_call(message, "")}]})
            for chunk in chunks(json.dumps(message.call.arguments)):
                yield event({"tool_calls": [{"index": 0, "function": {"arguments": chunk}}]})
        yield event({}, _chat_stop(message))
        yield StreamEvent("", head | {"choices": [], "usage": _CHAT_USAGE})
        yield StreamEvent("", "[DONE]")


_CHAT_USAGE = {
    "prompt_tokens": INPUT,
    "completion_tokens": OUTPUT,
    "total_tokens": INPUT + OUTPUT,
    "prompt_tokens_details": {"cached_tokens": CACHED},
    "completion_tokens_details": {"reasoning_tokens": REASONING},
}


def _chat_head(request: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {
        "id": new_id("chatcmpl-"),
        "object": kind,
        "created": int(time.time()),
        "model": request.get("model"),
        "system_fingerprint": "fp_scripted",
    }


def _chat_call(message: Message, arguments: str) -> dict[str, Any]:
    assert message.call is not None
    function = {"name": message.call.name, "arguments": arguments}
    return {"id": new_id("call_"), "type": "function", "function": function}


def _chat_stop(message: Message) -> str:
    return "stop" if message.call is None else "tool_calls"


class Responses:
    """OpenAI's responses API, as codex and cline ask it."""

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        return [str(tool.get("name") or tool.get("type")) for tool in request.get("tools") or []]

    def document(self, request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
        return _responses_done(_responses_head(request), _items(message))

    def events(self, request: Mapping[str, Any], message: Message) -> Iterator[StreamEvent]:
        numbers = count()

        def event(name: str, **fields: Any) -> StreamEvent:
            data = {"type": name, "sequence_number": next(numbers), **fields}
            return StreamEvent(name, data, name == "response.output_text.delta")

        head, items = _responses_head(request), _items(message)
        yield event("response.created", response=head)
        yield event("response.in_progress", response=head)
        for index, item in enumerate(items):
            yield event("response.output_item.added", output_index=index, item=item | _BEGUN[item["type"]])
            yield from _PART_EVENTS[item["type"]](item, index, event)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=_responses_done(head, items))


def _message_events(item: dict[str, Any], index: int, event: Callable[..., StreamEvent]) -> Iterator[StreamEvent]:
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield event("response.content_part.added", part=part | {"text": ""}, **where)
    for chunk in chunks(part["text"]):
        yield event("response.output_text.delta", delta=chunk, **where)
    yield event("response.output_text.done", text=part["text"], **where)
    yield event("response.content_part.done", part=part, **where)


def _reasoning_events(item: dict[str, Any], index: int, event: Callable[..., StreamEvent]) -> Iterator[StreamEvent]:
    where = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    part = item["summary"][0]
    name = "response.reasoning_summary"
    yield event(f"{name}_part.added", part=part | {"text": ""}, **where)
    yield event(f"{name}_text.delta", delta=part["text"], **where)
    yield event(f"{name}_part.done", part=part, **where)


def _function_events(item: dict[str, Any], index: int, event: Callable[..., StreamEvent]) -> Iterator[StreamEvent]:
    where = {"item_id": item["id"], "output_index": index}
    yield event("response.function_call_arguments.delta", delta=item["arguments"], **where)
    yield event("response.function_call_arguments.done", arguments=item["arguments"], **where)


_BEGUN: dict[str, dict[str, Any]] = {
    "message": {"content": [], "status": "in_progress"},
    "reasoning": {"summary": []},
    "function_call": {"arguments": "", "status": "in_progress"},
}
_PART_EVENTS = {"message": _message_events, "reasoning": _reasoning_events, "function_call": _function_events}


def _items(message: Message) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if message.think:
        summary = [{"type": "summary_text", "text": message.think}]
        encrypted = {"encrypted_content": "c2NyaXB0ZWQ="}
        items.append({"type": "reasoning", "id": new_id("rs_"), "summary": summary, **encrypted})
    if message.text or message.call is None:
        content = [{"type": "output_text", "text": message.text, "annotations": []}]
        fields = {"role": "assistant", "status": "completed", "content": content}
        items.append({"type": "message", "id": new_id("msg_"), **fields})
    if message.call is not None:
        called = {"name": message.call.name, "arguments": json.dumps(message.call.arguments)}
        ids = {"id": new_id("fc_"), "call_id": new_id("call_"), "status": "completed"}
        items.append({"type": "function_call", **ids, **called})
    return items


def _responses_head(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "model": request.get("model"),
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
    }


def _responses_done(head: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": INPUT,
        "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": REASONING},
        "total_tokens": INPUT + OUTPUT,
    }
    return head | {"status": "completed", "output": items, "usage": usage}
