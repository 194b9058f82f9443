"""Every setting of the loop in one table: names, types, ranges, defaults, meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.setups.bmalph import values

if TYPE_CHECKING:
    from bridge.setups.bmalph.values import Kind

__all__ = ["FILE_KEYS", "KEYS", "Key"]

TOOLS = (
    "Write,Read,Edit,MultiEdit,Glob,Grep,Task,TodoWrite,WebFetch,WebSearch,"
    "EnterPlanMode,ExitPlanMode,NotebookEdit,Bash"
)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting.

    Attributes:
        field: its name in :class:`~bridge.setups.bmalph.settings.Settings`.
        name: its name in the environment, and the global that drivers see.
        kind: what its text may be.
        default: the default, as text.
        meaning: what it is for, in one line.
        alias: its public name in the environment, which is stronger than `name`; ``""``: there is none.
        in_file: the key that ``.ralphrc`` accepts for it; ``""``: none, environment only.
        empty_counts: an empty value in the environment counts as given. Elsewhere it is as if unset.
    """

    field: str
    name: str
    kind: Kind
    default: str
    meaning: str
    alias: str = ""
    in_file: str = ""
    empty_counts: bool = False


def _both(field: str, name: str, kind: Kind, default: str, meaning: str, alias: str = "") -> Key:
    """A setting of the environment and of the file, which calls it by its public name."""
    return Key(field, name, kind, default, meaning, alias, alias or name)


_POSITIVE = values.whole(1)
_TEXT = values.text()
_SWITCH = values.switch()
_PERMISSION_MODES = ("auto", "acceptEdits", "bypassPermissions", "default", "dontAsk", "manual", "plan")

KEYS: tuple[Key, ...] = (
    _both("platform_driver", "PLATFORM_DRIVER", values.driver_name(), "claude-code", "Which driver."),
    _both("max_calls_per_hour", "MAX_CALLS_PER_HOUR", _POSITIVE, "100", "Runs that may succeed per clock hour."),
    _both("timeout_minutes", "CLAUDE_TIMEOUT_MINUTES", _POSITIVE, "15", "Minutes that one run may take."),
    _both("output_format", "CLAUDE_OUTPUT_FORMAT", values.one_of("json", "text"), "json",
          "What the claude CLI shall print."),
    _both("allowed_tools", "CLAUDE_ALLOWED_TOOLS", _TEXT, TOOLS,
          "Tools that the agent may use, for drivers with an allowlist.", "ALLOWED_TOOLS"),
    Key("permission_mode", "CLAUDE_PERMISSION_MODE",
        values.one_of(*_PERMISSION_MODES, empty="bypassPermissions"), "bypassPermissions",
        "How the claude CLI asks; checked for the driver claude-code only; empty is the default.",
        in_file="CLAUDE_PERMISSION_MODE", empty_counts=True),
    _both("permission_denial_mode", "PERMISSION_DENIAL_MODE", values.one_of("continue", "halt", "threshold"),
          "continue", "What a refused tool does to the loop."),
    _both("session_continuity", "CLAUDE_USE_CONTINUE", _SWITCH, "true",
          "Resume the agent's session from run to run.", "SESSION_CONTINUITY"),
    _both("session_expiry_hours", "CLAUDE_SESSION_EXPIRY_HOURS", _POSITIVE, "24",
          "Hours without use after which a session is not resumed.", "SESSION_EXPIRY_HOURS"),
    _both("verbose", "VERBOSE_PROGRESS", _SWITCH, "false", "Tell more while a run lasts.", "RALPH_VERBOSE"),
    _both("write_timeout_minutes", "WRITE_TIMEOUT_MINUTES", values.whole(0, lenient=True), "8",
          "Minutes without a written file after which a run is ended; 0 is off."),
    _both("cb_no_progress_threshold", "CB_NO_PROGRESS_THRESHOLD", _POSITIVE, "3",
          "Loops without progress that open the circuit breaker."),
    _both("cb_same_error_threshold", "CB_SAME_ERROR_THRESHOLD", _POSITIVE, "5",
          "Loops with the same error that open it."),
    _both("cb_output_decline_threshold", "CB_OUTPUT_DECLINE_THRESHOLD", values.whole(0, 100), "70",
          "Percent by which output may shrink; 0 is off."),
    Key("cb_permission_denial_threshold", "CB_PERMISSION_DENIAL_THRESHOLD", _POSITIVE, "2",
        "Denied loops that open it, with PERMISSION_DENIAL_MODE=threshold."),
    _both("cb_read_only_timeout_threshold", "CB_READ_ONLY_TIMEOUT_THRESHOLD", _POSITIVE, "2",
          "Runs ended for not writing that open it."),
    _both("cb_cooldown_minutes", "CB_COOLDOWN_MINUTES", values.whole(0), "30",
          "Minutes after which an open breaker lets one run try."),
    _both("cb_auto_reset", "CB_AUTO_RESET", _SWITCH, "false", "Close an open breaker at start."),
    _both("test_command", "TEST_COMMAND", _TEXT, "", "Command that tells whether the tests pass."),
    _both("quality_gates", "QUALITY_GATES", _TEXT, "", "Commands that must succeed, separated by semicolons."),
    _both("quality_gate_mode", "QUALITY_GATE_MODE", values.one_of("warn", "block", "circuit-breaker"), "warn",
          "What a failed gate does; checked only when there is one."),
    _both("quality_gate_timeout", "QUALITY_GATE_TIMEOUT", _POSITIVE, "120", "Seconds that one gate may take."),
    _both("quality_gate_on_completion_only", "QUALITY_GATE_ON_COMPLETION_ONLY", _SWITCH, "false",
          "Run gates only when the agent says that it is done."),
    _both("review_mode", "REVIEW_MODE", values.one_of("off", "enhanced", "ultimate", instead="off"), "off",
          "Reviews: every REVIEW_INTERVAL loops, or after each finished task."),
    _both("review_enabled", "REVIEW_ENABLED", _SWITCH, "false", "Older name for REVIEW_MODE=enhanced."),
    _both("review_interval", "REVIEW_INTERVAL", _POSITIVE, "5", "Loops between two reviews."),
    _both("claude_min_version", "CLAUDE_MIN_VERSION", _TEXT, "2.0.76", "Oldest claude CLI; for doctor."),
    _both("prompt_file", "PROMPT_FILE", _TEXT, "", "The prompt, seen from the project; PROMPT.md of the folder."),
    _both("project_name", "PROJECT_NAME", _TEXT, "", "Accepted; the loop does not use it."),
    _both("project_type", "PROJECT_TYPE", _TEXT, "", "Accepted; the loop does not use it."),
    _both("task_sources", "TASK_SOURCES", _TEXT, "", "Accepted; the loop does not use it."),
    _both("github_task_label", "GITHUB_TASK_LABEL", _TEXT, "", "Accepted; the loop does not use it."),
    _both("beads_filter", "BEADS_FILTER", _TEXT, "", "Accepted; the loop does not use it."),
    _both("fix_plan_file", "FIX_PLAN_FILE", _TEXT, "", "Accepted; the loop does not use it."),
    _both("agent_file", "AGENT_FILE", _TEXT, "", "Accepted; the loop does not use it."),
    Key("ralph_home", "RALPH_HOME", _TEXT, "", "Accepted; the loop does not use it."),
    Key("write_timeout_override", "_HEARTBEAT_TIMEOUT_SECS_OVERRIDE", values.seconds(), "",
        "For tests: seconds in place of the write timeout's minutes."),
    # What the original waits for a fixed time, and what it lets grow without bound.
    _both("retry_seconds", "RALPH_BRIDGE_RETRY_SECONDS", values.seconds(), "30",
          "Wait after a failed run; doubles with each failure in a row."),
    _both("retry_max_seconds", "RALPH_BRIDGE_RETRY_MAX_SECONDS", values.seconds(), "600", "That wait's longest."),
    _both("retry_limit", "RALPH_BRIDGE_RETRY_LIMIT", values.whole(0), "0",
          "Failures in a row that end the loop; 0 is never."),
    _both("poll_seconds", "RALPH_BRIDGE_POLL_SECONDS", values.seconds(), "2",
          "How often progress.json is written while a run lasts."),
    _both("pause_seconds", "RALPH_BRIDGE_PAUSE_SECONDS", values.seconds(), "5", "Pause between two iterations."),
    _both("heartbeat_seconds", "RALPH_BRIDGE_HEARTBEAT_SECONDS", values.seconds(), "30",
          "How often the write timeout looks for a written file."),
    _both("limit_wait_seconds", "RALPH_BRIDGE_LIMIT_WAIT_SECONDS", values.seconds(), "3600",
          "Wait after an API limit whose reset time is not known."),
    _both("kill_grace_seconds", "RALPH_BRIDGE_KILL_GRACE_SECONDS", values.seconds(), "2",
          "How long the agent may take to obey each signal."),
    _both("log_max_mb", "RALPH_BRIDGE_LOG_MAX_MB", values.whole(0), "10",
          "Size in MB at which ralph.log is put aside; 0 is never."),
    _both("log_keep", "RALPH_BRIDGE_LOG_KEEP", _POSITIVE, "4", "How many of those are kept."),
    _both("run_logs_keep", "RALPH_BRIDGE_RUN_LOGS_KEEP", values.whole(0), "500",
          "Runs whose logs are kept; 0 is all."),
    _both("turn_logs_mb", "RALPH_BRIDGE_TURN_LOGS_MB", values.megabytes(), "500",
          "Size in MB of the logs of all runs: compressed, then deleted, the oldest first; 0 is any."),
    _both("turn_log_mb", "RALPH_BRIDGE_TURN_LOG_MB", values.megabytes(), "200",
          "Size in MB at which the log of one run is cut in the middle; 0 is never."),
)  # fmt: skip
"""In the order in which they are shown; each field and each name once."""

FILE_KEYS: dict[str, Key] = {key.in_file: key for key in KEYS if key.in_file}
"""What ``.ralphrc`` may say (the original's keys, and our own with the prefix RALPH_BRIDGE_)."""
