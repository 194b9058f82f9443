"""What a session is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.ralph_loop.config import Config
    from bridge.setups.ralph_loop.preflight import Job

__all__ = ["Limits", "Session"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Iterations of the session, repetitions of a failed attempt, and seconds before the first of those."""

    max_iterations: int
    max_retries: int
    retry_delay: float


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the loop.

    Attributes:
        home: folder of the setup's own files.
        folder: the working folder.
        config: what ``config`` and the command line settled.
        job: what to do.
        limits: how often.
        strict: with the original's warts that show (README, "ralph-loop setups").
    """

    home: Path
    folder: Path
    config: Config
    job: Job
    limits: Limits
    strict: bool = False
