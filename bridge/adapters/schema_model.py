"""Schema 1 as data: these classes are the one definition that validates, types and describes adapter files."""

# ruff: noqa: TC003 -- the types are read at run time, and key() and part() make fields
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, dataclass_transform


class FieldRule(NamedTuple):
    """A key's meaning for editors, the values that the schema lists, and how badly the key is needed.

    A missing `required` key is a warning; without a `vital` one the file can't be loaded. The value of a `pattern`
    is a regular expression.
    """

    about: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    vital: bool = False
    pattern: bool = False


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Section:
    """A part of an adapter file: each subclass is a dataclass, whose docstring is for editors."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)


def key(default: Any, about: str, *, choices: str = "", **rule: bool) -> Any:
    """One key that holds a scalar, a list of scalars or a mapping of them; the rest as of :class:`FieldRule`."""
    metadata = {"rule": FieldRule(about, tuple(choices.split()), **rule)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def part(kind: type[Any], about: str, *, required: bool = False) -> Any:
    """One key that holds a section; an absent section has all its defaults."""
    return field(default_factory=kind, metadata={"rule": FieldRule(about, required=required)})


class ProcessSection(Section):
    """The program to start, and its environment."""

    command_template: str = key("", "Command line with placeholders; split at blanks, no shell.", required=True)
    prompt_template: str | None = key(None, "Prompt for `init.strategy: prompt_variable`.")
    executable: str | None = key(None, "Program, when it isn't called like the adapter.")
    executable_candidates: tuple[str, ...] = key((), "Programs to try in order; the first that exists is taken.")
    inherit_environment: bool = key(True, "Whether the program inherits its parent's environment.")
    env: Mapping[str, str] = key({}, "Additional environment variables.")
    encoding: str = key("utf-8", "Always utf-8 in schema 1.", choices="utf-8")
    line_ending: str = key("\n", "End of an input line; `input.line_ending` wins.")


class Ready(Section):
    """How the program is known to wait for its first command. Times are upper bounds."""

    wait_for_event: str = key(
        "prompt_start", "The event that shows it.", choices="prompt_start marker regex custom"
    )
    wait_for: str | None = key(None, "Pattern to wait for when `wait_for_event` is custom.", pattern=True)
    timeout_ms: int = key(0, "Reserved; 0.")
    settle_before_inject_ms: int = key(0, "Longest wait for silence before the script is typed in.")
    suppress_mirror_during_inject: bool = key(False, "Hide the injected text from listeners.")
    kick_enter_after_ready: bool = key(False, "Press Enter when no prompt shows up by itself.")
    delay_after_inject_ms: int = key(0, "Longest wait after the injection before Enter is pressed.")
    output_settled_min_ms: int = key(2000, "Longest wait for the first output.")
    output_settled_stable_ms: int = key(1000, "Longest silence to wait for.")
    output_settled_max_ms: int = key(30000, "When to go on even if output never settles.")


class InitTempfile(Section):
    """Name of the file that holds the integration script."""

    prefix: str | None = key(None, "Prefix of its name.")
    extension: str | None = key(None, "Suffix of its name.")


class Banner(Section):
    """A greeting for whoever watches the session."""

    mode: str = key("none", "Where it goes.", choices="prepend_to_tempfile write_before_pty none")
    banner_template: str | None = key(None, "Statement with {banner}.")
    reason_template: str | None = key(None, "Statement with {reason}.")


class RcFile(Section):
    """``delivery: rc_file``: the script is put where the shell looks for its start-up file."""

    dir_env_var: str | None = key(None, "Environment variable that names the folder.")
    file_name: str | None = key(None, "Name of the start-up file.")


class Marker(Section):
    """``strategy: marker``: unmistakable prompts."""

    primary: str = key("", "The prompt, literally.")
    continuation: str | None = key(None, "The continuation prompt, literally.")


class Init(Section):
    """How the program is made to announce its prompts."""

    strategy: str = key(
        "none",
        "Kind of announcement.",
        choices="shell_integration marker prompt_variable regex none",
        required=True,
    )
    hook_type: str = key(
        "none",
        "What announces the start of a command.",
        choices="prompt_function preexec ps0 precommand_lookup_action debug_trap custom none prompt_variable",
    )
    delivery: str = key(
        "none", "How the script reaches the program.", choices="launch_command pty_inject rc_file none"
    )
    script_resource: str | None = key(None, "File with the script, beside the adapter or one of ours.")
    script: str | None = key(None, "The script itself.")
    init_invocation_template: str | None = key(None, 'Becomes {init_invocation}; "{tempfile_path}" by default.')
    tempfile: InitTempfile = part(InitTempfile, "The file that holds the script.")
    banner_injection: Banner = part(Banner, "Greeting.")
    rc_file: RcFile = part(RcFile, "Start-up file.")
    marker: Marker = part(Marker, "Unmistakable prompts.")


class Markers(Section):
    """The sequences of OSC 633; files write them in full or by their letter. They are fixed by the protocol."""

    prompt_start: str = key("\x1b]633;A\x07", "The prompt begins.")
    command_input_start: str = key("\x1b]633;B\x07", "Input begins.")
    command_executed: str = key("\x1b]633;C\x07", "The command begins.")
    command_finished: str = key("\x1b]633;D\x07", "The command ended.")
    property_update: str = key("\x1b]633;P\x07", "A property changed.")


class PropertyUpdates(Section):
    """Announcements other than commands."""

    cwd_key: str = key("Cwd", "Name of the property with the working folder.")


class ShellIntegration(Section):
    """``prompt.strategy: shell_integration``."""

    protocol: str = key("osc633", "Only osc633 in schema 1.", choices="osc633")
    markers: Markers = part(Markers, "The sequences.")
    property_updates: PropertyUpdates = part(PropertyUpdates, "Other announcements.")


class GroupCapture(Section):
    """A group of the prompt's pattern with a meaning."""

    name: str = key("", "Its name.", required=True)
    group: str = key("1", "Number or name of the group.")
    type: str = key("string", "Type of its value.", choices="int string")
    role: str | None = key(None, "Its role.", choices="monotonic_counter nesting_level mode_indicator node_name")


class Prompt(Section):
    """How a prompt is recognised."""

    strategy: str = key(
        "shell_integration",
        "By announcement, by marker or by pattern.",
        choices="shell_integration marker regex",
        required=True,
    )
    shell_integration: ShellIntegration = part(ShellIntegration, "Announcements.")
    primary: str | None = key(None, "Pattern of the prompt.", pattern=True)
    continuation: str | None = key(None, "Pattern of the continuation prompt.", pattern=True)
    continuation_escape: str | None = key(None, "Input that leaves a continuation.")
    anchor: str = key("line_start", "Where a prompt may stand.", choices="line_start anywhere")
    group_captures: tuple[GroupCapture, ...] = key((), "Groups of `primary` with a meaning.")


class Interleave(Section):
    """Output that belongs to no command."""

    strategy: str = key("none", "How it is recognised.", choices="redraw_detect quiesce accept none")
    capture_as: str = key("merge", "Where it goes.", choices="out_of_band merge discard")


class OutputSection(Section):
    """How output is processed."""

    post_prompt_settle_ms: int = key(150, "Longest wait for stragglers after a prompt.")
    strip_ansi: bool = key(False, "Remove colours, too.")
    strip_input_echo: bool = key(True, "Remove the echo of the command.")
    input_echo_strategy: str = key(
        "osc_boundaries",
        "How the echo is found.",
        choices="osc_boundaries deterministic_byte_match fuzzy_byte_match none",
    )
    line_ending: str = key("\n", "End of an output line.")
    async_interleave: Interleave = part(Interleave, "Output that belongs to no command.")


class Wrapper(Section):
    """``multiline_delivery: wrapper``: lines around a block."""

    open: str = key("", "Line before the block.")
    close: str = key("", "Line after it.")
    trigger: str = key("auto", "When blocks are wrapped.", choices="auto always never")


class BalancedParens(Section):
    """The language's brackets, strings and comments."""

    open: tuple[str, ...] = key(("(", "[", "{"), "Opening brackets.")
    close: tuple[str, ...] = key((")", "]", "}"), "Closing brackets.")
    string_delims: tuple[str, ...] = key(('"',), "String delimiters.")
    escape: str | None = key("\\", "Escape character in strings.")
    line_comment: str | None = key(None, "Start of a line comment.")
    block_comment: tuple[str, ...] = key((), "Start and end of a block comment.")
    char_literal_prefix: str | None = key(None, "Start of a character literal.")
    datum_comment_prefix: str | None = key(None, "Comments out the next datum.")


class Tempfile(Section):
    """``multiline_delivery: tempfile``: a block goes through a file."""

    prefix: str | None = key(None, "Prefix of its name.")
    extension: str | None = key(None, "Suffix of its name.")
    path_template: str | None = key(None, "Its path, with {temp_dir}, {pid} and {guid}.")
    invocation_template: str | None = key(None, "Command that runs {path}.")
    history_filter: str | None = key(None, "Lines to keep out of the history.", pattern=True)
    cleanup_on_start: bool = key(False, "Remove stale files at start.")
    stale_ttl_hours: int = key(24, "Age at which a file is stale.")


class Input(Section):
    """How a command gets into the program."""

    line_ending: str = key("\n", "The Enter key.")
    multiline_detect: str = key(
        "none",
        "How an unfinished block is noticed.",
        choices="prompt_based wrapper balanced_parens indent_based none",
    )
    multiline_delivery: str | None = key(
        None,
        "How a block travels; direct by default, tempfile in shells that detect nothing.",
        choices="direct tempfile heredoc wrapper encoded_scriptblock",
    )
    multiline_wrapper: Wrapper = part(Wrapper, "Lines around a block.")
    balanced_parens: BalancedParens = part(BalancedParens, "Brackets of the language.")
    tempfile: Tempfile = part(Tempfile, "File for a block.")
    chunk_delay_ms: int = key(0, "Pause between the parts of a long input.")
    clear_line: str | None = key(None, "Keys that empty the line editor before a command.")


class AdvanceCommand(Section):
    """A command that advances within a mode."""

    command: str = key("", "Text to type.", required=True)
    effect: str = key("", "Its effect.", choices="step_in step_over step_out", required=True)


class ExitCommand(Section):
    """A command that leaves a mode."""

    command: str = key("", "Text to type.", required=True)
    effect: str = key(
        "", "Its effect.", choices="return_to_toplevel unwind_one_level invoke_restart resume", required=True
    )


class Mode(Section):
    """A state of the program with its own prompt."""

    name: str = key("", "Its name.", required=True)
    primary: str | None = key(None, "Pattern of its prompt.", pattern=True)
    default: bool = key(False, "The mode when no other is detected.")
    auto_enter: bool = key(False, "The program enters it by itself.")
    detect: str | None = key(None, "Pattern that identifies it; `primary` by default.", pattern=True)
    nested: bool = key(False, "It can stack on itself.")
    level_capture: str | None = key(None, "Group of the pattern that holds the level.")
    enter_key: str | None = key(None, "Key that enters it.")
    exit_key: str | None = key(None, "Key that leaves it.")
    exit_detect: str | None = key(None, "Pattern that shows it was left.", pattern=True)
    advance_commands: tuple[AdvanceCommand, ...] = key((), "Commands that advance within it.")
    exit_commands: tuple[ExitCommand, ...] = key((), "Commands that leave it.")
    group_captures: tuple[GroupCapture, ...] = key((), "Groups of its pattern with a meaning.")


class BuiltinCommand(Section):
    """A helper of the program."""

    name: str = key("", "Its name.", required=True)
    syntax: str = key("", "Its syntax.")
    description: str = key("", "Its effect.")


class Debugger(Section):
    """A debugger's vocabulary; null if it has no such command. Placeholders: {expr}, {target}, {line}, {file}."""

    step_in: str | None = key(None, "Into the next call.")
    step_over: str | None = key(None, "Over the next line.")
    step_out: str | None = key(None, "To the caller.")
    continue_: str | None = key(None, "To the next breakpoint.")
    run: str | None = key(None, "Start the program.")
    print: str | None = key(None, "Print {expr}.")
    dump: str | None = key(None, "Print {expr} in full.")
    backtrace: str | None = key(None, "Print the calls.")
    source_list: str | None = key(None, "Print the source.")
    locals: str | None = key(None, "Print the local variables.")
    where: str | None = key(None, "Print the position.")
    args: str | None = key(None, "Print the arguments.")
    breakpoint_set: str | None = key(None, "Break at {target}.")
    breakpoint_set_line: str | None = key(None, "Break at {line}.")
    breakpoint_list: str | None = key(None, "List the breakpoints.")
    breakpoint_clear_all: str | None = key(None, "Remove all breakpoints.")


class HelperCommands(Section):
    """The program's own helper commands, as hints for its users."""

    prefix: str = key("", "Their prefix.")
    scope: tuple[str, ...] = key((), "Modes they work in.")
    discovery: str | None = key(None, "Command that lists them.")
    builtin: tuple[BuiltinCommand, ...] = key((), "The helpers.")
    debugger: Debugger = part(Debugger, "A debugger's vocabulary.")


class Signals(Section):
    """The keys that interrupt, end and suspend."""

    interrupt: str | None = key("\x03", "Interrupts a command; null when that would end the program.")
    eof: str | None = key("\x04", "Ends the input.")
    suspend: str | None = key(None, "Suspends a job.")
    interrupt_confirm: str | None = key(None, "A second key that the program asks for.")


class Shutdown(Section):
    """How the program is asked to end."""

    command: str | None = key("exit", "Text to type.")
    grace_ms: int = key(1000, "How long it may take.")
    force_signal: str = key("kill", "Signal that follows.", choices="kill term int hup quit")


class Lifecycle(Section):
    """Shutdown and restart."""

    ready_timeout_ms: int = key(0, "Reserved; 0.")
    shutdown: Shutdown = part(Shutdown, "How the program is asked to end.")
    restart_on: tuple[str, ...] = key((), "When it is restarted.", choices="crash idle_timeout")


class Capabilities(Section):
    """What the program can do."""

    stateful: bool = key(True, "State persists.")
    interrupt: bool = key(False, "Ctrl-C interrupts a command.")
    meta_commands: bool = key(False, "`commands` can be used.")
    auto_modes: bool = key(False, "Some mode is entered by itself.")
    async_output: bool = key(False, "There may be output between commands.")
    exit_code: str = key("false", "Whether exit codes are reliable.", choices="true false unreliable")
    cwd_tracking: bool = key(False, "The working folder is announced.")
    cwd_format: str = key("none", "How folders are written.", choices="windows_native posix none")
    job_control: bool = key(False, "&, fg and bg work.")
    shell_integration: str | None = key(None, "Protocol of the announcements.", choices="osc633 iterm2 kitty")
    user_busy_detection: str | None = key(
        None, "How a typing user is noticed.", choices="osc_b process_polling none"
    )
    user_busy_detection_params: Mapping[str, object] = key({}, "Settings of process_polling.")
    cd_command: str | None = key(None, "Command that changes to {path}.")
    cd_command_quote: str | None = key(
        None,
        "How {path} is quoted.",
        choices="single_quote_posix single_quote_pwsh double_quote_cmd c_style_double_quote",
    )


class ProbeSection(Section):
    """One expression that shows whether the adapter works."""

    eval: str = key("", "Command to run.", required=True)
    expect: str = key("", "Pattern of its output.", pattern=True, required=True)


class SetupStep(Section):
    """One step before a test's own command."""

    eval: str | None = key(None, "Command to run.")
    setup: str | None = key(None, "Command to run; same as `eval`.")
    expect: str | None = key(None, "Pattern of its output.", pattern=True)
    expect_error: bool | None = key(None, "Whether it must fail.")
    expect_exit_code: int | None = key(None, "Its exit code.")
    expect_mode: str | None = key(None, "The mode afterwards.")
    expect_level: int | None = key(None, "The level of that mode.")


class DeclaredTest(Section):
    """One contract test."""

    name: str = key("", "Its name.", required=True)
    setup: str | None = key(None, "Command to run first.")
    setup_sequence: tuple[SetupStep, ...] = key((), "Steps to run first.")
    eval: str | None = key(None, "Command to run.")
    wait_ms: int = key(0, "Milliseconds to collect output after `eval`.")
    then_eval: str | None = key(None, "Command to run after it; expectations apply to this one.")
    expect: str | None = key(None, "Pattern of the output.", pattern=True)
    expect_error: bool | None = key(None, "Whether it must fail.")
    expect_exit_code: int | None = key(None, "Its exit code.")
    expect_cwd_update: bool | None = key(None, "The working folder must be announced (false: must not change).")
    expect_mode: str | None = key(None, "The mode afterwards.")
    expect_level: int | None = key(None, "The level of that mode.")
    expect_counter: str | None = key(None, "The prompt's counter: a number, +N, or true for any increase.")
    expect_out_of_band: str | None = key(None, "Pattern of output that belongs to no command.", pattern=True)
    expect_no_last_exit: bool | None = key(None, "No exit code of a native program may remain.")
    exit_code_is_unreliable: bool = key(False, "Ignore the exit code.")


class AdapterFile(Section):
    """One adapter file."""

    schema: int = key(0, "Version of the schema: 1.", vital=True)
    name: str = key("", "Name of the adapter.", vital=True)
    version: str = key("", "Version of the file.", required=True)
    description: str = key("", "One line about it.", required=True)
    homepage: str | None = key(None, "Home page of the program.")
    license: str | None = key(None, "Licence of the program.")
    family: str = key("", "Kind of program.", choices="shell repl debugger", vital=True)
    aliases: tuple[str, ...] = key((), "Other names for the adapter.")
    integration_script: str | None = key(None, "The integration script itself; wins over `script_resource`.")
    process: ProcessSection = part(ProcessSection, "How the program is started.", required=True)
    ready: Ready = part(Ready, "When it is ready.", required=True)
    init: Init = part(Init, "How it is made to announce prompts.", required=True)
    prompt: Prompt = part(Prompt, "How a prompt is recognised.", required=True)
    output: OutputSection = part(OutputSection, "How output is processed.", required=True)
    input: Input = part(Input, "How commands get in.", required=True)
    modes: tuple[Mode, ...] = key((), "States with their own prompts.")
    commands: HelperCommands = part(HelperCommands, "The program's helper commands.")
    signals: Signals = part(Signals, "Control keys.", required=True)
    lifecycle: Lifecycle = part(Lifecycle, "Shutdown and restart.", required=True)
    capabilities: Capabilities = part(Capabilities, "What the program can do.", required=True)
    probe: ProbeSection | None = key(None, "Check that the adapter works.", required=True)
    tests: tuple[DeclaredTest, ...] = key((), "Contract tests.", required=True)
