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

from bridge.files import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_PATIENCE = 2.0
_SLICE = 0.05
_SETTLED = 2
"""Looks in a row that found the same size."""
_CHUNK = 1024 * 1024
_MOST = 64 * 1024 * 1024


class LastMessage(NamedTuple):
    """The last words in a transcript.

    Attributes:
        text: of the assistant.
        final: nothing behind them says that more is to come.
        whole: nothing is cut off behind them, only tools were used: they are the last ones if no more come.
    """

    text: str = ""
    final: bool = False
    whole: bool = False


def last_message(
    path: Path, *, patience: float = _PATIENCE, wait: Callable[[float], None] = time.sleep
) -> str | None:
    """Return the assistant's last message; None when the file doesn't hold it, even after some patience.

    Behind a turn that ends with the use of a tool, that is what was said before it in the same turn.

    Args:
        path: the transcript, a JSON object per line.
        patience: seconds to wait for what is still to be written.
        wait: lets time pass.
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
        entry = _object(line)
        if entry is None:
            whole = whole and bool(parts)  # cut off: it may have been the message
            final = final and whole
            continue
        role, message = _role(entry)
        if role == "user" and (parts or not _is_result(message.get("content"))):
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
        elif not parts and _works(message.get("content")):
            final = False  # a tool was called last: the answer is yet to come
    return LastMessage("\n".join(parts), final and bool(parts), whole and bool(parts))


def printed(path: Path) -> str | None:
    """Return what a CLI has printed into a file: its text, or the result in its JSON; None for a transcript."""
    if _size(path) is None:
        return None
    with suppress(OSError):
        with open_file(path) as file:
            data = file.read(_MOST)
        found = _results(data)
        if found is None:
            return data.decode("utf-8", "surrogateescape") if data.strip() else None
        return found[-1] if found else None
    return None


def _results(data: bytes) -> list[str] | None:
    """Return the results that JSON holds, a document or one a line; None of what holds no JSON objects."""
    with suppress(ValueError, RecursionError):
        whole = json.loads(data)
        entries = whole if isinstance(whole, list) else [whole]
        results = [each.get("result") for each in entries if isinstance(each, dict)]
        return [each for each in results if isinstance(each, str)] if results else None
    objects = [entry for line in data.splitlines() if (entry := _object(line))]
    results = [each.get("result") for each in objects if each.get("type") == "result"]
    return [each for each in results if isinstance(each, str)] if objects else None


def tool_errors(path: Path) -> tuple[str, ...]:
    """Return what tells the errors from others that tools ended with in the last turn, as far as it is written."""
    from bridge.setups.wiggum.reported_errors import standing_errors

    turn: list[dict[str, Any]] = []
    for line in _backwards(path):
        entry = _object(line)
        role, message = _role(entry or {})
        if role == "user" and not _is_result(message.get("content")):
            break
        if entry and role:
            turn.append(entry)
    return standing_errors(reversed(turn))


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


def _is_result(content: object) -> bool:
    """Say whether that is what tools gave, and nothing that the user said."""
    return isinstance(content, list) and any(
        isinstance(each, dict) and each.get("type") == "tool_result" for each in content
    )


def _works(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(each, dict) and each.get("type") == "tool_use" for each in content
    )
