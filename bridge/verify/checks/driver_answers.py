"""Drivers: the hooks that say what the driver is and what it can do."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.verify.checks import ITSELF, because, distinct, excerpt
from bridge.verify.findings import ERROR, WARNING, Aspect, Harm
from bridge.verify.probe.commands import LISTED
from bridge.verify.registry import Problem, Settled, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.state import HookResult

BOOLEANS = ("driver_supports_tool_allowlist", "driver_supports_sessions", "driver_supports_live_output")
ANSWERS = (
    "driver_name", "driver_display_name", "driver_cli_binary", "driver_min_version", "driver_stream_filter",
)  # fmt: skip
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
# MAJOR.MINOR.PATCH with an optional pre-release and build, as semver has it; no leading v.
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _answered(probe: DriverProbe, hook: str) -> HookResult:
    """What the hook answers, if it comes back."""
    answer = probe.answer(hook)
    if answer is None or answer.trouble:
        raise Settled
    return answer


def _not_one_line(answer: HookResult) -> Problem | None:
    if not answer.text.strip():
        return Problem(f"{answer.hook} prints nothing", expected="one line")
    if len(answer.stdout.split("\n")) > 2 or answer.text != answer.text.strip():
        message = f"{answer.hook} prints {excerpt(repr(answer.text))}"
        return Problem(message, expected="one line", about=(answer.text,))
    return None


@driver("RB070", "driver_name is one lower-case identifier", Harm.TAKEN_FOR_ANOTHER, hook="driver_name")
def name_is_identifier(probe: DriverProbe) -> Iterator[Problem]:
    """The loop compares the name with known ones and puts it into file names and messages.

    Bad:  driver_name() { echo "My Platform"; }
    Good: driver_name() { echo "my-platform"; }
    """
    answer = _answered(probe, "driver_name")
    if (problem := _not_one_line(answer)) is not None:
        yield problem
    elif not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", answer.text):
        message = f"driver_name prints {excerpt(answer.text)}"
        yield Problem(message, expected="lower-case letters, digits and dashes", about=(answer.text,))


@driver("RB071", "driver_display_name is one line", Harm.WRONG_DISPLAY, hook="driver_display_name")
def display_name_is_one_line(probe: DriverProbe) -> Iterator[Problem]:
    """It stands in log lines and window titles, each of which is a single line.

    Bad:  driver_display_name() { printf 'My Platform\\nversion 2\\n'; }
    Good: driver_display_name() { echo "My Platform"; }
    """
    answer = _answered(probe, "driver_display_name")
    if (problem := _not_one_line(answer)) is not None:
        yield problem
    if found := re.search(r"[\x00-\x09\x0b-\x1f\x7f]", answer.text):
        yield Problem(f"{answer.hook} prints the control character {found[0]!r}", expected="plain text")


@driver("RB072", "driver_cli_binary is one name or path", Harm.WRONG_COMMAND, hook="driver_cli_binary")
def cli_binary_is_one_line(probe: DriverProbe) -> Iterator[Problem]:
    """The loop looks this program up and starts it. When a driver searches for it and finds nothing, it still
    has to print the usual name, so that the message says what is missing.

    Bad:  driver_cli_binary() { command -v my-cli; }         # prints nothing where it isn't installed
    Good: driver_cli_binary() { command -v my-cli || echo "my-cli"; }
    """
    hook = "driver_cli_binary"
    answer = probe.answer(hook)
    if answer is None:
        return
    if not answer.trouble and (problem := _not_one_line(answer)) is not None:
        yield problem
        return
    without = probe.without_cli(hook)
    if not answer.trouble and _is_sentence(answer.text):
        hint = "put its arguments into CLAUDE_CMD_ARGS"
        yield Problem(f"{hook} prints {excerpt(answer.text)}", expected="the program alone", hint=hint)
    elif not without.trouble and (not without.text.strip() or _is_sentence(without.text)):
        printed = excerpt(without.text) if without.text.strip() else "nothing"
        yield Problem(f"{hook} prints {printed} where the CLI is not installed", expected="its usual name")


def _is_sentence(text: str) -> bool:
    """More than a name or a path: blanks are fine in a path only, and options nowhere."""
    return bool(re.search(r"\s", text.strip())) and (not re.search(r"[/\\]", text.split()[0]) or " -" in text)


@driver("RB073", "The file is named after driver_name", Harm.TAKEN_FOR_ANOTHER, hook="driver_name")
def file_name(probe: DriverProbe) -> Iterator[Problem]:
    """The loop loads ``drivers/NAME.sh`` and later compares what ``driver_name`` prints with that name.

    Bad:
        # drivers/my-platform.sh
        driver_name() { echo "other"; }
    Good:
        # drivers/my-platform.sh
        driver_name() { echo "my-platform"; }
    """
    answer, file = _answered(probe, "driver_name"), os.path.basename(probe.script)
    if answer.text and answer.text != file.removesuffix(".sh"):
        yield Problem(
            f"driver_name prints {excerpt(answer.text)}, but the file is called "
            f"{file if file.isprintable() else repr(file)}",
            expected=f"{answer.text}.sh".splitlines()[0],
            about=(answer.text,),
        )


@driver("RB074", "driver_min_version is a version", Harm.TAKEN_FOR_ANOTHER, hook="driver_min_version")
def min_version(probe: DriverProbe) -> Iterator[Problem]:
    """Preflight checks compare it with what the CLI reports, number by number.

    Bad:  driver_min_version() { echo "v2"; }
    Good: driver_min_version() { echo "2.0.0"; }
    """
    answer = _answered(probe, "driver_min_version")
    if not _SEMVER.fullmatch(answer.text):
        yield Problem(f"driver_min_version prints {excerpt(answer.text)}", expected="MAJOR.MINOR.PATCH")


@driver(
    "RB075",
    "driver_check_available tells whether the CLI is there",
    Harm.WRONG_STATUS,
    hook="driver_check_available",
)
def check_available(probe: DriverProbe) -> Iterator[Problem]:
    """Preflight checks ask it before anything is run. Here it is asked twice: with the CLI on PATH, and without.

    Bad:  driver_check_available() { return 0; }
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    if (pair := probe.available()) is None:
        return
    there, gone = pair
    cli = probe.cli()
    if wrong_there := not there.trouble and not there.ok:
        yield Problem(f"{there.hook} returns {there.status} while {cli} is on PATH", expected="0")
    if wrong_gone := not gone.trouble and gone.ok:
        yield Problem(f"{gone.hook} returns {gone.status} while {cli} is nowhere on PATH", expected="1")
    if wrong_there or wrong_gone or len(probe.scratch.names) < 2 or "/" in cli:
        return
    # The script asks for other programs as well: those are there, and the one that is run is not.
    found = probe.without_one(cli, "driver_check_available")
    now = probe.without_one(cli, "driver_cli_binary")
    if found.ok and not now.trouble and now.text == cli:
        yield Problem(
            f"driver_check_available returns 0 while {cli} is nowhere on PATH: it found another program",
            expected=f"the answer for {cli}, which driver_cli_binary names",
        )


@driver("RB076", "Booleans are answered by status 0 or 1", Harm.TAKEN_FOR_ANOTHER)
def booleans(probe: DriverProbe) -> Iterator[Problem]:
    """0 is yes and 1 is no. Any other status is how commands report that they failed, 127 that there is none.

    Bad:  driver_supports_sessions() { return 2; }
    Good: driver_supports_sessions() { return 1; }
    """
    for hook in BOOLEANS:
        answer = probe.answer(hook)
        if answer is None or answer.trouble:
            continue
        if answer.status > 1:
            yield Problem(f"{hook} returns {answer.status}", hook=hook, expected="0 or 1")
            continue
        again = probe.call(hook)
        if not again.trouble and again.status != answer.status:
            yield Problem(f"{hook} returns {answer.status}, and {again.status} the second time", hook=hook)


@driver(
    "RB077",
    "Booleans print nothing",
    Harm.NOISE,
    expected="no output: the status is the answer",
    hint="answer by the status alone: true or false, command -v NAME >/dev/null 2>&1",
)
def booleans_are_silent(probe: DriverProbe) -> Iterator[Problem]:
    """They are called in conditions with their output open to the terminal. A driver that prints ``true`` and
    returns 0 either way says yes whatever it prints.

    Error: it prints the answer, and its status says the opposite.

    Bad:  driver_supports_sessions() { echo false; }
    Good: driver_supports_sessions() { return 1; }
    """
    answers = [answer for hook in BOOLEANS if (answer := probe.answer(hook)) is not None]
    speaking = (each for each in (*answers, *(probe.available() or ())) if each.stdout or each.stderr)
    for answer in distinct(speaking, lambda answer: answer.hook):
        printed = _TRUTHS.get(answer.stdout.strip().lower())
        yield Problem(
            f"{answer.hook} prints {excerpt(answer.stdout + answer.stderr)}",
            hook=answer.hook,
            severity=ERROR if printed is not None and printed is not answer.ok else None,
        )


@driver("RB078", "driver_valid_tools fills VALID_TOOL_PATTERNS", Harm.WRONG_PERMISSIONS, hook="driver_valid_tools")
def valid_tools(probe: DriverProbe) -> Iterator[Problem]:
    """Allowlists are held against these patterns; with none of them, every entry of an allowlist is refused. That
    is right where driver_supports_tool_allowlist says no.

    Warning: it prints something, or lists a tool twice.

    Bad:  driver_valid_tools() { echo "Read Write"; }
    Good: driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Bash(*)"); }
    """
    answer = _answered(probe, "driver_valid_tools")
    tools = answer.value
    if answer.status:
        yield Problem(f"{answer.hook} returns {answer.status}", expected="0")
    if not isinstance(tools, list):
        yield Problem("VALID_TOOL_PATTERNS is not an indexed array")
    elif not tools:
        if probe.truth("driver_supports_tool_allowlist") is not False or not _emptied(
            probe.functions()[answer.hook]
        ):
            yield Problem(
                f"{answer.hook} leaves VALID_TOOL_PATTERNS empty",
                expected="a pattern for each tool",
                hint=ITSELF,
                about=("VALID_TOOL_PATTERNS",),
            )
    elif not all(tool.strip() for tool in tools):
        yield Problem(f"{answer.hook} puts an empty pattern into VALID_TOOL_PATTERNS")
    elif names := [tool for tool in tools if tool in LISTED]:
        message = f"VALID_TOOL_PATTERNS holds the names of files here: {excerpt(', '.join(names))}"
        yield Problem(message, expected="the patterns themselves", hint="put each into quotes")
    elif (problem := _not_once(tools)) is not None:
        yield problem
    elif tools != probe.call(answer.hook, array="VALID_TOOL_PATTERNS").value:
        yield Problem(
            "a second call gives a different list", hint="assign with =, not +=", about=("VALID_TOOL_PATTERNS",)
        )
    if answer.stdout and not answer.status:
        yield Problem(f"{answer.hook} prints {excerpt(answer.stdout)}", severity=WARNING)


def _not_once(tools: list[str]) -> Problem | None:
    """Several tools in one element, or one in several."""
    if len(tools) == 1 and len(re.split(r"[\s,]+(?![^(]*\))", tools[0].strip())) > 2:
        message = f"VALID_TOOL_PATTERNS has one element, {excerpt(tools[0])}"
        return Problem(message, expected="one per tool", about=(Aspect.IFS,))
    if twice := sorted({tool for tool in tools if tools.count(tool) > 1}):
        message = f"VALID_TOOL_PATTERNS lists more than once: {excerpt(', '.join(twice))}"
        return Problem(message, severity=WARNING, expected="each once")
    return None


def _emptied(body: str) -> bool:
    """Whether a hook sets the list to an empty one, in the shell of the loop: it isn't only left as it was."""
    return re.search(r"^\s*VALID_TOOL_PATTERNS=\(\);?$", body, re.MULTILINE) is not None


@driver(
    "RB079",
    "driver_permission_denial_help prints help",
    Harm.UNEXPLAINED,
    hook="driver_permission_denial_help",
    own=True,
)
def denial_help(probe: DriverProbe) -> Iterator[Problem]:
    """It is all that a person sees when the loop stops because the agent was refused something. It is called
    plainly under ``set -e``, so a status other than 0 ends the loop before its own last words.

    Bad:  driver_permission_denial_help() { [[ -f "$RALPHRC_FILE" ]] && echo "See $RALPHRC_FILE."; }
    Good: driver_permission_denial_help() { echo "Give $DRIVER_DISPLAY_NAME the permission, see $RALPHRC_FILE."; }
    """
    answer = _answered(probe, "driver_permission_denial_help")
    if not answer.stdout.strip():
        yield Problem(f"{answer.hook} prints nothing on stdout")
    if answer.status:
        yield Problem(f"{answer.hook} returns {answer.status}", expected="0")


@driver(
    "RB080",
    "Hooks that print an answer succeed",
    Harm.ENDS_THE_LOOP,
    expected="0",
    hint="put the condition into an if: if [[ ... ]]; then ...; fi",
)
def answers_succeed(probe: DriverProbe) -> Iterator[Problem]:
    """The loop takes ``CMD=$(driver_cli_binary)`` under ``set -e``: a status other than 0 ends it, although the
    answer was printed.

    Bad:  driver_display_name() { echo "My Platform"; [[ -n "$MY_DEBUG" ]]; }
    Good: driver_display_name() { echo "My Platform"; }
    """
    for hook in filter(probe.own, ANSWERS):
        answer = probe.answer(hook)
        if answer is not None and not answer.trouble and answer.status:
            yield Problem(f"{hook} returns {answer.status}{because(answer.stderr)}", hook=hook)


@driver("RB083", "Building a command does not run the CLI", Harm.COSTS)
def cli_not_started(probe: DriverProbe) -> Iterator[Problem]:
    """Hooks that only answer or build are called several times per iteration and must cost nothing: a CLI takes
    a second to start, may ask for a login, and may be billed.

    Bad:  driver_build_command() { my-cli --version >/dev/null || return 1; ...; }
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    allowed = ("driver_check_available", "driver_fallback_session_id", "driver_extract_session_id_from_output")
    for hook, line in distinct(probe.started_cli(), lambda started: started[0]):
        if hook not in allowed:
            yield Problem(f"{hook} runs the CLI: {excerpt(line)}", hook=hook)
