"""A bmalph project's settings as the loop wants them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.setups.bmalph.gates import GateSettings
from bridge.setups.bmalph.policy import BmalphPolicy
from bridge.setups.bmalph.review import ReviewSettings
from bridge.setups.dot_ralph import common, opening
from bridge.setups.dot_ralph.files.small import read_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.settings import LoopSettings
    from bridge.setups.dot_ralph.breaker import BreakerSettings
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.settings import Settings
    from bridge.setups.options import RunOptions


def loop_settings(
    folder: Folder, settings: Settings, options: RunOptions, *, env: Mapping[str, str]
) -> LoopSettings:
    """Translate the settings as both loops do; the agent gets RALPH_DIR."""
    loop = opening.loop_settings(
        folder, settings, options, env={**env, "RALPH_DIR": folder.shown}, live=options.live
    )
    return replace(loop, write_timeout=settings.write_timeout, heartbeat_seconds=settings.heartbeat_seconds)


def loop_policy(settings: Settings, loop: LoopSettings) -> BmalphPolicy:
    """Give what decides in a loop with these settings."""
    return BmalphPolicy(
        limits=loop.limits,
        pauses=loop.pauses,
        breaker=breaker_settings(settings),
        halt_on_denial=settings.permission_denial_mode == "halt",
        calls_per_hour=settings.max_calls_per_hour,
    )


def gate_settings(settings: Settings) -> GateSettings:
    """Translate what concerns the quality gates."""
    return GateSettings(
        settings.test_command,
        settings.quality_gates,
        settings.quality_gate_mode,  # type: ignore[arg-type]
        settings.quality_gate_timeout,
        settings.quality_gate_on_completion_only,
    )


def review_settings(folder: Folder, settings: Settings) -> ReviewSettings:
    """Translate what concerns reviews."""
    return ReviewSettings(
        settings.review_mode,
        settings.review_interval,
        prompt=f"{folder.shown}/REVIEW_PROMPT.md",
        usual_tools=settings.allowed_tools,
        last_head=read_line(folder, ".review_last_sha"),
    )


def breaker_settings(settings: Settings) -> BreakerSettings:
    """Translate what concerns the breaker."""
    return replace(
        common.breaker_settings(settings),
        count_denials=settings.permission_denial_mode == "threshold",
        read_only_timeouts=settings.cb_read_only_timeout_threshold,
    )
