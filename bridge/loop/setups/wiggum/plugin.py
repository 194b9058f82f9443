"""Loops of the official plugin, which our Stop hook goes on with: its file, without its mistakes. Pure.

``.claude/ralph-loop.local.md`` is front matter, then the prompt. Only the lines that change are written anew; a
prompt keeps its ``---`` lines. The promise counts before the limit and wherever it stands in the message, another
session's loop isn't touched, and a file that can't be read is left where it is.
"""

from __future__ import annotations

import re

from bridge.base.records import dataclass
from bridge.errors import StateUnreadable
from bridge.scripts.stream.status import find_promise

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LINE = re.compile(r"^(?P<key>\w+)[ \t]*:[ \t]*(?P<value>.*?)[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginState:
    iteration: int  # the turn that is under way, from 1
    max_iterations: int  # 0: any number
    promise: str | None  # None: it never completes by itself
    session_id: str | None  # its owner
    prompt: str  # what each turn gets
    blocks: int  # stops in a row that were prevented; a key of ours


def read_plugin(text: str, where: str) -> PluginState:
    """Read the file; raises StateUnreadable without front matter or prompt, and for a number that is none."""
    values = front_matter(text, where)
    found = _FRONT.match(text)
    assert found is not None
    prompt = text[found.end() :].strip("\r\n")
    if not prompt.strip():
        raise StateUnreadable(f"{where} holds no prompt behind its front matter\n  next: start the loop anew")
    return PluginState(
        iteration=_number(values, "iteration", 1, where),
        max_iterations=_number(values, "max_iterations", 0, where),
        promise=_string(values.get("completion_promise", "null")),
        session_id=_string(values.get("session_id", "null")),
        prompt=prompt,
        blocks=_number(values, "blocks", 0, where),
    )


def front_matter(text: str, where: str) -> dict[str, str]:
    """Read the values above the prompt, by their names with underscores (``maxIterations`` is ``max_iterations``).

    Raises StateUnreadable without front matter.
    """
    found = _FRONT.match(text)
    if found is None:
        raise StateUnreadable(f"{where} has no front matter between two lines of ---\n  next: start the loop anew")
    return {_CAMEL.sub("_", line["key"]).lower(): line["value"] for line in _LINE.finditer(found["front"])}


def with_values(text: str, **values: str | int) -> str:
    """Put values into the front matter: in the place of the key's line, or as a new line at its end."""
    found = _FRONT.match(text)
    assert found is not None
    front = found["front"]
    for key, value in values.items():
        line = f"{key}: {value}"
        pattern = re.compile(rf"^{key}[ \t]*:[^\r\n]*", re.MULTILINE)
        if pattern.search(front):
            front = pattern.sub(lambda _, line=line: line, front, count=1)
        else:
            front += f"{line}\n"
    return text[: found.start("front")] + front + text[found.end("front") :]


def _number(values: dict[str, str], key: str, default: int, where: str) -> int:
    value = (values.get(key) or str(default)).strip("\"'")
    if not (value.isascii() and value.isdecimal()):
        raise StateUnreadable(f"{where}: {key} is {value!r}, expected a whole number\n  next: put it right")
    return int(value)


def _string(value: str) -> str | None:
    """Read a string as the plugin writes it, in quotes or bare; null and nothing are None."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        text = value[1:-1]
        text = re.sub(r'\\(["\\])', r"\1", text) if value[0] == '"' else text
        return text or None
    return None if value in ("", "null", "~") else value


def ending(state: PluginState, message: str) -> str:
    """Return how the loop ends with this message, as outcome and reason; '' while it goes on."""
    if state.promise is not None and find_promise(message, state.promise):
        return f"complete: the promise {state.promise!r} was given in iteration {state.iteration}"
    if 0 < state.max_iterations <= state.iteration:
        return f"max_iterations: maximum iterations ({state.max_iterations}) reached"
    return ""
