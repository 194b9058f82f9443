"""Agents: the CLI that is run, how it is given the prompt, and what becomes of its status and outputs."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.verify.checks import because, excerpt
from bridge.verify.command_line import is_switch, may_be_option
from bridge.verify.findings import INFO, WARNING, Aspect, Harm
from bridge.verify.probe.agent_runs import FIRST, PROMPT_FILE, SECOND, STATUS
from bridge.verify.probe.far import WRAPPERS, why_unjudged
from bridge.verify.registry import CannotTell, Problem, Settled, agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.agent import AgentProbe
    from bridge.verify.probe.agent_runs import InvokeRun

INVOKE = "agent_invoke"


def _has_cli(probe: AgentProbe) -> bool:
    return probe.has(INVOKE) and bool((probe.cli() or "").strip())


def _invoked(probe: AgentProbe) -> InvokeRun:
    """agent_invoke as it was run."""
    if not _has_cli(probe):
        raise Settled
    return probe.invocation()


def _ended(probe: AgentProbe) -> InvokeRun:
    """The same, where the CLI was started and came back."""
    run = _invoked(probe)
    if not run.started or run.status is None:
        raise Settled
    return run


@agent("RB171", "The prompt reaches the CLI", Harm.WRONG_PROMPT, hook=INVOKE)
def prompt_reaches(probe: AgentProbe) -> Iterator[Problem]:
    """The prompt goes to the CLI on stdin, all of it and unchanged. The path of the file may hold blanks.

    Warning: as an argument: 128 KiB are the limit.
    Info: of a CLI that may take it in no other way.

    Bad:  agent_invoke() { $AGENT_CLI -p "$(head -n 1 "$1")"; }
    Good: agent_invoke() { cat "$1" | $AGENT_CLI $AGENT_ARGS; }
    """
    run = _invoked(probe)
    if not run.started:
        yield Problem(f"{probe.cli()} is not run{because(run.stderr.decode(errors='replace'))}")
    elif run.unfollowed:
        raise CannotTell(why_unjudged(run.unfollowed))
    elif not run.prompt:
        yield Problem("the prompt does not arrive whole and unchanged")
    elif run.prompt != "stdin" and not (
        probe.knows_cli() and run.prompt == "argument" and probe.takes_long_prompts()
    ):
        how = {
            "argument": "the prompt is passed as an argument: 128 KiB are the limit",
            "path": "the path of the prompt is passed, not the prompt",
        }
        # Programs that nobody knows may take it in no other way; of cline that is known, when it prints JSON.
        # But a path without an option is a word like any other.
        cli = find_cli(probe.cli() or "")
        only_way = cli is not None and cli.prompt_only_as_argument
        certain = (probe.knows_cli() and not only_way) or _is_only_a_word(run.argv)
        yield Problem(how[run.prompt], expected="on stdin", severity=WARNING if certain else INFO)
    if run.status is None:
        yield Problem("it does not end after the CLI has ended")
    if probe.scratch.traces():
        yield Problem("code in the prompt is executed")


def _is_only_a_word(argv: tuple[str, ...]) -> bool:
    """Whether the path of the prompt is an argument behind a switch, so that it is no value of an option."""
    at = next((at for at, word in enumerate(argv) if word.endswith(PROMPT_FILE)), 0)
    return at > 0 and not may_be_option(argv[at]) and "@" not in argv[at] and is_switch(argv[at - 1])


@agent("RB172", "The CLI's status is passed on", Harm.WRONG_STATUS, hook=INVOKE)
def status_comes_back(probe: AgentProbe) -> Iterator[Problem]:
    """The loop knows only from the status that a run has failed: that there is no network, or no login. A run
    that fails and counts as good is repeated until the iterations are used up.

    Bad:  cat "$1" | $AGENT_CLI || true
    Good: cat "$1" | $AGENT_CLI
    """
    run = _ended(probe)
    if run.status == 0:
        yield Problem(f"it returns 0 although {probe.cli()} ended with {STATUS}", expected=str(STATUS))
    elif good := probe.good_status():
        about = (Aspect.GOOD_RUN, Aspect.SIGPIPE) if good == 128 + signal.SIGPIPE else (Aspect.GOOD_RUN,)
        yield Problem(f"it returns {good} although {probe.cli()} ended with 0", expected="0", about=about)


@agent("RB190", "The CLI prints what the agent reads", Harm.WRONG_RESPONSE, hook=INVOKE)
def prints_what_is_read(probe: AgentProbe) -> Iterator[Problem]:
    """Most CLIs print text unless they are asked for JSON. An agent that looks for events in text finds no answer,
    and shows none.

    Bad:  AGENT_CLI="codex"; agent_invoke() { codex exec - < "$1"; }            # and jq in agent_extract_response
    Good: AGENT_CLI="codex"; agent_invoke() { codex exec --json - < "$1"; }
    """
    if _has_cli(probe) and probe.asks_for_text():
        yield Problem(f"{probe.program()} is not asked for JSON, and the response is read from its JSON")


@agent("RB187", "The CLI runs in the folder of the loop", Harm.WRONG_PROMPT, hook=INVOKE, expected="the project")
def folder_is_kept(probe: AgentProbe) -> Iterator[Problem]:
    """The loop is started in the project, and the agent is to work on that project.

    Bad:  agent_invoke() { cd "$HOME" && $AGENT_CLI < "$1"; }
    Good: agent_invoke() { $AGENT_CLI < "$1"; }
    """
    run, project = _invoked(probe), os.path.realpath(probe.scratch.project)
    if run.folder and os.path.realpath(run.folder) != project:
        yield Problem(f"{probe.cli()} runs in {excerpt(os.path.relpath(run.folder, project))}")


_GLUED = re.compile(r"--?[A-Za-z][\w-]*[ \t]+-{1,2}[A-Za-z]")


@agent("RB188", "Options are arguments of their own", Harm.WRONG_COMMAND, hook=INVOKE)
def options_apart(probe: AgentProbe) -> Iterator[Problem]:
    """An option and its value, or two options, in one argument are an option that no CLI knows. A string of
    arguments has to be split, an array has to be expanded with ``@``.

    Bad:  AGENT_ARGS="--yes --json"; "$AGENT_CLI" "$AGENT_ARGS" < "$1"
    Good: AGENT_ARGS="--yes --json"; "$AGENT_CLI" $AGENT_ARGS < "$1"
    """
    run = _invoked(probe)
    ours = probe.shell.get("AGENT_ARGS") if os.path.basename(probe.cli() or "") not in WRAPPERS else None
    several = isinstance(ours, str) and re.search(r"\S\s+-", ours) is not None
    glued = next((word for word in run.argv if _GLUED.match(word) or (several and word == ours)), None)
    if glued is not None:
        yield Problem(f"{excerpt(glued)} is one argument", hint="split it at its blanks")


_FOR_PEOPLE = b"rb: a line for people"


@agent(
    "RB173",
    "The CLI's stderr reaches people",
    Harm.UNEXPLAINED,
    hook=INVOKE,
    expected="stderr as the loop gave it",
)
def stderr_reaches(probe: AgentProbe) -> Iterator[Problem]:
    """Login failures and crashes are on stderr, and people have to see them. Known noise may be filtered out of
    it; a line that is no noise may not.

    Bad:  cat "$1" | $AGENT_CLI 2>/dev/null
    Good: cat "$1" | $AGENT_CLI
    """
    run = _ended(probe)
    if _FOR_PEOPLE not in run.stderr:
        where = " but on stdout" if _FOR_PEOPLE in run.stdout else ""
        yield Problem(f"the CLI's stderr is not on stderr{where}", about=(Aspect.STDERR,))


@agent("RB174", "The CLI's output is untouched", Harm.WRONG_RESPONSE, hook=INVOKE)
def stdout_untouched(probe: AgentProbe) -> Iterator[Problem]:
    """The loop keeps the output, looks for signals in it and gives it to the other two functions. They expect it
    as the CLI prints it; lines that are no JSON tell people what went wrong.

    Bad:  cat "$1" | $AGENT_CLI | grep '^{'
    Good: cat "$1" | $AGENT_CLI
    """
    run = _ended(probe)
    printed, out = FIRST + SECOND, run.stdout.replace(_FOR_PEOPLE + b"\n", b"")
    # A CLI that prints plain text may be put in events of the agent's own.
    if out != printed and not probe.unwraps(out):
        what = "something is missing from it" if len(out) < len(printed) else "something was added or changed"
        yield Problem(f"the output is not what the CLI prints: {what}")


@agent("RB175", "The CLI's output comes as it is printed", Harm.WRONG_DISPLAY, hook=INVOKE)
def output_is_unbuffered(probe: AgentProbe) -> Iterator[Problem]:
    """A run takes half an hour, and people watch it. Output that is collected first, or piped through a program
    that writes in blocks, appears when it is over.

    Bad:  local all; all=$(cat "$1" | $AGENT_CLI); echo "$all"
    Good: cat "$1" | $AGENT_CLI
    """
    run = _invoked(probe)
    if run.started and not run.early and FIRST.strip() in run.stdout:
        yield Problem("the output is withheld until the CLI has ended")
