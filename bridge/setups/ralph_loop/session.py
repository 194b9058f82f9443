"""What a session is about, and what it needs of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.ralph_loop.config import Config
    from bridge.setups.ralph_loop.preflight import Job

__all__ = ["Session"]


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the loop.

    Attributes:
        home: folder of the setup's own files.
        folder: the working folder.
        config: what ``config`` and the command line settled.
        job: what to do.
        strict: with the original's warts that show (README, "ralph-loop setups").
    """

    home: Path
    folder: Path
    config: Config
    job: Job
    strict: bool = False
