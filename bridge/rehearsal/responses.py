"""OpenAI's responses API, as codex and cline ask it. Pure."""

from __future__ import annotations

import json
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from bridge.rehearsal.message import CACHED, INPUT, OUTPUT, REASONING, pieces, serial
from bridge.rehearsal.wires import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.rehearsal.message import Message

__all__ = ["document", "events", "tools"]


def tools(request: Mapping[str, Any]) -> list[str]:
    """Name the tools that a request offers; those without a name by their type."""
    return [str(tool.get("name") or tool.get("type")) for tool in request.get("tools") or []]


def document(request: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
    """Give the whole answer."""
    return _done(_head(request), _items(message))


def events(request: Mapping[str, Any], message: Message) -> Iterator[Event]:
    """Give the answer as a stream."""
    numbers = count()

    def event(name: str, **fields: Any) -> Event:
        data = {"type": name, "sequence_number": next(numbers), **fields}
        return Event(name, data, name == "response.output_text.delta")

    head, items = _head(request), _items(message)
    yield event("response.created", response=head)
    yield event("response.in_progress", response=head)
    for index, item in enumerate(items):
        yield event("response.output_item.added", output_index=index, item=item | _EMPTY[item["type"]])
        yield from _PARTS[item["type"]](item, index, event)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_done(head, items))


def _message(item: dict[str, Any], index: int, event: Callable[..., Event]) -> Iterator[Event]:
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield event("response.content_part.added", part=part | {"text": ""}, **where)
    for piece in pieces(part["text"]):
        yield event("response.output_text.delta", delta=piece, **where)
    yield event("response.output_text.done", text=part["text"], **where)
    yield event("response.content_part.done", part=part, **where)


def _reasoning(item: dict[str, Any], index: int, event: Callable[..., Event]) -> Iterator[Event]:
    where = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    part = item["summary"][0]
    name = "response.reasoning_summary"
    yield event(f"{name}_part.added", part=part | {"text": ""}, **where)
    yield event(f"{name}_text.delta", delta=part["text"], **where)
    yield event(f"{name}_part.done", part=part, **where)


def _function(item: dict[str, Any], index: int, event: Callable[..., Event]) -> Iterator[Event]:
    where = {"item_id": item["id"], "output_index": index}
    yield event("response.function_call_arguments.delta", delta=item["arguments"], **where)
    yield event("response.function_call_arguments.done", arguments=item["arguments"], **where)


_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": [], "status": "in_progress"},
    "reasoning": {"summary": []},
    "function_call": {"arguments": "", "status": "in_progress"},
}
_PARTS = {"message": _message, "reasoning": _reasoning, "function_call": _function}


def _items(message: Message) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if message.think:
        summary = [{"type": "summary_text", "text": message.think}]
        encrypted = {"encrypted_content": "c2NyaXB0ZWQ="}
        items.append({"type": "reasoning", "id": serial("rs_"), "summary": summary, **encrypted})
    if message.text or message.call is None:
        content = [{"type": "output_text", "text": message.text, "annotations": []}]
        said = {"role": "assistant", "status": "completed", "content": content}
        items.append({"type": "message", "id": serial("msg_"), **said})
    if message.call is not None:
        called = {"name": message.call.name, "arguments": json.dumps(message.call.arguments)}
        ids = {"id": serial("fc_"), "call_id": serial("call_"), "status": "completed"}
        items.append({"type": "function_call", **ids, **called})
    return items


def _head(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": serial("resp_"),
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


def _done(head: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": INPUT,
        "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": REASONING},
        "total_tokens": INPUT + OUTPUT,
    }
    return head | {"status": "completed", "output": items, "usage": usage}
