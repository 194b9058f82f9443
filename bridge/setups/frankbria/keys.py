"""Every setting of the loop in one table: names, ranges, defaults, meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.dot_ralph import values
from bridge.setups.dot_ralph.common import OWN_KEYS, UNUSED_KEYS
from bridge.setups.dot_ralph.keys import SettingKey

if TYPE_CHECKING:
    from bridge.setups.dot_ralph.values import Kind

_GIT = ("push", "pull", "fetch", "checkout", "branch", "stash", "merge", "tag")
TOOLS = ",".join(
    (
        "Write,Read,Edit",
        *(f"Bash(git {name} *)" for name in ("add", "commit", "diff", "log")),
        "Bash(git status)",
        "Bash(git status *)",
        *(f"Bash(git {name} *)" for name in _GIT),
        "Bash(npm *)",
        "Bash(pytest)",
    )
)


def _key(
    field: str, name: str, kind: Kind, default: str, meaning: str, internal: str = "", option: str = ""
) -> SettingKey:
    """A setting of the file and of the environment; there its internal name, where it has one, is the stronger."""
    return SettingKey(field, name, kind, default, meaning, internal, name, option=option)


_POSITIVE = values.whole(1)
_COUNT = values.whole(0)
_TEXT = values.text()
_SWITCH = values.switch()

KEYS: tuple[SettingKey, ...] = (
    _key("code_cmd", "CLAUDE_CODE_CMD", values.words("a command"), "claude",
         "The command of the CLI, with arguments where it takes some."),
    _key("model", "CLAUDE_MODEL", _TEXT, "", "Passed on as --model."),
    _key("effort", "CLAUDE_EFFORT", _TEXT, "", "Passed on as --effort."),
    _key("max_calls_per_hour", "MAX_CALLS_PER_HOUR", _POSITIVE, "100", "Runs per clock hour.", option="calls"),
    _key("max_tokens_per_hour", "MAX_TOKENS_PER_HOUR", _COUNT, "0", "Tokens per clock hour, in and out; 0: any."),
    _key("timeout_minutes", "CLAUDE_TIMEOUT_MINUTES", _COUNT, "15", "Minutes that one run may take; 0: any."),
    _key("output_format", "CLAUDE_OUTPUT_FORMAT", values.one_of("json", "text", instead="text"), "json",
         "What the CLI shall print."),
    _key("allowed_tools", "ALLOWED_TOOLS", _TEXT, TOOLS, "Tools that the agent may use.", "CLAUDE_ALLOWED_TOOLS",
         "allowed_tools"),
    _key("session_continuity", "SESSION_CONTINUITY", _SWITCH, "true", "Resume the agent's session from run to run.",
         "CLAUDE_USE_CONTINUE", "resume"),
    _key("session_expiry_hours", "SESSION_EXPIRY_HOURS", _POSITIVE, "24",
         "Hours without use after which a session is not resumed.", "CLAUDE_SESSION_EXPIRY_HOURS"),
    _key("verbose", "RALPH_VERBOSE", _SWITCH, "false", "Tell more while a run lasts.", "VERBOSE_PROGRESS"),
    _key("auto_update", "CLAUDE_AUTO_UPDATE", _SWITCH, "true", "Say when npm has a newer CLI; no more."),
    _key("claude_min_version", "CLAUDE_MIN_VERSION", _TEXT, "2.0.76", "An older CLI costs a warning."),
    _key("shell_init_file", "RALPH_SHELL_INIT_FILE", _TEXT, "", "Sourced by a bash, for the agent's environment."),
    _key("optional_sections", "OPTIONAL_SECTIONS", _TEXT, "Optional,Future,Future Enhancements,Nice to Have",
         "Headings of the plan under which open tasks don't keep the loop going; empty: none."),
    _key("notifications", "ENABLE_NOTIFICATIONS", _SWITCH, "false", "Notify on the desktop, else ring the bell."),
    _key("backup", "ENABLE_BACKUP", _SWITCH, "false", "Keep the work tree as a branch before each run."),
    _key("show_tool_args", "LIVE_SHOW_TOOL_ARGS", values.switch("yes", "on", "1"), "false",
         "Show what tools are given, with --live."),
    _key("cb_no_progress_threshold", "CB_NO_PROGRESS_THRESHOLD", _POSITIVE, "3",
         "Loops without progress that open the circuit breaker."),
    _key("cb_same_error_threshold", "CB_SAME_ERROR_THRESHOLD", _POSITIVE, "5",
         "Loops with the same error, failed runs included, that open it."),
    _key("cb_permission_denial_threshold", "CB_PERMISSION_DENIAL_THRESHOLD", _POSITIVE, "2",
         "Denied loops that open it; one of them ends the loop anyway."),
    _key("cb_output_decline_threshold", "CB_OUTPUT_DECLINE_THRESHOLD", values.whole(0, 100), "70",
         "Percent by which output may shrink in doubt; counts where it is set, the original never looks at it."),
    _key("cb_cooldown_minutes", "CB_COOLDOWN_MINUTES", _COUNT, "30",
         "Minutes after which an open breaker lets one run try."),
    _key("cb_auto_reset", "CB_AUTO_RESET", _SWITCH, "false", "Close an open breaker at start."),
    _key("prompt_file", "PROMPT_FILE", _TEXT, "", "The prompt, seen from the project; .ralph/PROMPT.md.",
         option="prompt"),
    _key("dry_run", "DRY_RUN", _SWITCH, "false", "Show what would run, and stop."),
    SettingKey("live", "", _SWITCH, "false", "Show the agent's output while it comes.", in_file="LIVE_OUTPUT"),
    _key("test_loops", "MAX_CONSECUTIVE_TEST_LOOPS", _POSITIVE, "3", "Loops that only test, which end the loop."),
    _key("done_signals", "MAX_CONSECUTIVE_DONE_SIGNALS", _POSITIVE, "2", "Loops that say they are done, likewise."),
    _key("sandbox", "SANDBOX_PROVIDER", _TEXT, "", "Refused: the original has sandboxes."),
    _key("github_issue", "GITHUB_ISSUE", _TEXT, "", "Refused: the original sees to issues."),
    _key("provider", "AGENT_PROVIDER", _TEXT, "", "Refused unless it is claude, or what --driver names."),
    *UNUSED_KEYS,
    *OWN_KEYS,
)  # fmt: skip
"""In the order in which they are shown; each field and each name once."""

ELSEWHERE = frozenset(
    [f"SANDBOX_DOCKER_{name}" for name in ("IMAGE", "MEMORY", "CPUS", "NETWORK")]
    + [f"SANDBOX_E2B_{name}" for name in ("TEMPLATE", "SANDBOX_ID", "TIMEOUT", "KEEP_ALIVE")]
    + [f"SANDBOX_E2B_{name}" for name in ("MAX_COST", "COST_ALERT", "COST_PER_HOUR")]
    + [f"SYNC_{name}" for name in ("INCLUDE", "EXCLUDE", "MAX_FILE_SIZE", "LARGE_FILE_ACTION")]
    + ["COMMENT_PROGRESS", "COMMENT_INTERVAL", "AUTO_CLOSE", "CLOSE_SUMMARY", "CREATE_PR", "LINK_ISSUE", "DRAFT_PR"]
    + ["CREATE_FOLLOWUPS", "FOLLOWUP_LABEL", "ADD_COMPLETION_LABELS", "RALPH_DIR"]
)
"""Names that are settings, and mean nothing by themselves: of a sandbox, or of an issue, that isn't asked for."""
