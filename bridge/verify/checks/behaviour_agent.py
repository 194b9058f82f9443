"""Agents: the CLI that is run, the response that is taken from its output, and what is shown meanwhile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import AgentProbe, agent_probe
from bridge.verify.probe.agent import BAD_LINES, FIRST, SECOND, STATUS
from bridge.verify.probe.families import judge
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding

__all__: list[str] = []

AGENT = ("agent",)
INVOKE, EXTRACT, DISPLAY = "agent_invoke", "agent_extract_response", "agent_format_display"


@check("RB170", "AGENT_CLI is one word", applies=AGENT, phase="behaviour")
def agent_cli(subject: Any) -> Iterator[Finding]:
    """The loop looks it up with ``command -v`` before it starts. Arguments belong into a variable of their own.

    Bad::

        AGENT_CLI="my-cli --json"

    Good::

        AGENT_CLI="my-cli"
        AGENT_ARGS="--json"
    """
    cli = agent_probe(subject).cli
    if cli is None or not cli.strip():
        yield subject.finding("RB170", f"AGENT_CLI is {'not set' if cli is None else 'empty'} after sourcing")
    elif len(cli.split()) != 1 or cli != cli.strip():
        yield subject.finding("RB170", f"AGENT_CLI is {said(cli)}", expected="one word")


def _invoked(subject: Any) -> AgentProbe | None:
    probe = agent_probe(subject)
    return probe if probe.has(INVOKE) and (probe.cli or "").strip() else None


@check("RB171", "The prompt reaches the CLI", applies=AGENT, phase="behaviour")
def prompt_reaches(subject: Any) -> Iterator[Finding]:
    """The prompt goes to the CLI on stdin, all of it and unchanged. The path of the file may hold blanks.

    Bad::

        agent_invoke() { $AGENT_CLI -p "$(head -n 1 "$1")"; }

    Good::

        agent_invoke() { cat "$1" | $AGENT_CLI $AGENT_ARGS; }
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation
    if not run.started:
        why = f": {said(run.stderr.decode(errors='replace'))}" if run.stderr else ""
        yield subject.finding("RB171", f"{probe.cli} is not run{why}", hook=INVOKE)
    elif not run.prompt:
        yield subject.finding("RB171", "the prompt does not arrive whole and unchanged", hook=INVOKE)
    elif run.prompt == "argument":
        yield subject.finding(
            "RB171", "the prompt is passed as an argument: 128 KiB are the limit", hook=INVOKE,
            expected="on stdin", severity=Severity.INFO,
        )  # fmt: skip
    if run.status is None:
        yield subject.finding("RB171", "it does not end after the CLI has ended", hook=INVOKE)
    if probe.scratch.traces():
        yield subject.finding("RB171", "code in the prompt is executed", hook=INVOKE)


@check("RB172", "The CLI's status comes back", applies=AGENT, phase="behaviour")
def status_comes_back(subject: Any) -> Iterator[Finding]:
    """The loop knows only from the status that a run has failed: that there is no network, or no login. A run
    that fails and counts as good is repeated until the iterations are used up.

    Bad::

        cat "$1" | $AGENT_CLI || true

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation
    if run.started and run.status == 0:
        yield subject.finding(
            "RB172", f"it returns 0 although {probe.cli} ended with {STATUS}", hook=INVOKE, expected=str(STATUS)
        )


@check("RB173", "The CLI's stderr reaches people", applies=AGENT, phase="behaviour")
def stderr_reaches(subject: Any) -> Iterator[Finding]:
    """Login failures and crashes are on stderr, and people have to see them. Known noise may be filtered out of
    it; a line that is no noise may not.

    Bad::

        cat "$1" | $AGENT_CLI 2>/dev/null

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation
    if run.started and run.status is not None and b"rb: a line for people" not in run.stderr:
        where = " but on stdout" if b"rb: a line for people" in run.stdout else ""
        yield subject.finding("RB173", f"the CLI's stderr is not on stderr{where}", hook=INVOKE)


@check("RB174", "The CLI's output is untouched", applies=AGENT, phase="behaviour")
def stdout_untouched(subject: Any) -> Iterator[Finding]:
    """The loop keeps the output, looks for signals in it and gives it to the other two functions. They expect it
    as the CLI prints it; lines that are no JSON tell people what went wrong.

    Bad::

        cat "$1" | $AGENT_CLI | grep '^{'

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation
    out = run.stdout.replace(b"rb: a line for people\n", b"")
    if run.started and run.status is not None and out != FIRST + SECOND:
        lacking = "something is missing from it" if len(out) < len(FIRST + SECOND) else "something was added or changed"
        yield subject.finding(
            "RB174", f"the output is not what the CLI prints: {lacking}", hook=INVOKE,
            # A host that wraps every line is odd, but may know what it does; lost lines are lost.
            severity=None,
        )  # fmt: skip


@check("RB175", "The CLI's output comes as it is printed", applies=AGENT, phase="behaviour")
def output_is_unbuffered(subject: Any) -> Iterator[Finding]:
    """A run takes half an hour, and people watch it. Output that is collected first, or piped through a program
    that writes in blocks, appears when it is over.

    Bad::

        local all; all=$(cat "$1" | $AGENT_CLI); echo "$all"

    Good::

        cat "$1" | $AGENT_CLI
    """
    if (probe := _invoked(subject)) is None:
        return
    run = probe.invocation
    if run.started and not run.early and FIRST.strip() in run.stdout:
        yield subject.finding("RB175", "the output is held back until the CLI has ended", hook=INVOKE)


@check("RB176", "The response is what the assistant says", applies=AGENT, phase="behaviour")
def response_has_text(subject: Any) -> Iterator[Finding]:
    """The loop looks for its completion signal in the response. It is taken here from recorded output of the CLI;
    every text of the assistant has to be in it, with its line breaks.

    Bad::

        ... | jq -r 'select(.type=="message") | .text'

    Good::

        ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = agent_probe(subject)
    found = probe.extraction
    if found is None or found[1].trouble:
        return
    recording, answer, verdict = found
    if verdict.shows:
        if not recording.today:
            yield subject.finding(
                "RB176", f"it knows only how older versions of {probe.cli} print", hook=EXTRACT,
                severity=Severity.WARNING if probe.known_cli else Severity.INFO,
            )  # fmt: skip
        return
    if not probe.known_cli and not verdict.broken and len(verdict.missing) == len(recording.texts):
        yield subject.finding("RB176", "no recorded output matches it", hook=EXTRACT, severity=Severity.INFO)
        return
    if recording.texts[-1] not in verdict.missing + verdict.broken and verdict.nothing_else:
        # The last message is what signals are looked for in.
        yield subject.finding("RB176", "only the last message is given", hook=EXTRACT, severity=Severity.INFO)
        return
    what = "changes the blanks or line breaks of" if verdict.broken and not verdict.missing else "does not give"
    lost = (verdict.missing or verdict.broken)[0]
    yield subject.finding("RB176", f"on the output of {recording.name} it {what} {said(lost)}", hook=EXTRACT)


@check("RB177", "The response is nothing else", applies=AGENT, phase="behaviour")
def response_is_only_text(subject: Any) -> Iterator[Finding]:
    """The prompt itself explains the completion signal, and tools print files that quote it. If any of that is in
    the response, the loop believes that the work is done.

    Bad::

        cat "$1"

    Good::

        ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = agent_probe(subject)
    found = probe.extraction
    if found is None or found[1].trouble or (found[2].missing and not probe.known_cli):
        return
    recording, answer, verdict = found
    tools = re.search(r"\[?tool\b|\b(?:" + "|".join(map(re.escape, recording.tools)) + r")\b", answer.stdout)
    rest = verdict.extra or (tools.group(0) if tools is not None and verdict.notices else "")
    if verdict.leaked or rest:
        shown = " ".join(verdict.leaked) or rest
        yield subject.finding("RB177", f"on the output of {recording.name} it gives {said(shown)}", hook=EXTRACT)


@check("RB178", "Bad lines in the output are skipped", applies=AGENT, phase="behaviour")
def response_survives(subject: Any) -> Iterator[Finding]:
    """Output holds lines that are no JSON: warnings, half an event of a run that was ended, empty lines. jq on the
    whole file stops at the first of them, and the completion signal behind it is never seen.

    Bad::

        jq -r 'select(.type=="assistant") | ...' "$1"

    Good::

        while IFS= read -r line; do
            printf '%s\\n' "$line" | jq -r 'select(.type=="assistant") | ...' 2>/dev/null || true
        done <"$1"
    """
    probe = agent_probe(subject)
    found = probe.extraction
    if found is None or found[1].trouble or not found[2].shows:
        return
    recording = found[0]
    middle = len(recording.lines) // 2
    lines = (*BAD_LINES, *recording.lines[:middle], *BAD_LINES, *recording.lines[middle:])
    answer = probe.extract(b"".join(lines), "bad lines.log")
    verdict = judge(answer.stdout, recording)
    if answer.trouble or verdict.missing or verdict.broken:
        yield subject.finding("RB178", "with lines that are no JSON, what comes behind them is lost", hook=EXTRACT)
    elif re.search(r"npm warn|rb\.never|a string|jq: |parse error", answer.stdout):
        yield subject.finding("RB178", f"bad lines show up in the response: {said(answer.stdout)}", hook=EXTRACT)


@check("RB179", "A last line without a newline counts", applies=AGENT, phase="behaviour", severity=Severity.INFO)
def last_line(subject: Any) -> Iterator[Finding]:
    """``read`` returns a failure for a last line that no newline ends, although it has read it. CLIs that are
    ended early leave such a line.

    Bad::

        while IFS= read -r line; do ...; done <"$1"

    Good::

        while IFS= read -r line || [[ -n "$line" ]]; do ...; done <"$1"
    """
    probe = agent_probe(subject)
    found = probe.extraction
    if found is None or found[1].trouble or not found[2].shows:
        return
    recording = found[0]
    upto = 1 + max(i for i, line in enumerate(recording.lines) if b'"result"' not in line and _holds(line, recording))
    answer = probe.extract(b"".join(recording.lines[:upto]).rstrip(b"\n"), "no newline.log")
    if not answer.trouble and recording.texts[-1] not in answer.stdout:
        yield subject.finding("RB179", "a last line without a newline is lost", hook=EXTRACT)


def _holds(line: bytes, recording: Any) -> bool:
    import json

    return json.dumps(recording.texts[-1], ensure_ascii=False)[1:-1].encode() in line


@check("RB180", "No output, no response", applies=AGENT, phase="behaviour")
def empty_output(subject: Any) -> Iterator[Finding]:
    """A CLI that fails at once leaves an empty file, or none. The response is empty then, and nothing waits.

    Bad::

        echo "Response:"; ...

    Good::

        while IFS= read -r line; do ...; done <"$1"
    """
    probe = agent_probe(subject)
    if not probe.has(EXTRACT):
        return
    for what, answer in (
        ("an empty output", probe.extract(b"", "empty.log")),
        ("a missing file", probe.call(EXTRACT, str(probe.scratch.root / "no such file.log"))),
    ):
        if not answer.trouble and answer.stdout.strip():
            yield subject.finding("RB180", f"for {what} it prints {said(answer.stdout)}", hook=EXTRACT)


@check("RB181", "The display shows what the assistant says", applies=AGENT, phase="behaviour")
def display_shows(subject: Any) -> Iterator[Finding]:
    """People follow a run by it. Thoughts and tools may be shown as well; the text must be.

    Bad::

        agent_format_display() { cat >/dev/null; }

    Good::

        ... | jq -r 'select(.type=="assistant") | .message.content[] | if .type=="text" then .text else empty end'
    """
    shown = agent_probe(subject).display_clean
    if shown is None:
        return
    if not shown.first or not shown.last:
        what = "nothing of what is said" if not shown.first and not shown.last else "not everything that is said"
        yield subject.finding("RB181", f"it shows {what}", hook=DISPLAY)


@check("RB182", "The display is line-buffered", applies=AGENT, phase="behaviour")
def display_is_live(subject: Any) -> Iterator[Finding]:
    """Each line has to be shown before the next one comes. jq, sed and grep write in blocks when they write into
    a pipe, so the display stands still for minutes.

    Bad::

        agent_format_display() { jq -r '...'; }

    Good::

        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    shown = agent_probe(subject).display_clean
    if shown is not None and shown.first and not shown.early:
        yield subject.finding("RB182", "text appears only when the output has ended", hook=DISPLAY)


@check("RB183", "The display goes on after a bad line", applies=AGENT, phase="behaviour")
def display_goes_on(subject: Any) -> Iterator[Finding]:
    """The display is part of the pipe that the agent writes into. When it dies at a line that is no JSON, the
    agent gets SIGPIPE and dies with it, in the middle of its work.

    Bad::

        agent_format_display() { jq --unbuffered -r '...'; }

    Good::

        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    probe = agent_probe(subject)
    clean = probe.display_clean
    if clean is None or not (clean.first and clean.last) or not clean.early:
        return  # said by RB181 and RB182
    disturbed = probe.display_disturbed
    if disturbed is not None and not disturbed.last:
        yield subject.finding("RB183", "after a line that is no JSON nothing more is shown", hook=DISPLAY)


@check("RB184", "Optional hooks do not fail", applies=AGENT, phase="behaviour")
def optional_hooks(subject: Any) -> Iterator[Finding]:
    """They are called before and after each run, whether it went well or not, with ``set -e`` in force.

    Bad::

        agent_post_iteration() { [[ -n "${_BALANCE_BEFORE:-}" ]] && log "..."; }

    Good::

        agent_post_iteration() { if [[ -n "${_BALANCE_BEFORE:-}" ]]; then log "..."; fi; }
    """
    probe = agent_probe(subject)
    answers = [answer for answer, _ in probe.optional]
    post = probe.cold_post
    for answer in (*answers, *((post,) if post is not None else ())):
        if not answer.trouble and answer.status:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            when = " when nothing ran before it" if answer is post else ""
            yield subject.finding("RB184", f"{answer.hook} returns {answer.status}{when}{why}", hook=answer.hook)
            return


@check("RB185", "Optional hooks keep their globals", applies=AGENT, phase="behaviour")
def optional_hooks_keep_globals(subject: Any) -> Iterator[Finding]:
    """What the first hook notes, such as a balance, the second one reads. So it has to be a global: not local, and
    not set in a subshell.

    Bad::

        agent_pre_iteration() { local _BEFORE; _BEFORE=$(my-cli usage); }

    Good::

        agent_pre_iteration() { _BEFORE=$(my-cli usage); }
    """
    probe = agent_probe(subject)
    pre, post = (probe.functions.get(f"agent_{when}_iteration", "") for when in ("pre", "post"))
    if not pre or not post or not probe.optional or probe.optional[0][0].trouble:
        return
    kept = probe.optional[0][1]
    assigned = set(re.findall(r"\b([A-Za-z_]\w*)\+?=", pre))
    own = {n for words in re.findall(r"\b(?:local|declare|typeset)\b([^;\n]*)", post) for n in re.findall(r"\w+", words)}
    for name in sorted(assigned - own - kept):
        hidden = re.search(rf"\b(?:local|declare|typeset)\b[^;\n]*\b{name}\b", pre) or re.match(r"\S+ \(\) *\n\{? *\n?\s*\(", pre)
        if hidden and re.search(rf"\$\{{?{name}\b", post):
            yield subject.finding(
                "RB185", f"{name} is gone when agent_post_iteration reads it", hook="agent_pre_iteration"
            )
