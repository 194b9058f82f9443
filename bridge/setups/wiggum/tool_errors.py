"""What an agent's tools ended with in a turn: errors that a later success of the same tool didn't follow."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.setups.wiggum.signs import error_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["logged_errors", "standing_errors"]

_TAGS = re.compile(r"</?tool_use_error>")
_STATUS = re.compile(r"(?:Exit code|exit status)[: ]+\d+", re.IGNORECASE)
_TOOL = re.compile(rb"tool|command_execution")
_MOST = 64 * 1024 * 1024
_LONGEST = 1024 * 1024


class _Result(NamedTuple):
    """A tool's result: whose, of which call, and the error's text; None of a success."""

    tool: str
    call: str
    error: str | None


def standing_errors(entries: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Give what tells the errors from others that tools ended with, oldest first.

    Args:
        entries: the events of one turn, in their order: of a transcript, or of a CLI's output.
    """
    names: dict[str, str] = {}
    wrong: dict[str, list[str]] = {}
    for entry in entries:
        for result in _results(entry, names):
            tool = result.tool or names.get(result.call, "")
            if result.error is None:
                wrong.pop(tool, None)
            elif core := _core(result.error):
                wrong.setdefault(tool, []).append(core)
    return tuple(dict.fromkeys(core for each in wrong.values() for core in each))


def logged_errors(path: Path) -> tuple[str, ...]:
    """Read the errors out of the log of a turn: events, one a line, or an array of them; else there are none."""
    with suppress(OSError), open(path, "rb") as log:
        return standing_errors(_entries(log.read(_MOST)))
    return ()


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    for line in [data] if data.lstrip()[:1] == b"[" else data.splitlines():
        if not _TOOL.search(line[:_LONGEST]):
            continue
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            yield from (each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict))


def _core(error: str) -> str:
    """Cut an error to what tells it from others: its own words, else the first line that isn't just a status."""
    from bridge.stream.analysis.fingerprint import fingerprint

    text = _TAGS.sub("", error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next((line for line in lines if not _STATUS.fullmatch(line)), lines[0] if lines else "")
    return error_in(text) or fingerprint(said)


def _results(entry: dict[str, Any], names: dict[str, str]) -> Iterator[_Result]:
    """Give the results of tools in an event, whatever CLI says it; note the names of the tools that it calls."""
    if entry.get("isSidechain") is True or entry.get("parent_tool_use_id"):
        return  # a sub-agent's: its own business
    item, part, data = (_object(entry.get(key)) for key in ("item", "part", "data"))
    match entry.get("type"):
        case "tool_result" if "tool_id" in entry:  # gemini
            said = _object(entry.get("error")).get("message") or entry.get("output")
            yield _result("", entry.get("tool_id"), entry.get("status") == "error", said)
        case "tool_use" if "tool_name" in entry:
            names[str(entry.get("tool_id"))] = str(entry["tool_name"])
        case "tool_use" if part:  # opencode
            state = _object(part.get("state"))
            if state.get("status") in ("error", "completed"):
                yield _result(part.get("tool"), "", state["status"] == "error", state.get("error"))
        case "item.completed" if item.get("type") in ("command_execution", "mcp_tool_call"):  # codex
            failed = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (0, None)
            said = item.get("aggregated_output") or _object(item.get("error")).get("message")
            yield _result(item["type"], "", failed, said or f"exit status {item.get('exit_code')}")
        case "tool.execution_start":  # copilot
            names[str(data.get("toolCallId"))] = str(data.get("toolName"))
        case "tool.execution_complete":
            said = _object(data.get("error")).get("message")
            yield _result("", data.get("toolCallId"), data.get("success") is False, said)
        case _:
            yield from _blocks(entry, names)


def _blocks(entry: dict[str, Any], names: dict[str, str]) -> Iterator[_Result]:
    """Give the results in a message of claude, qwen and others that write its transcripts."""
    content = _object(entry.get("message")).get("content")
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            names[str(block.get("id"))] = str(block.get("name"))
        elif block.get("type") == "tool_result":
            yield _result("", block.get("tool_use_id"), block.get("is_error") is True, block.get("content"))


def _result(tool: object, call: object, failed: bool, said: object) -> _Result:
    if isinstance(said, list):
        said = "\n".join(str(each.get("text", "")) for each in said if isinstance(each, dict))
    return _Result(str(tool or ""), str(call), (said if isinstance(said, str) else "") if failed else None)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
