"""Agents: the response that is taken from the output, and the display."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.agent_runs import DISPLAY, EXTRACT
from bridge.verify.harms import GOOD_TO_KNOW, WRONG_DISPLAY, WRONG_RESPONSE, WRONG_STATUS
from bridge.verify.model import INFO, WARNING, Aspect
from bridge.verify.recordings import BAD_LINES, compare
from bridge.verify.registry import AGENT, CannotTell, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.agent import AgentProbe, DisplayRun, Extraction
    from bridge.verify.recordings import Recording
    from bridge.verify.subject import Subject


def _reads_json(probe: AgentProbe) -> bool:
    """False for a program that prints plain text: then its output is the response, as it is."""
    return probe.knows_cli() or any(re.search(r"jq|json", piece, re.IGNORECASE) for piece in probe.code())


def _extraction(probe: AgentProbe) -> Extraction | None:
    """The response on the output of its CLI; None where there is no such hook, or it doesn't come back.

    Raises:
        CannotTell: nobody has recorded that output, and it understands nobody else's.
    """
    if not probe.has(EXTRACT):
        return None
    if (found := probe.extraction()) is None:
        raise CannotTell(probe.unrecorded())
    return None if found.result.trouble else found


def _display(probe: AgentProbe) -> DisplayRun | None:
    """The display on the output of its CLI; None where there is no such hook.

    Raises:
        CannotTell: nobody has recorded that output, and it understands nobody else's.
    """
    if not probe.has(DISPLAY):
        return None
    shown = probe.display_clean()
    if shown is None or not (probe.knows_cli() or shown.first or shown.last):
        raise CannotTell(probe.unrecorded())
    return shown


@behaviour("RB176", "The response is what the assistant says", AGENT, hook=EXTRACT, harm=WRONG_RESPONSE)
def response_has_text(subject: Subject) -> Iterator[Problem]:
    """The loop looks for its completion signal in the response. It is taken here from recorded output of the CLI;
    every text of the assistant has to be in it, with its line breaks.

    Warning: a text that comes in pieces is torn, and with it the signal.
    Info: of older versions, or the last message only.

    Bad:  ... | jq -r 'select(.type=="message") | .text'
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    if not probe.knows_cli() and probe.has(EXTRACT) and _ignores_own_events(probe):
        yield Problem(
            "it gives nothing of what agent_invoke prints", expected="what the assistant says", about=(Aspect.LOST,)
        )
        return
    if (found := _extraction(probe)) is None:
        return
    recording, answer, verdict = found
    if verdict.shows:
        yield from _shown_as_it_is(probe, recording)
        return
    reads = _reads_json(probe)
    quoted = [text for text in recording.texts if json.dumps(text, ensure_ascii=False) in answer.stdout]
    if quoted and reads:
        yield Problem(
            f"the text is given as JSON: {said(json.dumps(quoted[0]))}", hint="jq -r", about=(Aspect.RAW,)
        )
        return
    if any(text in answer.stderr for text in recording.texts):
        yield Problem("the text is on stderr", expected="on stdout")
        return
    if set(verdict.missing) == {*recording.texts[:-1]} and not verdict.broken and verdict.nothing_else:
        # The last message is what signals are looked for in.
        yield Problem("only the last message is given", severity=INFO)
        return
    what = "changes the blanks or line breaks of" if verdict.broken and not verdict.missing else "does not give"
    lost = (verdict.missing or verdict.broken)[0]
    yield Problem(f"on the output of {recording.name} it {what} {said(lost)}")


def _shown_as_it_is(probe: AgentProbe, recording: Recording) -> Iterator[Problem]:
    if not recording.today:
        yield Problem(f"it knows only how older versions of {probe.cli()} print", severity=INFO)
    elif probe.tears(recording):
        yield Problem(
            f"{recording.name} prints a text in pieces, and each is put on a line of its own",
            expected="jq -j",
            severity=WARNING,
        )


def _ignores_own_events(probe: AgentProbe) -> bool:
    """Whether the response holds nothing of the events that agent_invoke itself makes."""
    if not probe.makes_events():
        return False
    made = probe.extract(probe.invocation().stdout, "made.log")
    return not made.trouble and set(made.stdout.split()) <= {"null"}


@behaviour("RB177", "The response is nothing else", AGENT, hook=EXTRACT, harm=WRONG_RESPONSE)
def response_is_only_text(subject: Subject) -> Iterator[Problem]:
    """The prompt itself explains the completion signal, and tools print files that quote it. If any of that is in
    the response, the loop believes that the work is done.

    Warning: every text is there twice.

    Bad:  cat "$1"
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    if (found := _extraction(probe)) is None:
        return
    if not _reads_json(probe) and not found[2].leaked:
        return  # each line is text
    events = {line.strip() for line in found[0].lines} & {line.encode() for line in found[1].stdout.splitlines()}
    if events:
        yield Problem("it gives the events as they are", expected="their text", about=(Aspect.RAW,))
        return
    recording, answer, verdict = found
    tools = re.search(r"\[?tool\b|\b(?:" + "|".join(map(re.escape, recording.tools)) + r")\b", answer.stdout)
    rest = verdict.extra or (tools.group(0) if tools is not None and verdict.notices else "")
    if verdict.leaked or rest:
        shown = " ".join(verdict.leaked) or rest
        yield Problem(f"on the output of {recording.name} it gives {said(shown)}")
    elif verdict.repeated:
        yield Problem(
            f"on the output of {recording.name} it gives {said(verdict.repeated[0])} twice", severity=WARNING
        )


@behaviour("RB178", "Bad lines in the output are skipped", AGENT, hook=EXTRACT, harm=WRONG_RESPONSE)
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
    found = _extraction(probe)
    if found is None or not found[2].shows:
        return
    recording = found[0]
    if not _reads_json(probe):
        return  # each line is text
    middle = len(recording.lines) // 2
    bad = recording.bad_lines
    lines = (BAD_LINES[0], *recording.lines[:middle], *bad, *recording.lines[middle:])
    answer = probe.extract(b"".join(lines), "bad lines.log")
    verdict = compare(answer.stdout, recording)
    if answer.trouble or verdict.missing or verdict.broken:
        yield Problem("with lines that are not JSON, what follows them is lost")
    elif re.search(r"npm warn|rb\.never|a string|jq: |parse error", answer.stdout):
        yield Problem(f"bad lines show up in the response: {said(answer.stdout)}", about=(Aspect.RAW,))


@behaviour("RB179", "A last line without a newline counts", AGENT, hook=EXTRACT, harm=GOOD_TO_KNOW)
def last_line(subject: Subject) -> Iterator[Problem]:
    """``read`` returns a failure for a last line that no newline ends, although it has read it. CLIs that are
    ended early leave such a line.

    Bad:  while IFS= read -r line; do ...; done <"$1"
    Good: while IFS= read -r line || [[ -n "$line" ]]; do ...; done <"$1"
    """
    probe = subject.agent
    found = _extraction(probe)
    if found is None or not found[2].shows:
        return
    recording = found[0]
    answer = probe.extract(b"".join(recording.upto_last_text().lines).rstrip(b"\n"), "no newline.log")
    if not answer.trouble and recording.texts[-1] not in answer.stdout:
        yield Problem("a last line without a newline is lost")


@behaviour("RB180", "No output, no response", AGENT, hook=EXTRACT, harm=WRONG_RESPONSE)
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


@behaviour("RB181", "The display shows what the assistant says", AGENT, hook=DISPLAY, harm=WRONG_DISPLAY)
def display_shows(subject: Subject) -> Iterator[Problem]:
    """People follow a run by it. Thoughts and tools may be shown as well; the text must be.

    Warning: all of the prompt, or of the output of tools, is shown as well.

    Bad:  agent_format_display() { cat >/dev/null; }
    Good:
        ... | jq -r 'select(.type=="assistant") | .message.content[] | if .type=="text" then .text else empty end'
    """
    shown = _display(subject.agent)
    if shown is None:
        return
    if not shown.first or not shown.last:
        what = "nothing of what is said" if not shown.first and not shown.last else "not everything that is said"
        yield Problem(f"it shows {what}")
    elif shown.leaked and subject.agent.knows_cli():
        yield Problem(f"it shows all of {' and '.join(shown.leaked)}", expected="the text", severity=WARNING)


@behaviour("RB182", "The display is line-buffered", AGENT, hook=DISPLAY, harm=WRONG_DISPLAY)
def display_is_live(subject: Subject) -> Iterator[Problem]:
    """Each line has to be shown before the next one comes. jq, sed and grep write in blocks when they write into
    a pipe, so the display stands still for minutes.

    Bad:  agent_format_display() { jq -r '...'; }
    Good:
        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    shown = _display(subject.agent)
    if shown is not None and shown.first and not shown.early:
        if not subject.agent.knows_cli() and not subject.agent.shows_first_text():
            return  # of another CLI's events it knows only one that comes last
        yield Problem("text appears only when the output has ended")


@behaviour("RB183", "The display goes on after a bad line", AGENT, hook=DISPLAY, harm=WRONG_DISPLAY)
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
    clean = _display(probe)
    if clean is None or not (clean.first and clean.last) or not clean.early:
        return  # said by RB181 and RB182
    disturbed = probe.display_disturbed()
    if disturbed is not None and not disturbed.last:
        yield Problem("after a line that is not JSON nothing more is shown")


@behaviour("RB186", "The display ends with status 0", AGENT, hook=DISPLAY, harm=WRONG_STATUS)
def display_succeeds(subject: Subject) -> Iterator[Problem]:
    """Loops run it at the end of a pipe with ``pipefail``: when it fails, a good run of the agent counts as failed
    and is repeated. A loop returns what its last command returned.

    Info: only when the last line is nothing to show.

    Bad:  agent_format_display() { while IFS= read -r line; do ...; [[ -n "$text" ]] && echo "$text"; done; }
    Good:
        agent_format_display() { while IFS= read -r line; do ...; if [[ "$text" ]]; then echo "$text"; fi; done; }
    """
    probe = subject.agent
    clean = _display(probe)
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
