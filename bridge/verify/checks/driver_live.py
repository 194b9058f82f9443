"""driver_prepare_live_command: the command that prints events while it runs."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli, known_clis
from bridge.verify.checks import ITSELF, excerpt
from bridge.verify.checks.driver_command import prompt_text
from bridge.verify.command_line import beyond, is_option, is_switch, lost_value, may_be_option
from bridge.verify.findings import INFO, WARNING, Harm
from bridge.verify.probe.commands import Build
from bridge.verify.recordings import compare, streamed
from bridge.verify.registry import CannotTell, Problem, Settled, driver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.verify.probe.commands import LiveCommand
    from bridge.verify.probe.driver import DriverProbe

HOOK = "driver_prepare_live_command"
_CONTEXT = 'Loop #2.  It\'s "json" now: $(x) *\nsecond line --output-format json'


def _live(probe: DriverProbe, *, full: bool = False) -> LiveCommand:
    """The live command of a driver with live output; `full`: with everything that a command may have."""
    if not probe.own(HOOK) or probe.truth("driver_supports_live_output") is not True or not probe.argv(Build()):
        raise Settled
    live = probe.live(_full(probe) if full else Build())
    if live is None:
        raise Settled
    return live


def _full(probe: DriverProbe) -> Build:
    session = probe.session() or ""
    return Build(context=_CONTEXT, session=session, resume="true", tools="Read,Bash(git *)", mode="acceptEdits")


@driver("RB130", "The live command is filled in", Harm.WRONG_COMMAND, hook=HOOK)
def live_is_filled(probe: DriverProbe) -> Iterator[Problem]:
    """In live mode the loop runs LIVE_CMD_ARGS. It has to begin with the same program as the command that it is
    made from.

    Warning: it prints something.

    Bad:  driver_prepare_live_command() { local LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
    Good: driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
    """
    live = _live(probe)
    if live.result.trouble:
        return
    answer, program = live.result, live.command[0]
    if answer.status:
        yield Problem(f"it returns {answer.status}", expected="0")
    if answer.stdout:
        yield Problem(f"it prints {excerpt(answer.stdout)}", severity=WARNING)
    if not live.argv:
        yield Problem("LIVE_CMD_ARGS is empty", hint=ITSELF, about=("LIVE_CMD_ARGS",))
    elif live.argv[0] != program:
        yield Problem(f"it begins with {excerpt(live.argv[0])}", expected=f"{program}, as the command does")


@driver("RB131", "The live command is a copy: CLAUDE_CMD_ARGS stays", Harm.CHANGES_THE_LOOP, hook=HOOK)
def command_stays(probe: DriverProbe) -> Iterator[Problem]:
    """The loop falls back to the ordinary command when live mode can't be had, and logs it. A hook that works on
    the array itself leaves the live flags in it.

    Bad:  CLAUDE_CMD_ARGS+=("--verbose"); LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    Good: LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" "--verbose")
    """
    live = _live(probe, full=True)
    before, after = live.command, live.left
    if before != after:
        moved = [word for word in after if word not in before] or [word for word in before if word not in after]
        yield Problem(f"it changes CLAUDE_CMD_ARGS: {excerpt(' '.join(moved))}", about=("CLAUDE_CMD_ARGS",))


@driver("RB132", "The live command keeps what the command has", Harm.WRONG_COMMAND, hook=HOOK)
def live_keeps(probe: DriverProbe) -> Iterator[Problem]:
    """How the output is printed is replaced, and nothing else: prompt, context, session, permissions and model have
    to be the same. What the prompt or the context say must not change because the word json is in them, an argument
    with blanks stays one argument, and an option and its value stay together.

    Info: a context that is the word json.

    Bad:  LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]/json/stream-json})
    Good:
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do
            [[ "$arg" == json ]] && arg=stream-json
            LIVE_CMD_ARGS+=("$arg")
        done
    """
    live = _live(probe, full=True)
    if live.result.trouble or not live.argv:
        return
    problem = next(_changed(probe, _full(probe), live), None)
    # A prompt that looks like an option may stand behind a --, where nothing may be added.
    dashed = Build(prompt=".ralph/PROMPT-dash.md")
    if problem is None and (other := probe.live(dashed)) is not None and other.argv:
        problem = next(_changed(probe, dashed, other), None)
    if problem is not None:
        yield problem
        return
    # A context may be the very word that is looked for; where it is part of the prompt, it isn't alone.
    usual, short = (probe.live(Build(context=context, output=None)) for context in ("", "json"))
    if _lost_json(short) > _lost_json(usual):
        message = "a context that is only the word json is changed"
        yield Problem(message, hint="change the argument behind --output-format only", severity=INFO)


def _lost_json(live: LiveCommand | None) -> int:
    """How many words of the command are json, and are not in the live one: the format's is one, if it is given."""
    return 0 if live is None or live.argv is None else live.command.count("json") - live.argv.count("json")


_OUTPUT = re.compile(
    r"json|format|output|stream|text|quiet|silent|batch|print|verbose|plain|raw|colou?r|progress|result|last|log|pretty"
    r"|event|summary|-[oqsvf]$|--no-",
    re.IGNORECASE,
)
"""Options that say how the output is printed, and values of such."""


def _changed(probe: DriverProbe, case: Build, live: LiveCommand) -> Iterator[Problem]:
    """What of the command isn't in the live command any more, or not in its place."""
    batch, received = probe.received(case), live.received
    texts = {"the prompt": prompt_text(probe, case), "the context": case.context, "the session id": case.session}
    given = {what: text for what, text in texts.items() if text}
    for what, text in given.items():
        before, after = batch.count(text), received.count(text)
        if before and not after:
            yield Problem(f"{what} is lost or changed")
        elif after > before:
            yield Problem(f"{what} is in it more than once")
    yield from _lost_words(batch.line, received.line, tuple(given.values()))
    yield from _torn(batch.line, received.line)
    values = {*beyond(batch.line, probe.line(Build()) or [])} - {case.context, "--"}
    for option, value in pairwise(batch.line):
        takes_it = is_option(option) and not is_switch(option) and value in values and not may_be_option(value)
        at = received.line.index(value) if value in received.line else 0
        if takes_it and at and received.line[at - 1] != option:
            yield Problem(f"{option} and its value are no longer side by side")


def _torn(batch: Sequence[str], live: Sequence[str]) -> Iterator[Problem]:
    """An option that says how the output is printed, and its value, of which one is gone."""
    for option, value in pairwise(batch):
        if not _OUTPUT.search(option) or not is_option(option) or value.startswith("-"):
            continue
        if lost_value(live, batch, value) == option:
            yield Problem(f"{option} has lost its value {excerpt(value)}")
        elif option not in live and value in live[1:]:
            ahead = live[list(live).index(value, 1) - 1]
            if not is_option(ahead):
                yield Problem(f"{excerpt(value)} has lost its option {option}, and stands behind {excerpt(ahead)}")


def _lost_words(batch: Sequence[str], live: Sequence[str], texts: Sequence[str]) -> Iterator[Problem]:
    replaced = any(not is_option(word) and not _is_output(word, live) for word in beyond(live, batch))
    for word in beyond(batch, live):
        if any(text in word for text in texts):
            continue  # a request, or code for another shell: what is in it has been looked for
        if re.search(r"\s", word):
            yield Problem(f"this argument is lost or changed: {excerpt(word)}")
        elif not _is_output(word, batch) and (is_option(word) or not replaced):
            yield Problem(f"{excerpt(word)} is lost")


def _is_output(word: str, line: Sequence[str]) -> bool:
    """Whether the word, or the option that it is a value of, says how the output is printed."""
    if _OUTPUT.search(word):
        return True
    before = line[list(line).index(word) - 1]
    return not is_option(word) and is_option(before) and _OUTPUT.search(before) is not None


_FORMAT = re.compile(r"(--(?:output-)?format|--output|-o)(?:=(.*))?", re.DOTALL)
_EVENTS = re.compile(r"stream|event|ndjson|jsonl|delta", re.IGNORECASE)
_WITHOUT_DRIVER = ("goose",)


_WORDS = ("text", "plain", "markdown", "md")
"""Formats that are words for people."""


def _prints_one_document(name: str) -> bool:
    """Whether the CLI's ``json`` is one document at the end, and events have another word."""
    known = (program for cli in known_clis().values() if cli.json_is_one_document for program in cli.programs)
    return any(re.match(rf"{re.escape(each)}(?:-|$)", name) for each in (*known, *_WITHOUT_DRIVER))


@driver("RB139", "The live command prints events", Harm.WRONG_DISPLAY, hook=HOOK)
def live_prints_events(probe: DriverProbe) -> Iterator[Problem]:
    """The command that is run when nobody watches prints one document when it is done. The live command has to ask
    for events instead, or the filter has nothing to show until the end.

    Info: where CLAUDE_OUTPUT_FORMAT is text, as few loops have it.

    Bad:  LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]/--output-format json/--output-format stream-json}")
    Good: for a in "${CLAUDE_CMD_ARGS[@]}"; do [[ "$a" == json ]] && a=stream-json; LIVE_CMD_ARGS+=("$a"); done
    """
    if not probe.own("driver_stream_filter") or probe.truth("driver_supports_live_output") is not True:
        return
    if (asked := _format(_live_line(probe, Build(output="text")))) in _WORDS:
        message = f"with CLAUDE_OUTPUT_FORMAT text it asks for {asked}, and the filter reads events"
        yield Problem(message, severity=INFO)
    line = _live_line(probe, Build())
    asked = _format(line)
    if probe.known() is not None or asked is None:
        return
    name = os.path.basename(line[0])
    if any(_EVENTS.search(word) for word in (asked, *filter(is_option, line))):
        if os.path.basename(probe.program()) == "claude" and asked == "stream-json" and "--verbose" not in line:
            yield Problem("claude refuses stream-json without --verbose", expected="--verbose as well")
    elif asked in _WORDS:
        yield Problem(f"it asks for {asked}, and the filter reads events")
    elif asked == "json" and not _is_passed_through(name):
        means_to = _EVENTS.search(probe.functions().get(HOOK, "")) is not None
        if _prints_one_document(name) or means_to or ("--output-format" in line and _reads_as_claude(probe)):
            yield Problem("it asks for json, as the ordinary command does", expected="events, such as stream-json")
        else:
            raise CannotTell(f"{name} isn't known", f"whether {name} prints events when it is asked for json")


def _live_line(probe: DriverProbe, case: Build) -> Sequence[str]:
    live = probe.live(case)
    return probe.line(case) or [] if live is None else live.received.line


def _is_passed_through(name: str) -> bool:
    """Whether the live command of the driver that ships is the ordinary one, so that its json are events."""
    cli = find_cli(name)
    return (
        cli is not None
        and cli.driver is not None
        and cli.driver.live == "passthrough"
        and not cli.json_is_one_document
    )


def _format(line: Sequence[str]) -> str | None:
    """What is asked for; the last option counts."""
    found = None
    for word, following in pairwise([*line, ""]):
        if (match := _FORMAT.fullmatch(word)) is not None:
            found = following if match[2] is None else match[2]
    return found


def _reads_as_claude(probe: DriverProbe) -> bool:
    """Whether its filter is one for the events that claude, and others like it, call stream-json."""
    program = probe.filter()
    if program is None or isinstance(program, str):
        return False
    return any(
        compare(b"".join(program.stream(recording.lines)).decode(errors="replace"), recording).shows
        for recording in streamed()
        if recording.name.startswith(("claude", "cursor"))
    )


@driver("RB133", "Nothing stale from an earlier live command", Harm.WRONG_COMMAND, hook=HOOK)
def live_is_fresh(probe: DriverProbe) -> Iterator[Problem]:
    """The hook is called once per iteration in the same shell. Appending to LIVE_CMD_ARGS without emptying it
    first makes every command longer than the last.

    Bad:  for arg in "${CLAUDE_CMD_ARGS[@]}"; do LIVE_CMD_ARGS+=("$arg"); done
    Good:
        LIVE_CMD_ARGS=()
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do LIVE_CMD_ARGS+=("$arg"); done
    """
    first = _live(probe)
    if first.result.trouble or first.argv is None:
        return
    probe.live_again(_full(probe))
    again = probe.live_again(Build())
    if again is not None and again.command == first.command and again.result.value != first.result.value:
        yield Problem("an earlier live command changes this one", about=("LIVE_CMD_ARGS",))
