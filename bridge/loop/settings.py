"""How to run a loop: everything that is settled before it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.git.repository import ALL_WORK
from bridge.loop.policy import Limits, Pauses
from bridge.turn.tool import TurnSettings

if TYPE_CHECKING:
    from bridge.git.repository import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(TurnSettings):
    """How to run a loop.

    Attributes:
        prompt: the prompt file, as the tool gets to see it.
        limits: when to give up.
        pauses: how long to wait before a turn is repeated.
        promise: the completion promise to look for, or None.
        timeout: seconds that one turn may take, or None.
        files: which of the project's files are no work.
    """

    prompt: str = ".ralph/PROMPT.md"
    limits: Limits = field(default_factory=Limits)
    pauses: Pauses = field(default_factory=Pauses)
    promise: str | None = None
    timeout: float | None = None
    files: Files = ALL_WORK
