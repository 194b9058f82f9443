"""What of a loop's settings is the same in every kind: as a run is asked, and its user's environment says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.loop.engine.loop_settings import LoopSettings, read_caps
from bridge.loop.engine.observers import telemetry_of
from bridge.loop.setups.further_tools import model_of, reserves_of
from bridge.loop.setups.gate_options import gates_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.base.git.repository import Files
    from bridge.loop.engine.caps import Caps
    from bridge.loop.engine.loop_settings import Night
    from bridge.loop.sandbox.box import Box
    from bridge.loop.setups.options import RunOptions

TURN_SECONDS = 3600.0
"""That one turn may take, unless told otherwise: a CLI that hangs must not cost the night."""


def asked_settings(
    project: Path,
    prompt: str,
    options: RunOptions,
    night: Night,
    *,
    files: Files,
    box: Box | None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = TURN_SECONDS,
    caps: Caps | None = None,
    reserves: Mapping[str, tuple[str, str]] | None = None,
) -> LoopSettings:
    """Give them; a kind replaces what it has of its own.

    Args:
        prompt: as the tool gets to see it.
        files: which of the project's are no work.
        env: of the user; None: os.environ.
        timeout: seconds of a turn, where nothing is asked; None: any number.
        caps: where none are asked; None: those of the environment.
        reserves: what the project's own settings name; see :func:`bridge.loop.setups.further_tools.reserves_of`.

    Raises:
        ConfigurationError: a value that makes no sense.
    """
    env = os.environ if env is None else env
    return LoopSettings(
        project=project,
        prompt=prompt,
        timeout=timeout if options.turn_seconds is None else options.turn_seconds,
        caps=options.caps.over(read_caps(env) if caps is None else caps),
        files=files,
        model=model_of(options, env),
        reserves=reserves_of(options, env, reserves),
        gates=gates_of(options, env),
        graces=options.graces(night.graces),
        max_silence=options.silence_seconds,
        turn_log_bytes=night.turn_log_bytes,
        hook_seconds=night.hook_seconds,
        absent_seconds=night.absent_seconds,
        observers=telemetry_of(options.telemetry, content=options.telemetry_content),
        box=box,
    )
