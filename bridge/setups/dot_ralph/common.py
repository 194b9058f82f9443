"""Settings that both loops have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bridge.setups.dot_ralph import values
from bridge.setups.dot_ralph.keys import as_text, both
from bridge.setups.dot_ralph.rules.breaker import BreakerSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.keys import SettingKey, ValueSource

_POSITIVE = values.whole(1)
_TEXT = values.text()

UNUSED_KEYS: tuple[SettingKey, ...] = (
    both("project_name", "PROJECT_NAME", _TEXT, "", "Accepted; the loop does not use it."),
    both("project_type", "PROJECT_TYPE", _TEXT, "", "Accepted; the loop does not use it."),
    both("task_sources", "TASK_SOURCES", _TEXT, "", "Accepted; the loop does not use it."),
    both("github_task_label", "GITHUB_TASK_LABEL", _TEXT, "", "Accepted; the loop does not use it."),
    both("beads_filter", "BEADS_FILTER", _TEXT, "", "Accepted; the loop does not use it."),
    both("fix_plan_file", "FIX_PLAN_FILE", _TEXT, "", "Accepted; the loop does not use it."),
    both("agent_file", "AGENT_FILE", _TEXT, "", "Accepted; the loop does not use it."),
)  # fmt: skip
"""What generated files hold for other programs."""

OWN_KEYS: tuple[SettingKey, ...] = (
    both("retry_seconds", "RALPH_BRIDGE_RETRY_SECONDS", values.seconds(), "30",
          "Wait after a failed run; doubles with each failure in a row.", option="retry_delay"),
    both("retry_max_seconds", "RALPH_BRIDGE_RETRY_MAX_SECONDS", values.seconds(), "600", "That wait's longest."),
    both("retry_limit", "RALPH_BRIDGE_RETRY_LIMIT", values.whole(0), "0",
          "Failures in a row that end the loop; 0 is never.", option="max_failures"),
    both("poll_seconds", "RALPH_BRIDGE_POLL_SECONDS", values.seconds(), "2",
          "How often progress.json is written while a run lasts."),
    both("pause_seconds", "RALPH_BRIDGE_PAUSE_SECONDS", values.seconds(), "5", "Pause between two iterations."),
    both("limit_wait_seconds", "RALPH_BRIDGE_LIMIT_WAIT_SECONDS", values.seconds(), "3600",
          "Wait after an API limit whose reset time is not known."),
    both("kill_grace_seconds", "RALPH_BRIDGE_KILL_GRACE_SECONDS", values.seconds(), "2",
          "How long the agent may take to obey each signal."),
    both("log_max_mb", "RALPH_BRIDGE_LOG_MAX_MB", values.whole(0), "10",
          "Size in MB at which ralph.log is put aside; 0 is never."),
    both("log_keep", "RALPH_BRIDGE_LOG_KEEP", _POSITIVE, "4", "How many of those are kept."),
    both("run_logs_keep", "RALPH_BRIDGE_RUN_LOGS_KEEP", values.whole(0), "500",
          "Runs whose logs are kept; 0 is all."),
    both("turn_logs_mb", "RALPH_BRIDGE_TURN_LOGS_MB", values.megabytes(), "500",
          "Size in MB of the logs of all runs: compressed, then deleted, the oldest first; 0 is any."),
    both("turn_log_mb", "RALPH_BRIDGE_TURN_LOG_MB", values.megabytes(), "200",
          "Size in MB at which the log of one run is cut in the middle; 0 is never."),
    both("max_cost", "RALPH_BRIDGE_MAX_COST", values.cap("US dollars"), "", "What the loop may cost."),
    both("max_tokens", "RALPH_BRIDGE_MAX_TOKENS", values.cap("tokens"), "", "What it may use, in and out."),
    both("tokens_per_hour", "RALPH_BRIDGE_TOKENS_PER_HOUR", values.cap("tokens"), "",
          "The same per clock hour; then the loop waits for the next one."),
    both("price_in", "RALPH_BRIDGE_PRICE_IN", values.cap("US dollars"), "",
          "Price of a million tokens in, for a CLI that tells no cost."),
    both("price_out", "RALPH_BRIDGE_PRICE_OUT", values.cap("US dollars"), "", "The same of tokens out."),
)  # fmt: skip
"""What the originals wait for a fixed time, and what they let grow without bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonSettings:
    """What both loops run with; the tables of keys say what each field is for.

    Attributes:
        keys: the table.
        sources: where each field comes from.
        notices: what people should be told once, before the loop starts.
    """

    max_calls_per_hour: int
    timeout_minutes: int
    output_format: str
    allowed_tools: str
    session_continuity: bool
    session_expiry_hours: int
    verbose: bool
    cb_no_progress_threshold: int
    cb_same_error_threshold: int
    cb_output_decline_threshold: int
    cb_permission_denial_threshold: int
    cb_cooldown_minutes: int
    cb_auto_reset: bool
    claude_min_version: str
    prompt_file: str
    project_name: str
    project_type: str
    task_sources: str
    github_task_label: str
    beads_filter: str
    fix_plan_file: str
    agent_file: str
    retry_seconds: float
    retry_max_seconds: float
    retry_limit: int
    poll_seconds: float
    pause_seconds: float
    limit_wait_seconds: float
    kill_grace_seconds: float
    log_max_mb: int
    turn_logs_mb: float
    turn_log_mb: float
    max_cost: float | None
    max_tokens: float | None
    tokens_per_hour: float | None
    price_in: float | None
    price_out: float | None
    log_keep: int
    run_logs_keep: int
    sources: Mapping[str, ValueSource] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    keys: ClassVar[tuple[SettingKey, ...]] = ()

    @property
    def timeout(self) -> float | None:
        """Seconds that one run may take; None: any number."""
        return self.timeout_minutes * 60.0 or None

    def shown(self) -> tuple[tuple[str, str, str], ...]:
        """Return name, value and origin of each setting, for people."""
        return tuple(
            (key.in_file or key.name, as_text(getattr(self, key.field)), self.sources[key.field].where)
            for key in self.keys
        )


def prompt_of(given: str, source: ValueSource, folder: Folder) -> str:
    """Name the prompt: a file's PROMPT_FILE counts from the project, else (as its template says) from the folder.

    Args:
        given: as the settings have it; '' for the usual one.
        source: where they have it from.
        folder: the loop's.
    """
    if not given:
        return f"{folder.shown}/PROMPT.md"
    inside = folder / given
    if source.kind == "file" and not (folder.project / given).exists() and inside.exists():
        return folder.name_of(inside)
    return given


def breaker_settings(settings: CommonSettings) -> BreakerSettings:
    """Translate what concerns the breaker. Failed runs have their own cap and back-off, and don't open it."""
    return BreakerSettings(
        no_progress=settings.cb_no_progress_threshold,
        same_error=settings.cb_same_error_threshold,
        output_decline=settings.cb_output_decline_threshold or 100,
        permission_denials=settings.cb_permission_denial_threshold,
        cooldown_minutes=settings.cb_cooldown_minutes,
        auto_reset=settings.cb_auto_reset,
        count_failures=False,
    )
