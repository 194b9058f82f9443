"""The first and the last line of a loop on stderr: the same facts in the same order, whatever the setup."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from bridge.loop.events import IterationEnded, IterationStarted, interruption
from bridge.loop.policy import Verdict
from bridge.loop.records import NO_TURNS, Totals
from bridge.resources import shown_script
from bridge.wording import duration, plural, usd

if TYPE_CHECKING:
    from bridge.agent import Agent
    from bridge.cli._terminal import Style
    from bridge.driver import Driver
    from bridge.loop.events import LoopEnded, LoopEvent
    from bridge.loop.settings import LoopSettings


def first_line(tool: Driver | Agent | str, loop: LoopSettings) -> str:
    """Say what is about to run, and its limits; `tool` may be words for it."""
    most, seconds = loop.limits.max_iterations, loop.limits.max_seconds
    count = f"at most {plural(most, 'iteration')}" if most is not None else "any number of iterations"
    total = f"{_minutes(seconds)} in all" if seconds is not None else "any time in all"
    turn = f"{_minutes(loop.timeout)} per turn" if loop.timeout is not None else "any time per turn"
    return f"{_named(tool)} · prompt {loop.prompt} · {count}, {total}, {turn}"


def _named(tool: Driver | Agent | str) -> str:
    from bridge.agent import Agent

    if isinstance(tool, str):
        return tool
    kind, name = ("agent", tool.cli) if isinstance(tool, Agent) else ("driver", tool.display_name())
    return f"{name} · {kind} {shown_script(tool.script)}"


def last_line(style: Style, end: LoopEnded) -> str:
    """Say how a loop has ended."""
    word = style("complete", "green", "bold") if end.verdict is Verdict.COMPLETE else _incomplete(style)
    why = f"{end.detail} ({end.reason})" if end.detail else end.reason
    return _last_line(word, end.iterations, end.seconds, end.totals, why)


def exit_code(end: LoopEnded) -> int:
    """Give the exit code of a loop: that of its end, else that of its verdict."""
    return end.status if end.status is not None else int(end.verdict is not Verdict.COMPLETE)


class SoFar:
    """What the events of a loop have come to, for the last line when a signal ends it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._iterations = 0
        self._totals = NO_TURNS

    def take(self, event: LoopEvent) -> None:
        """Take in an event."""
        if isinstance(event, IterationStarted):
            self._iterations = event.iteration
        elif isinstance(event, IterationEnded) and event.turn is not None:
            self._totals = self._totals.with_turn(event.turn)

    def interrupted(self, style: Style, error: BaseException) -> str:
        """Give that line."""
        why = f"interrupted ({interruption(error)[1]})"
        return _last_line(_incomplete(style), self._iterations, time.monotonic() - self._began, self._totals, why)


def _incomplete(style: Style) -> str:
    return style("incomplete", "red", "bold")


def _last_line(word: str, iterations: int, seconds: float, totals: Totals, why: str) -> str:
    ended = f"{word} after {plural(iterations, 'iteration')}, {totals.failures} failed, {duration(seconds)}"
    return f"{ended} · {used(totals)}: {why}"


def used(totals: Totals) -> str:
    """Say what turns have used and made; what nobody knows is called unknown."""
    facts = (
        "tokens unknown" if totals.tokens is None else f"{totals.tokens:,.0f} tokens",
        "cost unknown" if totals.cost_usd is None else usd(totals.cost_usd),
        "commits unknown" if totals.commits is None else plural(totals.commits, "commit"),
    )
    return " · ".join(facts)


def _minutes(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes >= 1 and math.isclose(minutes, round(minutes)) else duration(seconds)
