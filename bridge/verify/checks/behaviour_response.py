"""Agents: the response that is taken from the output."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_agent import AGENT, EXTRACT
from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.recordings import BAD_LINES, compare
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.probe import AgentProbe
    from bridge.verify.subject import Subject

__all__: list[str] = []


def _reads_json(probe: AgentProbe) -> bool:
    """False for a program that prints plain text: then its output is the response, as it is."""
    return probe.knows_cli() or any(
        re.search(r"jq|json", body, re.IGNORECASE) for body in probe.functions().values()
    )


@check("RB176", "The response is what the assistant says", applies=AGENT, phase="behaviour")
def response_has_text(subject: Subject) -> Iterator[Finding]:
    """The loop looks for its completion signal in the response. It is taken here from recorded output of the CLI;
    every text of the assistant has to be in it, with its line breaks.

    Bad::

        ... | jq -r 'select(.type=="message") | .text'

    Good::

        ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble:
        return
    recording, answer, verdict = found
    if verdict.shows:
        if not recording.today:
            yield subject.finding(
                "RB176", f"it knows only how older versions of {probe.cli()} print", hook=EXTRACT,
                severity=Severity.INFO,
            )  # fmt: skip
        return
    reads = _reads_json(probe)
    quoted = [text for text in recording.texts if json.dumps(text, ensure_ascii=False) in answer.stdout]
    if quoted and reads:
        yield subject.finding(
            "RB176", f"the text is given as JSON: {said(json.dumps(quoted[0]))}", hook=EXTRACT, hint="jq -r"
        )
        return
    if any(text in answer.stderr for text in recording.texts):
        yield subject.finding("RB176", "the text is on stderr", hook=EXTRACT, expected="on stdout")
        return
    understands = len(verdict.missing) < len(recording.texts) or probe.understands_a_line()
    if not probe.knows_cli() and not verdict.broken and not understands:
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
def response_is_only_text(subject: Subject) -> Iterator[Finding]:
    """The prompt itself explains the completion signal, and tools print files that quote it. If any of that is in
    the response, the loop believes that the work is done.

    Bad::

        cat "$1"

    Good::

        ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble:
        return
    if not _reads_json(probe):
        return
    events = {line.strip() for line in found[0].lines} & {line.encode() for line in found[1].stdout.splitlines()}
    if events:
        yield subject.finding("RB177", "it gives the events as they are", hook=EXTRACT, expected="their text")
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
        yield subject.finding("RB177", f"on the output of {recording.name} it gives {said(shown)}", hook=EXTRACT)


@check("RB178", "Bad lines in the output are skipped", applies=AGENT, phase="behaviour")
def response_survives(subject: Subject) -> Iterator[Finding]:
    """Output holds lines that are no JSON: warnings, half an event of a run that was ended, empty lines. jq on the
    whole file stops at the first of them, and the completion signal behind it is never seen.

    Bad::

        jq -r 'select(.type=="assistant") | ...' "$1"

    Good::

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
        yield subject.finding("RB178", "with lines that are no JSON, what comes behind them is lost", hook=EXTRACT)
    elif re.search(r"npm warn|rb\.never|a string|jq: |parse error", answer.stdout):
        yield subject.finding("RB178", f"bad lines show up in the response: {said(answer.stdout)}", hook=EXTRACT)


@check("RB179", "A last line without a newline counts", applies=AGENT, phase="behaviour", severity=Severity.INFO)
def last_line(subject: Subject) -> Iterator[Finding]:
    """``read`` returns a failure for a last line that no newline ends, although it has read it. CLIs that are
    ended early leave such a line.

    Bad::

        while IFS= read -r line; do ...; done <"$1"

    Good::

        while IFS= read -r line || [[ -n "$line" ]]; do ...; done <"$1"
    """
    probe = subject.agent
    found = probe.extraction()
    if found is None or found[1].trouble or not found[2].shows:
        return
    recording = found[0]
    answer = probe.extract(b"".join(recording.upto_last_text().lines).rstrip(b"\n"), "no newline.log")
    if not answer.trouble and recording.texts[-1] not in answer.stdout:
        yield subject.finding("RB179", "a last line without a newline is lost", hook=EXTRACT)


@check("RB180", "No output, no response", applies=AGENT, phase="behaviour")
def empty_output(subject: Subject) -> Iterator[Finding]:
    """A CLI that fails at once leaves an empty file, or none. The response is empty then, and nothing waits.

    Bad::

        echo "Response:"; ...

    Good::

        while IFS= read -r line; do ...; done <"$1"
    """
    probe = subject.agent
    if not probe.has(EXTRACT):
        return
    for what, answer in (
        ("an empty output", probe.extract(b"", "empty.log")),
        ("a missing file", probe.call(EXTRACT, str(probe.scratch.root / "no such file.log"))),
    ):
        if not answer.trouble and answer.stdout.strip():
            yield subject.finding("RB180", f"for {what} it prints {said(answer.stdout)}", hook=EXTRACT)
