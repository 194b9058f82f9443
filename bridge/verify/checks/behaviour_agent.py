"""Agents: the CLI that is run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe.agent import FIRST, SECOND, STATUS
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.probe import AgentProbe
    from bridge.verify.subject import Subject

__all__: list[str] = []

AGENT = ("agent",)
GLUED = re.compile(r"--?[A-Za-z][\w-]*[ \t]+-{1,2}[A-Za-z]")
INVOKE, EXTRACT, DISPLAY = "agent_invoke", "agent_extract_response", "agent_format_display"


@check("RB170", "AGENT_CLI is one word", applies=AGENT, phase="behaviour")
def agent_cli(subject: Subject) -> Iterator[Finding]:
    """The loop looks it up with ``command -v`` before it starts. Arguments belong into a variable of their own.

    Bad::

        AGENT_CLI="my-cli --json"

    Good::

        AGENT_CLI="my-cli"
        AGENT_ARGS="--json"
    """
    cli = subject.agent.cli()
    if cli is None or not cli.strip():
        yield subject.finding("RB170", f"AGENT_CLI is {'not set' if cli is None else 'empty'} after sourcing")
    elif len(cli.split()) != 1 or cli != cli.strip():
        yield subject.finding("RB170", f"AGENT_CLI is {said(cli)}", expected="one word")


def _invoked(subject: Subject) -> AgentProbe | None:
    probe = subject.agent
    return probe if probe.has(INVOKE) and (probe.cli() or "").strip() else None


@check("RB171", "The prompt reaches the CLI", applies=AGENT, phase="behaviour")
def prompt_reaches(subject: Subject) -> Iterator[Finding]:
    """The prompt goes to the CLI on stdin, all of it and unchanged. The path of the file may hold blanks.

    Bad::

        agent_invoke() { $AGENT_CLI -p "$(head -n 1 "$1")"; }

    Good::

        agent_invoke() { cat "$1" | $AGENT_CLI $AGENT_ARGS; }
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if not run.started:
        why = f": {said(run.stderr.decode(errors='replace'))}" if run.stderr else ""
        yield subject.finding("RB171", f"{probe.cli()} is not run{why}", hook=INVOKE)
    elif not run.prompt:
        yield subject.finding("RB171", "the prompt does not arrive whole and unchanged", hook=INVOKE)
    elif run.prompt != "stdin":
        how = {
            "argument": "the prompt is passed as an argument: 128 KiB are the limit",
            "path": "the path of the prompt is passed, not the prompt",
        }
        yield subject.finding(
            "RB171", how[run.prompt], hook=INVOKE, expected="on stdin",
            # Programs that nobody knows may take it in no other way; of cline that is known, when it prints JSON.
            severity=Severity.WARNING if probe.knows_cli() and probe.cli() != "cline" else Severity.INFO,
        )  # fmt: skip
    if run.status is None:
        yield subject.finding("RB171", "it does not end after the CLI has ended", hook=INVOKE)
    if probe.scratch.traces():
        yield subject.finding("RB171", "code in the prompt is executed", hook=INVOKE)


@check("RB172", "The CLI's status comes back", applies=AGENT, phase="behaviour")
def status_comes_back(subject: Subject) -> Iterator[Finding]:
    """The loop knows only from the status that a run has failed: that there is no network, or no login. A run
    that fails and counts as good is repeated until the iterations are used up.

    Bad::

        cat "$1" | $AGENT_CLI || true

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if run.started and run.status == 0:
        yield subject.finding(
            "RB172", f"it returns 0 although {probe.cli()} ended with {STATUS}", hook=INVOKE, expected=str(STATUS)
        )
    elif run.started and run.status is not None and (good := probe.good_status()):
        yield subject.finding(
            "RB172",
            f"it returns {good} although {probe.cli()} ended with 0",
            hook=INVOKE,
            expected="0",
        )


@check("RB187", "The CLI runs in the folder of the loop", applies=AGENT, phase="behaviour")
def folder_is_kept(subject: Subject) -> Iterator[Finding]:
    """The loop is started in the project, and the agent is to work on that project.

    Bad::

        agent_invoke() { cd "$HOME" && $AGENT_CLI < "$1"; }

    Good::

        agent_invoke() { $AGENT_CLI < "$1"; }
    """
    if (probe := _invoked(subject)) is None:
        return
    folder = probe.invocation().folder
    if folder and os.path.realpath(folder) != os.path.realpath(probe.scratch.project):
        shown = os.path.relpath(folder, os.path.realpath(probe.scratch.project))
        yield subject.finding("RB187", f"{probe.cli()} runs in {said(shown)}", hook=INVOKE, expected="the project")


@check("RB188", "Options are arguments of their own", applies=AGENT, phase="behaviour")
def options_apart(subject: Subject) -> Iterator[Finding]:
    """An option and its value, or two options, in one argument are an option that no CLI knows. A string of
    arguments has to be split, an array has to be expanded with ``@``.

    Bad::

        AGENT_ARGS="--yes --json"; "$AGENT_CLI" "$AGENT_ARGS" < "$1"

    Good::

        AGENT_ARGS="--yes --json"; "$AGENT_CLI" $AGENT_ARGS < "$1"
    """
    if (probe := _invoked(subject)) is None:
        return
    glued = next((word for word in probe.invocation().argv if GLUED.match(word)), None)
    if glued is not None:
        yield subject.finding("RB188", f"{said(glued)} is one argument", hook=INVOKE, hint="split it at its blanks")


@check("RB173", "The CLI's stderr reaches people", applies=AGENT, phase="behaviour")
def stderr_reaches(subject: Subject) -> Iterator[Finding]:
    """Login failures and crashes are on stderr, and people have to see them. Known noise may be filtered out of
    it; a line that is no noise may not.

    Bad::

        cat "$1" | $AGENT_CLI 2>/dev/null

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if run.started and run.status is not None and b"rb: a line for people" not in run.stderr:
        where = " but on stdout" if b"rb: a line for people" in run.stdout else ""
        yield subject.finding("RB173", f"the CLI's stderr is not on stderr{where}", hook=INVOKE)


@check("RB174", "The CLI's output is untouched", applies=AGENT, phase="behaviour")
def stdout_untouched(subject: Subject) -> Iterator[Finding]:
    """The loop keeps the output, looks for signals in it and gives it to the other two functions. They expect it
    as the CLI prints it; lines that are no JSON tell people what went wrong.

    Bad::

        cat "$1" | $AGENT_CLI | grep '^{'

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    out = run.stdout.replace(b"rb: a line for people\n", b"")
    if run.started and run.status is not None and out != FIRST + SECOND:
        lacking = (
            "something is missing from it" if len(out) < len(FIRST + SECOND) else "something was added or changed"
        )
        yield subject.finding(
            "RB174", f"the output is not what the CLI prints: {lacking}", hook=INVOKE,
            # A host that wraps every line is odd, but may know what it does; lost lines are lost.
            severity=None,
        )  # fmt: skip


@check("RB175", "The CLI's output comes as it is printed", applies=AGENT, phase="behaviour")
def output_is_unbuffered(subject: Subject) -> Iterator[Finding]:
    """A run takes half an hour, and people watch it. Output that is collected first, or piped through a program
    that writes in blocks, appears when it is over.

    Bad::

        local all; all=$(cat "$1" | $AGENT_CLI); echo "$all"

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if run.started and not run.early and FIRST.strip() in run.stdout:
        yield subject.finding("RB175", "the output is held back until the CLI has ended", hook=INVOKE)
