"""Drivers: the hooks that say what the driver is and what it can do."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.verify.harms import (
    CHANGES_THE_LOOP,
    COSTS,
    ENDS_THE_LOOP,
    LEAKS,
    NOISE,
    TAKEN_FOR_ANOTHER,
    UNEXPLAINED,
    WRONG_COMMAND,
    WRONG_DISPLAY,
    WRONG_PERMISSIONS,
    WRONG_STATUS,
)
from bridge.verify.model import ERROR, INFO, WARNING, Aspect
from bridge.verify.probe.scratch import LISTED
from bridge.verify.registry import DRIVER, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.subject import Subject

BOOLEANS = ("driver_supports_tool_allowlist", "driver_supports_sessions", "driver_supports_live_output")
# MAJOR.MINOR.PATCH with an optional pre-release and build, as semver has it; no leading v.
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _one_line(subject: Subject, hook: str) -> Iterator[Problem]:
    answer = subject.driver.answer(hook)
    if answer is None or answer.trouble:
        return
    lines = answer.stdout.split("\n")
    if not answer.text.strip():
        yield Problem(f"{hook} prints nothing", hook=hook, expected="one line")
    elif len(lines) > 2 or answer.text != answer.text.strip():
        yield Problem(
            f"{hook} prints {said(repr(answer.text))}", hook=hook, expected="one line", about=(answer.text,)
        )


@behaviour("RB070", "driver_name is one lower-case identifier", DRIVER, hook="driver_name", harm=TAKEN_FOR_ANOTHER)
def name_is_identifier(subject: Subject) -> Iterator[Problem]:
    """The loop compares the name with known ones and puts it into file names and messages.

    Bad:  driver_name() { echo "My Platform"; }
    Good: driver_name() { echo "my-platform"; }
    """
    found = list(_one_line(subject, "driver_name"))
    yield from found
    answer = subject.driver.answer("driver_name")
    if found or answer is None or answer.trouble:
        return
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", answer.text):
        yield Problem(
            f"driver_name prints {said(answer.text)}",
            expected="lower-case letters, digits and dashes",
            about=(answer.text,),
        )


@behaviour("RB071", "driver_display_name is one line", DRIVER, harm=WRONG_DISPLAY)
def display_name_is_one_line(subject: Subject) -> Iterator[Problem]:
    """It stands in log lines and window titles, each of which is a single line.

    Bad:  driver_display_name() { printf 'My Platform\\nversion 2\\n'; }
    Good: driver_display_name() { echo "My Platform"; }
    """
    hook = "driver_display_name"
    yield from _one_line(subject, hook)
    answer = subject.driver.answer(hook)
    if answer is not None and not answer.trouble and (found := re.search(r"[\x00-\x09\x0b-\x1f\x7f]", answer.text)):
        yield Problem(f"{hook} prints the control character {found[0]!r}", hook=hook, expected="plain text")


@behaviour("RB072", "driver_cli_binary is one name or path", DRIVER, harm=WRONG_COMMAND)
def cli_binary_is_one_line(subject: Subject) -> Iterator[Problem]:
    """The loop looks this program up and starts it. When a driver searches for it and finds nothing, it still
    has to print the usual name, so that the message says what is missing.

    Bad:  driver_cli_binary() { command -v my-cli; }         # prints nothing where it isn't installed
    Good: driver_cli_binary() { command -v my-cli || echo "my-cli"; }
    """
    hook = "driver_cli_binary"
    found = list(_one_line(subject, hook))
    yield from found
    probe = subject.driver
    if found or not probe.has(hook):
        return
    without = probe.without_cli(hook)
    answer = probe.answer(hook)
    if answer is not None and not answer.trouble and _is_sentence(answer.text):
        yield Problem(
            f"{hook} prints {said(answer.text)}",
            hook=hook,
            expected="the program alone",
            hint="put its arguments into CLAUDE_CMD_ARGS",
        )
    elif not without.trouble and not without.text.strip():
        yield Problem(f"{hook} prints nothing where the CLI is not installed", hook=hook, expected="its usual name")
    elif not without.trouble and _is_sentence(without.text):
        yield Problem(
            f"{hook} prints {said(without.text)} where the CLI is not installed",
            hook=hook,
            expected="its usual name",
        )


def _is_sentence(text: str) -> bool:
    """More than a name or a path: blanks are fine in a path only, and options nowhere."""
    return bool(re.search(r"\s", text.strip())) and (not re.search(r"[/\\]", text.split()[0]) or " -" in text)


def _shown(subject: Subject) -> str:
    name = os.path.basename(subject.path)
    return name if name.isprintable() else repr(name)


@behaviour("RB073", "The file is named after driver_name", DRIVER, hook="driver_name", harm=TAKEN_FOR_ANOTHER)
def file_name(subject: Subject) -> Iterator[Problem]:
    """The loop loads ``drivers/NAME.sh`` and later compares what ``driver_name`` prints with that name.

    Bad:
        # drivers/my-platform.sh
        driver_name() { echo "other"; }
    Good:
        # drivers/my-platform.sh
        driver_name() { echo "my-platform"; }
    """
    answer = subject.driver.answer("driver_name")
    stem = os.path.basename(subject.path).removesuffix(".sh")
    if answer is not None and not answer.trouble and answer.text and answer.text != stem:
        yield Problem(
            f"driver_name prints {said(answer.text)}, but the file is called {_shown(subject)}",
            expected=f"{answer.text}.sh".splitlines()[0],
            about=(answer.text,),
        )


@behaviour("RB074", "driver_min_version is a version", DRIVER, hook="driver_min_version", harm=TAKEN_FOR_ANOTHER)
def min_version(subject: Subject) -> Iterator[Problem]:
    """Preflight checks compare it with what the CLI reports, number by number.

    Bad:  driver_min_version() { echo "v2"; }
    Good: driver_min_version() { echo "2.0.0"; }
    """
    answer = subject.driver.answer("driver_min_version")
    if answer is not None and not answer.trouble and not _SEMVER.fullmatch(answer.text):
        yield Problem(f"driver_min_version prints {said(answer.text)}", expected="MAJOR.MINOR.PATCH")


@behaviour(
    "RB075",
    "driver_check_available tells whether the CLI is there",
    DRIVER,
    hook="driver_check_available",
    harm=WRONG_STATUS,
)
def check_available(subject: Subject) -> Iterator[Problem]:
    """Preflight checks ask it before anything is run. Here it is asked twice: with the CLI on PATH, and without.

    Bad:  driver_check_available() { return 0; }
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    pair = subject.driver.available()
    if pair is None:
        return
    reported = False
    for answer, wanted, when in zip(pair, (True, False), ("on PATH", "nowhere on PATH"), strict=True):
        if not answer.trouble and answer.ok is not wanted:
            yield Problem(
                f"driver_check_available returns {answer.status} while {subject.driver.cli()} is {when}",
                expected="0" if wanted else "1",
            )
            reported = True
    probe = subject.driver
    if reported or len(probe.scratch.names) < 2 or "/" in probe.cli():
        return
    # The script asks for other programs as well: those are there, and the one that is run is not.
    found = probe.without_one(probe.cli(), "driver_check_available")
    now = probe.without_one(probe.cli(), "driver_cli_binary")
    if found.ok and not now.trouble and now.text == probe.cli():
        yield Problem(
            f"driver_check_available returns 0 while {probe.cli()} is nowhere on PATH: it found another program",
            expected=f"the answer for {probe.cli()}, which driver_cli_binary names",
        )


@behaviour("RB076", "Booleans are answered by status 0 or 1", DRIVER, harm=TAKEN_FOR_ANOTHER)
def booleans(subject: Subject) -> Iterator[Problem]:
    """0 is yes and 1 is no. Any other status is how commands report that they failed, 127 that there is none.

    Bad:  driver_supports_sessions() { return 2; }
    Good: driver_supports_sessions() { return 1; }
    """
    for hook in BOOLEANS:
        answer = subject.driver.answer(hook)
        if answer is not None and not answer.trouble and answer.status > 1:
            yield Problem(f"{hook} returns {answer.status}", hook=hook, expected="0 or 1")
        elif answer is not None and not answer.trouble:
            again = subject.driver.call(hook)
            if not again.trouble and again.status != answer.status:
                yield Problem(f"{hook} returns {answer.status}, and {again.status} the second time", hook=hook)


@behaviour("RB077", "Booleans print nothing", DRIVER, harm=NOISE)
def booleans_are_silent(subject: Subject) -> Iterator[Problem]:
    """They are called in conditions with their output open to the terminal. A driver that prints ``true`` and
    returns 0 either way says yes whatever it prints.

    Error: it prints the answer, and its status says the opposite.

    Bad:  driver_supports_sessions() { echo false; }
    Good: driver_supports_sessions() { return 1; }
    """
    probe = subject.driver
    answers = [probe.answer(hook) for hook in BOOLEANS]
    reported = set()
    for answer in [*answers, *(probe.available() or ())]:
        if answer is not None and (answer.stdout or answer.stderr) and answer.hook not in reported:
            reported.add(answer.hook)
            printed = _TRUTHS.get(answer.stdout.strip().lower())
            yield Problem(
                f"{answer.hook} prints {said(answer.stdout + answer.stderr)}",
                hook=answer.hook,
                expected="no output: the status is the answer",
                severity=ERROR if printed is not None and printed is not answer.ok else None,
            )


_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


ANSWERS = ("driver_name", "driver_display_name", "driver_cli_binary", "driver_min_version")


@behaviour("RB078", "driver_valid_tools fills VALID_TOOL_PATTERNS", DRIVER, harm=WRONG_PERMISSIONS)
def valid_tools(subject: Subject) -> Iterator[Problem]:
    """Allowlists are held against these patterns; with none of them, every entry of an allowlist is refused.

    Warning: it prints something.

    Bad:  driver_valid_tools() { echo "Read Write"; }
    Good: driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Bash(*)"); }
    """
    hook = "driver_valid_tools"
    answer = subject.driver.answer(hook)
    if answer is None or answer.trouble:
        return
    tools = answer.value
    if answer.status:
        yield Problem(f"{hook} returns {answer.status}", hook=hook, expected="0")
    if not isinstance(tools, list):
        yield Problem("VALID_TOOL_PATTERNS is not an indexed array", hook=hook)
    elif not tools:
        yield Problem(f"{hook} leaves VALID_TOOL_PATTERNS empty", hook=hook)
    elif any(not tool.strip() for tool in tools):
        yield Problem(f"{hook} puts an empty pattern into VALID_TOOL_PATTERNS", hook=hook)
    elif names := [tool for tool in tools if tool in LISTED]:
        yield Problem(
            f"VALID_TOOL_PATTERNS holds the names of files here: {said(', '.join(names))}",
            hook=hook,
            expected="the patterns themselves",
            hint="put each into quotes",
        )
    elif len(tools) == 1 and len(re.split(r"[\s,]+(?![^(]*\))", tools[0].strip())) > 2:
        yield Problem(
            f"VALID_TOOL_PATTERNS has one element, {said(tools[0])}",
            hook=hook,
            expected="one per tool",
            about=(Aspect.IFS,),
        )
    elif tools != subject.driver.call(hook, array="VALID_TOOL_PATTERNS").value:
        yield Problem("a second call gives a different list", hook=hook, hint="assign with =, not +=")
    if answer.stdout and not answer.status:
        yield Problem(f"{hook} prints {said(answer.stdout)}", hook=hook, severity=WARNING)


@behaviour("RB079", "driver_permission_denial_help prints help", DRIVER, harm=UNEXPLAINED)
def denial_help(subject: Subject) -> Iterator[Problem]:
    """It is all that a person sees when the loop stops because the agent was refused something. It is called
    plainly under ``set -e``, so a status other than 0 ends the loop before its own last words.

    Bad:  driver_permission_denial_help() { [[ -f "$RALPHRC_FILE" ]] && echo "See $RALPHRC_FILE."; }
    Good: driver_permission_denial_help() { echo "Give $DRIVER_DISPLAY_NAME the permission, see $RALPHRC_FILE."; }
    """
    hook = "driver_permission_denial_help"
    probe = subject.driver
    answer = probe.answer(hook) if probe.own(hook) else None
    if answer is None or answer.trouble:
        return
    if not answer.stdout.strip():
        yield Problem(f"{hook} prints nothing on stdout", hook=hook)
    if answer.status:
        yield Problem(f"{hook} returns {answer.status}", hook=hook, expected="0")


@behaviour("RB080", "Hooks that print an answer succeed", DRIVER, harm=ENDS_THE_LOOP)
def answers_succeed(subject: Subject) -> Iterator[Problem]:
    """The loop takes ``CMD=$(driver_cli_binary)`` under ``set -e``: a status other than 0 ends it, although the
    answer was printed.

    Bad:  driver_display_name() { echo "My Platform"; [[ -n "$MY_DEBUG" ]]; }
    Good: driver_display_name() { echo "My Platform"; }
    """
    probe = subject.driver
    for hook in (*ANSWERS, "driver_stream_filter"):
        answer = probe.answer(hook) if probe.own(hook) else None
        if answer is not None and not answer.trouble and answer.status:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            yield Problem(f"{hook} returns {answer.status}{why}", hook=hook, expected="0")


@behaviour("RB081", "Hooks set no undeclared globals", DRIVER, harm=LEAKS)
def undeclared_globals(subject: Subject) -> Iterator[Problem]:
    """Hooks run in the loop's main shell, so a variable that was not made local stays there, and may be one
    that the loop itself uses: a loop variable called ``i``, ``line`` or ``arg`` is enough.

    Info: a name that begins with _.

    Bad:  for arg in "${CLAUDE_CMD_ARGS[@]}"; do ...; done
    Good:
        local arg
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do ...; done
    """
    outputs = {name for name, entry in driver_contract().globals.items() if entry.role == "output"}
    reported: set[str] = set()
    for hook, before, after in subject.driver.watched():
        for name in before.new_names(after):
            if name in outputs or name in reported:
                continue
            reported.add(name)
            yield Problem(
                f"{hook} leaves behind {name}",
                hook=hook,
                hint=f"local {name}",
                severity=INFO if name.startswith("_") else None,
                about=(name,),
            )


@behaviour("RB082", "Hooks leave the host's variables alone", DRIVER, harm=CHANGES_THE_LOOP)
def host_variables(subject: Subject) -> Iterator[Problem]:
    """The settings, PATH and HOME belong to the loop. A hook that changes one changes all later iterations,
    and every other program that the loop starts.

    Bad:  driver_build_command() { CLAUDE_OUTPUT_FORMAT=json; ...; }
    Good: driver_build_command() { local format="${CLAUDE_OUTPUT_FORMAT:-json}"; ...; }
    """
    reported = set()
    for hook, before, after in subject.driver.watched():
        for name in before.host_changes(after):
            if (hook, name) not in reported:
                reported.add((hook, name))
                yield Problem(f"{hook} changes {name}", hook=hook, hint=f"local {name}", about=(name,))


@behaviour("RB083", "Building a command does not run the CLI", DRIVER, harm=COSTS)
def cli_not_started(subject: Subject) -> Iterator[Problem]:
    """Hooks that only answer or build are called several times per iteration and must cost nothing: a CLI takes
    a second to start, may ask for a login, and may be billed.

    Bad:  driver_build_command() { my-cli --version >/dev/null || return 1; ...; }
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    allowed = ("driver_check_available", "driver_fallback_session_id", "driver_extract_session_id_from_output")
    reported = set()
    for hook, line in subject.driver.started_cli():
        if hook not in allowed and hook not in reported:
            reported.add(hook)
            yield Problem(f"{hook} runs the CLI: {said(line)}", hook=hook)
