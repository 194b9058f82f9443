"""What keeps a loop going through a night, from the environment: the same variables in every setup."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.policy import Pauses
from bridge.process.program import Graces
from bridge.turn.logs import MB

if TYPE_CHECKING:
    from collections.abc import Mapping

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


@dataclass(frozen=True, slots=True)
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
        """Those between turns."""
        return Pauses(self.retry_seconds, self.retry_max_seconds, self.limit_seconds)

    @property
    def turn_logs_bytes(self) -> int:
        """The first of these bounds in bytes."""
        return int(self.turn_logs_mb * MB)

    @property
    def turn_log_bytes(self) -> int:
        """The second one."""
        return int(self.turn_log_mb * MB)

    @property
    def graces(self) -> Graces:
        """The same for each signal."""
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
    for field, name in variables.items():
        if text := env.get(name, "").strip():
            try:
                found[field] = float(text)
            except ValueError:
                found[field] = -1.0
            if not (math.isfinite(found[field]) and found[field] >= 0):
                raise ConfigurationError(
                    f"{name}={text!r} in the environment is no number ≥ 0\n  next: {name}=30, or unset {name}"
                )
    return found
