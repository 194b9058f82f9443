"""Agents: the response that is taken from the output, and the display."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.agent_runs import DISPLAY, EXTRACT
from bridge.verify.harms import GOOD_TO_KNOW, WRONG_DISPLAY, WRONG_RESPONSE, WRONG_STATUS
from bridge.verify.model import INFO, WARNING
from bridge.verify.recordings import BAD_LINES, compare
from bridge.verify.registry import AGENT, CannotTell, Problem, behaviour, said
from bridge.verify.shapes import LEARNED, misnamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe import AgentProbe
    from bridge.verify.recordings import Recording
    from bridge.verify.subject import Subject


_NOT_TOLD = "nobody has recorded what its CLI prints, and the script doesn't tell"


def _reads_json(probe: AgentProbe) -> bool:
    """False for a program that prints plain text: then its output is the response, as it is."""
    return probe.knows_cli() or any(re.search(r"jq|json", piece, re.IGNORECASE) for piece in probe.code())


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
    found = probe.extraction()
    if not probe.knows_cli() and probe.has(EXTRACT) and (empty := _always_empty(probe)):
        yield Problem(empty, expected="what the assistant says")
        return
    if found is None and probe.has(EXTRACT):
        raise CannotTell(_NOT_TOLD, "what the response holds")
    if found is None or found[1].trouble:
        return
    recording, answer, verdict = found
    if verdict.shows:
        yield from _shown_as_it_is(probe, recording)
        return
    reads = _reads_json(probe)
    quoted = [text for text in recording.texts if json.dumps(text, ensure_ascii=False) in answer.stdout]
    if quoted and reads:
        yield Problem(f"the text is given as JSON: {said(json.dumps(quoted[0]))}", hint="jq -r")
        return
    if any(text in answer.stderr for text in recording.texts):
        yield Problem("the text is on stderr", expected="on stdout")
        return
    understands = len(verdict.missing) < len(recording.texts) or recording.name == LEARNED
    if not probe.knows_cli() and not verdict.broken and not understands:
        raise CannotTell(_NOT_TOLD, "what the response holds")
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


def _always_empty(probe: AgentProbe) -> str:
    """Why the response of a CLI that isn't known holds nothing, ever; empty when it may hold something."""
    response, shown = probe.shapes()
    if probe.makes_events():
        made = probe.extract(probe.invocation().stdout, "made.log")
        if not made.trouble and set(made.stdout.split()) <= {"null"}:
            return "it gives nothing of what agent_invoke prints"
    if not response and probe.picked(EXTRACT) and not probe.gives_anything():
        return "it gives nothing, not even of the events that its own code picks"
    if (names := misnamed(response, shown)) is not None:
        return (
            f"it reads {said(names[0])} where agent_format_display reads {said(names[1])}: one of them is not there"
        )
    return ""


@behaviour("RB177", "The response is nothing else", AGENT, hook=EXTRACT, harm=WRONG_RESPONSE)
def response_is_only_text(subject: Subject) -> Iterator[Problem]:
    """The prompt itself explains the completion signal, and tools print files that quote it. If any of that is in
    the response, the loop believes that the work is done.

    Warning: every text is there twice.

    Bad:  cat "$1"
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble:
        return
    plain = found[0].name == LEARNED and not found[0].lines[0].startswith(b"{")
    if (plain or not _reads_json(probe)) and not found[2].leaked:
        return  # each line is text
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
    found = probe.extraction()
    if found is None or found[1].trouble or not found[2].shows:
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
        yield Problem(f"bad lines show up in the response: {said(answer.stdout)}")


@behaviour("RB179", "A last line without a newline counts", AGENT, hook=EXTRACT, harm=GOOD_TO_KNOW)
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
    shown = subject.agent.display_clean()
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
    shown = subject.agent.display_clean()
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
    clean = probe.display_clean()
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
