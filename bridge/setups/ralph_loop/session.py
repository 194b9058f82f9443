"""What a session is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.turn.logs import MB

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.ralph_loop.config import Config
    from bridge.setups.ralph_loop.preflight import Job

__all__ = ["TURN_MINUTES", "Limits", "Session"]

TURN_MINUTES = 240.0
"""Minutes that one run of the agent may take, unless told otherwise. The original knows no such limit: it is there
for a program that hangs, which would cost the night."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how often.

    Attributes:
        max_iterations: of the session.
        max_retries: repetitions of a failed attempt.
        retry_delay: seconds before the first of those.
        max_seconds: of the session, the turn that is under way included; None: any number.
        turn_seconds: of one run of the agent's program; None: any number.
        hook_seconds: of a hook before or after it.
        limit_seconds: pause after a provider's limit whose reset isn't known.
        log_bytes: size at which the middle is left out of a session's log, and of what the agent's program printed
            in a turn; 0: never.
        logs_bytes: size of the logs of all sessions; 0: any.
        grace_seconds: how long the agent's program may take to obey each signal.
    """

    max_iterations: int
    max_retries: int
    retry_delay: float
    max_seconds: float | None = None
    turn_seconds: float | None = TURN_MINUTES * 60
    hook_seconds: float = 600.0
    limit_seconds: float = 3600.0
    log_bytes: int = 200 * MB
    logs_bytes: int = 500 * MB
    grace_seconds: float = 2.0


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
