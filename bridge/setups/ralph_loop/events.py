"""What a session tells its host. Who prints, renders; the loop prints nothing."""

from __future__ import annotations

from dataclasses import dataclass

from bridge.loop.events import IterationEnded, IterationStarted, Waiting
from bridge.loop.turn_records import NO_TURNS, Totals

__all__ = ["Display", "Ended", "HookText", "Line", "Notice", "SessionEvent"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log's own (header, footer, summary and the like), without its newline."""

    text: str


@dataclass(frozen=True, slots=True)
class Display:
    """What ``agent_format_display`` printed: text as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class HookText:
    """What a hook printed, or a sourced file: `error` for stderr."""

    text: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the loop worked around, or an error that ends it."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The session is over.

    Attributes:
        code: the exit code.
        reason: in the words of the log.
        complete: the agent says so, or the plan does.
        iterations: how many there were.
        seconds: how long it took.
        totals: what its turns came to.
        signal: what was thrown in and ended it, or None.
    """

    code: int
    reason: str
    complete: bool = False
    iterations: int = 0
    seconds: float = 0.0
    totals: Totals = NO_TURNS
    signal: BaseException | None = None


SessionEvent = Line | Display | HookText | Notice | Ended | IterationStarted | IterationEnded | Waiting
