"""driver_build_command: the program and the prompt."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import MISSING, Build, DriverProbe
from bridge.verify.probe.scratch import FILES
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

DRIVER = ("driver",)
HOOK = "driver_build_command"


_HARMLESS = ("env", "bash", "sh", "dash", "timeout", "gtimeout", "nice", "nohup", "stdbuf", "command", "setsid")
"""Wrappers that only start what follows them, so that it can be tried with the scripted CLI."""


def prompt_text(probe: DriverProbe, case: Build) -> str:
    """The prompt of a case, as it should reach the CLI: without trailing newlines."""
    return FILES[
        os.path.relpath(case.prompt, probe.scratch.project) if os.path.isabs(case.prompt) else case.prompt
    ].rstrip("\n")


@check("RB100", "It builds a command", applies=DRIVER, phase="behaviour")
def builds(subject: Subject) -> Iterator[Finding]:
    """With a prompt file that exists, the command is put into the array CLAUDE_CMD_ARGS, one element per
    argument, and the status is 0. A string is no command: the loop would look for one program of that name.

    Bad::

        CLAUDE_CMD_ARGS="my-cli -p $prompt"

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build())
    if answer.trouble:
        return
    if answer.status:
        why = f": {said(answer.stderr)}" if answer.stderr else ""
        yield subject.finding("RB100", f"it returns {answer.status} although the prompt exists{why}", hook=HOOK)
    elif not isinstance(answer.value, list):
        yield subject.finding("RB100", "CLAUDE_CMD_ARGS is not an indexed array", hook=HOOK)
    elif not answer.value:
        yield subject.finding("RB100", "CLAUDE_CMD_ARGS is empty", hook=HOOK, hint="is it local by mistake?")
    elif len(answer.value) == 1 and re.search(r"\s", answer.value[0]):
        yield subject.finding("RB100", f"CLAUDE_CMD_ARGS is one string, {said(answer.value[0])}", hook=HOOK)


@check("RB101", "A missing prompt is a failure", applies=DRIVER, phase="behaviour")
def missing_prompt_fails(subject: Subject) -> Iterator[Finding]:
    """The status tells the loop that there is nothing to run. Without it an agent is started, and billed, with
    an empty prompt or with the name of a file that does not exist.

    Bad::

        prompt=$(cat "$1" 2>/dev/null)

    Good::

        if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if answer.ok:
        yield subject.finding(
            "RB101", "it returns 0 although the prompt file does not exist", hook=HOOK, expected="1"
        )


@check("RB102", "A missing prompt is reported", applies=DRIVER, phase="behaviour", severity=Severity.INFO)
def missing_prompt_message(subject: Subject) -> Iterator[Finding]:
    """A status alone leaves people to guess. One line on stderr that names the file is enough.

    Bad::

        [[ -f "$1" ]] || return 1

    Good::

        if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if answer.trouble or answer.ok:
        return
    if not answer.stderr.strip():
        where = " (it is on stdout)" if answer.stdout.strip() else ""
        yield subject.finding("RB102", f"nothing on stderr says that the prompt is missing{where}", hook=HOOK)


@check("RB103", "A failure leaves no command", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def failure_leaves_no_command(subject: Subject) -> Iterator[Finding]:
    """A host that overlooks the status runs what it finds in the array.

    Bad::

        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
        [[ -f "$1" ]] || return 1

    Good::

        [[ -f "$1" ]] || return 1
        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if not answer.trouble and answer.status and isinstance(answer.value, list) and answer.value:
        # A beginning, such as the CLI alone, can't be taken for the whole command.
        whole = any(MISSING in argument for argument in answer.value)
        yield subject.finding(
            "RB103", f"it fails, but leaves the command {said(' '.join(answer.value))}", hook=HOOK,
            severity=None if whole else Severity.INFO,
        )  # fmt: skip


@check("RB104", "The command begins with the CLI", applies=DRIVER, phase="behaviour")
def begins_with_cli(subject: Subject) -> Iterator[Finding]:
    """The first element is the program that is started: what ``driver_cli_binary`` prints, or a wrapper that is
    followed by it. Anything else is not found, or is another program.

    Bad::

        CLAUDE_CMD_ARGS=("-p" "$prompt")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if not argv or not probe.cli():
        return
    base = os.path.basename(probe.cli())
    if os.path.basename(argv[0]) == base:
        return
    text = prompt_text(probe, Build())
    if re.match(r"[A-Za-z_]\w*=", argv[0]):
        yield subject.finding(
            "RB104", f"it begins with {said(argv[0])}, which is no program", hook=HOOK,
            expected=f"env {said(argv[0])} {probe.cli()}, or the setting exported",
        )  # fmt: skip
        return
    followed = any(os.path.basename(a) == base for a in argv[1:] if text not in a)
    if not followed and len(argv) > 2 and re.fullmatch(r"-\w*c", argv[1]):
        followed = re.search(rf"(?<![\w-]){re.escape(base)}(?![\w-])", argv[2]) is not None
    if not argv[0] or argv[0].startswith("-") or not followed or text in argv[0]:
        yield subject.finding(
            "RB104",
            f"it begins with {said(argv[0])}",
            hook=HOOK,
            expected=f"{probe.cli()}, or a wrapper followed by it",
        )
    elif os.path.basename(argv[0]) in _HARMLESS and not probe.arrives(argv, text, Build().prompt):
        yield subject.finding(
            "RB104", f"{said(shlex.join(argv[:3]))} does not start {probe.cli()}, or not with the prompt",
            hook=HOOK, hint='in `sh -c CODE`, what follows is $0, $1 and so on',
        )  # fmt: skip
    elif shutil.which(argv[0], path=probe.scratch.path) is None:
        yield subject.finding(
            "RB104", f"the wrapper {said(argv[0])} is not installed here", hook=HOOK, severity=Severity.INFO
        )
