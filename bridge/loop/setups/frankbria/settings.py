"""Settings of a project's loop: where each value comes from, and what is wrong with any of them.

Precedence, for every key: command line, environment (internal name, then public one), ``.ralphrc``, default. In
the original the file is stronger than most options and some of the environment (traps F1, F2, F36).
A variable that is set and empty is as if it were not set.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.base.resources import nearest
from bridge.loop.setups.declared_settings import (
    COUNT,
    POSITIVE,
    SWITCH,
    TEXT,
    SettingKey,
    as_text,
    keys_of,
    look_up,
    one_of,
    read_values,
    setting,
    such,
    switch,
    whole,
)
from bridge.loop.setups.dot_ralph.common import CommonSettings, prompt_of
from bridge.loop.setups.dot_ralph.folder import RC
from bridge.loop.setups.frankbria.rc import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.loop.setups.declared_settings import GivenOption, RcEntry, ValueSource
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.rc import RcScript

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FrankbriaSettings(CommonSettings):
    """What a loop runs with; where there are two names in the environment, the internal one is the stronger.

    Attributes:
        exported: what ``.ralphrc`` puts into the agent's environment.
    """

    # In the order in which they are shown; one that is only annotated is as `CommonSettings` declares it.
    # fmt: off
    code_cmd: str = setting(
        "CLAUDE_CODE_CMD", such("a command", lambda given: bool(given.strip())), "claude",
        "The command of the CLI, with arguments where it takes some.")
    model: str = setting("CLAUDE_MODEL", TEXT, "", "Passed on as --model.")
    effort: str = setting("CLAUDE_EFFORT", TEXT, "", "Passed on as --effort.")
    max_calls_per_hour: int
    max_tokens_per_hour: int = setting(
        "MAX_TOKENS_PER_HOUR", COUNT, "0", "Tokens per clock hour, in and out; 0: any.")
    timeout_minutes: int = setting("CLAUDE_TIMEOUT_MINUTES", COUNT, "15", "Minutes that one run may take; 0: any.")
    output_format: str = setting(
        "CLAUDE_OUTPUT_FORMAT", one_of("json", "text", instead="text"), "json", "What the CLI shall print.")
    allowed_tools: str = setting(
        "ALLOWED_TOOLS", TEXT, TOOLS, "Tools that the agent may use.", alias="CLAUDE_ALLOWED_TOOLS",
        in_file="ALLOWED_TOOLS", option="allowed_tools")
    session_continuity: bool = setting(
        "SESSION_CONTINUITY", SWITCH, "true", "Resume the agent's session from run to run.",
        alias="CLAUDE_USE_CONTINUE", in_file="SESSION_CONTINUITY", option="resume")
    session_expiry_hours: int = setting(
        "SESSION_EXPIRY_HOURS", POSITIVE, "24", "Hours without use after which a session is not resumed.",
        alias="CLAUDE_SESSION_EXPIRY_HOURS", in_file="SESSION_EXPIRY_HOURS")
    verbose: bool = setting(
        "RALPH_VERBOSE", SWITCH, "false", "Tell more while a run lasts.", alias="VERBOSE_PROGRESS",
        in_file="RALPH_VERBOSE")
    auto_update: bool = setting("CLAUDE_AUTO_UPDATE", SWITCH, "true", "Say when npm has a newer CLI; no more.")
    claude_min_version: str = setting("CLAUDE_MIN_VERSION", TEXT, "2.0.76", "An older CLI costs a warning.")
    shell_init_file: str = setting(
        "RALPH_SHELL_INIT_FILE", TEXT, "", "Sourced by a bash, for the agent's environment.")
    optional_sections: str = setting(
        "OPTIONAL_SECTIONS", TEXT, "Optional,Future,Future Enhancements,Nice to Have",
        "Headings of the plan under which open tasks don't keep the loop going; empty: none.")
    notifications: bool = setting(
        "ENABLE_NOTIFICATIONS", SWITCH, "false", "Notify on the desktop, else ring the bell.")
    backup: bool = setting("ENABLE_BACKUP", SWITCH, "false", "Keep the work tree as a branch before each run.")
    show_tool_args: bool = setting(
        "LIVE_SHOW_TOOL_ARGS", switch("yes", "on", "1"), "false", "Show what tools are given, with --live.")
    cb_no_progress_threshold: int
    cb_same_error_threshold: int = setting(
        "CB_SAME_ERROR_THRESHOLD", POSITIVE, "5", "Loops with the same error, failed runs included, that open it.")
    cb_permission_denial_threshold: int = setting(
        "CB_PERMISSION_DENIAL_THRESHOLD", POSITIVE, "2",
        "Denied loops that open it; one of them ends the loop anyway.")
    cb_output_decline_threshold: int = setting(
        "CB_OUTPUT_DECLINE_THRESHOLD", whole(0, 100), "70",
        "Percent by which output may shrink in doubt; counts where it is set, the original never looks at it.")
    cb_cooldown_minutes: int
    cb_auto_reset: bool
    prompt_file: str = setting(
        "PROMPT_FILE", TEXT, "", "The prompt, seen from the project; .ralph/PROMPT.md.", option="prompt")
    dry_run: bool = setting("DRY_RUN", SWITCH, "false", "Show what would run, and stop.")
    live: bool = setting("", SWITCH, "false", "Show the agent's output while it comes.", in_file="LIVE_OUTPUT")
    test_loops: int = setting(
        "MAX_CONSECUTIVE_TEST_LOOPS", POSITIVE, "3", "Loops that only test, which end the loop.")
    done_signals: int = setting(
        "MAX_CONSECUTIVE_DONE_SIGNALS", POSITIVE, "2", "Loops that say they are done, likewise.")
    sandbox: str = setting(
        "SANDBOX_PROVIDER", TEXT, "", "The box of each run: docker, podman, bwrap, srt; others are refused.")
    task_sources: str = setting("TASK_SOURCES", TEXT, "", "Where --queue-add finds tasks: local, github, beads.")
    github_task_label: str = setting("GITHUB_TASK_LABEL", TEXT, "", "The label of the issues that it takes; any.")
    beads_filter: str = setting("BEADS_FILTER", TEXT, "", "Which of Beads' issues: status:open, as by default.")
    github_issue: str = setting(
        "GITHUB_ISSUE", TEXT, "", "An issue, which is told of progress and end: N, OWNER/REPO#N, or its address.")
    comment_progress: bool = setting("COMMENT_PROGRESS", SWITCH, "false", "Comment on the issue while it lasts.")
    comment_interval: int = setting("COMMENT_INTERVAL", POSITIVE, "5", "Loops from one such comment to the next.")
    close_summary: bool = setting("CLOSE_SUMMARY", SWITCH, "false", "Comment on the issue once all is done.")
    auto_close: bool = setting("AUTO_CLOSE", SWITCH, "false", "Comment on it and close it then.")
    create_pr: bool = setting("CREATE_PR", SWITCH, "false", "Refused, with an issue: `swarm run` makes them.")
    create_followups: bool = setting("CREATE_FOLLOWUPS", SWITCH, "false", "Refused, with an issue.")
    completion_labels: str = setting("ADD_COMPLETION_LABELS", TEXT, "", "Refused, with AUTO_CLOSE and an issue.")
    provider: str = setting("AGENT_PROVIDER", TEXT, "", "The adapter lib/agents/NAME.sh that runs turns.")
    # fmt: on
    exported: Mapping[str, str] = field(default_factory=dict)

    @property
    def output_decline(self) -> int:
        """Percent by which output may shrink; 100: any, where nobody has set it: the original never looks."""
        given = self.sources["cb_output_decline_threshold"].kind != "default"
        return self.cb_output_decline_threshold or 100 if given else 100

    def shell_globals(self, folder: Folder) -> dict[str, str]:
        """The globals that a driver may read, by the names that it knows them under."""
        found = {name: as_text(getattr(self, key.field)) for key in KEYS for name in (key.name, key.alias) if name}
        return found | {
            "CLAUDE_PERMISSION_MODE": "default",  # the original asks for no other
            "RALPH_DIR": folder.shown,
            "RALPHRC_FILE": RC,
            "LOG_DIR": f"{folder.shown}/logs",
        }


KEYS: tuple[SettingKey, ...] = keys_of(FrankbriaSettings)
_NAMES = frozenset(name for key in KEYS for name in key.names)

_NEEDED = frozenset(
    (
        *("code_cmd", "model", "effort", "shell_init_file", "allowed_tools", "prompt_file", "dry_run"),
        *("sandbox", "provider", "github_issue"),
    )
)
"""What decides which program runs, with what it is asked and what it may do: no default can stand in for it."""

ELSEWHERE = frozenset(
    [f"SANDBOX_DOCKER_{name}" for name in ("IMAGE", "MEMORY", "CPUS", "NETWORK")]
    + [f"SANDBOX_E2B_{name}" for name in ("TEMPLATE", "SANDBOX_ID", "TIMEOUT", "KEEP_ALIVE")]
    + [f"SANDBOX_E2B_{name}" for name in ("MAX_COST", "COST_ALERT", "COST_PER_HOUR")]
    + [f"SYNC_{name}" for name in ("INCLUDE", "EXCLUDE", "MAX_FILE_SIZE", "LARGE_FILE_ACTION")]
    + ["LINK_ISSUE", "DRAFT_PR", "FOLLOWUP_LABEL", "RALPH_DIR"]
)
"""Names that are settings, and mean nothing by themselves: of a sandbox, or of an issue, that isn't asked for."""


def resolve(
    folder: Folder, *, env: Mapping[str, str], rc: RcScript, options: Mapping[str, GivenOption] | None = None
) -> FrankbriaSettings:
    """Decide every setting; a ConfigurationError names all values that can't be used, each with its source."""
    entries = dict(rc.entries)
    for key in KEYS:  # the internal name counts in the file, too; the public one is mapped over it
        if key.alias and key.alias in entries:
            entries.setdefault(key.in_file, entries[key.alias])
    found = {key.field: look_up(key, options or {}, env, entries, RC) for key in KEYS}
    values, notices = read_values(KEYS, found)
    told = [each for key in KEYS for each in _unread(key, rc, *found[key.field])]
    notices = [*(line for _, line in sorted(told)), *notices]
    sources = {name: source for name, (_, source) in found.items()}
    values["prompt_file"] = prompt_of(values["prompt_file"], sources["prompt_file"], folder)
    notices = [*rc.notices, *_likely_typos(rc.entries), *notices]
    exported = {name: value for name, value in rc.exported.items() if name not in _NAMES}
    return FrankbriaSettings(**values, exported=exported, sources=sources, notices=tuple(notices))


def _unread(key: SettingKey, rc: RcScript, value: str, source: ValueSource) -> Iterator[tuple[int, str]]:
    """Name a setting of the file that only a command could tell; raises ConfigurationError where a loop with the
    default would be another one."""
    name = next((name for name in (key.in_file, key.alias) if name in rc.unread), "")
    if not name or source.kind == "file":
        return
    each = rc.unread[name]
    if key.field in _NEEDED and source.kind == "default":
        raise refused(each.line, each.why, f"{name}={each.text}")
    yield (
        each.line,
        f"{RC} line {each.line}: {name} can't be read ({each.why}): it is {value or 'empty'} {source.where}",
    )


def _likely_typos(entries: Mapping[str, RcEntry]) -> list[str]:
    """Name what is nearly a setting: others are variables of the file's own."""
    found = []
    for name, entry in entries.items():
        if name not in _NAMES | ELSEWHERE and (close := nearest(name, _NAMES, 0.85)):
            found.append(f"{RC} line {entry.line}: {name} is no setting; did you mean {close}?")
    return found
