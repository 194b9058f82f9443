"""The assistant's last message out of a transcript: the fallback for hosts that don't give it to the hook.

A transcript is written behind the hook's back and may lag (pain 16): an answer is taken only from a file that has
settled and whose last word is the assistant's.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Said", "last_message", "read_entries", "used_tools"]

_PATIENCE = 2.0
_SLICE = 0.05
_SETTLED = 2
"""Looks in a row that found the same size."""
_TAIL = 1024 * 1024


class Said(NamedTuple):
    """The last words in a transcript; `final`: nothing behind them says that more is to come."""

    text: str = ""
    final: bool = False


def last_message(
    path: Path, *, patience: float = _PATIENCE, wait: Callable[[float], None] = time.sleep
) -> str | None:
    """Give the assistant's last message; None when the file doesn't hold it, even after some patience.

    Args:
        path: the transcript, a JSON object per line.
        patience: seconds to wait for what is still to be written.
        wait: lets time pass.
    """
    looks = max(int(patience / _SLICE), 1)
    size = -1
    settled = 0
    for left in range(looks, -1, -1):
        data = _tail(path)
        settled = settled + 1 if data is not None and len(data) == size else 0
        size = -1 if data is None else len(data)
        # Read only when it counts: a transcript may be large, and every look but the last is for its size.
        if data is not None and (settled >= _SETTLED or not left):
            said = read_entries(data)
            if said.final:
                return said.text
        if left:
            wait(_SLICE)
    return None


def read_entries(data: bytes) -> Said:
    """Read the end of a transcript. Sub-agents, and lines that are about the session, don't count."""
    parts: list[str] = []
    identity: object = None
    final = True
    for line in reversed(data.split(b"\n")):
        if not line.strip():
            continue
        entry = _object(line)
        if entry is None:
            final = final and bool(parts)  # cut off: it may have been the message
            continue
        role, message = _role(entry)
        if role == "user":
            break
        if role != "assistant":
            continue
        if parts and (message.get("id") is None or message.get("id") != identity):
            break
        if text := _text(message.get("content")):
            parts.insert(0, text)
            identity = message.get("id")
        elif not parts and _works(message.get("content")):
            final = False  # a tool was called last: the answer is yet to come
    return Said("\n".join(parts), final and bool(parts))


def used_tools(path: Path) -> bool:
    """Say whether the turn that the transcript ends with has used a tool, as far as it is written."""
    for line in reversed((_tail(path) or b"").split(b"\n")):
        role, message = _role(_object(line) or {})
        content = message.get("content")
        kinds = (
            {each.get("type") for each in content if isinstance(each, dict)} if isinstance(content, list) else set()
        )
        if kinds & {"tool_use", "tool_result"}:
            return True
        if role == "user":
            return False
    return False


def _tail(path: Path) -> bytes | None:
    with suppress(OSError), open(path, "rb") as file:
        file.seek(0, 2)
        size = file.tell()
        file.seek(max(0, size - _TAIL))
        data = file.read()
        return data if size <= _TAIL else data.partition(b"\n")[2]
    return None


def _object(line: bytes) -> dict[str, Any] | None:
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


def _works(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(each, dict) and each.get("type") == "tool_use" for each in content
    )
