"""Agents: the CLI that is run, the response, the display, and the optional hooks."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from bridge.clis import find_cli
from bridge.verify.command_line import is_switch, may_be_option
from bridge.verify.harms import (
    ENDS_THE_LOOP,
    NO_EFFECT,
    UNEXPLAINED,
    WRONG_COMMAND,
    WRONG_DISPLAY,
    WRONG_PROMPT,
    WRONG_RESPONSE,
    WRONG_STATUS,
)
from bridge.verify.model import INFO, WARNING, Aspect
from bridge.verify.probe.agent_runs import FIRST, PROMPT_FILE, SECOND, STATUS
from bridge.verify.probe.far import WRAPPERS, why_unjudged
from bridge.verify.registry import AGENT, CannotTell, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.agent import AgentProbe
    from bridge.verify.subject import Subject

GLUED = re.compile(r"--?[A-Za-z][\w-]*[ \t]+-{1,2}[A-Za-z]")
INVOKE, EXTRACT, DISPLAY = "agent_invoke", "agent_extract_response", "agent_format_display"


@behaviour("RB170", "AGENT_CLI is one word", AGENT, harm=ENDS_THE_LOOP)
def agent_cli(subject: Subject) -> Iterator[Problem]:
    """The loop looks it up with ``command -v`` before it starts. Arguments belong into a variable of their own.

    Bad:  AGENT_CLI="my-cli --json"
    Good:
        AGENT_CLI="my-cli"
        AGENT_ARGS="--json"
    """
    cli = subject.agent.cli()
    if cli is None or not cli.strip():
        yield Problem(f"AGENT_CLI is {'not set' if cli is None else 'empty'} after sourcing")
    elif len(cli.split()) != 1 or cli != cli.strip():
        yield Problem(f"AGENT_CLI is {said(cli)}", expected="one word")


def _invoked(subject: Subject) -> AgentProbe | None:
    probe = subject.agent
    return probe if probe.has(INVOKE) and (probe.cli() or "").strip() else None


@behaviour("RB171", "The prompt reaches the CLI", AGENT, hook=INVOKE, harm=WRONG_PROMPT)
def prompt_reaches(subject: Subject) -> Iterator[Problem]:
    """The prompt goes to the CLI on stdin, all of it and unchanged. The path of the file may hold blanks.

    Warning: as an argument: 128 KiB are the limit.
    Info: of a CLI that may take it in no other way.

    Bad:  agent_invoke() { $AGENT_CLI -p "$(head -n 1 "$1")"; }
    Good: agent_invoke() { cat "$1" | $AGENT_CLI $AGENT_ARGS; }
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if not run.started:
        why = f": {said(run.stderr.decode(errors='replace'))}" if run.stderr else ""
        yield Problem(f"{probe.cli()} is not run{why}")
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


@behaviour("RB172", "The CLI's status is passed on", AGENT, hook=INVOKE, harm=WRONG_STATUS)
def status_comes_back(subject: Subject) -> Iterator[Problem]:
    """The loop knows only from the status that a run has failed: that there is no network, or no login. A run
    that fails and counts as good is repeated until the iterations are used up.

    Bad:  cat "$1" | $AGENT_CLI || true
    Good: cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if run.started and run.status == 0:
        yield Problem(f"it returns 0 although {probe.cli()} ended with {STATUS}", expected=str(STATUS))
    elif run.started and run.status is not None and (good := probe.good_status()):
        about = (Aspect.GOOD_RUN, Aspect.SIGPIPE) if good == 128 + signal.SIGPIPE else (Aspect.GOOD_RUN,)
        yield Problem(f"it returns {good} although {probe.cli()} ended with 0", expected="0", about=about)


@behaviour("RB190", "The CLI prints what the agent reads", AGENT, hook=INVOKE, harm=WRONG_RESPONSE)
def prints_what_is_read(subject: Subject) -> Iterator[Problem]:
    """Most CLIs print text unless they are asked for JSON. An agent that looks for events in text finds no answer,
    and shows none.

    Bad:  AGENT_CLI="codex"; agent_invoke() { codex exec - < "$1"; }            # and jq in agent_extract_response
    Good: AGENT_CLI="codex"; agent_invoke() { codex exec --json - < "$1"; }
    """
    if (probe := _invoked(subject)) is not None and probe.asks_for_text():
        yield Problem(f"{probe.program()} is not asked for JSON, and the response is read from its JSON")


@behaviour("RB187", "The CLI runs in the folder of the loop", AGENT, hook=INVOKE, harm=WRONG_PROMPT)
def folder_is_kept(subject: Subject) -> Iterator[Problem]:
    """The loop is started in the project, and the agent is to work on that project.

    Bad:  agent_invoke() { cd "$HOME" && $AGENT_CLI < "$1"; }
    Good: agent_invoke() { $AGENT_CLI < "$1"; }
    """
    if (probe := _invoked(subject)) is None:
        return
    folder = probe.invocation().folder
    if folder and os.path.realpath(folder) != os.path.realpath(probe.scratch.project):
        shown = os.path.relpath(folder, os.path.realpath(probe.scratch.project))
        yield Problem(f"{probe.cli()} runs in {said(shown)}", expected="the project")


@behaviour("RB188", "Options are arguments of their own", AGENT, hook=INVOKE, harm=WRONG_COMMAND)
def options_apart(subject: Subject) -> Iterator[Problem]:
    """An option and its value, or two options, in one argument are an option that no CLI knows. A string of
    arguments has to be split, an array has to be expanded with ``@``.

    Bad:  AGENT_ARGS="--yes --json"; "$AGENT_CLI" "$AGENT_ARGS" < "$1"
    Good: AGENT_ARGS="--yes --json"; "$AGENT_CLI" $AGENT_ARGS < "$1"
    """
    if (probe := _invoked(subject)) is None:
        return
    ours = probe.shell.get("AGENT_ARGS") if os.path.basename(probe.cli() or "") not in WRAPPERS else None
    several = isinstance(ours, str) and re.search(r"\S\s+-", ours) is not None
    words = probe.invocation().argv
    glued = next((word for word in words if GLUED.match(word) or (several and word == ours)), None)
    if glued is not None:
        yield Problem(f"{said(glued)} is one argument", hint="split it at its blanks")


@behaviour("RB173", "The CLI's stderr reaches people", AGENT, hook=INVOKE, harm=UNEXPLAINED)
def stderr_reaches(subject: Subject) -> Iterator[Problem]:
    """Login failures and crashes are on stderr, and people have to see them. Known noise may be filtered out of
    it; a line that is no noise may not.

    Bad:  cat "$1" | $AGENT_CLI 2>/dev/null
    Good: cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if run.started and run.status is not None and b"rb: a line for people" not in run.stderr:
        where = " but on stdout" if b"rb: a line for people" in run.stdout else ""
        yield Problem(f"the CLI's stderr is not on stderr{where}")


@behaviour("RB174", "The CLI's output is untouched", AGENT, hook=INVOKE, harm=WRONG_RESPONSE)
def stdout_untouched(subject: Subject) -> Iterator[Problem]:
    """The loop keeps the output, looks for signals in it and gives it to the other two functions. They expect it
    as the CLI prints it; lines that are no JSON tell people what went wrong.

    Bad:  cat "$1" | $AGENT_CLI | grep '^{'
    Good: cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    out = run.stdout.replace(b"rb: a line for people\n", b"")
    if run.started and run.status is not None and out != FIRST + SECOND:
        if probe.unwraps(out):
            return  # a CLI that prints plain text, in events of the agent's own
        lacking = (
            "something is missing from it" if len(out) < len(FIRST + SECOND) else "something was added or changed"
        )
        yield Problem(f"the output is not what the CLI prints: {lacking}")


@behaviour("RB175", "The CLI's output comes as it is printed", AGENT, hook=INVOKE, harm=WRONG_DISPLAY)
def output_is_unbuffered(subject: Subject) -> Iterator[Problem]:
    """A run takes half an hour, and people watch it. Output that is collected first, or piped through a program
    that writes in blocks, appears when it is over.

    Bad:  local all; all=$(cat "$1" | $AGENT_CLI); echo "$all"
    Good: cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if run.started and not run.early and FIRST.strip() in run.stdout:
        yield Problem("the output is withheld until the CLI has ended")


@behaviour("RB189", "Context figures are whole numbers", AGENT, harm=ENDS_THE_LOOP)
def context_figures(subject: Subject) -> Iterator[Problem]:
    """The loop calculates with ``_ITER_CONTEXT_PCT`` and ``_ITER_CONTEXT_MAX``. bash knows whole numbers only: with
    anything else the original ends at once, without its summary.

    Bad:  _ITER_CONTEXT_PCT="12.5%"
    Good: _ITER_CONTEXT_PCT=$((used * 100 / max))
    """
    probe = subject.agent
    probe.optional()  # they set them
    for name in ("_ITER_CONTEXT_PCT", "_ITER_CONTEXT_USED", "_ITER_CONTEXT_MAX"):
        value = probe.shell.get(name, "")
        if not isinstance(value, str) or not re.fullmatch(r"\d*", value):
            writer = next(
                (
                    h
                    for h in ("agent_post_iteration", "agent_pre_iteration")
                    if name in probe.functions().get(h, "")
                ),
                None,
            )
            yield Problem(f"{name} is {said(str(value))}", hook=writer, expected="digits, or nothing")


@behaviour("RB184", "Optional hooks do not fail", AGENT, harm=ENDS_THE_LOOP)
def optional_hooks(subject: Subject) -> Iterator[Problem]:
    """They are called before and after each run, whether it went well or not, with ``set -e`` in force.

    Bad:  agent_post_iteration() { [[ -n "${_BALANCE_BEFORE:-}" ]] && log "..."; }
    Good: agent_post_iteration() { if [[ -n "${_BALANCE_BEFORE:-}" ]]; then log "..."; fi; }
    """
    probe = subject.agent
    answers = [answer for answer, _ in probe.optional()]
    post = probe.cold_post()
    for answer in (*answers, *((post,) if post is not None else ())):
        if not answer.trouble and answer.status:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            when = " when nothing ran before it" if answer is post else ""
            yield Problem(f"{answer.hook} returns {answer.status}{when}{why}", hook=answer.hook)
            return


@behaviour("RB185", "Optional hooks keep their globals", AGENT, hook="agent_pre_iteration", harm=NO_EFFECT)
def optional_hooks_keep_globals(subject: Subject) -> Iterator[Problem]:
    """What the first hook notes, such as a balance, the second one reads. So it has to be a global: not local, and
    not set in a subshell.

    Bad:  agent_pre_iteration() { local _BEFORE; _BEFORE=$(my-cli usage); }
    Good: agent_pre_iteration() { _BEFORE=$(my-cli usage); }
    """
    probe = subject.agent
    pre, post = (probe.functions().get(f"agent_{when}_iteration", "") for when in ("pre", "post"))
    if not pre or not post or not probe.optional() or probe.optional()[0][0].trouble:
        return
    kept = probe.optional()[0][1]
    assigned = set(re.findall(r"\b([A-Za-z_]\w*)\+?=", pre))
    declared = re.findall(r"\b(?:local|declare|typeset)\b([^;\n]*)", post)
    own = {name for words in declared for name in re.findall(r"(?<![\w$\"'{])([A-Za-z_]\w*)", _no_values(words))}
    for name in sorted(assigned - own - kept):
        hidden = re.search(rf"\b(?:local|declare|typeset)\b[^;\n]*\b{name}\b", pre) or re.match(
            r"\S+ \(\) *\n\{? *\n?\s*\(", pre
        )
        if hidden and re.search(rf"\$\{{?{name}\b", post):
            yield Problem(f"{name} is gone when agent_post_iteration reads it")


def _no_values(words: str) -> str:
    """The names of a declaration, without what they are given: that may well be the global."""
    return re.sub(r"""=(?:"(?:\\.|[^"])*"|\$\(\(.*?\)\)|'[^']*'|[^\s"'])*""", " ", words)
