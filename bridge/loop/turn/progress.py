"""What a running turn shows of itself: the tools it uses, the sentence it is at. Pure; for people who watch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.patterns import lazy
from bridge.base.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH = 80
_HINTS = (b'"tool', b"command_execution", b"file_change", b"mcp_tool_call", b"web_search")
_SENTENCE = lazy(r"(?<=[.!?…])\s+|(?<=[\u3002\uff01\uff1f])")
_IDS = ("tool_use_id", "call_id", "callID", "toolCallId", "tool_id", "id")
_OVER = ("completed", "failed", "declined", "error", "success")
_ENDS = ("tool_result", "content_end")
_ABOUT = ("command", "file_path", "path", "filePath", "pattern", "query", "url", "description")


def may_name_tool(line: bytes) -> bool:
    """Say, at little cost, whether it is worth asking :func:`tool_in`."""
    return any(hint in line for hint in _HINTS)


def tool_in(line: bytes) -> str:
    """Return the tool that an event is about, with what it is about; '' when that doesn't show.

    >>> tool_in(b'{"type":"item.started","item":{"type":"command_execution","command":"make"}}')
    'command_execution make'
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return _shown(_find(event))


def _find(value: Any, depth: int = 0) -> tuple[str, Any]:
    found: tuple[str, Any] = ("", None)
    if depth > 5:
        return found
    if isinstance(value, dict) and (named := _named(value)) is not None:
        return named
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        inner = _find(item, depth + 1)
        found = inner if inner[0] else found
    return found


def _named(value: dict[str, Any]) -> tuple[str, Any] | None:
    """Give the tool that this very object names, with what it was given; None: it names none."""
    kind = value.get("type")
    if kind == "tool_use" and isinstance(value.get("name"), str):
        return value["name"], value.get("input")
    if kind in ("command_execution", "file_change", "mcp_tool_call", "web_search"):
        return str(kind), value
    if isinstance(tool := value.get("tool"), str):
        state = value.get("state")
        return tool, state.get("input") if isinstance(state, dict) else value
    if isinstance(tool := value.get("toolName") or value.get("tool_name"), str):
        return tool, value.get("arguments") or value.get("parameters") or value.get("input")
    if isinstance(call := value.get("tool_call"), dict) and call:  # cursor: {"shellToolCall": {"args": {...}}}
        name, inner = next(iter(call.items()))
        return name.removesuffix("ToolCall"), inner.get("args") if isinstance(inner, dict) else None
    return None


def _shown(found: tuple[str, Any]) -> str:
    name, details = found
    about = ""
    if isinstance(details, dict):
        about = next((str(details[key]) for key in _ABOUT if isinstance(details.get(key), str)), "")
    return one_line(f"{name} {about}", _LENGTH)


class ToolStep(NamedTuple):
    """What an event says of a call of a tool.

    Attributes:
        call: the call's id.
        name: the tool's; '' where the event doesn't say.
        over: the call has ended. failed: and not well.
        arguments: what it was called with, or None.
    """

    call: str
    name: str
    over: bool
    failed: bool
    arguments: Any


def tool_steps(line: bytes) -> list[ToolStep]:
    """Return what a line says of calls of tools, whichever CLI has printed it.

    >>> [step.name for step in tool_steps(b'{"type":"tool_use","id":"call_1","name":"Bash","input":{}}')]
    ['Bash']
    """
    try:
        return list(_steps(json.loads(line)))
    except (ValueError, RecursionError):
        return []


def _steps(value: Any, depth: int = 0, around: str = "") -> Iterator[ToolStep]:
    if depth > 5:
        return
    if isinstance(value, dict):
        kind = str(value.get("type") or "")
        name, arguments = _named(value) or ("", None)
        call = next((each for key in _IDS if isinstance(each := value.get(key), str)), "")
        if call and (name or kind == "tool_result" or any(key in value for key in _IDS[:-1])):
            state = value.get("state")
            status = (state if isinstance(state, dict) else value).get("status", value.get("subtype"))
            ok = value.get("success")
            over = status in _OVER or kind in _ENDS or isinstance(ok, bool) or around.endswith(".completed")
            failed = ok is False or value.get("is_error") is True or status in ("failed", "declined", "error")
            yield ToolStep(call, name, over, over and failed, arguments)
            return
        around = kind
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from _steps(item, depth + 1, around)


def last_sentence(text: str) -> str:
    """Return the sentence that a text ends with, which may be under way, or ''.

    >>> last_sentence("Read it. Now I fix the te"), last_sentence("Done.\\n=====\\n")
    ('Now I fix the te', 'Done.')
    """
    for line in reversed(text.split("\n")):
        for piece in reversed(_SENTENCE.split(line.strip())):
            if any(map(str.isalnum, piece)):
                return piece
    return ""
