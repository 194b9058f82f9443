"""How a loop runs in a folder without a setup."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.git.repository import Files
from bridge.base.resources import os_text
from bridge.loop.engine.loop_settings import night
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.rotation import bound_of
from bridge.loop.setups.asked import asked_settings
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.dot_ralph import folder
from bridge.loop.setups.plain.ending import PROMISE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.options import RunOptions


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
    prompt = os_text(find_prompt(project, options.prompt)) if prompt is None else prompt
    box = box_of(project, options, (*folder.protected(folder.locate(project, env)), *protected), env=env)
    return replace(
        asked_settings(project, prompt, options, wanted, files=FILES, box=box, env=env),
        limits=Limits(
            50 if options.max_iterations is None else options.max_iterations or None,
            options.max_failures or 0,
            options.max_seconds,
            int(wanted.max_idle) if options.max_idle is None else options.max_idle,
        ),
        pauses=pauses,
        live=options.live,
        promise=options.promise or (PROMISE if options.agent else None),
        resume=bool(options.resume),
        env=env,
        max_context=bound_of(options.max_context, env),
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
