"""driver_stream_filter: what a person sees of a run in live mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.scripts.stream.jq_oldest import newer_than_1_6
from bridge.verify.checks import excerpt
from bridge.verify.findings import INFO, WARNING, Aspect, Harm
from bridge.verify.probe.commands import Build
from bridge.verify.recordings import Comparison, Recording, compare, streamed
from bridge.verify.registry import CannotTell, Problem, Settled, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.scripts.stream.jq import Filter
    from bridge.verify.probe.driver import DriverProbe

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


@driver("RB134", "The stream filter is a jq program", Harm.WRONG_DISPLAY, hook=FILTER, own=True)
def filter_compiles(probe: DriverProbe) -> Iterator[Problem]:
    """The loop hands it to ``jq -j``. A program that does not compile shows nothing at all, and ends the pipe
    that the agent writes into.

    Warning: jq 1.6, which many systems ship, doesn't know what it uses, such as an ``if`` without ``else``.

    Bad:  driver_stream_filter() { echo 'select(.type == "text" | .text'; }
    Good: driver_stream_filter() { echo 'select(.type == "text") | .text'; }
    """
    answer = probe.answer(FILTER)
    if answer is None or answer.trouble:
        return
    if not answer.text.strip():
        yield Problem("it prints nothing", expected="a jq program, at least: empty")
    elif isinstance(program := probe.filter(), str):
        yield Problem(f"it does not compile: {excerpt(program)}")
    elif program is not None and (newer := newer_than_1_6(program.program)):
        yield Problem(f"{newer} is newer than jq 1.6", expected="jq 1.6 is enough", severity=WARNING)


def _run(program: Filter, recording: Recording) -> Comparison:
    return compare(b"".join(program.stream(recording.lines)).decode(errors="replace"), recording)


def _filter(probe: DriverProbe) -> Filter:
    """The filter of a driver with live output, where it compiles."""
    program = probe.filter() if probe.truth("driver_supports_live_output") is True else None
    if program is None or isinstance(program, str):
        raise Settled
    return program


def _expected(probe: DriverProbe) -> list[Recording]:
    """What its CLI prints in live mode, today's shape first; empty for a CLI that isn't known."""
    live = probe.live(Build())
    # Behind what is not followed it is the words that are there: how the CLI gets them changes no format.
    line = [] if not probe.argv(Build()) else (probe.arrived(Build()) if live is None else live.arrived).line
    found = probe.recordings(line)
    if any(recording.name == "claude" for recording in found):
        # Whether there are partial messages is up to the command.
        partial = any(_PARTIAL in word for word in line)
        found = [recording for recording in found if (recording.name == "claude") is partial]
    return found


@driver("RB135", "The filter shows what the assistant says", Harm.WRONG_DISPLAY, hook=FILTER)
def filter_shows_text(probe: DriverProbe) -> Iterator[Problem]:
    """The filter is all that a person sees of a run that takes half an hour. It is run here on recorded events of
    its CLI (of today's version first); every text has to be there, with its line breaks.

    Warning: only the line breaks differ.

    Bad:  echo 'select(.type == "message") | .text'      # the CLI calls it "agent_message"
    Good: echo 'select(.item.type? == "agent_message") | .item.text + "\\n"'
    """
    program = _filter(probe)
    if not (expected := _expected(probe)):
        yield from _nothing_fits(probe, program)
        return
    recording = expected[0]
    verdict, name = _run(program, recording), recording.name
    if verdict.missing:
        none = len(verdict.missing) >= len(recording.texts)
        shows = "shows nothing of what is said" if none else f"does not show {excerpt(verdict.missing[0])}"
        yield Problem(f"on the events of {name} it {shows}", about=(name,))
    elif verdict.broken:
        yield Problem(f"the text is cut into pieces: {excerpt(verdict.broken[0])}")
    elif (pieces := recording.in_pieces()) is not None and not _run(program, pieces).shows:
        message = f"{name} prints a text in pieces, and each is put on a line of its own"
        yield Problem(message, severity=WARNING)


def _nothing_fits(probe: DriverProbe, program: Filter) -> Iterator[Problem]:
    """For a CLI that isn't known: nothing, where it shows every text of another one."""
    verdicts = [_run(program, recording) for recording in streamed()]
    if any(verdict.shows for verdict in verdicts):
        return
    if any(verdict.broken and not verdict.missing for verdict in verdicts):
        yield Problem("the text is shown with its line breaks changed")
    elif program.program.strip() != "empty":
        raise CannotTell(probe.unrecorded())


@driver("RB136", "The filter shows nothing else", Harm.WRONG_DISPLAY, hook=FILTER)
def filter_shows_nothing_else(probe: DriverProbe) -> Iterator[Problem]:
    """Thoughts, the prompt, the output of tools and the final summary, which repeats the text, drown what the
    assistant says. A line that names the tool in use is fine.

    Warning: of a CLI without recordings.

    Bad:  echo '.. | .text? // empty'
    Good: echo 'select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text'
    """
    program = _filter(probe)
    expected = _expected(probe)
    known = bool(expected)
    if not known:
        fitting = [(each, verdict) for each in streamed() if (verdict := _run(program, each)).shows]
        if not any(verdict.nothing_else for _, verdict in fitting):
            expected = [recording for recording, _ in fitting[:1]]
        if not fitting and program.program.strip() != "empty":
            raise CannotTell(probe.unrecorded())
    for recording in expected:
        verdict = _run(program, recording)
        if not verdict.nothing_else:
            severity = None if known or verdict.leaked or verdict.repeated else WARNING
            yield Problem(f"on the events of {recording.name} it shows {_too_much(verdict)}", severity=severity)
            return


_WHAT = {"rb-prompt-echo": "the prompt", "rb-tool-output": "the output of tools", "rb-thought": "thoughts"}


def _too_much(verdict: Comparison) -> str:
    if verdict.repeated:
        return f"{excerpt(verdict.repeated[0])} twice"
    what = " and ".join(_WHAT[word] for word in verdict.leaked if word in _WHAT)
    shown = excerpt(" ".join(verdict.leaked) or verdict.extra)
    return f"{what} ({shown})" if what else shown


@driver("RB137", "The filter survives events that it doesn't know", Harm.WRONG_DISPLAY, hook=FILTER)
def filter_survives(probe: DriverProbe) -> Iterator[Problem]:
    """CLIs add events with every version. What the filter does not know it has to pass over: no output, and no
    error of jq in the middle of the display.

    Warning: of events that are rare.
    Info: of what is no event.

    Bad:  echo '.message.content[] | .text'              # an error for each event without a message
    Good: echo 'select(.type == "assistant") | .message.content[]? | .text? // empty'
    """
    program = _filter(probe)
    identity = program.program.strip() == "."
    for lines, objects in ((STRANGE, True), (NO_OBJECTS, False)):
        before = program.errors
        shown = b"".join(program.stream(lines)).decode(errors="replace")
        failed = program.errors - before
        if objects and failed >= len(lines) and _fails_on_all(program):
            yield Problem(f"jq reports an error for every event: {excerpt(program.last_error or '')}")
            return
        if shown.strip() and not identity:
            severity = None if objects or "rb-unknown" in shown else WARNING
            message = f"for events that it can't know it shows {excerpt(shown)}"
            yield Problem(message, severity=severity, about=(Aspect.SHOWN,))
            return
        if failed:
            what = "unknown events" if objects else "lines that are JSON but not an object"
            message = f"jq reports an error for {what}: {excerpt(program.last_error or '')}"
            yield Problem(message, severity=WARNING if objects else INFO)
            return


def _fails_on_all(program: Filter) -> bool:
    lines = [line for recording in streamed() for line in recording.lines]
    before = program.errors
    return not b"".join(program.stream(lines)).strip() and program.errors - before > 0.8 * len(lines)


@driver("RB138", "The filter works line by line", Harm.WRONG_DISPLAY, hook=FILTER)
def filter_by_line(probe: DriverProbe) -> Iterator[Problem]:
    """The events arrive one by one, and each has to be shown when it arrives. A program that wants all of them
    (``--slurp``, ``inputs``) shows nothing until the agent has ended, or nothing ever.

    Bad:  echo '[inputs] | map(select(.type == "text")) | .[].text'
    Good: echo 'select(.type == "text") | .text'
    """
    program = _filter(probe)
    if words := program.host_words & {"input", "inputs", "halt", "halt_error"}:
        yield Problem(f"it uses {', '.join(sorted(words))}")
        return
    for recording in _expected(probe) or streamed():
        if _run(program, recording).missing:
            whole = b"[" + b",".join(line.strip() for line in recording.lines) + b"]"
            if compare(program.apply(whole).decode(errors="replace"), recording).shows:
                yield Problem("it wants all events in one array")
                return
