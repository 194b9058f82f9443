"""How a loop runs in a folder without a setup."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.git.repository import Files
from bridge.loop.caps import Caps, read_caps
from bridge.loop.night import night
from bridge.loop.policy import Limits
from bridge.loop.store import LoopSettings
from bridge.resources import os_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.asked import RunOptions


TURN_MINUTES = 60.0
"""Minutes that one turn may take, unless told otherwise: a CLI that hangs must not cost the night."""

AGENT_PROMISE = "COMPLETE"
"""What ends the loop of an agent script unless another promise is named: prompts for these scripts ask for it."""


@dataclass(frozen=True, slots=True)
class PlainSettings:
    """What the command line says of such a loop.

    Attributes:
        prompt: the prompt file, as the driver gets to see it.
        max_iterations: then it ends.
        max_seconds: then it ends, the turn that is under way with it; None: never.
        max_failures: failed turns in a row at which it ends; 0: never.
        max_idle: turns in a row that change nothing at which it ends; 0: never; None: as the environment says.
        timeout: seconds that one turn may take; None: any number.
        retry_seconds: the first pause after a failed turn; None: as the environment says.
        live: show output while it comes.
        caps: what the run may use; the environment fills in what isn't set.
        promise: a completion promise that ends the loop; None: none.
        resume: resume the session of the turn before.
        env: the environment; this process's own.
    """

    prompt: str = ".ralph/PROMPT.md"
    max_iterations: int | None = 50
    max_seconds: float | None = None
    max_failures: int = 0
    max_idle: int | None = None
    timeout: float | None = TURN_MINUTES * 60
    retry_seconds: float | None = None
    live: bool = True
    caps: Caps = field(default_factory=Caps)
    promise: str | None = None
    resume: bool = True
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def loop_settings(project: Path, given: PlainSettings) -> LoopSettings:
    """Translate them for the engine.

    Raises:
        bridge.errors.ConfigurationError: a variable of the environment is no number.
    """
    wanted = night(given.env)
    pauses = wanted.pauses
    if given.retry_seconds is not None:
        pauses = replace(pauses, retry=given.retry_seconds)
    return LoopSettings(
        project=project,
        prompt=given.prompt,
        limits=Limits(
            given.max_iterations,
            given.max_failures,
            given.max_seconds,
            int(wanted.max_idle) if given.max_idle is None else given.max_idle,
        ),
        pauses=pauses,
        live=given.live,
        promise=given.promise,
        timeout=given.timeout,
        caps=given.caps.over(read_caps(given.env)),
        resume=given.resume,
        env=given.env,
        files=FILES,
        graces=wanted.graces,
        turn_log_bytes=wanted.turn_log_bytes,
        hook_seconds=wanted.hook_seconds,
    )


_OWN = re.compile(
    r"\.ralph/(?:logs/.*|status\.json|live\.log|\.claude_session_id|\.ralph_bridge.*|.*\.lock|\..*\.tmp)", re.DOTALL
)

IGNORED = (".ralph/logs/", ".ralph/status.json", ".ralph/live.log", ".ralph/.*")
"""What git is best told to pass over."""

SAMPLES = (".ralph/status.json", ".ralph/live.log", ".ralph/logs/ralph.log", ".ralph/.ralph_bridge.json")
"""Files that show whether it does."""

FILES = Files(is_own=lambda path: _OWN.fullmatch(path) is not None)
"""What of a project is no work."""


def plain_settings(folder: Path, asked: RunOptions) -> PlainSettings:
    """Give what a loop without a setup runs with.

    Raises:
        ConfigurationError: there is no prompt.
    """
    from bridge.setups.projects import find_prompt

    return PlainSettings(
        prompt=os_text(find_prompt(folder, asked.prompt)),
        max_iterations=50 if asked.max_iterations is None else asked.max_iterations,
        max_seconds=asked.max_seconds,
        caps=asked.caps,
        max_failures=asked.max_failures or 0,
        max_idle=asked.max_idle,
        timeout=TURN_MINUTES * 60 if asked.turn_seconds is None else asked.turn_seconds,
        retry_seconds=asked.retry_delay,
        live=asked.live,
        promise=asked.promise or (AGENT_PROMISE if asked.agent else None),
        resume=asked.resume,
    )
