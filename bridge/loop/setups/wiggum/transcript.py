"""What a transcript, or the log of a turn, says: the assistant's last message, and the errors that its tools met.

The message is the fallback for hosts that don't give it to the hook.

A transcript is written behind the hook's back and may lag: an answer is taken only from a file that has
settled and whose last word is the assistant's.
"""

from __future__ import annotations

import json
import re
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import open_file
from bridge.loop.setups.wiggum.signs import error_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_PATIENCE = 2.0
_SLICE = 0.05
_SETTLED = 2
"""Looks in a row that found the same size."""
_CHUNK = 1024 * 1024
_MOST = 64 * 1024 * 1024
_MOST_OF_LINE = 1024 * 1024


class LastMessage(NamedTuple):
    text: str = ""
    final: bool = False  # nothing behind them says that more is to come
    whole: bool = False  # nothing is cut off behind them, only tools were used: the last ones if no more come


def last_message(
    path: Path, *, patience: float = _PATIENCE, wait: Callable[[float], None] = time.sleep
) -> str | None:
    """Return the assistant's last message; None when the file doesn't hold it, even after some patience (seconds).

    Behind a turn that ends with the use of a tool, that is what was said before it in the same turn.
    """
    looks = max(int(patience / _SLICE), 1)
    size: int | None = None
    settled = 0
    found, known = LastMessage(), -1
    for left in range(looks, -1, -1):
        before, size = size, _size(path)
        settled = settled + 1 if size is not None and size == before else 0
        # Read only when it counts: a transcript may be large, and every look but the last is for its size.
        if (settled >= _SETTLED or not left) and size is not None and size != known:
            found, known = read_entries(_backwards(path)), size
        if settled >= _SETTLED and found.final:
            return found.text
        if left:
            wait(_SLICE)
    return found.text if found.final or (found.whole and found.text) else None


def read_entries(lines: Iterable[bytes]) -> LastMessage:
    """Read the end of a transcript, its last line first. Sub-agents, and lines about the session, don't count."""
    parts: list[str] = []
    identity: object = None
    final = whole = True
    for line in lines:
        if not line.strip():
            continue
        entry = _parsed(line)
        if entry is None:
            whole = whole and bool(parts)  # cut off: it may have been the message
            final = final and whole
            continue
        role, message = _role(entry)
        if role == "user" and (parts or "tool_result" not in _kinds(message.get("content"))):
            break
        if role == "user":
            final = False
        if role != "assistant":
            continue
        if parts and (message.get("id") is None or message.get("id") != identity):
            break
        if text := _text(message.get("content")):
            parts.insert(0, text)
            identity = message.get("id")
        elif not parts and "tool_use" in _kinds(message.get("content")):
            final = False  # a tool was called last: the answer is yet to come
    return LastMessage("\n".join(parts), final and bool(parts), whole and bool(parts))


def printed(path: Path) -> str | None:
    """Return what a CLI has printed into a file: its text, or the result in its JSON; None for a transcript."""
    if _size(path) is None:
        return None
    with suppress(OSError):
        with open_file(path) as file:
            data = file.read(_MOST)
        found = _printed_results(data)
        if found is None:
            return data.decode("utf-8", "surrogateescape") if data.strip() else None
        return found[-1] if found else None
    return None


def _printed_results(data: bytes) -> list[str] | None:
    """Return the results that JSON holds, a document or one a line; None of what holds no JSON objects."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        objects = [entry for line in data.splitlines() if (entry := _parsed(line))]
        results = [each.get("result") for each in objects if each.get("type") == "result"]
    else:
        objects = [each for each in (whole if isinstance(whole, list) else [whole]) if isinstance(each, dict)]
        results = [each.get("result") for each in objects]
    return [each for each in results if isinstance(each, str)] if objects else None


def tool_errors(path: Path) -> tuple[str, ...]:
    """Return what tells the errors from others that tools ended with in the last turn, as far as it is written."""
    turn: list[dict[str, Any]] = []
    for line in _backwards(path):
        entry = _parsed(line)
        role, message = _role(entry or {})
        if role == "user" and "tool_result" not in _kinds(message.get("content")):
            break
        if entry and role:
            turn.append(entry)
    return standing_errors(reversed(turn))


def used_tools(path: Path) -> bool:
    """Say whether the turn that the transcript ends with has used a tool, as far as it is written."""
    for line in _backwards(path):
        role, message = _role(_parsed(line) or {})
        if _kinds(message.get("content")) & {"tool_use", "tool_result"}:
            return True
        if role == "user":
            return False
    return False


def _size(path: Path) -> int | None:
    """Return a file's size; None for what is no regular file: opening a FIFO might take for ever."""
    with suppress(OSError, ValueError):
        found = path.stat()
        return found.st_size if stat.S_ISREG(found.st_mode) else None
    return None


def _backwards(path: Path) -> Iterator[bytes]:
    """Return the lines of a file, the last one first, reading no more of it than is asked for."""
    position = _size(path)
    if position is None:
        return
    begun: list[bytes] = []  # pieces, the last one first, of a line that begins before `position`
    with suppress(OSError), open_file(path) as file:
        while position:
            step = min(_CHUNK, position)
            position -= step
            file.seek(position)
            first, *lines = file.read(step).split(b"\n")
            if lines:
                begun.append(lines.pop())
                yield b"".join(reversed(begun))
                yield from reversed(lines)
                begun.clear()
            begun.append(first)
        yield b"".join(reversed(begun))


def _parsed(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        entry = json.loads(line)
        return entry if isinstance(entry, dict) else {}
    return None


def _role(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Whose entry it is, and its message; '' when it is no part of the main conversation."""
    if entry.get("isSidechain") is True:
        return "", {}
    inner = next((entry[key] for key in ("message", "payload") if isinstance(entry.get(key), dict)), entry)
    role = inner.get("role") or entry.get("type")
    return (role, inner) if role in ("user", "assistant") else ("", {})


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [each for each in content if isinstance(each, dict) and each.get("type") in ("text", "output_text")]
    return "\n".join(each["text"] for each in blocks if isinstance(each.get("text"), str))


def _kinds(content: object) -> set[object]:
    """Return the types of a message's blocks; what tools gave is no word of the user's."""
    blocks = content if isinstance(content, list) else []
    return {each["type"] for each in blocks if isinstance(each, dict) and isinstance(each.get("type"), str)}


# -- errors of tools ---------------------------------------------------------------------------------


class _Result(NamedTuple):
    tool: str
    call: str
    error: str | None  # its text; None of a success


def standing_errors(entries: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return what tells the errors that the tools of a turn ended with from others, oldest first."""
    names: dict[str, str] = {}
    wrong: dict[str, list[str]] = {}
    for entry in entries:
        for result in _results(entry, names):
            tool = result.tool or names.get(result.call, "")
            if result.error is None:
                wrong.pop(tool, None)
            elif cause := _cause(result.error):
                wrong.setdefault(tool, []).append(cause)
    return tuple(dict.fromkeys(cause for each in wrong.values() for cause in each))


def logged_errors(path: Path) -> tuple[str, ...]:
    """Read the errors out of the log of a turn: events, one a line, or an array of them; else there are none."""
    with suppress(OSError), open_file(path) as log:
        return standing_errors(_entries(log.read(_MOST)))
    return ()


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    for line in [data] if data.lstrip()[:1] == b"[" else data.splitlines():
        if not re.search(rb"tool|command_execution", line[:_MOST_OF_LINE]):
            continue
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            yield from (each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict))


def _cause(error: str) -> str:
    """Cut an error to what tells it from others: its own words, else the first line that isn't just a status."""
    from bridge.scripts.stream.analysis.scan import fingerprint

    text = re.sub(r"</?tool_use_error>", "", error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    own = [line for line in lines if not re.fullmatch(r"exit (?:code|status)[: ]+\d+", line, re.IGNORECASE)]
    return error_in(text) or fingerprint(next(iter([*own, *lines]), ""))


def _results(entry: dict[str, Any], names: dict[str, str]) -> Iterator[_Result]:
    """Return the results of tools in an event, whatever CLI says it; note the names of the tools that it calls."""
    if entry.get("isSidechain") is True or entry.get("parent_tool_use_id"):
        return  # a sub-agent's: its own business
    item, part, data = (_object(entry.get(key)) for key in ("item", "part", "data"))
    match entry.get("type"):
        case "tool_result" if "tool_id" in entry:  # gemini
            output = _object(entry.get("error")).get("message") or entry.get("output")
            yield _result("", entry.get("tool_id"), entry.get("status") == "error", output)
        case "tool_use" if "tool_name" in entry:
            names[str(entry.get("tool_id"))] = str(entry["tool_name"])
        case "tool_use" if part:  # opencode
            state = _object(part.get("state"))
            if state.get("status") in ("error", "completed"):
                yield _result(part.get("tool"), "", state["status"] == "error", state.get("error"))
        case "item.completed" if item.get("type") in ("command_execution", "mcp_tool_call"):  # codex
            failed = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (0, None)
            output = item.get("aggregated_output") or _object(item.get("error")).get("message")
            yield _result(item["type"], "", failed, output or f"exit status {item.get('exit_code')}")
        case "tool.execution_start":  # copilot
            names[str(data.get("toolCallId"))] = str(data.get("toolName"))
        case "tool.execution_complete":
            output = _object(data.get("error")).get("message")
            yield _result("", data.get("toolCallId"), data.get("success") is False, output)
        case _:
            yield from _blocks(entry, names)


def _blocks(entry: dict[str, Any], names: dict[str, str]) -> Iterator[_Result]:
    """Return the results in a message of claude, qwen and others that write its transcripts."""
    content = _object(entry.get("message")).get("content")
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            names[str(block.get("id"))] = str(block.get("name"))
        elif block.get("type") == "tool_result":
            yield _result("", block.get("tool_use_id"), block.get("is_error") is True, block.get("content"))


def _result(tool: object, call: object, failed: bool, output: object) -> _Result:
    if isinstance(output, list):
        output = "\n".join(str(each.get("text", "")) for each in output if isinstance(each, dict))
    return _Result(str(tool or ""), str(call), (output if isinstance(output, str) else "") if failed else None)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
