"""Settings that the loops in ``.ralph`` have; a kind declares anew what it has otherwise."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.loop.setups.declared_settings import (
    COUNT,
    POSITIVE,
    SECONDS,
    SWITCH,
    TEXT,
    as_text,
    keys_of,
    number,
    one_of,
    optional,
    setting,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.setups.declared_settings import ValueSource
    from bridge.loop.setups.dot_ralph.folder import Folder

_UNUSED = "Accepted; the loop does not use it."  # what generated files hold for other programs
_MEGABYTES = number("megabytes", "500")
_TOKENS, _DOLLARS = optional(number("tokens", "5")), optional(number("US dollars", "5"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonSettings:
    """What a loop runs with.

    Attributes:
        sources: where each field comes from.
        notices: what people should be told once, before the loop starts.
    """

    # fmt: off
    max_calls_per_hour: int = setting("MAX_CALLS_PER_HOUR", POSITIVE, "100", "Runs per clock hour.", option="calls")
    timeout_minutes: int = setting(
        "CLAUDE_TIMEOUT_MINUTES", POSITIVE, "15", "Minutes that one run may take.", option="timeout")
    output_format: str = setting(
        "CLAUDE_OUTPUT_FORMAT", one_of("json", "text"), "json", "What the claude CLI shall print.")
    allowed_tools: str
    session_continuity: bool = setting(
        "CLAUDE_USE_CONTINUE", SWITCH, "true", "Resume the agent's session from run to run.",
        alias="SESSION_CONTINUITY", option="resume")
    session_expiry_hours: int = setting(
        "CLAUDE_SESSION_EXPIRY_HOURS", POSITIVE, "24", "Hours without use after which a session is not resumed.",
        alias="SESSION_EXPIRY_HOURS")
    verbose: bool = setting(
        "VERBOSE_PROGRESS", SWITCH, "false", "Tell more while a run lasts.", alias="RALPH_VERBOSE")
    cb_no_progress_threshold: int = setting(
        "CB_NO_PROGRESS_THRESHOLD", POSITIVE, "3", "Loops without progress that open the circuit breaker.")
    cb_same_error_threshold: int = setting(
        "CB_SAME_ERROR_THRESHOLD", POSITIVE, "5", "Loops with the same error that open it.")
    cb_output_decline_threshold: int = setting(
        "CB_OUTPUT_DECLINE_THRESHOLD", whole(0, 100), "70", "Percent by which output may shrink; 0 is off.")
    cb_permission_denial_threshold: int = setting(
        "CB_PERMISSION_DENIAL_THRESHOLD", POSITIVE, "2",
        "Denied loops that open it, with PERMISSION_DENIAL_MODE=threshold.", in_file="")
    cb_cooldown_minutes: int = setting(
        "CB_COOLDOWN_MINUTES", COUNT, "30", "Minutes after which an open breaker lets one run try.")
    cb_auto_reset: bool = setting("CB_AUTO_RESET", SWITCH, "false", "Close an open breaker at start.")
    claude_min_version: str = setting("CLAUDE_MIN_VERSION", TEXT, "2.0.76", "Oldest claude CLI; for doctor.")
    prompt_file: str = setting(
        "PROMPT_FILE", TEXT, "", "The prompt, seen from the project; PROMPT.md of the folder.", option="prompt")
    project_name: str = setting("PROJECT_NAME", TEXT, "", _UNUSED)
    project_type: str = setting("PROJECT_TYPE", TEXT, "", _UNUSED)
    task_sources: str = setting("TASK_SOURCES", TEXT, "", _UNUSED)
    github_task_label: str = setting("GITHUB_TASK_LABEL", TEXT, "", _UNUSED)
    beads_filter: str = setting("BEADS_FILTER", TEXT, "", _UNUSED)
    fix_plan_file: str = setting("FIX_PLAN_FILE", TEXT, "", _UNUSED)
    agent_file: str = setting("AGENT_FILE", TEXT, "", _UNUSED)
    # What the originals wait for a fixed time, and what they let grow without bound:
    retry_seconds: float = setting(
        "RALPH_BRIDGE_RETRY_SECONDS", SECONDS, "30", "Wait after a failed run; doubles with each failure in a row.",
        option="retry_delay")
    retry_max_seconds: float = setting("RALPH_BRIDGE_RETRY_MAX_SECONDS", SECONDS, "600", "That wait's longest.")
    retry_limit: int = setting(
        "RALPH_BRIDGE_RETRY_LIMIT", COUNT, "0", "Failures in a row that end the loop; 0 is never.",
        option="max_failures")
    poll_seconds: float = setting(
        "RALPH_BRIDGE_POLL_SECONDS", SECONDS, "2", "How often progress.json is written while a run lasts.")
    pause_seconds: float = setting("RALPH_BRIDGE_PAUSE_SECONDS", SECONDS, "5", "Pause between two iterations.")
    limit_wait_seconds: float = setting(
        "RALPH_BRIDGE_LIMIT_WAIT_SECONDS", SECONDS, "3600",
        "Wait after an API limit whose reset time is not known.")
    kill_grace_seconds: float = setting(
        "RALPH_BRIDGE_KILL_GRACE_SECONDS", SECONDS, "2", "How long the agent may take to obey each signal.")
    answered_seconds: float = setting(
        "RALPH_BRIDGE_ANSWERED_SECONDS", SECONDS, "5",
        "How long its CLI may stay once it has answered; 0 is any time.")
    absent_seconds: float = setting(
        "RALPH_BRIDGE_ABSENT_SECONDS", SECONDS, "60",
        "How long its CLI is looked for that was there before and can't be started; 0 is not at all.")
    log_max_mb: int = setting(
        "RALPH_BRIDGE_LOG_MAX_MB", COUNT, "10", "Size in MB at which ralph.log is put aside; 0 is never.")
    log_keep: int = setting("RALPH_BRIDGE_LOG_KEEP", POSITIVE, "4", "How many of those are kept.")
    run_logs_keep: int = setting("RALPH_BRIDGE_RUN_LOGS_KEEP", COUNT, "500", "Runs whose logs are kept; 0 is all.")
    turn_logs_mb: float = setting(
        "RALPH_BRIDGE_TURN_LOGS_MB", _MEGABYTES, "500",
        "Size in MB of the logs of all runs: compressed, then deleted, the oldest first; 0 is any.")
    turn_log_mb: float = setting(
        "RALPH_BRIDGE_TURN_LOG_MB", _MEGABYTES, "200",
        "Size in MB at which the log of one run is cut in the middle; 0 is never.")
    fallback: str = setting(
        "RALPH_BRIDGE_FALLBACK", TEXT, "", "Tools for the turns while those before them are at a limit.")
    escalate: str = setting(
        "RALPH_BRIDGE_ESCALATE", TEXT, "", "A tool for a task that stays open: N:TOOL, after N turns on it.")
    max_cost: float | None = setting("RALPH_BRIDGE_MAX_COST", _DOLLARS, "", "What the loop may cost.")
    max_tokens: float | None = setting("RALPH_BRIDGE_MAX_TOKENS", _TOKENS, "", "What it may use, in and out.")
    tokens_per_hour: float | None = setting(
        "RALPH_BRIDGE_TOKENS_PER_HOUR", _TOKENS, "",
        "The same per clock hour; then the loop waits for the next one.")
    price_in: float | None = setting(
        "RALPH_BRIDGE_PRICE_IN", _DOLLARS, "", "Price of a million tokens in, for a CLI that tells no cost.")
    price_out: float | None = setting(
        "RALPH_BRIDGE_PRICE_OUT", _DOLLARS, "", "Price of a million tokens out, likewise.")
    max_context: str = setting(
        "RALPH_BRIDGE_MAX_CONTEXT", TEXT, "",
        "How full a session's context may be before a fresh one begins: 80%, 120k.")
    # fmt: on
    sources: Mapping[str, ValueSource] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def timeout(self) -> float | None:
        """Seconds that one run may take; None: any number."""
        return self.timeout_minutes * 60.0 or None

    def lines(self) -> list[str]:
        """Each of them with its value and origin, for people."""
        return [f"{name}={value!r} ({origin})" for name, value, origin in self.shown()]

    def shown(self) -> tuple[tuple[str, str, str], ...]:
        """Name, value and origin of each."""
        return tuple(
            (key.in_file or key.name, as_text(getattr(self, key.field)), self.sources[key.field].where)
            for key in keys_of(type(self))
        )


def prompt_of(given: str, source: ValueSource, folder: Folder) -> str:
    """A file's PROMPT_FILE counts from the project, else (as its template says) from the folder."""
    if not given:
        return f"{folder.shown}/PROMPT.md"
    inside = folder / given
    if source.kind == "file" and not (folder.project / given).exists() and inside.exists():
        return folder.name_of(inside)
    return given
