"""Live mode: the filter that makes text of the events of a CLI."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_live import DRIVER
from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.recordings import Comparison, Recording, compare, recordings, recordings_of
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.stream.jq import Filter
    from bridge.verify.model import Finding
    from bridge.verify.probe import DriverProbe
    from bridge.verify.subject import Subject

__all__: list[str] = []

FILTER = "driver_stream_filter"
_PARTIAL = "--include-partial-messages"
# Objects that some CLI may print one day, and what isn't an object at all.
STRANGE = (
    b"{}",
    b'{"type":null}',
    b'{"type":"rb.never.heard.of","text":"rb-unknown","message":"rb-unknown","part":{"text":"rb-unknown"}}',
    b'{"type":"rb.never.heard.of","message":{"content":[{"type":"image","text":"rb-unknown"}]}}',
    b'{"kind":"rb-unknown","event":{"delta":{"text":"rb-unknown"}},"item":{"text":"rb-unknown"}}',
)
NO_OBJECTS = (b"null", b"42", b'"rb-unknown"', b"[]", b'["rb-unknown"]', b"true")


@check("RB134", "The stream filter is a jq program", applies=DRIVER, phase="behaviour")
def filter_compiles(subject: Subject) -> Iterator[Finding]:
    """The loop hands it to ``jq -j``. A program that does not compile shows nothing at all, and ends the pipe
    that the agent writes into.

    Bad::

        driver_stream_filter() { echo 'select(.type == "text" | .text'; }

    Good::

        driver_stream_filter() { echo 'select(.type == "text") | .text'; }
    """
    probe = subject.driver
    answer = probe.answer(FILTER) if probe.own(FILTER) else None
    if answer is None or answer.trouble:
        return
    if not answer.text.strip():
        yield subject.finding("RB134", "it prints nothing", hook=FILTER, expected="a jq program, at least: empty")
    elif isinstance(program := probe.filter(), str):
        detail = program.split("jq says:")[-1].split("next:")[0]
        yield subject.finding("RB134", f"it does not compile: {said(detail)}", hook=FILTER)


def _run(program: Filter, recording: Recording) -> Comparison:
    shown = b"".join(program.stream(recording.lines))
    return compare(shown.decode(errors="replace"), recording)


def _filter(subject: Subject) -> tuple[DriverProbe, Filter] | None:
    probe = subject.driver
    if (
        probe.truth("driver_supports_live_output") is not True
        or (program := probe.filter()) is None
        or isinstance(program, str)
    ):
        return None
    return probe, program


def _expected(probe: DriverProbe) -> list[Recording]:
    """What its CLI prints in live mode, today's shape first; empty for a CLI that isn't known."""
    found = recordings_of(known.cli[0] if (known := probe.known()) is not None else probe.cli())
    if found and found[0].name.startswith("claude"):
        # Whether there are partial messages is up to the command.
        partial = _PARTIAL in probe.live_argv()
        found = [r for r in found if (r.name == "claude") is partial]
    return found


@check("RB135", "The filter shows what the assistant says", applies=DRIVER, phase="behaviour")
def filter_shows_text(subject: Subject) -> Iterator[Finding]:
    """The filter is all that a person sees of a run that takes half an hour. It is run here on recorded events of
    its CLI (of today's version first); every text has to be there, with its line breaks.

    Bad::

        echo 'select(.type == "message") | .text'      # the CLI calls it "agent_message"

    Good::

        echo 'select(.item.type? == "agent_message") | .item.text + "\\n"'
    """
    if (found := _filter(subject)) is None:
        return
    probe, program = found
    expected = _expected(probe)
    if not expected:
        verdicts = [_run(program, recording) for recording in recordings().values()]
        if not any(verdict.shows for verdict in verdicts):
            broken = any(verdict.broken and not verdict.missing for verdict in verdicts)
            yield subject.finding(
                "RB135",
                "the text is shown with its line breaks changed" if broken else "no recorded events match it",
                hook=FILTER,
                severity=Severity.WARNING if broken else Severity.INFO,
            )
        return
    verdict = _run(program, expected[0])
    if verdict.missing:
        share = "some of what" if len(verdict.missing) < len(expected[0].texts) else "nothing of what"
        missing = "does not show " + said(verdict.missing[0]) if share.startswith("some") else "shows nothing of"
        yield subject.finding(
            "RB135", f"on the events of {expected[0].name} it {missing}" + " what is said" * (share[0] == "n"),
            hook=FILTER,
        )  # fmt: skip
    elif verdict.broken:
        yield subject.finding("RB135", f"the text is cut into pieces: {said(verdict.broken[0])}", hook=FILTER)


def _raw(program: Filter) -> str:
    """A whole event that it shows, for a CLI that isn't known: of the types that the program itself names."""
    words = dict.fromkeys(re.findall(r'"([A-Za-z][\w.-]*)"', program.program), None)
    for word in [*words, "text"]:
        event = {"type": word, "kind": word, "event": word, "role": "assistant", "text": "rb-text"}
        shown = b"".join(program.stream([json.dumps(event).encode()])).decode(errors="replace").strip()
        if shown.startswith("{") and '"rb-text"' in shown:
            return shown
    return ""


@check("RB136", "The filter shows nothing else", applies=DRIVER, phase="behaviour")
def filter_shows_nothing_else(subject: Subject) -> Iterator[Finding]:
    """Thoughts, the prompt, the output of tools and the final summary, which repeats the text, drown what the
    assistant says. A line that names the tool in use is fine.

    Bad::

        echo '.. | .text? // empty'

    Good::

        echo 'select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text'
    """
    if (found := _filter(subject)) is None:
        return
    probe, program = found
    expected = _expected(probe)
    known = bool(expected)
    if not known:
        verdicts = [(r, _run(program, r)) for r in recordings().values()]
        fitting = [pair for pair in verdicts if pair[1].shows]
        raw = _raw(program) if not fitting else ""
        if raw:
            yield subject.finding(
                "RB136", f"it shows events as they are: {said(raw)}", hook=FILTER, expected="their text",
                severity=Severity.WARNING,
            )  # fmt: skip
        if not fitting or any(verdict.nothing_else for _, verdict in fitting):
            return
        expected = [fitting[0][0]]
    for recording in expected:
        verdict = _run(program, recording)
        if verdict.nothing_else:
            continue
        what = (
            f"{said(verdict.repeated[0])} twice"
            if verdict.repeated
            else said(" ".join(verdict.leaked) or verdict.extra)
        )
        yield subject.finding(
            "RB136", f"on the events of {recording.name} it shows {what}", hook=FILTER,
            severity=None if known else Severity.WARNING,
        )  # fmt: skip
        return


@check("RB137", "The filter survives events that it doesn't know", applies=DRIVER, phase="behaviour")
def filter_survives(subject: Subject) -> Iterator[Finding]:
    """CLIs add events with every version. What the filter does not know it has to pass over: no output, and no
    error of jq in the middle of the display.

    Bad::

        echo '.message.content[] | .text'              # an error for each event without a message

    Good::

        echo 'select(.type == "assistant") | .message.content[]? | .text? // empty'
    """
    if (found := _filter(subject)) is None:
        return
    _, program = found
    identity = program.program.strip() == "."
    for lines, object_like in ((STRANGE, True), (NO_OBJECTS, False)):
        before = program.errors
        shown = b"".join(program.stream(lines)).decode(errors="replace")
        failed = program.errors - before
        if shown.strip() and not identity:
            yield subject.finding(
                "RB137", f"for events that it can't know it shows {said(shown)}", hook=FILTER,
                severity=None if object_like or "rb-unknown" in shown else Severity.WARNING,
            )  # fmt: skip
            return
        if failed:
            what = "unknown events" if object_like else "lines that are JSON and no object"
            yield subject.finding(
                "RB137", f"jq reports an error for {what}: {said(program.last_error or '')}", hook=FILTER,
                severity=Severity.WARNING if object_like else Severity.INFO,
            )  # fmt: skip
            return


@check("RB138", "The filter works line by line", applies=DRIVER, phase="behaviour")
def filter_by_line(subject: Subject) -> Iterator[Finding]:
    """The events arrive one by one, and each has to be shown when it arrives. A program that wants all of them
    (``--slurp``, ``inputs``) shows nothing until the agent has ended, or nothing ever.

    Bad::

        echo '[inputs] | map(select(.type == "text")) | .[].text'

    Good::

        echo 'select(.type == "text") | .text'
    """
    if (found := _filter(subject)) is None:
        return
    probe, program = found
    if words := program.host_words & {"input", "inputs", "halt", "halt_error"}:
        yield subject.finding("RB138", f"it uses {', '.join(sorted(words))}", hook=FILTER)
        return
    for recording in _expected(probe) or list(recordings().values()):
        if _run(program, recording).missing:
            whole = b"[" + b",".join(line.strip() for line in recording.lines) + b"]"
            if compare(program.apply(whole).decode(errors="replace"), recording).shows:
                yield subject.finding("RB138", "it wants all events in one array", hook=FILTER)
                return
