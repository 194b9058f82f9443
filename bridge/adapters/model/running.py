"""Sections 3 to 8 of schema 1: how a program is started, watched, fed and read."""

# ruff: noqa: RUF009, TC003 -- the types are read at run time, and key() and part() make fields
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.adapters.model.fields import key, part

__all__ = [
    "BalancedParens",
    "Banner",
    "GroupCapture",
    "Init",
    "InitTempfile",
    "Input",
    "Interleave",
    "Marker",
    "Markers",
    "Output",
    "Process",
    "Prompt",
    "PropertyUpdates",
    "RcFile",
    "Ready",
    "ShellIntegration",
    "Tempfile",
    "Wrapper",
]

STRATEGIES = ("shell_integration", "marker", "prompt_variable", "regex", "none")
HOOKS = (
    "prompt_function",
    "preexec",
    "ps0",
    "precommand_lookup_action",
    "debug_trap",
    "custom",
    "none",
    "prompt_variable",  # not in the schema's list, but used by files in the field
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Section 3: what is started, and with which environment."""

    command_template: str = key("", "Command line with placeholders; split at blanks, no shell.", required=True)
    prompt_template: str | None = key(None, "Prompt for `init.strategy: prompt_variable`.")
    executable: str | None = key(None, "Program, when it isn't called like the adapter.")
    executable_candidates: tuple[str, ...] = key((), "Programs to try in order; the first that exists is taken.")
    inherit_environment: bool = key(True, "Whether the program sees the environment of its parent.")
    env: Mapping[str, str] = key({}, "Environment variables on top of those.")
    encoding: str = key("utf-8", "Always utf-8 in schema 1.", choices=("utf-8",))
    line_ending: str = key("\n", "What ends a line of input; `input.line_ending` is the one that is used.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Section 4: how we know that the program waits for its first command. Times are upper bounds here."""

    wait_for_event: str = key(
        "prompt_start", "What says so.", choices=("prompt_start", "marker", "regex", "custom")
    )
    wait_for: str | None = key(None, "Pattern to wait for when `wait_for_event` is custom.", pattern=True)
    timeout_ms: int = key(0, "Reserved; 0.")
    settle_before_inject_ms: int = key(0, "Longest wait for silence before the script is typed in.")
    suppress_mirror_during_inject: bool = key(False, "Keep the injected text from whoever watches.")
    kick_enter_after_ready: bool = key(False, "Press Enter when no prompt shows up by itself.")
    delay_after_inject_ms: int = key(0, "Longest wait after the injection before Enter is pressed.")
    output_settled_min_ms: int = key(2000, "Longest wait for the first output.")
    output_settled_stable_ms: int = key(1000, "Longest silence that is asked for.")
    output_settled_max_ms: int = key(30000, "When to go on although output never settled.")


@dataclass(frozen=True, slots=True, kw_only=True)
class InitTempfile:
    """How the file that holds the integration script is called."""

    prefix: str | None = key(None, "What its name starts with.")
    extension: str | None = key(None, "What its name ends in.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """A greeting that is shown to whoever watches the session."""

    mode: str = key("none", "Where it goes.", choices=("prepend_to_tempfile", "write_before_pty", "none"))
    banner_template: str | None = key(None, "Statement with {banner}.")
    reason_template: str | None = key(None, "Statement with {reason}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RcFile:
    """``delivery: rc_file``: the script is put where the shell looks for its start-up file."""

    dir_env_var: str | None = key(None, "Variable that says in which folder.")
    file_name: str | None = key(None, "Name of the start-up file.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """``strategy: marker``: prompts that can't be mistaken."""

    primary: str = key("", "The prompt, literally.")
    continuation: str | None = key(None, "The continuation prompt, literally.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """Section 5: how the program is made to announce its prompts."""

    strategy: str = key("none", "What the announcement is.", choices=STRATEGIES, required=True)
    hook_type: str = key("none", "When the announcement of a command's start fires.", choices=HOOKS)
    delivery: str = key(
        "none", "How the script gets there.", choices=("launch_command", "pty_inject", "rc_file", "none")
    )
    script_resource: str | None = key(None, "File with the script, beside the adapter or one of ours.")
    script: str | None = key(None, "The script itself.")
    init_invocation_template: str | None = key(None, 'Becomes {init_invocation}; "{tempfile_path}" by default.')
    tempfile: InitTempfile = part(InitTempfile, "The file that holds the script.")
    banner_injection: Banner = part(Banner, "Greeting.")
    rc_file: RcFile = part(RcFile, "Start-up file.")
    marker: Marker = part(Marker, "Prompts that can't be mistaken.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """The sequences of OSC 633; files write them in full or by their letter. They are fixed by the protocol."""

    prompt_start: str = key("\x1b]633;A\x07", "The prompt begins.")
    command_input_start: str = key("\x1b]633;B\x07", "Input begins.")
    command_executed: str = key("\x1b]633;C\x07", "The command begins.")
    command_finished: str = key("\x1b]633;D\x07", "The command ended.")
    property_update: str = key("\x1b]633;P\x07", "A property changed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyUpdates:
    """What is announced besides commands."""

    cwd_key: str = key("Cwd", "Name of the property with the working folder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellIntegration:
    """``prompt.strategy: shell_integration``."""

    protocol: str = key("osc633", "Only osc633 in schema 1.", choices=("osc633",))
    markers: Markers = part(Markers, "The sequences.")
    property_updates: PropertyUpdates = part(PropertyUpdates, "What else is announced.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCapture:
    """A group of the prompt's pattern that means something."""

    name: str = key("", "What it is called.", required=True)
    group: str = key("1", "Number or name of the group.")
    type: str = key("string", "What it holds.", choices=("int", "string"))
    role: str | None = key(
        None,
        "What it means.",
        choices=("monotonic_counter", "nesting_level", "mode_indicator", "node_name"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Section 6: how a prompt is recognised."""

    strategy: str = key(
        "shell_integration",
        "By announcement, by marker or by pattern.",
        choices=("shell_integration", "marker", "regex"),
        required=True,
    )
    shell_integration: ShellIntegration = part(ShellIntegration, "Announcements.")
    primary: str | None = key(None, "Pattern of the prompt.", pattern=True)
    continuation: str | None = key(None, "Pattern of the continuation prompt.", pattern=True)
    continuation_escape: str | None = key(None, "What gets the program out of a continuation.")
    anchor: str = key("line_start", "Where a prompt may stand.", choices=("line_start", "anywhere"))
    group_captures: tuple[GroupCapture, ...] = key((), "Groups of `primary` that mean something.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleave:
    """Output that belongs to no command."""

    strategy: str = key("none", "How it is recognised.", choices=("redraw_detect", "quiesce", "accept", "none"))
    capture_as: str = key("merge", "Where it goes.", choices=("out_of_band", "merge", "discard"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Section 7: what is done to output."""

    post_prompt_settle_ms: int = key(150, "Longest wait for stragglers after a prompt.")
    strip_ansi: bool = key(False, "Remove colours as well.")
    strip_input_echo: bool = key(True, "Remove the echo of the command.")
    input_echo_strategy: str = key(
        "osc_boundaries",
        "How the echo is found.",
        choices=("osc_boundaries", "deterministic_byte_match", "fuzzy_byte_match", "none"),
    )
    line_ending: str = key("\n", "What ends a line of output.")
    async_interleave: Interleave = part(Interleave, "Output that belongs to no command.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """``multiline_delivery: wrapper``: lines around a block."""

    open: str = key("", "Line before the block.")
    close: str = key("", "Line after it.")
    trigger: str = key("auto", "When blocks are wrapped.", choices=("auto", "always", "never"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancedParens:
    """What brackets, strings and comments look like; see :mod:`bridge.adapters.parens`."""

    open: tuple[str, ...] = key(("(", "[", "{"), "Opening brackets.")
    close: tuple[str, ...] = key((")", "]", "}"), "Closing brackets.")
    string_delims: tuple[str, ...] = key(('"',), "What starts and ends a string.")
    escape: str | None = key("\\", "Takes the meaning of the next character in a string.")
    line_comment: str | None = key(None, "Starts a comment that ends with the line.")
    block_comment: tuple[str, ...] = key((), "Start and end of a comment.")
    char_literal_prefix: str | None = key(None, "Starts a character literal.")
    datum_comment_prefix: str | None = key(None, "Comments out the next datum.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tempfile:
    """``multiline_delivery: tempfile``: a block goes through a file."""

    prefix: str | None = key(None, "What its name starts with.")
    extension: str | None = key(None, "What its name ends in.")
    path_template: str | None = key(None, "Its path, with {temp_dir}, {pid} and {guid}.")
    invocation_template: str | None = key(None, "Command that runs {path}.")
    history_filter: str | None = key(None, "History lines to hide.", pattern=True)
    cleanup_on_start: bool = key(False, "Remove stale files at start.")
    stale_ttl_hours: int = key(24, "From when a file is stale.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Section 8: how a command gets into the program."""

    line_ending: str = key("\n", "The Enter key.")
    multiline_detect: str = key(
        "none",
        "How an unfinished block is noticed.",
        choices=("prompt_based", "wrapper", "balanced_parens", "indent_based", "none"),
    )
    multiline_delivery: str = key(
        "direct",
        "How a block travels.",
        choices=("direct", "tempfile", "heredoc", "wrapper", "encoded_scriptblock"),
    )
    multiline_wrapper: Wrapper = part(Wrapper, "Lines around a block.")
    balanced_parens: BalancedParens = part(BalancedParens, "Brackets of the language.")
    tempfile: Tempfile = part(Tempfile, "File for a block.")
    chunk_delay_ms: int = key(0, "Pause between the parts of a long input.")
    clear_line: str | None = key(None, "Bytes that empty the line editor before a command.")
