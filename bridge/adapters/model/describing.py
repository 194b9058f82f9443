"""Sections 9 to 15 of schema 1: modes, helpers, signals, the end, capabilities, and tests."""

# ruff: noqa: RUF009, TC001, TC003 -- the types are read at run time, and key() and part() make fields
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.adapters.model.fields import key, part
from bridge.adapters.model.running import GroupCapture

__all__ = [
    "AdvanceCommand",
    "BuiltinCommand",
    "Capabilities",
    "Commands",
    "Debugger",
    "DeclaredTest",
    "ExitCommand",
    "Lifecycle",
    "Mode",
    "Probe",
    "SetupStep",
    "Shutdown",
    "Signals",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceCommand:
    """A command that moves on within a mode."""

    command: str = key("", "What is typed.", required=True)
    effect: str = key("", "What it does.", choices=("step_in", "step_over", "step_out"), required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCommand:
    """A command that leaves a mode."""

    command: str = key("", "What is typed.", required=True)
    effect: str = key(
        "",
        "What it does.",
        choices=("return_to_toplevel", "unwind_one_level", "invoke_restart", "resume"),
        required=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Section 9: a state of the program with a prompt of its own."""

    name: str = key("", "What it is called.", required=True)
    primary: str | None = key(None, "Pattern of its prompt.", pattern=True)
    default: bool = key(False, "The mode that holds when no other does.")
    auto_enter: bool = key(False, "The program enters it by itself.")
    detect: str | None = key(None, "Pattern that tells it; `primary` by default.", pattern=True)
    nested: bool = key(False, "It can stack on itself.")
    level_capture: str | None = key(None, "Group of the pattern that holds the level.")
    enter_key: str | None = key(None, "Key that enters it.")
    exit_key: str | None = key(None, "Key that leaves it.")
    exit_detect: str | None = key(None, "Pattern that says it was left.", pattern=True)
    advance_commands: tuple[AdvanceCommand, ...] = key((), "Commands that move on within it.")
    exit_commands: tuple[ExitCommand, ...] = key((), "Commands that leave it.")
    group_captures: tuple[GroupCapture, ...] = key((), "Groups of its pattern that mean something.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinCommand:
    """A helper of the program."""

    name: str = key("", "What it is called.", required=True)
    syntax: str = key("", "How it is typed.")
    description: str = key("", "What it does.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Debugger:
    """A debugger's vocabulary; null is what it can't do. Placeholders: {expr}, {target}, {line}, {file}."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Section 10: helpers, as hints for whoever types."""

    prefix: str = key("", "What they start with.")
    scope: tuple[str, ...] = key((), "Modes that they work in.")
    discovery: str | None = key(None, "Command that lists them.")
    builtin: tuple[BuiltinCommand, ...] = key((), "The helpers.")
    debugger: Debugger = part(Debugger, "A debugger's vocabulary.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Section 11: keys that interrupt, end and suspend."""

    interrupt: str | None = key("\x03", "Interrupts a command; null when that would end the program.")
    eof: str | None = key("\x04", "Ends the input.")
    suspend: str | None = key(None, "Suspends a job.")
    interrupt_confirm: str | None = key(None, "A second key that the program asks for.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """How the program is asked to end."""

    command: str | None = key("exit", "What is typed.")
    grace_ms: int = key(1000, "How long it may take.")
    force_signal: str = key("kill", "What follows.", choices=("kill", "term", "int", "hup", "quit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """Section 12: end and new beginning."""

    ready_timeout_ms: int = key(0, "Reserved; 0.")
    shutdown: Shutdown = part(Shutdown, "How the program is asked to end.")
    restart_on: tuple[str, ...] = key((), "When it is started anew.", choices=("crash", "idle_timeout"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Section 13: what can be counted on."""

    stateful: bool = key(True, "State persists.")
    interrupt: bool = key(False, "Ctrl-C interrupts a command.")
    meta_commands: bool = key(False, "`commands` can be used.")
    auto_modes: bool = key(False, "Some mode is entered by itself.")
    async_output: bool = key(False, "There may be output between commands.")
    exit_code: str = key("false", "Whether exit codes are right.", choices=("true", "false", "unreliable"))
    cwd_tracking: bool = key(False, "The working folder is announced.")
    cwd_format: str = key("none", "How folders are written.", choices=("windows_native", "posix", "none"))
    job_control: bool = key(False, "&, fg and bg work.")
    shell_integration: str | None = key(
        None, "Protocol of the announcements.", choices=("osc633", "iterm2", "kitty")
    )
    user_busy_detection: str | None = key(
        None, "How typing is noticed.", choices=("osc_b", "process_polling", "none")
    )
    user_busy_detection_params: Mapping[str, object] = key({}, "Settings of process_polling.")
    cd_command: str | None = key(None, "Changes to {path}.")
    cd_command_quote: str | None = key(
        None,
        "How {path} is quoted.",
        choices=("single_quote_posix", "single_quote_pwsh", "double_quote_cmd", "c_style_double_quote"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Section 14: one expression that shows whether the adapter works at all."""

    eval: str = key("", "What is run.", required=True)
    expect: str = key("", "Pattern of its output.", pattern=True, required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One step before a test's own command."""

    eval: str | None = key(None, "What is run.")
    setup: str | None = key(None, "What is run; the same as `eval`.")
    expect: str | None = key(None, "Pattern of its output.", pattern=True)
    expect_error: bool | None = key(None, "It has to fail.")
    expect_exit_code: int | None = key(None, "Its exit code.")
    expect_mode: str | None = key(None, "The mode afterwards.")
    expect_level: int | None = key(None, "The level of that mode.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTest:
    """Section 15: one contract test."""

    name: str = key("", "What it is called.", required=True)
    setup: str | None = key(None, "What is run before.")
    setup_sequence: tuple[SetupStep, ...] = key((), "Steps that are run before.")
    eval: str | None = key(None, "What is run.")
    wait_ms: int = key(0, "How long to collect output after `eval`.")
    then_eval: str | None = key(None, "What is run after that; expectations are about this one.")
    expect: str | None = key(None, "Pattern of the output.", pattern=True)
    expect_error: bool | None = key(None, "It has to fail.")
    expect_exit_code: int | None = key(None, "Its exit code.")
    expect_cwd_update: bool | None = key(None, "The working folder has to be announced (false: it may not change).")
    expect_mode: str | None = key(None, "The mode afterwards.")
    expect_level: int | None = key(None, "The level of that mode.")
    expect_counter: str | None = key(None, "The prompt's counter: a number, +N, or true for any increase.")
    expect_out_of_band: str | None = key(None, "Pattern of output that belongs to no command.", pattern=True)
    expect_no_last_exit: bool | None = key(None, "No exit code of a native program may be left over.")
    exit_code_is_unreliable: bool = key(False, "The exit code is not judged.")
