"""How a loop runs in a folder without a setup."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.git.repository import Files
from bridge.base.resources import os_text
from bridge.loop.engine.observers import telemetry_of
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.rotation import bound_of
from bridge.loop.engine.settings import LoopSettings, night, read_caps
from bridge.loop.setups.boxes import box_of
from bridge.loop.setups.crew import model_of, reserves_of
from bridge.loop.setups.dot_ralph import folder
from bridge.loop.setups.gates import gates_of
from bridge.loop.setups.plain.ending import PROMISE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions


TURN_MINUTES = 60.0
"""Minutes that one turn may take, unless told otherwise: a CLI that hangs must not cost the night."""


def loop_settings(
    project: Path,
    options: RunOptions,
    *,
    prompt: str | None = None,
    env: Mapping[str, str] | None = None,
    protected: Iterable[str] = (),
) -> LoopSettings:
    """Translate what is asked for; `prompt` as the script gets to see it, None: the usual one.

    `protected` is what a kind of setup wants to have so, beside what every folder has.

    Raises:
        bridge.errors.ConfigurationError: there is no prompt, or a variable of the environment is no number.
    """
    from bridge.loop.setups.projects import find_prompt

    env = dict(os.environ) if env is None else env
    wanted = night(env)
    pauses = wanted.pauses
    if options.retry_delay is not None:
        pauses = replace(pauses, retry=options.retry_delay)
    return LoopSettings(
        project=project,
        prompt=os_text(find_prompt(project, options.prompt)) if prompt is None else prompt,
        limits=Limits(
            50 if options.max_iterations is None else options.max_iterations or None,
            options.max_failures or 0,
            options.max_seconds,
            int(wanted.max_idle) if options.max_idle is None else options.max_idle,
        ),
        pauses=pauses,
        live=options.live,
        promise=options.promise or (PROMISE if options.agent else None),
        timeout=TURN_MINUTES * 60 if options.turn_seconds is None else options.turn_seconds,
        caps=options.caps.over(read_caps(env)),
        resume=bool(options.resume),
        env=env,
        observers=telemetry_of(options.telemetry, content=options.telemetry_content),
        box=box_of(project, options, (*folder.protected(folder.locate(project, env)), *protected), env=env),
        model=model_of(options, env),
        reserves=reserves_of(options, env),
        gates=gates_of(options, env),
        files=FILES,
        graces=options.graces(wanted.graces),
        max_silence=options.silence_seconds,
        max_context=bound_of(options.max_context, env),
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

FILES = Files(is_own=lambda path: _OWN.fullmatch(path) is not None, own=IGNORED)
"""What of a project is no work."""
