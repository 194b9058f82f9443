"""The assistant's last message out of a transcript: the fallback for hosts that don't give it to the hook.

A transcript is written behind the hook's back and may lag (pain 16): an answer is taken only from a file that has
settled and whose last word is the assistant's.
"""

from __future__ import annotations

import json
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["Said", "last_message", "read_entries", "used_tools"]

_PATIENCE = 2.0
_SLICE = 0.05
_SETTLED = 2
"""Looks in a row that found the same size."""
_CHUNK = 1024 * 1024


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
    size: int | None = None
    settled = 0
    for left in range(looks, -1, -1):
        before, size = size, _size(path)
        settled = settled + 1 if size is not None and size == before else 0
        # Read only when it counts: a transcript may be large, and every look but the last is for its size.
        if settled >= _SETTLED or not left:
            said = read_entries(_backwards(path))
            if said.final:
                return said.text
        if left:
            wait(_SLICE)
    return None


def read_entries(lines: Iterable[bytes]) -> Said:
    """Read the end of a transcript, its last line first. Sub-agents, and lines about the session, don't count."""
    parts: list[str] = []
    identity: object = None
    final = True
    for line in lines:
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
    for line in _backwards(path):
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


def _size(path: Path) -> int | None:
    """Give a file's size; None for what is no regular file: opening a FIFO might take for ever."""
    with suppress(OSError, ValueError):
        found = path.stat()
        return found.st_size if stat.S_ISREG(found.st_mode) else None
    return None


def _backwards(path: Path) -> Iterator[bytes]:
    """Give the lines of a file, the last one first, reading no more of it than is asked for."""
    position = _size(path)
    if position is None:
        return
    begun: list[bytes] = []  # pieces, the last one first, of a line that begins before `position`
    with suppress(OSError), open(path, "rb") as file:
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
