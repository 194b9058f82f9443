"""How a loop is run; what keeps it going through a night comes from the environment, by the same variables in every
setup."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.git.repository import ALL_WORK
from bridge.base.process.program import Graces
from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural
from bridge.errors import ConfigurationError
from bridge.loop.engine import caps
from bridge.loop.engine.caps import Caps
from bridge.loop.engine.policy import Limits, Pauses
from bridge.loop.turn.logs import MB
from bridge.loop.turn.tool import TurnSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from bridge.base.git.repository import Files
    from bridge.loop.engine.observers import Observe
    from bridge.loop.engine.rotation import ContextBound
    from bridge.loop.turn.tool import Tool


REVIEW_ROUNDS = 3
"""Reviews in a row that may refuse a loop which calls itself complete, unless another number is given."""
CHECK_SECONDS = 600.0
"""That a check may take, unless it is given another time."""


class Candidate(NamedTuple):
    """A further tool of a loop.

    Attributes:
        name: as records call it, such as ``driver codex@gpt-5:high``.
        open: loads it for the settings of a loop, and sees whether its CLI is there; raises BridgeError.
        prices: US dollars per million tokens, in and out, where it tells no cost; None: those of the loop.
        max_cost, max_tokens: that it may use in a run, in US dollars, and in and out; None: any.
    """

    name: str
    open: Callable[[LoopSettings], AbstractContextManager[Tool]]
    prices: tuple[float, float] | None = None
    max_cost: float | None = None
    max_tokens: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserves:
    """The further tools of a loop.

    Attributes:
        fallback: in this order, for as long as those in front of them are at a limit.
        escalate: takes the task that stays open; None: no tool does.
        after: so many turns on a task, or failures in a row, without its being done.
    """

    fallback: tuple[Candidate, ...] = ()
    escalate: Candidate | None = None
    after: int = 0

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return (*self.fallback, *([self.escalate] if self.escalate else []))

    @property
    def shown(self) -> str:
        """In a few words."""
        named = [f"at a limit {', '.join(each.name for each in self.fallback)}"] if self.fallback else []
        hard = [f"after {plural(self.after, 'turn')} on a task {self.escalate.name}"] if self.escalate else []
        return " · ".join((*named, *hard))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """The review that is wanted.

    Attributes:
        tool: does it.
        every: behind so many iterations, too; 0: only before the end.
        rounds: see :data:`REVIEW_ROUNDS`.
    """

    tool: Candidate
    every: int = 0
    rounds: int = REVIEW_ROUNDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Gating:
    """What a loop is held against before it is complete.

    Attributes:
        check: a command for ``/bin/sh`` that succeeds when the work is good; '': none.
        every_turn: it is run behind each turn that ended well, too.
        seconds: that it may take.
        review: what another tool is to look at; None: nothing.
    """

    check: str = ""
    every_turn: bool = False
    seconds: float = CHECK_SECONDS
    review: Reviewing | None = None

    @property
    def shown(self) -> str:
        """For the first line of a run."""
        check = f"check `{one_line(self.check, 80)}`" if self.check else ""
        return " · ".join(filter(None, (check, f"review by {self.review.tool.name}" if self.review else "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(TurnSettings):
    """How to run a loop.

    Attributes:
        prompt: the prompt file, as the tool gets to see it.
        limits: when to give up.
        pauses: how long to wait before a turn is repeated.
        promise: the completion promise to look for, or None.
        ending_request: what each turn's context asks for, so that the loop gets to know that all is done; or ''.
        ending_notice: what people are told of that, or ''.
        timeout: seconds that one turn may take, or None.
        caps: what the run may use.
        files: which of the project's files are no work.
        reserves: further tools; None: there are none.
        gates: what it is held against before it is complete; None: nothing.
        max_context: how full the context of a session may be that is carried on; None: any.
        absent_seconds: for how long a CLI is looked for that was there before and can't be started; 0: not at all.
        observers: make who hears of the run.
    """

    prompt: str = ".ralph/PROMPT.md"
    limits: Limits = field(default_factory=Limits)
    pauses: Pauses = field(default_factory=Pauses)
    promise: str | None = None
    ending_request: str = ""
    ending_notice: str = ""
    timeout: float | None = None
    caps: Caps = field(default_factory=Caps)
    files: Files = ALL_WORK
    reserves: Reserves | None = None
    gates: Gating | None = None
    max_context: ContextBound | None = None
    absent_seconds: float = 60.0
    observers: tuple[Observe, ...] = ()


VARIABLES = {
    "retry_seconds": "RALPH_BRIDGE_RETRY_SECONDS",
    "retry_max_seconds": "RALPH_BRIDGE_RETRY_MAX_SECONDS",
    "limit_seconds": "RALPH_BRIDGE_LIMIT_WAIT_SECONDS",
    "grace_seconds": "RALPH_BRIDGE_KILL_GRACE_SECONDS",
    "answered_seconds": "RALPH_BRIDGE_ANSWERED_SECONDS",
    "absent_seconds": "RALPH_BRIDGE_ABSENT_SECONDS",
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
        answered_seconds: how long a CLI may stay once it has answered; 0: any time.
        absent_seconds: for how long a CLI is looked for that was there before; 0: not at all.
        hook_seconds: how long a hook of an agent may take before and after a turn.
        turn_logs_mb: size of the logs of all turns together; 0: any.
        turn_log_mb: size at which the log of a single turn is cut; 0: never.
        max_idle: turns in a row that come to nothing at which a loop ends that has no breaker; 0: never.
    """

    retry_seconds: float = 5.0
    retry_max_seconds: float = 600.0
    limit_seconds: float = 3600.0
    grace_seconds: float = 2.0
    answered_seconds: float = Graces.answered
    absent_seconds: float = 60.0
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
        return Graces(
            interrupt=grace, terminate=grace, leftover=min(grace, Graces.leftover), answered=self.answered_seconds
        )


def night(env: Mapping[str, str], defaults: Night | None = None) -> Night:
    """Read it; what isn't set, or is empty, has its default.

    Args:
        defaults: of the setup.

    Raises:
        ConfigurationError: a value is no number of seconds; names the variable.
    """
    return replace(defaults or Night(), **numbers(env, VARIABLES))


def numbers(env: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, float]:
    """Read numbers from 0 on; what isn't set, or is empty, is left out.

    Args:
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
