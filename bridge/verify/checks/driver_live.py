"""Live mode, and the capability matrix of the drivers that the contract names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.verify.checks.driver_sessions import EXTRACT, FALLBACK
from bridge.verify.model import INFO, WARNING
from bridge.verify.probe import Build, DriverProbe
from bridge.verify.recordings import Comparison, Recording, compare, recordings, recordings_of
from bridge.verify.registry import DRIVER, NOT_JUDGED, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.contract import DriverCapabilities
    from bridge.stream.jq import Filter
    from bridge.verify.probe import DriverProbe
    from bridge.verify.subject import Subject

HOOK = "driver_prepare_live_command"
CONTEXT = 'Loop #2.  It\'s "json" now: $(x) *\nsecond line --output-format json'


def _live(subject: Subject) -> tuple[DriverProbe, Build] | None:
    probe = subject.driver
    if not probe.own(HOOK) or probe.truth("driver_supports_live_output") is not True or not probe.argv(Build()):
        return None
    return probe, Build(context=CONTEXT, session=probe.session() or "", resume="true", tools="Read,Bash(git *)")


@behaviour("RB130", "The live command is filled in", DRIVER, hook=HOOK)
def live_is_filled(subject: Subject) -> Iterator[Problem]:
    """In live mode the loop runs LIVE_CMD_ARGS. It has to begin with the same program as the command that it is
    made from.

    Bad:  driver_prepare_live_command() { local LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
    Good: driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
    """
    if (found := _live(subject)) is None or (live := found[0].live(Build())) is None:
        return
    answer, command, _ = live
    if answer.trouble:
        return
    if answer.status:
        yield Problem(f"it returns {answer.status}", expected="0")
    if answer.stdout:
        yield Problem(f"it prints {said(answer.stdout)}", severity=WARNING)
    if not isinstance(answer.value, list) or not answer.value:
        yield Problem("LIVE_CMD_ARGS is empty")
    elif answer.value[0] != command[0]:
        yield Problem(f"it begins with {said(answer.value[0])}", expected=f"{command[0]}, as the command does")


@behaviour("RB131", "The live command is a copy: CLAUDE_CMD_ARGS stays", DRIVER, hook=HOOK)
def command_stays(subject: Subject) -> Iterator[Problem]:
    """The loop falls back to the ordinary command when live mode can't be had, and logs it. A hook that works on
    the array itself leaves the live flags in it.

    Bad:  CLAUDE_CMD_ARGS+=("--verbose"); LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    Good: LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" "--verbose")
    """
    if (found := _live(subject)) is None or (live := found[0].live(found[1])) is None:
        return
    _, before, after = live
    if before != after:
        moved = [a for a in after if a not in before] or [a for a in before if a not in after]
        yield Problem(f"it changes CLAUDE_CMD_ARGS: {said(' '.join(moved))}")


@behaviour("RB132", "The live command keeps prompt, context and session", DRIVER, hook=HOOK)
def live_keeps_texts(subject: Subject) -> Iterator[Problem]:
    """Options are replaced, texts are not: what the prompt or the context say must not change because the word
    json is in them, and an argument with blanks stays one argument.

    Bad:  LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]/json/stream-json})
    Good:
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do
            [[ "$arg" == json ]] && arg=stream-json
            LIVE_CMD_ARGS+=("$arg")
        done
    """
    if (found := _live(subject)) is None or (live := found[0].live(found[1])) is None:
        return
    answer, command, _ = live
    if answer.trouble or not isinstance(answer.value, list) or not answer.value:
        return
    texts = [a for a in command if any(c.isspace() for c in a) or (found[1].session and found[1].session in a)]
    lost = [a for a in texts if a not in answer.value]
    if lost:
        yield Problem(f"this argument is lost or changed: {said(lost[0])}")
    elif any(answer.value.count(a) > command.count(a) for a in texts):
        yield Problem("an argument with text occurs more than once")
    else:
        # A context may be the very word that is looked for; where it is part of the prompt, it isn't alone.
        short = found[0].live(Build(context="json", output=None))
        if short is not None and short.argv is not None and short.argv.count("json") < short.command.count("json"):
            yield Problem(
                "a context that is only the word json is changed",
                hint="change the argument behind --output-format only",
                severity=INFO,
            )


@behaviour("RB133", "Nothing stale from an earlier live command", DRIVER, hook=HOOK)
def live_is_fresh(subject: Subject) -> Iterator[Problem]:
    """The hook is called once per iteration in the same shell. Appending to LIVE_CMD_ARGS without emptying it
    first makes every command longer than the last.

    Bad:  for arg in "${CLAUDE_CMD_ARGS[@]}"; do LIVE_CMD_ARGS+=("$arg"); done
    Good:
        LIVE_CMD_ARGS=()
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do LIVE_CMD_ARGS+=("$arg"); done
    """
    if (found := _live(subject)) is None:
        return
    probe, loaded = found
    first = probe.live(Build())
    if first is None or first[0].trouble or not isinstance(first[0].value, list):
        return
    probe.live_again(loaded)
    again = probe.live_again(Build())
    if again is not None and again[1] == first[1] and again[0].value != first[0].value:
        yield Problem("an earlier live command changes this one")


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


@behaviour("RB134", "The stream filter is a jq program", DRIVER, hook=FILTER)
def filter_compiles(subject: Subject) -> Iterator[Problem]:
    """The loop hands it to ``jq -j``. A program that does not compile shows nothing at all, and ends the pipe
    that the agent writes into.

    Bad:  driver_stream_filter() { echo 'select(.type == "text" | .text'; }
    Good: driver_stream_filter() { echo 'select(.type == "text") | .text'; }
    """
    probe = subject.driver
    answer = probe.answer(FILTER) if probe.own(FILTER) else None
    if answer is None or answer.trouble:
        return
    if not answer.text.strip():
        yield Problem("it prints nothing", expected="a jq program, at least: empty")
    elif isinstance(program := probe.filter(), str):
        detail = program.split("jq says:")[-1].split("next:")[0]
        yield Problem(f"it does not compile: {said(detail)}")


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


@behaviour("RB135", "The filter shows what the assistant says", DRIVER, hook=FILTER)
def filter_shows_text(subject: Subject) -> Iterator[Problem]:
    """The filter is all that a person sees of a run that takes half an hour. It is run here on recorded events of
    its CLI (of today's version first); every text has to be there, with its line breaks.

    Bad:  echo 'select(.type == "message") | .text'      # the CLI calls it "agent_message"
    Good: echo 'select(.item.type? == "agent_message") | .item.text + "\\n"'
    """
    if (found := _filter(subject)) is None:
        return
    probe, program = found
    expected = _expected(probe)
    if not expected:
        verdicts = [_run(program, recording) for recording in recordings().values()]
        if not any(verdict.shows for verdict in verdicts):
            broken = any(verdict.broken and not verdict.missing for verdict in verdicts)
            unknown = f"{NOT_JUDGED}: no recorded events match it"
            yield Problem(
                "the text is shown with its line breaks changed" if broken else unknown,
                severity=WARNING if broken else INFO,
            )
        return
    verdict = _run(program, expected[0])
    if verdict.missing:
        share = "some of what" if len(verdict.missing) < len(expected[0].texts) else "nothing of what"
        missing = "does not show " + said(verdict.missing[0]) if share.startswith("some") else "shows nothing of"
        yield Problem(f"on the events of {expected[0].name} it {missing}" + " what is said" * (share[0] == "n"))
    elif verdict.broken:
        yield Problem(f"the text is cut into pieces: {said(verdict.broken[0])}")


def _raw(program: Filter) -> str:
    """A whole event that it shows, for a CLI that isn't known: of the types that the program itself names."""
    words = dict.fromkeys(re.findall(r'"([A-Za-z][\w.-]*)"', program.program), None)
    for word in [*words, "text"]:
        event = {"type": word, "kind": word, "event": word, "role": "assistant", "text": "rb-text"}
        shown = b"".join(program.stream([json.dumps(event).encode()])).decode(errors="replace").strip()
        if shown.startswith("{") and '"rb-text"' in shown:
            return shown
    return ""


@behaviour("RB136", "The filter shows nothing else", DRIVER, hook=FILTER)
def filter_shows_nothing_else(subject: Subject) -> Iterator[Problem]:
    """Thoughts, the prompt, the output of tools and the final summary, which repeats the text, drown what the
    assistant says. A line that names the tool in use is fine.

    Bad:  echo '.. | .text? // empty'
    Good: echo 'select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text'
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
            yield Problem(f"it shows events as they are: {said(raw)}", expected="their text", severity=WARNING)
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
        yield Problem(f"on the events of {recording.name} it shows {what}", severity=None if known else WARNING)
        return


@behaviour("RB137", "The filter survives events that it doesn't know", DRIVER, hook=FILTER)
def filter_survives(subject: Subject) -> Iterator[Problem]:
    """CLIs add events with every version. What the filter does not know it has to pass over: no output, and no
    error of jq in the middle of the display.

    Bad:  echo '.message.content[] | .text'              # an error for each event without a message
    Good: echo 'select(.type == "assistant") | .message.content[]? | .text? // empty'
    """
    if (found := _filter(subject)) is None:
        return
    _, program = found
    identity = program.program.strip() == "."
    for lines, object_like in ((STRANGE, True), (NO_OBJECTS, False)):
        before = program.errors
        shown = b"".join(program.stream(lines)).decode(errors="replace")
        failed = program.errors - before
        if object_like and failed >= len(lines) and _fails_on_all(program):
            yield Problem(f"jq reports an error for every event: {said(program.last_error or '')}")
            return
        if shown.strip() and not identity:
            yield Problem(
                f"for events that it can't know it shows {said(shown)}",
                severity=None if object_like or "rb-unknown" in shown else WARNING,
            )
            return
        if failed:
            what = "unknown events" if object_like else "lines that are JSON but not an object"
            yield Problem(
                f"jq reports an error for {what}: {said(program.last_error or '')}",
                severity=WARNING if object_like else INFO,
            )
            return


def _fails_on_all(program: Filter) -> bool:
    for recording in recordings().values():
        before = program.errors
        shown = b"".join(program.stream(recording.lines))
        if shown.strip() or program.errors - before < len(recording.lines):
            return False
    return True


@behaviour("RB138", "The filter works line by line", DRIVER, hook=FILTER)
def filter_by_line(subject: Subject) -> Iterator[Problem]:
    """The events arrive one by one, and each has to be shown when it arrives. A program that wants all of them
    (``--slurp``, ``inputs``) shows nothing until the agent has ended, or nothing ever.

    Bad:  echo '[inputs] | map(select(.type == "text")) | .[].text'
    Good: echo 'select(.type == "text") | .text'
    """
    if (found := _filter(subject)) is None:
        return
    probe, program = found
    if words := program.host_words & {"input", "inputs", "halt", "halt_error"}:
        yield Problem(f"it uses {', '.join(sorted(words))}")
        return
    for recording in _expected(probe) or list(recordings().values()):
        if _run(program, recording).missing:
            whole = b"[" + b",".join(line.strip() for line in recording.lines) + b"]"
            if compare(program.apply(whole).decode(errors="replace"), recording).shows:
                yield Problem("it wants all events in one array")
                return


@behaviour("RB156", "A known driver has the capabilities of the matrix", DRIVER)
def matrix(subject: Subject) -> Iterator[Problem]:
    """Five drivers are named in the contract, with what each of them can do. Loops and preflight checks count on
    it: they offer to resume, or to show live output, where the matrix says yes.

    Bad:
        # drivers/codex.sh
        driver_supports_sessions() { return 1; }
    Good:
        # drivers/codex.sh
        driver_supports_sessions() { return 0; }
    """
    probe = subject.driver
    if (known := probe.known()) is None:
        return
    rows = {
        "driver_supports_tool_allowlist": known.allowlist,
        "driver_supports_sessions": known.sessions,
        "driver_supports_live_output": known.live_output,
    }
    for hook, wanted in rows.items():
        found = probe.truth(hook)
        if found is not None and found is not wanted:
            yield Problem(f"{hook} says {'yes' if found else 'no'}", hook=hook, expected="yes" if wanted else "no")
    yield from _matrix_of_hooks(probe, known)


def _matrix_of_hooks(probe: DriverProbe, known: DriverCapabilities) -> Iterator[Problem]:
    for hook, wanted in ((EXTRACT, known.extracts_session_id), (FALLBACK, known.falls_back)):
        if wanted and not probe.own(hook):
            yield Problem(f"{hook} is missing", hook=hook, expected=f"{known.name} has it")
    if known.binary == "static" and (cli := probe.cli()) and cli.rpartition("/")[2] not in known.cli:
        yield Problem(
            f"driver_cli_binary prints {said(probe.cli())}", hook="driver_cli_binary", expected=known.cli[0]
        )
    if known.live_output and not probe.own("driver_stream_filter"):
        yield Problem("driver_stream_filter is missing: nothing is shown", hook="driver_stream_filter")
    argv = probe.live_argv()
    if known.live_output and argv and not any("json" in argument for argument in argv):
        yield Problem("the live command does not ask for JSON events")
    lacking = [a for a in ("--verbose", "--include-partial-messages") if a not in argv]
    if known.name == "claude-code" and argv and lacking:
        yield Problem(
            f"the live command has no {' and no '.join(lacking)}",
            hook="driver_prepare_live_command",
            hint="claude refuses stream-json without --verbose, and the filter shows partial messages",
        )
    yield from _matrix_of_live(probe, known)


def _matrix_of_live(probe: DriverProbe, known: DriverCapabilities) -> Iterator[Problem]:
    live = probe.live(Build())
    if known.live == "transform":
        if live is None or live[0].value == live[1]:
            yield Problem(
                "the live command is the ordinary one",
                hook="driver_prepare_live_command",
                expected="stream-json instead of json",
            )
        elif isinstance(live[0].value, list) and "stream-json" not in live[0].value and not live[0].trouble:
            yield Problem("the live command does not ask for stream-json", hook="driver_prepare_live_command")
    elif known.live == "passthrough" and live is not None and not live[0].trouble and live[0].value != live[1]:
        yield Problem(
            "the live command is not the ordinary one",
            hook="driver_prepare_live_command",
            expected="a copy",
            severity=WARNING,
        )
