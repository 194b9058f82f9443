"""Every setting of the loop in one table: names, types, ranges, defaults, meaning."""

from __future__ import annotations

from bridge.setups.dot_ralph import values
from bridge.setups.dot_ralph.common import OWN_KEYS, UNUSED_KEYS
from bridge.setups.dot_ralph.keys import SettingKey, both

TOOLS = (
    "Write,Read,Edit,MultiEdit,Glob,Grep,Task,TodoWrite,WebFetch,WebSearch,"
    "EnterPlanMode,ExitPlanMode,NotebookEdit,Bash"
)


_POSITIVE = values.whole(1)
_TEXT = values.text()
_SWITCH = values.switch()
_PERMISSION_MODES = ("auto", "acceptEdits", "bypassPermissions", "default", "dontAsk", "manual", "plan")

KEYS: tuple[SettingKey, ...] = (
    both("platform_driver", "PLATFORM_DRIVER", values.driver_name(), "claude-code", "Which driver."),
    both("max_calls_per_hour", "MAX_CALLS_PER_HOUR", _POSITIVE, "100", "Runs that may succeed per clock hour."),
    both("timeout_minutes", "CLAUDE_TIMEOUT_MINUTES", _POSITIVE, "15", "Minutes that one run may take."),
    both("output_format", "CLAUDE_OUTPUT_FORMAT", values.one_of("json", "text"), "json",
          "What the claude CLI shall print."),
    both("allowed_tools", "CLAUDE_ALLOWED_TOOLS", _TEXT, TOOLS,
          "Tools that the agent may use, for drivers with an allowlist.", "ALLOWED_TOOLS"),
    SettingKey("permission_mode", "CLAUDE_PERMISSION_MODE",
        values.one_of(*_PERMISSION_MODES, empty="bypassPermissions"), "bypassPermissions",
        "How the claude CLI asks; checked for the driver claude-code only; empty is the default.",
        in_file="CLAUDE_PERMISSION_MODE", empty_counts=True),
    both("permission_denial_mode", "PERMISSION_DENIAL_MODE", values.one_of("continue", "halt", "threshold"),
          "continue", "What a refused tool does to the loop."),
    both("session_continuity", "CLAUDE_USE_CONTINUE", _SWITCH, "true",
          "Resume the agent's session from run to run.", "SESSION_CONTINUITY"),
    both("session_expiry_hours", "CLAUDE_SESSION_EXPIRY_HOURS", _POSITIVE, "24",
          "Hours without use after which a session is not resumed.", "SESSION_EXPIRY_HOURS"),
    both("verbose", "VERBOSE_PROGRESS", _SWITCH, "false", "Tell more while a run lasts.", "RALPH_VERBOSE"),
    both("write_timeout_minutes", "WRITE_TIMEOUT_MINUTES", values.whole(0, lenient=True), "8",
          "Minutes without a written file after which a run is ended; 0 is off."),
    both("cb_no_progress_threshold", "CB_NO_PROGRESS_THRESHOLD", _POSITIVE, "3",
          "Loops without progress that open the circuit breaker."),
    both("cb_same_error_threshold", "CB_SAME_ERROR_THRESHOLD", _POSITIVE, "5",
          "Loops with the same error that open it."),
    both("cb_output_decline_threshold", "CB_OUTPUT_DECLINE_THRESHOLD", values.whole(0, 100), "70",
          "Percent by which output may shrink; 0 is off."),
    SettingKey("cb_permission_denial_threshold", "CB_PERMISSION_DENIAL_THRESHOLD", _POSITIVE, "2",
        "Denied loops that open it, with PERMISSION_DENIAL_MODE=threshold."),
    both("cb_read_only_timeout_threshold", "CB_READ_ONLY_TIMEOUT_THRESHOLD", _POSITIVE, "2",
          "Runs ended for not writing that open it."),
    both("cb_cooldown_minutes", "CB_COOLDOWN_MINUTES", values.whole(0), "30",
          "Minutes after which an open breaker lets one run try."),
    both("cb_auto_reset", "CB_AUTO_RESET", _SWITCH, "false", "Close an open breaker at start."),
    both("test_command", "TEST_COMMAND", _TEXT, "", "Command that tells whether the tests pass."),
    both("quality_gates", "QUALITY_GATES", _TEXT, "", "Commands that must succeed, separated by semicolons."),
    both("quality_gate_mode", "QUALITY_GATE_MODE", values.one_of("warn", "block", "circuit-breaker"), "warn",
          "What a failed gate does; checked only when there is one."),
    both("quality_gate_timeout", "QUALITY_GATE_TIMEOUT", _POSITIVE, "120", "Seconds that one gate may take."),
    both("quality_gate_on_completion_only", "QUALITY_GATE_ON_COMPLETION_ONLY", _SWITCH, "false",
          "Run gates only when the agent says that it is done."),
    both("review_mode", "REVIEW_MODE", values.one_of("off", "enhanced", "ultimate", instead="off"), "off",
          "Reviews: every REVIEW_INTERVAL loops, or after each finished task."),
    both("review_enabled", "REVIEW_ENABLED", _SWITCH, "false", "Older name for REVIEW_MODE=enhanced."),
    both("review_interval", "REVIEW_INTERVAL", _POSITIVE, "5", "Loops between two reviews."),
    both("claude_min_version", "CLAUDE_MIN_VERSION", _TEXT, "2.0.76", "Oldest claude CLI; for doctor."),
    both("prompt_file", "PROMPT_FILE", _TEXT, "", "The prompt, seen from the project; PROMPT.md of the folder."),
    *UNUSED_KEYS,
    SettingKey("ralph_home", "RALPH_HOME", _TEXT, "", "Accepted; the loop does not use it."),
    SettingKey("write_timeout_override", "_HEARTBEAT_TIMEOUT_SECS_OVERRIDE", values.seconds(), "",
        "For tests: seconds in place of the write timeout's minutes."),
    both("heartbeat_seconds", "RALPH_BRIDGE_HEARTBEAT_SECONDS", values.seconds(), "30",
          "How often the write timeout looks for a written file."),
    *OWN_KEYS,
)  # fmt: skip
"""In the order in which they are shown; each field and each name once."""

FILE_KEYS: dict[str, SettingKey] = {key.in_file: key for key in KEYS if key.in_file}
"""What ``.ralphrc`` may say (the original's keys, and our own with the prefix RALPH_BRIDGE_)."""
