"""What the scripted model says, as data. Pure.

A scenario is a list of turns. Each request that a CLI's agent makes (it offers tools) gets the next one, the last
one again and again; a request without tools, for a title say, gets a word and uses up no turn.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Script", "Turn", "as_data", "turns_of"]


@dataclass(frozen=True, slots=True)
class Turn:
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


_NAMES = {field.name for field in fields(Turn)}
_SILENCE = Turn(text="ok")


def turns_of(data: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Read turns from JSON data.

    Raises:
        ConfigurationError: a turn has a key that there isn't; names it.
    """
    turns = []
    for number, item in enumerate(data, 1):
        if unknown := sorted(set(item) - _NAMES):
            raise ConfigurationError(
                f"turn {number} of the scenario: {', '.join(unknown)} is no part of a turn"
                f"\n  next: the parts are {', '.join(sorted(_NAMES))}"
            )
        turns.append(Turn(**item))
    return turns


def as_data(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Write turns as JSON data, without what is as usual."""
    usual = asdict(Turn())
    return [{key: value for key, value in asdict(turn).items() if value != usual[key]} for turn in turns]


class Script:
    """The turns, and which is next. Not safe for threads by itself."""

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self.turns = list(turns) or [_SILENCE]
        self.used = 0

    def next(self, *, tools: bool) -> Turn:
        """Give the turn for a request, and use it up if the request is the agent's own (it offers `tools`)."""
        turn = self.turns[min(self.used, len(self.turns) - 1)]
        if tools:
            self.used += 1
            return turn
        # An error of the account is everybody's; anything else is for the agent alone.
        return turn if turn.status else _SILENCE
