"""Drivers: the hooks that say what the driver is and what it can do."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

DRIVER = ("driver",)
BOOLEANS = ("driver_supports_tool_allowlist", "driver_supports_sessions", "driver_supports_live_output")
# MAJOR.MINOR.PATCH with an optional pre-release and build, as semver has it; no leading v.
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _one_line(subject: Subject, code: str, hook: str) -> Iterator[Finding]:
    answer = subject.driver.answer(hook)
    if answer is None or answer.trouble:
        return
    lines = answer.stdout.split("\n")
    if not answer.text.strip():
        yield subject.finding(code, f"{hook} prints nothing", hook=hook, expected="one line")
    elif len(lines) > 2 or answer.text != answer.text.strip():
        yield subject.finding(code, f"{hook} prints {said(repr(answer.text))}", hook=hook, expected="one line")


@check("RB070", "driver_name is one lower-case identifier", applies=DRIVER, phase="behaviour")
def name_is_identifier(subject: Subject) -> Iterator[Finding]:
    """The loop compares the name with known ones and puts it into file names and messages.

    Bad::

        driver_name() { echo "My Platform"; }

    Good::

        driver_name() { echo "my-platform"; }
    """
    found = list(_one_line(subject, "RB070", "driver_name"))
    yield from found
    answer = subject.driver.answer("driver_name")
    if found or answer is None or answer.trouble:
        return
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", answer.text):
        yield subject.finding(
            "RB070",
            f"driver_name prints {said(answer.text)}",
            hook="driver_name",
            expected="lower-case letters, digits and dashes",
        )


@check("RB071", "driver_display_name is one line", applies=DRIVER, phase="behaviour")
def display_name_is_one_line(subject: Subject) -> Iterator[Finding]:
    """It stands in log lines and window titles, each of which is a single line.

    Bad::

        driver_display_name() { printf 'My Platform\\nversion 2\\n'; }

    Good::

        driver_display_name() { echo "My Platform"; }
    """
    hook = "driver_display_name"
    yield from _one_line(subject, "RB071", hook)
    answer = subject.driver.answer(hook)
    if answer is not None and not answer.trouble and (found := re.search(r"[\x00-\x09\x0b-\x1f\x7f]", answer.text)):
        yield subject.finding(
            "RB071", f"{hook} prints the control character {found[0]!r}", hook=hook, expected="plain text"
        )


@check("RB072", "driver_cli_binary is one name or path", applies=DRIVER, phase="behaviour")
def cli_binary_is_one_line(subject: Subject) -> Iterator[Finding]:
    """The loop looks this program up and starts it. When a driver searches for it and finds nothing, it still
    has to print the usual name, so that the message says what is missing.

    Bad::

        driver_cli_binary() { command -v my-cli; }         # prints nothing where it isn't installed

    Good::

        driver_cli_binary() { command -v my-cli || echo "my-cli"; }
    """
    hook = "driver_cli_binary"
    found = list(_one_line(subject, "RB072", hook))
    yield from found
    probe = subject.driver
    if found or not probe.has(hook):
        return
    without = probe.without_cli(hook)
    answer = probe.answer(hook)
    if answer is not None and not answer.trouble and _is_sentence(answer.text):
        yield subject.finding(
            "RB072", f"{hook} prints {said(answer.text)}", hook=hook, expected="the program alone",
            hint="put its arguments into CLAUDE_CMD_ARGS",
        )  # fmt: skip
    elif not without.trouble and not without.text.strip():
        yield subject.finding(
            "RB072", f"{hook} prints nothing where the CLI is not installed", hook=hook, expected="its usual name"
        )
    elif not without.trouble and _is_sentence(without.text):
        yield subject.finding(
            "RB072", f"{hook} prints {said(without.text)} where the CLI is not installed", hook=hook,
            expected="its usual name",
        )  # fmt: skip


def _is_sentence(text: str) -> bool:
    """More than a name or a path: blanks are fine in a path only, and options nowhere."""
    return bool(re.search(r"\s", text.strip())) and (not re.search(r"[/\\]", text.split()[0]) or " -" in text)


def _shown(subject: Subject) -> str:
    name = os.path.basename(subject.path)
    return name if name.isprintable() else repr(name)


@check("RB073", "The file is called as driver_name says", applies=DRIVER, phase="behaviour")
def file_name(subject: Subject) -> Iterator[Finding]:
    """The loop loads ``drivers/NAME.sh`` and later compares what ``driver_name`` prints with that name.

    Bad::

        # drivers/my-platform.sh
        driver_name() { echo "other"; }

    Good::

        # drivers/my-platform.sh
        driver_name() { echo "my-platform"; }
    """
    answer = subject.driver.answer("driver_name")
    stem = os.path.basename(subject.path).removesuffix(".sh")
    if answer is not None and not answer.trouble and answer.text and answer.text != stem:
        yield subject.finding(
            "RB073",
            f"driver_name prints {said(answer.text)}, but the file is called {_shown(subject)}",
            hook="driver_name",
            expected=f"{answer.text}.sh".splitlines()[0],
        )


@check("RB074", "driver_min_version is a version", applies=DRIVER, phase="behaviour")
def min_version(subject: Subject) -> Iterator[Finding]:
    """Preflight checks compare it with what the CLI reports, number by number.

    Bad::

        driver_min_version() { echo "v2"; }

    Good::

        driver_min_version() { echo "2.0.0"; }
    """
    answer = subject.driver.answer("driver_min_version")
    if answer is not None and not answer.trouble and not _SEMVER.fullmatch(answer.text):
        yield subject.finding(
            "RB074",
            f"driver_min_version prints {said(answer.text)}",
            hook="driver_min_version",
            expected="MAJOR.MINOR.PATCH",
        )


@check("RB075", "driver_check_available tells whether the CLI is there", applies=DRIVER, phase="behaviour")
def check_available(subject: Subject) -> Iterator[Finding]:
    """Preflight checks ask it before anything is run. Here it is asked twice: with the CLI on PATH, and without.

    Bad::

        driver_check_available() { return 0; }

    Good::

        driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    pair = subject.driver.available()
    if pair is None:
        return
    told = False
    for answer, wanted, when in zip(pair, (True, False), ("on PATH", "nowhere on PATH"), strict=True):
        if not answer.trouble and answer.ok is not wanted:
            yield subject.finding(
                "RB075",
                f"driver_check_available returns {answer.status} while {subject.driver.cli()} is {when}",
                hook="driver_check_available",
                expected="0" if wanted else "1",
            )
            told = True
    probe = subject.driver
    if told or len(probe.scratch.names) < 2 or "/" in probe.cli():
        return
    # The script asks for other programs as well: those are there, and the one that is run is not.
    found = probe.without_one(probe.cli(), "driver_check_available")
    now = probe.without_one(probe.cli(), "driver_cli_binary")
    if found.ok and not now.trouble and now.text == probe.cli():
        yield subject.finding(
            "RB075",
            f"driver_check_available returns 0 while {probe.cli()} is nowhere on PATH, and another program is",
            hook="driver_check_available",
            expected=f"the answer for {probe.cli()}, which driver_cli_binary names",
        )


@check("RB076", "Booleans are answered by status 0 or 1", applies=DRIVER, phase="behaviour")
def booleans(subject: Subject) -> Iterator[Finding]:
    """0 is yes and 1 is no. Any other status is how commands report that they failed, 127 that there is none.

    Bad::

        driver_supports_sessions() { return 2; }

    Good::

        driver_supports_sessions() { return 1; }
    """
    for hook in BOOLEANS:
        answer = subject.driver.answer(hook)
        if answer is not None and not answer.trouble and answer.status > 1:
            yield subject.finding("RB076", f"{hook} returns {answer.status}", hook=hook, expected="0 or 1")
        elif answer is not None and not answer.trouble:
            again = subject.driver.call(hook)
            if not again.trouble and again.status != answer.status:
                yield subject.finding(
                    "RB076", f"{hook} returns {answer.status}, and {again.status} when it is asked again", hook=hook
                )


@check("RB077", "Booleans print nothing", applies=DRIVER, phase="behaviour")
def booleans_are_silent(subject: Subject) -> Iterator[Finding]:
    """They are called in conditions with their output open to the terminal. A driver that prints ``true`` and
    returns 0 either way says yes whatever it prints.

    Bad::

        driver_supports_sessions() { echo false; }

    Good::

        driver_supports_sessions() { return 1; }
    """
    probe = subject.driver
    answers = [probe.answer(hook) for hook in BOOLEANS]
    told = set()
    for answer in [*answers, *(probe.available() or ())]:
        if answer is not None and (answer.stdout or answer.stderr) and answer.hook not in told:
            told.add(answer.hook)
            yield subject.finding(
                "RB077",
                f"{answer.hook} prints {said(answer.stdout + answer.stderr)}",
                hook=answer.hook,
                expected="no output: the status is the answer",
            )
