"""What the scripted model says: turns as data, and the message that each becomes. Pure.

A scenario is a list of turns. Each request that a CLI's agent makes (it offers tools) gets the next one, the last
one again and again; a request without tools, for a title say, gets a word and uses up no turn.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.base.records import dataclass
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SHELLS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "Bash": lambda command: {"command": command, "description": "Do the next step"},
    "bash": lambda command: {"command": command, "description": "Do the next step"},
    "run_shell_command": lambda command: {"command": command, "description": "Do the next step"},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
    "Execute": lambda command: {"command": command, "riskLevel": "low", "riskLevelReason": "It is a trial."},
    "local_shell": lambda command: {"command": ["bash", "-c", command]},
    "run_commands": lambda command: {"commands": [command]},
    "execute_command": lambda command: {"command": command, "requires_approval": False},
}
"""The arguments of the tools that run a shell command, by the names that CLIs have or had for them."""

ENDINGS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "task_complete": lambda text: {"summary": text},
    "submit_and_exit": lambda text: {"summary": text, "verified": True},
    "attempt_completion": lambda text: {"result": text},
}
"""The arguments of the tools that end an autonomous run."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of the model.

    Attributes:
        text: what the assistant says.
        think: what it thinks before that.
        run: a shell command, which it runs with whatever tool the CLI offers for that.
        call: name of a tool to call instead, with `arguments`.
        arguments: of that call.
        finish: when it calls no other tool, it calls the one that ends an autonomous run, where the CLI offers
            one (copilot's ``task_complete``, cline's ``submit_and_exit``).
        finish_only: it says the text only in that call, if there is one.
        status: answer with this HTTP status instead: 401, 429, 500, 529.
        message: the error's words; '' for the usual ones.
        limit: with 429, whose limit: ``five_hour`` and ``seven_day`` as Claude subscriptions have them in headers,
            ``usage`` as ChatGPT plans have it in the body; '' for a plain rate limit.
        resets_in: seconds until that limit ends.
        fault: ``cut``: the connection ends in the middle of the text; ``hang``: it stays open and silent there.
        delay: seconds between two pieces of text.
    """

    text: str = ""
    think: str = ""
    run: str = ""
    call: str = ""
    arguments: Mapping[str, Any] | None = None
    finish: bool = True
    finish_only: bool = False
    status: int = 0
    message: str = ""
    limit: Literal["", "five_hour", "seven_day", "usage"] = ""
    resets_in: float = 10_800
    fault: Literal["", "cut", "hang"] = ""
    delay: float = 0.0


_NAMES = {field.name for field in fields(ModelTurn)}
_SILENCE = ModelTurn(text="ok")


def turns_of(data: Iterable[Mapping[str, Any]]) -> list[ModelTurn]:
    """Turns from JSON data; a `ConfigurationError` names a key that there isn't."""
    turns = []
    for number, item in enumerate(data, 1):
        if unknown := sorted(set(item) - _NAMES):
            raise ConfigurationError(
                f"turn {number} of the scenario: {', '.join(unknown)} is no part of a turn"
                f"\n  next: the parts are {', '.join(sorted(_NAMES))}"
            )
        turns.append(ModelTurn(**item))
    return turns


def as_data(turns: Iterable[ModelTurn]) -> list[dict[str, Any]]:
    usual = asdict(ModelTurn())
    return [{key: value for key, value in asdict(turn).items() if value != usual[key]} for turn in turns]


class Scenario:
    """The turns, and which is next. Not safe for threads by itself."""

    def __init__(self, turns: Iterable[ModelTurn] = ()) -> None:
        self.turns = list(turns) or [_SILENCE]
        self.used = 0

    def next(self, *, tools: bool) -> ModelTurn:
        """Give the turn for a request, and use it up if the request is the agent's own (it offers `tools`)."""
        turn = self.turns[min(self.used, len(self.turns) - 1)]
        if tools:
            self.used += 1
            return turn
        # An error of the account is everybody's; anything else is for the agent alone.
        return turn if turn.status else _SILENCE


class ToolCall(NamedTuple):
    name: str
    arguments: dict[str, Any]


class Message(NamedTuple):
    """What the model answers, before any API's own form."""

    text: str = ""
    think: str = ""
    call: ToolCall | None = None


def message_for(turn: ModelTurn, tools: Sequence[str]) -> Message:
    if turn.call:
        return Message(turn.text, turn.think, ToolCall(turn.call, dict(turn.arguments or {})))
    if turn.run:
        for name, arguments in _SHELLS.items():
            if name in tools:
                return Message(turn.text, turn.think, ToolCall(name, arguments(turn.run)))
        return Message(f"there is no shell among the tools: {', '.join(tools)}", turn.think)
    if turn.finish:
        for name, arguments in ENDINGS.items():
            if name in tools:
                call = ToolCall(name, arguments(turn.text))
                return Message("" if turn.finish_only else turn.text, turn.think, call)
    return Message(turn.text, turn.think)
