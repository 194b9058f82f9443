"""How a loop is run; what keeps it going through a night comes from the environment, by the same variables in every
setup."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.git.repository import ALL_WORK
from bridge.loop import caps
from bridge.loop.caps import Caps
from bridge.loop.policy import Limits, Pauses
from bridge.process.program import Graces
from bridge.turn.logs import MB
from bridge.turn.tool import TurnSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.git.repository import Files
    from bridge.loop.crew import Reserves
    from bridge.loop.gates import Gating
    from bridge.loop.observers import Observe


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(TurnSettings):
    """How to run a loop.

    Attributes:
        prompt: the prompt file, as the tool gets to see it.
        limits: when to give up.
        pauses: how long to wait before a turn is repeated.
        promise: the completion promise to look for, or None.
        timeout: seconds that one turn may take, or None.
        caps: what the run may use.
        files: which of the project's files are no work.
        reserves: further tools; None: there are none.
        gates: what it is held against before it is complete; None: nothing.
        observers: make who hears of the run.
    """

    prompt: str = ".ralph/PROMPT.md"
    limits: Limits = field(default_factory=Limits)
    pauses: Pauses = field(default_factory=Pauses)
    promise: str | None = None
    timeout: float | None = None
    caps: Caps = field(default_factory=Caps)
    files: Files = ALL_WORK
    reserves: Reserves | None = None
    gates: Gating | None = None
    observers: tuple[Observe, ...] = ()


VARIABLES = {
    "retry_seconds": "RALPH_BRIDGE_RETRY_SECONDS",
    "retry_max_seconds": "RALPH_BRIDGE_RETRY_MAX_SECONDS",
    "limit_seconds": "RALPH_BRIDGE_LIMIT_WAIT_SECONDS",
    "grace_seconds": "RALPH_BRIDGE_KILL_GRACE_SECONDS",
    "hook_seconds": "RALPH_BRIDGE_HOOK_SECONDS",
    "turn_logs_mb": "RALPH_BRIDGE_TURN_LOGS_MB",
    "turn_log_mb": "RALPH_BRIDGE_TURN_LOG_MB",
    "max_idle": "RALPH_BRIDGE_MAX_IDLE",
}
"""Field to the variable that sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """How a loop deals with what goes wrong while nobody looks.

    Attributes:
        retry_seconds: pause after a failed turn; it doubles with each failure in a row.
        retry_max_seconds: that pause's longest.
        limit_seconds: pause after an API limit whose reset isn't known.
        grace_seconds: how long a tool may take to obey each signal.
        hook_seconds: how long a hook of an agent may take before and after a turn.
        turn_logs_mb: size of the logs of all turns together; 0: any.
        turn_log_mb: size at which the log of a single turn is cut; 0: never.
        max_idle: turns in a row that come to nothing at which a loop ends that has no breaker; 0: never.
    """

    retry_seconds: float = 5.0
    retry_max_seconds: float = 600.0
    limit_seconds: float = 3600.0
    grace_seconds: float = 2.0
    hook_seconds: float = 600.0
    turn_logs_mb: float = 500.0
    turn_log_mb: float = 200.0
    max_idle: float = 5

    @property
    def pauses(self) -> Pauses:
        return Pauses(self.retry_seconds, self.retry_max_seconds, self.limit_seconds)

    @property
    def turn_logs_bytes(self) -> int:
        return int(self.turn_logs_mb * MB)

    @property
    def turn_log_bytes(self) -> int:
        return int(self.turn_log_mb * MB)

    @property
    def graces(self) -> Graces:
        grace = self.grace_seconds
        return Graces(interrupt=grace, terminate=grace, leftover=min(grace, Graces.leftover))


def night(env: Mapping[str, str], defaults: Night | None = None) -> Night:
    """Read it; what isn't set, or is empty, has its default.

    Args:
        env: the environment.
        defaults: of the setup.

    Raises:
        ConfigurationError: a value is no number of seconds; names the variable.
    """
    return replace(defaults or Night(), **numbers(env, VARIABLES))


def numbers(env: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, float]:
    """Read numbers from 0 on; what isn't set, or is empty, is left out.

    Args:
        env: the environment.
        variables: a name for each number, and the variable that it stands in.

    Raises:
        ConfigurationError: a value is none; names the variable.
    """
    found = {}
    for name, variable in variables.items():
        if text := env.get(variable, "").strip():
            try:
                found[name] = float(text)
            except ValueError:
                found[name] = -1.0
            if not (math.isfinite(found[name]) and found[name] >= 0):
                raise ConfigurationError(
                    f"{variable}={text!r} in the environment is no number ≥ 0\n"
                    f"  next: {variable}=30, or unset {variable}"
                )
    return found


def read_caps(env: Mapping[str, str]) -> Caps:
    """Read the caps of the environment.

    Raises:
        ConfigurationError: a value is no number; names the variable.
    """
    return Caps(**numbers(env, caps.VARIABLES))
