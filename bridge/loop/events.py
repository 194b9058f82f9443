"""What the loop tells its host: one stream of small facts. Who prints, renders; the loop prints nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.loop.turn_records import NO_TURNS, Totals

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from bridge.loop.decide import Decision, Outcome, State, Verdict
    from bridge.loop.plan import Plan
    from bridge.loop.turn_records import TurnRecord

__all__ = [
    "DenialHelp",
    "IterationEnded",
    "IterationStarted",
    "LoopEnded",
    "LoopEvent",
    "LoopInterrupted",
    "Notice",
    "OutputText",
    "ReviewEnded",
    "ReviewStarted",
    "RunProgress",
    "Waiting",
]


@dataclass(frozen=True, slots=True)
class IterationStarted:
    """A run of the CLI is about to start.

    Attributes:
        iteration: counts from 1.
        argv: the command, as the driver built it.
        session_id: the session that it resumes, or None.
        live: its events are shown as they come.
        plan: the fix plan before the run, or None without one.
        log: file that gets its raw stdout.
        state: where the loop stands.
        head: the commit that is checked out, or ''.
    """

    iteration: int
    argv: tuple[str, ...]
    session_id: str | None
    live: bool
    plan: Plan | None
    log: Path
    state: State
    head: str = ""


@dataclass(frozen=True, slots=True)
class OutputText:
    """Text for the reader's eyes: a piece in live mode, else the whole answer."""

    iteration: int
    text: str


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run is still under way.

    Attributes:
        iteration: which one.
        elapsed: seconds since it began.
        last_line: the last sentence of its text in a live run, else the last line that it printed, or ''.
        tool: what it is using, as far as that shows, or ''.
        count: how many of these there were in this run, from 0.
    """

    iteration: int
    elapsed: float
    last_line: str
    tool: str
    count: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the loop worked around, or wants to be known."""

    text: str


@dataclass(frozen=True, slots=True)
class IterationEnded:
    """A run is over, and what follows from it.

    Attributes:
        iteration: which one.
        outcome: what it came to.
        decision: what follows.
        seconds: how long it took.
        log: its raw stdout.
        state: where the loop stands now.
        stderr: its stderr, or None.
        sessions: sessions are resumed in this loop.
        turn: the same, summed up for the records.
    """

    iteration: int
    outcome: Outcome
    decision: Decision
    seconds: float
    log: Path
    state: State
    stderr: Path | None = None
    sessions: bool = False
    turn: TurnRecord | None = None


@dataclass(frozen=True, slots=True)
class DenialHelp:
    """The agent was refused a tool, for the first time in this loop: what its driver says can be done.

    Attributes:
        iteration: the run in which it was.
        refused: the tools.
        text: lines for people, without the last newline; '' when the driver says nothing.
    """

    iteration: int
    refused: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The loop waits. Comes at the beginning, and about every second until it is over.

    Attributes:
        iteration: the last one.
        reason: ``pause``, ``retry``, ``write_timeout``, ``permission_denied``, ``api_limit`` or ``rate_limit``.
        detail: a sentence for people.
        until: when it goes on.
        left: seconds until then.
        first: this is the beginning.
        state: where the loop stands.
    """

    iteration: int
    reason: str
    detail: str
    until: datetime
    left: float
    first: bool
    state: State


@dataclass(frozen=True, slots=True)
class ReviewStarted:
    """A review is about to run."""

    iteration: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReviewEnded:
    """A review has run.

    Attributes:
        iteration: the one that was reviewed.
        findings: JSON text of what it found, or None.
        head: the commit that was reviewed.
        output: what it printed: stdout, then stderr.
        status: its exit status.
    """

    iteration: int
    findings: str | None
    head: str
    output: bytes
    status: int


@dataclass(frozen=True, slots=True)
class LoopEnded:
    """The loop is over: complete, or incomplete for `reason`; `totals` sums its turns up."""

    verdict: Verdict
    reason: str
    detail: str
    iterations: int
    seconds: float
    state: State
    totals: Totals = NO_TURNS


@dataclass(frozen=True, slots=True)
class LoopInterrupted:
    """The loop was ended in the middle. Recorded, never yielded: whoever interrupted knows.

    Attributes:
        action: ``interrupted`` or ``unexpected_exit``.
        reason: a signal's name, ``closed``, or the error's.
        iteration: where it was.
        error: the error, or None.
        state: where the loop stands.
        turn: the turn that was under way, or None.
    """

    action: str
    reason: str
    iteration: int
    error: BaseException | None
    state: State
    turn: TurnRecord | None = None


LoopEvent = (
    IterationStarted
    | OutputText
    | RunProgress
    | Notice
    | IterationEnded
    | DenialHelp
    | Waiting
    | ReviewStarted
    | ReviewEnded
    | LoopEnded
    | LoopInterrupted
)
