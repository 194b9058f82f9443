"""From a turn to the message that the model answers with, before any wire's own form. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.rehearsal.scenario import Turn

__all__ = [
    "CACHED",
    "ENDINGS",
    "INPUT",
    "OUTPUT",
    "REASONING",
    "Call",
    "Message",
    "message_for",
    "pieces",
    "serial",
]

INPUT, CACHED, OUTPUT, REASONING = 1234, 1000, 56, 12
"""The tokens that every answer is said to have taken; those from the cache are among the input's."""

_SHELLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "Bash": lambda command: {"command": command, "description": "Do the next step"},
    "bash": lambda command: {"command": command, "description": "Do the next step"},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
    "local_shell": lambda command: {"command": ["bash", "-c", command]},
    "run_commands": lambda command: {"commands": [command]},
    "execute_command": lambda command: {"command": command, "requires_approval": False},
}
"""The tools that run a shell command, by the names that CLIs have or had for them, and what they want."""

ENDINGS: dict[str, Callable[[str], dict[str, Any]]] = {
    "task_complete": lambda text: {"summary": text},
    "submit_and_exit": lambda text: {"summary": text, "verified": True},
    "attempt_completion": lambda text: {"result": text},
}

_SERIAL = count(1)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """What the model answers."""

    text: str = ""
    think: str = ""
    call: Call | None = None


def message_for(turn: Turn, tools: Sequence[str]) -> Message:
    """Make the message of a turn for a CLI that offers `tools`."""
    if turn.call:
        return Message(turn.text, turn.think, Call(turn.call, dict(turn.arguments or {})))
    if turn.run:
        for name, arguments in _SHELLS.items():
            if name in tools:
                return Message(turn.text, turn.think, Call(name, arguments(turn.run)))
        return Message(f"there is no shell among the tools: {', '.join(tools)}", turn.think)
    if turn.finish:
        for name, arguments in ENDINGS.items():
            if name in tools:
                return Message("" if turn.finish_only else turn.text, turn.think, Call(name, arguments(turn.text)))
    return Message(turn.text, turn.think)


def pieces(text: str, size: int = 24) -> list[str]:
    """Cut a text as a model streams it."""
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def serial(prefix: str) -> str:
    """Make an id that this process has not used yet."""
    return f"{prefix}{next(_SERIAL):08x}"
