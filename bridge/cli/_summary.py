"""The first and the last line of a loop on stderr: the same facts in the same order, whatever the setup."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from bridge.cli._terminal import duration
from bridge.loop.events import IterationEnded, IterationStarted, interruption
from bridge.loop.policy import Verdict
from bridge.loop.turn_records import NO_TURNS, Totals

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.cli._terminal import Style
    from bridge.loop.events import LoopEnded, LoopEvent


def driver_tool(name: str, script: Path) -> str:
    """Name a driver: what people call its CLI, and the script."""
    return f"{name} · driver {script}"


def agent_tool(name: str, script: Path) -> str:
    """Name an agent: its program, and the script."""
    return f"{name} · agent {script}"


def first_line(
    tool: str,
    prompt: object,
    *,
    iterations: int | None,
    seconds: float | None,
    turn_seconds: float | None,
) -> str:
    """Say what is about to run, and its limits.

    Args:
        tool: from :func:`driver_tool` or :func:`agent_tool`.
        prompt: the prompt's file.
        iterations: how many there may be; None: any number.
        seconds: how long the loop may take; None: any time.
        turn_seconds: how long one turn may take; None: any time.
    """
    most = f"at most {_count(iterations, 'iteration')}" if iterations is not None else "any number of iterations"
    total = f"{_minutes(seconds)} in all" if seconds is not None else "any time in all"
    turn = f"{_minutes(turn_seconds)} per turn" if turn_seconds is not None else "any time per turn"
    return f"{tool} · prompt {prompt} · {most}, {total}, {turn}"


def last_line(
    style: Style,
    *,
    complete: bool,
    iterations: int,
    seconds: float,
    totals: Totals = NO_TURNS,
    detail: str = "",
    reason: str,
) -> str:
    """Say how a loop has ended; what nobody knows is called unknown.

    Args:
        style: of stderr.
        complete: the work is done.
        iterations: where the loop's count stands.
        seconds: how long it took.
        totals: what the turns of this run came to.
        detail: why it ended, in words; '' where the reason says it all.
        reason: its name.
    """
    word = style("complete", "green", "bold") if complete else style("incomplete", "red", "bold")
    cost = totals.cost_usd
    facts = (
        f"{word} after {_count(iterations, 'iteration')}, {totals.failures} failed, {duration(seconds)}",
        "tokens unknown" if totals.tokens is None else f"{totals.tokens:,.0f} tokens",
        "cost unknown" if cost is None else f"${cost:.{2 if cost >= 0.1 or not cost else 4}f}",
        "commits unknown" if totals.commits is None else _count(totals.commits, "commit"),
    )
    return f"{' · '.join(facts)}: {f'{detail} ({reason})' if detail else reason}"


class SoFar:
    """What the events of a loop have come to, for a last line at any moment."""

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

    def ended(self, style: Style, end: LoopEnded) -> str:
        """Give the last line of a loop that has come to its end."""
        return last_line(
            style,
            complete=end.verdict is Verdict.COMPLETE,
            iterations=end.iterations,
            seconds=end.seconds,
            totals=end.totals,
            detail=end.detail,
            reason=end.reason,
        )

    def interrupted(self, style: Style, error: BaseException) -> str:
        """Give that of a loop that a signal has ended."""
        return last_line(
            style,
            complete=False,
            iterations=self._iterations,
            seconds=time.monotonic() - self._began,
            totals=self._totals,
            detail="interrupted",
            reason=interruption(error)[1],
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _minutes(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes >= 1 and math.isclose(minutes, round(minutes)) else duration(seconds)
