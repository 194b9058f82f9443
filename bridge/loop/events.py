"""What the loop tells its host: one stream of small facts. Who prints, renders; the loop prints nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.decide import Decision, Outcome, Verdict
    from bridge.loop.plan import Plan

__all__ = ["IterationEnded", "IterationStarted", "LoopEnded", "LoopEvent", "Notice", "OutputText"]


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
    """

    iteration: int
    argv: tuple[str, ...]
    session_id: str | None
    live: bool
    plan: Plan | None
    log: Path


@dataclass(frozen=True, slots=True)
class OutputText:
    """Text for the reader's eyes: a piece in live mode, else the whole answer."""

    iteration: int
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the loop worked around."""

    text: str


@dataclass(frozen=True, slots=True)
class IterationEnded:
    """A run is over, and what follows from it."""

    iteration: int
    outcome: Outcome
    decision: Decision
    seconds: float
    log: Path


@dataclass(frozen=True, slots=True)
class LoopEnded:
    """The loop is over: complete, or incomplete for `reason`."""

    verdict: Verdict
    reason: str
    detail: str
    iterations: int
    seconds: float


LoopEvent = IterationStarted | OutputText | Notice | IterationEnded | LoopEnded
