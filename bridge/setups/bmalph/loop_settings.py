"""A bmalph project's settings as the loop wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.loop.policy import Limits, Pauses
from bridge.loop.store import LoopSettings
from bridge.process.program import Graces
from bridge.setups.bmalph.files.small import read_line
from bridge.setups.bmalph.layout import own_files
from bridge.setups.bmalph.policy import BmalphPolicy
from bridge.setups.bmalph.rules.breaker import BreakerSettings
from bridge.setups.bmalph.rules.gates import GateSettings
from bridge.setups.bmalph.rules.review import ReviewSettings
from bridge.turn.logs import MB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.bmalph.layout import Folder
    from bridge.setups.bmalph.settings import Settings


def loop_settings(
    folder: Folder,
    settings: Settings,
    *,
    env: Mapping[str, str],
    live: bool,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    promise: str | None = None,
) -> LoopSettings:
    """Translate the settings.

    Args:
        folder: the loop's folder.
        settings: of the project.
        env: environment of this process; the agent gets it with RALPH_DIR.
        live: show events as they come.
        max_iterations, max_seconds: when to give up; None: never.
        promise: a completion promise that ends the loop, too; None without one.
    """
    grace = settings.kill_grace_seconds
    return LoopSettings(
        project=folder.project,
        prompt=settings.prompt_file,
        limits=Limits(max_iterations, settings.retry_limit, max_seconds),
        pauses=Pauses(
            settings.retry_seconds,
            settings.retry_max_seconds,
            settings.limit_wait_seconds,
            settings.pause_seconds,
        ),
        live=live,
        promise=promise,
        timeout=settings.timeout,
        resume=settings.session_continuity,
        env={**env, "RALPH_DIR": folder.shown},
        files=own_files(folder),
        write_timeout=settings.write_timeout,
        heartbeat_seconds=settings.heartbeat_seconds,
        poll_seconds=settings.poll_seconds,
        graces=Graces(interrupt=grace, terminate=grace, leftover=min(grace, Graces.leftover)),
        turn_log_bytes=int(settings.turn_log_mb * MB),
    )


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
    """Translate what concerns the breaker. Failed runs have their own cap and back-off, and don't open it."""
    decline = settings.cb_output_decline_threshold
    return BreakerSettings(
        no_progress=settings.cb_no_progress_threshold,
        same_error=settings.cb_same_error_threshold,
        output_decline=decline or 100,
        permission_denials=settings.cb_permission_denial_threshold,
        count_denials=settings.permission_denial_mode == "threshold",
        read_only_timeouts=settings.cb_read_only_timeout_threshold,
        cooldown_minutes=settings.cb_cooldown_minutes,
        auto_reset=settings.cb_auto_reset,
        count_failures=False,
    )
