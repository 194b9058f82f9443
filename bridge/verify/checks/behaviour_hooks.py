"""Drivers: tools, help, and what no hook may do on the side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.verify.checks.behaviour_driver import DRIVER
from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe.scratch import LISTED
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

ANSWERS = ("driver_name", "driver_display_name", "driver_cli_binary", "driver_min_version")


@check("RB078", "driver_valid_tools fills VALID_TOOL_PATTERNS", applies=DRIVER, phase="behaviour")
def valid_tools(subject: Subject) -> Iterator[Finding]:
    """Allowlists are held against these patterns; with none of them, every entry of an allowlist is refused.

    Bad::

        driver_valid_tools() { echo "Read Write"; }

    Good::

        driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Bash(*)"); }
    """
    hook = "driver_valid_tools"
    answer = subject.driver.answer(hook)
    if answer is None or answer.trouble:
        return
    tools = answer.value
    if answer.status:
        yield subject.finding("RB078", f"{hook} returns {answer.status}", hook=hook, expected="0")
    if not isinstance(tools, list):
        yield subject.finding("RB078", "VALID_TOOL_PATTERNS is not an indexed array", hook=hook)
    elif not tools:
        yield subject.finding("RB078", f"{hook} leaves VALID_TOOL_PATTERNS empty", hook=hook)
    elif any(not tool.strip() for tool in tools):
        yield subject.finding("RB078", f"{hook} puts an empty pattern into VALID_TOOL_PATTERNS", hook=hook)
    elif names := [tool for tool in tools if tool in LISTED]:
        yield subject.finding(
            "RB078", f"VALID_TOOL_PATTERNS holds the names of files here: {said(', '.join(names))}", hook=hook,
            expected="the patterns themselves", hint="put each into quotes",
        )  # fmt: skip
    elif len(tools) == 1 and len(re.split(r"[\s,]+(?![^(]*\))", tools[0].strip())) > 2:
        yield subject.finding(
            "RB078", f"VALID_TOOL_PATTERNS has one element, {said(tools[0])}", hook=hook, expected="one per tool"
        )
    elif tools != subject.driver.call(hook, array="VALID_TOOL_PATTERNS").value:
        yield subject.finding(
            "RB078", "called again, it gives another list", hook=hook, hint="assign with =, not +="
        )
    if answer.stdout and not answer.status:
        yield subject.finding("RB078", f"{hook} prints {said(answer.stdout)}", hook=hook, severity=Severity.WARNING)


@check("RB079", "driver_permission_denial_help prints help", applies=DRIVER, phase="behaviour")
def denial_help(subject: Subject) -> Iterator[Finding]:
    """It is all that a person sees when the loop stops because the agent was refused something. It is called
    plainly under ``set -e``, so a status other than 0 ends the loop before its own last words.

    Bad::

        driver_permission_denial_help() { [[ -f "$RALPHRC_FILE" ]] && echo "See $RALPHRC_FILE."; }

    Good::

        driver_permission_denial_help() { echo "Give $DRIVER_DISPLAY_NAME the permission, see $RALPHRC_FILE."; }
    """
    hook = "driver_permission_denial_help"
    probe = subject.driver
    answer = probe.answer(hook) if probe.own(hook) else None
    if answer is None or answer.trouble:
        return
    if not answer.stdout.strip():
        yield subject.finding("RB079", f"{hook} prints nothing on stdout", hook=hook)
    if answer.status:
        yield subject.finding("RB079", f"{hook} returns {answer.status}", hook=hook, expected="0")


@check("RB080", "Hooks that print an answer succeed", applies=DRIVER, phase="behaviour")
def answers_succeed(subject: Subject) -> Iterator[Finding]:
    """The loop takes ``CMD=$(driver_cli_binary)`` under ``set -e``: a status other than 0 ends it, although the
    answer was printed.

    Bad::

        driver_display_name() { echo "My Platform"; [[ -n "$MY_DEBUG" ]]; }

    Good::

        driver_display_name() { echo "My Platform"; }
    """
    probe = subject.driver
    for hook in (*ANSWERS, "driver_stream_filter"):
        answer = probe.answer(hook) if probe.own(hook) else None
        if answer is not None and not answer.trouble and answer.status:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            yield subject.finding("RB080", f"{hook} returns {answer.status}{why}", hook=hook, expected="0")


@check("RB081", "Hooks set no undeclared globals", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def undeclared_globals(subject: Subject) -> Iterator[Finding]:
    """Hooks run in the loop's main shell, so a variable that was not made local stays there, and may be one
    that the loop itself uses: a loop variable called ``i``, ``line`` or ``arg`` is enough.

    Bad::

        for arg in "${CLAUDE_CMD_ARGS[@]}"; do ...; done

    Good::

        local arg
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do ...; done
    """
    outputs = {name for name, entry in driver_contract().globals.items() if entry.role == "output"}
    told: set[str] = set()
    for hook, before, after in subject.driver.watched():
        for name in before.new_names(after):
            if name in outputs or name in told:
                continue
            told.add(name)
            yield subject.finding(
                "RB081",
                f"{hook} leaves behind {name}",
                hook=hook,
                hint=f"local {name}",
                # An underscore in front says that it is meant: a cache, or something for the next call.
                severity=Severity.INFO if name.startswith("_") else None,
            )


@check("RB082", "Hooks leave the host's variables", applies=DRIVER, phase="behaviour")
def host_variables(subject: Subject) -> Iterator[Finding]:
    """The settings, PATH and HOME belong to the loop. A hook that changes one changes all later iterations,
    and every other program that the loop starts.

    Bad::

        driver_build_command() { CLAUDE_OUTPUT_FORMAT=json; ...; }

    Good::

        driver_build_command() { local format="${CLAUDE_OUTPUT_FORMAT:-json}"; ...; }
    """
    told = set()
    for hook, before, after in subject.driver.watched():
        for name in before.host_changes(after):
            if (hook, name) not in told:
                told.add((hook, name))
                yield subject.finding("RB082", f"{hook} changes {name}", hook=hook, hint=f"local {name}")


@check(
    "RB083", "Building a command does not run the CLI", applies=DRIVER, phase="behaviour", severity=Severity.WARNING
)
def cli_not_started(subject: Subject) -> Iterator[Finding]:
    """Hooks that only answer or build are called several times per iteration and must cost nothing: a CLI takes
    a second to start, may ask for a login, and may be billed.

    Bad::

        driver_build_command() { my-cli --version >/dev/null || return 1; ...; }

    Good::

        driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    allowed = ("driver_check_available", "driver_fallback_session_id", "driver_extract_session_id_from_output")
    told = set()
    for hook, line in subject.driver.started_cli():
        if hook not in allowed and hook not in told:
            told.add(hook)
            yield subject.finding("RB083", f"{hook} runs the CLI: {said(line)}", hook=hook)
