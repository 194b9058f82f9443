"""Agents: the CLI that is run, the response, the display, and the optional hooks."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from bridge.verify.model import INFO, WARNING
from bridge.verify.probe.agent import FIRST, SECOND, STATUS
from bridge.verify.recordings import BAD_LINES, compare
from bridge.verify.registry import AGENT, NOT_JUDGED, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe import AgentProbe
    from bridge.verify.subject import Subject

GLUED = re.compile(r"--?[A-Za-z][\w-]*[ \t]+-{1,2}[A-Za-z]")
INVOKE, EXTRACT, DISPLAY = "agent_invoke", "agent_extract_response", "agent_format_display"


@behaviour("RB170", "AGENT_CLI is one word", AGENT)
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


@behaviour("RB171", "The prompt reaches the CLI", AGENT, hook=INVOKE)
def prompt_reaches(subject: Subject) -> Iterator[Problem]:
    """The prompt goes to the CLI on stdin, all of it and unchanged. The path of the file may hold blanks.

    Bad:  agent_invoke() { $AGENT_CLI -p "$(head -n 1 "$1")"; }
    Good: agent_invoke() { cat "$1" | $AGENT_CLI $AGENT_ARGS; }
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation()
    if not run.started:
        why = f": {said(run.stderr.decode(errors='replace'))}" if run.stderr else ""
        yield Problem(f"{probe.cli()} is not run{why}")
    elif not run.prompt:
        yield Problem("the prompt does not arrive whole and unchanged")
    elif run.prompt != "stdin":
        how = {
            "argument": "the prompt is passed as an argument: 128 KiB are the limit",
            "path": "the path of the prompt is passed, not the prompt",
        }
        yield Problem(
            how[run.prompt],
            expected="on stdin",
            # Programs that nobody knows may take it in no other way; of cline that is known, when it prints JSON.
            severity=WARNING if probe.knows_cli() and probe.cli() != "cline" else INFO,
        )
    if run.status is None:
        yield Problem("it does not end after the CLI has ended")
    if probe.scratch.traces():
        yield Problem("code in the prompt is executed")


@behaviour("RB172", "The CLI's status is passed on", AGENT, hook=INVOKE)
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
        yield Problem(f"it returns {good} although {probe.cli()} ended with 0", expected="0")


@behaviour("RB187", "The CLI runs in the folder of the loop", AGENT, hook=INVOKE)
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


@behaviour("RB188", "Options are arguments of their own", AGENT, hook=INVOKE)
def options_apart(subject: Subject) -> Iterator[Problem]:
    """An option and its value, or two options, in one argument are an option that no CLI knows. A string of
    arguments has to be split, an array has to be expanded with ``@``.

    Bad:  AGENT_ARGS="--yes --json"; "$AGENT_CLI" "$AGENT_ARGS" < "$1"
    Good: AGENT_ARGS="--yes --json"; "$AGENT_CLI" $AGENT_ARGS < "$1"
    """
    if (probe := _invoked(subject)) is None:
        return
    glued = next((word for word in probe.invocation().argv if GLUED.match(word)), None)
    if glued is not None:
        yield Problem(f"{said(glued)} is one argument", hint="split it at its blanks")


@behaviour("RB173", "The CLI's stderr reaches people", AGENT, hook=INVOKE)
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


@behaviour("RB174", "The CLI's output is untouched", AGENT, hook=INVOKE)
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


@behaviour("RB175", "The CLI's output comes as it is printed", AGENT, hook=INVOKE)
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


def _reads_json(probe: AgentProbe) -> bool:
    """False for a program that prints plain text: then its output is the response, as it is."""
    return probe.knows_cli() or any(
        re.search(r"jq|json", body, re.IGNORECASE) for body in probe.functions().values()
    )


@behaviour("RB176", "The response is what the assistant says", AGENT, hook=EXTRACT)
def response_has_text(subject: Subject) -> Iterator[Problem]:
    """The loop looks for its completion signal in the response. It is taken here from recorded output of the CLI;
    every text of the assistant has to be in it, with its line breaks.

    Bad:  ... | jq -r 'select(.type=="message") | .text'
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble:
        return
    recording, answer, verdict = found
    if verdict.shows:
        if not recording.today:
            yield Problem(f"it knows only how older versions of {probe.cli()} print", severity=INFO)
        return
    reads = _reads_json(probe)
    quoted = [text for text in recording.texts if json.dumps(text, ensure_ascii=False) in answer.stdout]
    if quoted and reads:
        yield Problem(f"the text is given as JSON: {said(json.dumps(quoted[0]))}", hint="jq -r")
        return
    if any(text in answer.stderr for text in recording.texts):
        yield Problem("the text is on stderr", expected="on stdout")
        return
    understands = len(verdict.missing) < len(recording.texts) or probe.understands_a_line()
    if not probe.knows_cli() and not verdict.broken and not understands:
        yield Problem(f"{NOT_JUDGED}: no recorded output matches it", severity=INFO)
        return
    if recording.texts[-1] not in verdict.missing + verdict.broken and verdict.nothing_else:
        # The last message is what signals are looked for in.
        yield Problem("only the last message is given", severity=INFO)
        return
    what = "changes the blanks or line breaks of" if verdict.broken and not verdict.missing else "does not give"
    lost = (verdict.missing or verdict.broken)[0]
    yield Problem(f"on the output of {recording.name} it {what} {said(lost)}")


@behaviour("RB177", "The response is nothing else", AGENT, hook=EXTRACT)
def response_is_only_text(subject: Subject) -> Iterator[Problem]:
    """The prompt itself explains the completion signal, and tools print files that quote it. If any of that is in
    the response, the loop believes that the work is done.

    Bad:  cat "$1"
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble:
        return
    if not _reads_json(probe):
        return
    events = {line.strip() for line in found[0].lines} & {line.encode() for line in found[1].stdout.splitlines()}
    if events:
        yield Problem("it gives the events as they are", expected="their text")
        return
    if found[2].missing and not probe.knows_cli():
        return
    recording, answer, verdict = found
    tools = re.search(r"\[?tool\b|\b(?:" + "|".join(map(re.escape, recording.tools)) + r")\b", answer.stdout)
    rest = verdict.extra or (tools.group(0) if tools is not None and verdict.notices else "")
    if not (verdict.leaked or rest) and (leaking := probe.leaking()) is not None:
        recording, _, verdict = leaking
        rest = verdict.extra
    if verdict.leaked or rest:
        shown = " ".join(verdict.leaked) or rest
        yield Problem(f"on the output of {recording.name} it gives {said(shown)}")


@behaviour("RB178", "Bad lines in the output are skipped", AGENT, hook=EXTRACT)
def response_survives(subject: Subject) -> Iterator[Problem]:
    """Output holds lines that are no JSON: warnings, half an event of a run that was ended, empty lines. jq on the
    whole file stops at the first of them, and the completion signal behind it is never seen.

    Bad:  jq -r 'select(.type=="assistant") | ...' "$1"
    Good:
        while IFS= read -r line; do
            printf '%s\\n' "$line" | jq -r 'select(.type=="assistant") | ...' 2>/dev/null || true
        done <"$1"
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble or not found[2].shows:
        return
    recording = found[0]
    middle = len(recording.lines) // 2
    lines = (*BAD_LINES, *recording.lines[:middle], *BAD_LINES, *recording.lines[middle:])
    answer = probe.extract(b"".join(lines), "bad lines.log")
    verdict = compare(answer.stdout, recording)
    if answer.trouble or verdict.missing or verdict.broken:
        yield Problem("with lines that are not JSON, what follows them is lost")
    elif re.search(r"npm warn|rb\.never|a string|jq: |parse error", answer.stdout):
        yield Problem(f"bad lines show up in the response: {said(answer.stdout)}")


@behaviour("RB179", "A last line without a newline counts", AGENT, hook=EXTRACT, severity=INFO)
def last_line(subject: Subject) -> Iterator[Problem]:
    """``read`` returns a failure for a last line that no newline ends, although it has read it. CLIs that are
    ended early leave such a line.

    Bad:  while IFS= read -r line; do ...; done <"$1"
    Good: while IFS= read -r line || [[ -n "$line" ]]; do ...; done <"$1"
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble or not found[2].shows:
        return
    recording = found[0]
    answer = probe.extract(b"".join(recording.upto_last_text().lines).rstrip(b"\n"), "no newline.log")
    if not answer.trouble and recording.texts[-1] not in answer.stdout:
        yield Problem("a last line without a newline is lost")


@behaviour("RB180", "No output, no response", AGENT, hook=EXTRACT)
def empty_output(subject: Subject) -> Iterator[Problem]:
    """A CLI that fails at once leaves an empty file, or none. The response is empty then, and nothing waits.

    Bad:  echo "Response:"; ...
    Good: while IFS= read -r line; do ...; done <"$1"
    """
    probe = subject.agent
    if not probe.has(EXTRACT):
        return
    for what, answer in (
        ("an empty output", probe.extract(b"", "empty.log")),
        ("a missing file", probe.call(EXTRACT, str(probe.scratch.root / "no such file.log"))),
    ):
        if not answer.trouble and answer.stdout.strip():
            yield Problem(f"for {what} it prints {said(answer.stdout)}")


AGENT_OPTIONAL = ("agent_post_iteration", "agent_pre_iteration")


@behaviour("RB181", "The display shows what the assistant says", AGENT, hook=DISPLAY)
def display_shows(subject: Subject) -> Iterator[Problem]:
    """People follow a run by it. Thoughts and tools may be shown as well; the text must be.

    Bad:  agent_format_display() { cat >/dev/null; }
    Good:
        ... | jq -r 'select(.type=="assistant") | .message.content[] | if .type=="text" then .text else empty end'
    """
    shown = subject.agent.display_clean()
    if shown is None:
        return
    if not shown.first or not shown.last:
        what = "nothing of what is said" if not shown.first and not shown.last else "not everything that is said"
        yield Problem(f"it shows {what}")


@behaviour("RB182", "The display is line-buffered", AGENT, hook=DISPLAY)
def display_is_live(subject: Subject) -> Iterator[Problem]:
    """Each line has to be shown before the next one comes. jq, sed and grep write in blocks when they write into
    a pipe, so the display stands still for minutes.

    Bad:  agent_format_display() { jq -r '...'; }
    Good:
        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    shown = subject.agent.display_clean()
    if shown is not None and shown.first and not shown.early:
        if not subject.agent.knows_cli() and not subject.agent.shows_first_text():
            return  # of another CLI's events it knows only one that comes last
        yield Problem("text appears only when the output has ended")


@behaviour("RB183", "The display goes on after a bad line", AGENT, hook=DISPLAY)
def display_goes_on(subject: Subject) -> Iterator[Problem]:
    """The display is part of the pipe that the agent writes into. When it dies at a line that is not JSON, the
    agent gets SIGPIPE and dies with it, in the middle of its work.

    Bad:  agent_format_display() { jq --unbuffered -r '...'; }
    Good:
        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    probe = subject.agent
    clean = probe.display_clean()
    if clean is None or not (clean.first and clean.last) or not clean.early:
        return  # said by RB181 and RB182
    disturbed = probe.display_disturbed()
    if disturbed is not None and not disturbed.last:
        yield Problem("after a line that is not JSON nothing more is shown")


@behaviour("RB186", "The display ends with status 0", AGENT, hook=DISPLAY, severity=WARNING)
def display_succeeds(subject: Subject) -> Iterator[Problem]:
    """Loops run it at the end of a pipe with ``pipefail``: when it fails, a good run of the agent counts as failed
    and is repeated. A loop returns what its last command returned.

    Bad:  agent_format_display() { while IFS= read -r line; do ...; [[ -n "$text" ]] && echo "$text"; done; }
    Good:
        agent_format_display() { while IFS= read -r line; do ...; if [[ "$text" ]]; then echo "$text"; fi; done; }
    """
    probe = subject.agent
    clean = probe.display_clean()
    if clean is None or not clean.last:
        return
    disturbed = probe.display_disturbed()
    if not clean.status and disturbed is not None and disturbed.last and disturbed.status:
        yield Problem(f"it returns {disturbed.status} when the last line is not JSON", expected="0")
    if not clean.status:
        return
    short = probe.display_short()
    always = short is not None and bool(short.status)
    yield Problem(
        f"it returns {clean.status}" + ("" if always else " when the last line is nothing to show"),
        expected="0",
        severity=None if always else INFO,
    )


@behaviour("RB189", "Context figures are whole numbers", AGENT)
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


@behaviour("RB184", "Optional hooks do not fail", AGENT)
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


@behaviour("RB185", "Optional hooks keep their globals", AGENT, hook="agent_pre_iteration")
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
