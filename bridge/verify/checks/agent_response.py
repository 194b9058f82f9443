"""Agents: the response that is taken from the output of the CLI."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.verify.checks import excerpt
from bridge.verify.checks.lines import unquoted_line
from bridge.verify.facts.usage import at_once, is_jq
from bridge.verify.findings import INFO, WARNING, Aspect, Harm
from bridge.verify.recordings import BAD_LINES, compare
from bridge.verify.registry import CannotTell, Problem, Settled, agent, static_agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import CommandFact
    from bridge.verify.probe.agent import AgentProbe, Extraction
    from bridge.verify.recordings import Comparison, Recording
    from bridge.verify.subject import Subject

EXTRACT, DISPLAY = "agent_extract_response", "agent_format_display"
BY_LINE = "while IFS= read -r line; do … done"


@static_agent("RB041", "agent_extract_response works line by line", Harm.WRONG_RESPONSE, expected=BY_LINE)
def extracts_by_line(subject: Subject) -> Iterator[Problem]:
    """One line that is no JSON (a message of the program, half an event) ends jq, and with it all that follows it.

    The signal that the work is done then goes unseen, and the loop repeats finished work. ``jq -R`` with
    ``fromjson?`` takes each line by itself, too.

    Bad:  jq -r 'select(.type == "result") | .result' "$1"
    Good:
        while IFS= read -r line; do
            jq -r 'select(.type == "result") | .result' <<<"$line" 2>/dev/null || true
        done <"$1"
    """
    yield from by_line(subject, EXTRACT, streaming=False)


def by_line(subject: Subject, hook: str, *, streaming: bool) -> Iterator[Problem]:
    if hook not in subject.facts.names:
        raise CannotTell(f"{hook} is not defined")
    effects = subject.effects(hook)
    seen: set[int] = set()
    for command in effects.commands:
        if not is_jq(command) or command.line in seen or command.guarded:
            continue
        why = at_once(command, subject.source.decode(errors="replace"), streaming=streaming)
        if not why and not command.loop and (variable := _holds_all(subject, command)):
            why = f"{variable} holds a whole file"
        if not why and _drains(command, hook):
            why = "in the loop it takes all that is left of the input"
        if why:
            seen.add(command.line)
            yield Problem(
                f"jq in {command.function}: {why}",
                line=command.line,
                hook=hook,
                hint="give jq one line at a time, and go on when it fails: || true",
            )
    if not effects.known and not seen:
        raise CannotTell(f"{hook} could not be read")


def _holds_all(subject: Subject, command: CommandFact) -> str:
    """The variable that jq is given, if the script has put a whole file into it."""
    fed = " ".join((command.upstream, *command.redirects, *command.around))
    for name in re.findall(r"\$\{?([A-Za-z_]\w*)", fed):
        if re.search(rf"\b{name}=\"?\$\((?:<|cat\b)".encode(), subject.source):
            return str(name)
    return ""


def _drains(command: CommandFact, hook: str) -> bool:
    """Whether jq stands in the loop itself and is given nothing there."""
    fed = command.upstream or any("<" in redirect for redirect in command.redirects)
    fed = fed or any(redirect.startswith("<<<") for redirect in command.around)
    null = any(word in ("-n", "--null-input") or re.fullmatch(r"-\w*n\w*", word) for word in command.words)
    return command.loop and command.function == hook and not fed and not null


def _reads_json(probe: AgentProbe) -> bool:
    """False for a program that prints plain text: then its output is the response, as it is."""
    return probe.knows_cli() or any(re.search(r"jq|json", piece, re.IGNORECASE) for piece in probe.code())


def _extraction(probe: AgentProbe) -> Extraction:
    """The response on the output of its CLI.

    Raises:
        CannotTell: nobody has recorded that output, and it understands nobody else's.
    """
    if not probe.has(EXTRACT):
        raise Settled
    if (found := probe.extraction()) is None:
        raise CannotTell(probe.unrecorded())
    if found.result.trouble:
        raise Settled
    return found


def _extracts(probe: AgentProbe) -> Recording:
    """The output of its CLI, if the response is taken from it as it should be."""
    found = _extraction(probe)
    if not found.comparison.shows:
        raise Settled
    return found.recording


@agent("RB176", "The response is what the assistant says", Harm.WRONG_RESPONSE, hook=EXTRACT)
def response_has_text(probe: AgentProbe) -> Iterator[Problem]:
    """The loop looks for its completion signal in the response. It is taken here from recorded output of the CLI;
    every text of the assistant has to be in it, with its line breaks.

    Warning: a text that comes in pieces is torn, and with it the signal.
    Info: of older versions, or the last message only.

    Bad:  ... | jq -r 'select(.type=="message") | .text'
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    if not probe.knows_cli() and probe.has(EXTRACT) and _ignores_own_events(probe):
        message = "it gives nothing of what agent_invoke prints"
        yield Problem(message, expected="what the assistant says", about=(Aspect.LOST,))
        return
    recording, answer, verdict = _extraction(probe)
    quoted = [text for text in recording.texts if json.dumps(text, ensure_ascii=False) in answer.stdout]
    if verdict.shows:
        yield from _shown_as_it_is(probe, recording)
    elif quoted and _reads_json(probe):
        message = f"the text is given as JSON: {excerpt(json.dumps(quoted[0]))}"
        yield Problem(message, hint="jq -r", about=(Aspect.RAW,))
    elif any(text in answer.stderr for text in recording.texts):
        yield Problem("the text is on stderr", expected="on stdout")
    elif set(verdict.missing) == {*recording.texts[:-1]} and not verdict.broken and verdict.nothing_else:
        # The last message is what signals are looked for in.
        yield Problem("only the last message is given", severity=INFO)
    else:
        yield _lost(recording, verdict)


def _lost(recording: Recording, verdict: Comparison) -> Problem:
    text, where = excerpt((verdict.missing or verdict.broken)[0]), f"on the output of {recording.name} it"
    if verdict.missing:
        return Problem(f"{where} does not give {text}")
    if "*" not in text:  # the first text, which has line breaks
        return Problem(f"{where} changes the blanks or line breaks of {text}")
    what = f"{where} splits at blanks, as an unquoted variable does, {text}"
    return Problem(what, line=unquoted_line(EXTRACT), hint="printf '%s\\n' \"$line\"")


def _shown_as_it_is(probe: AgentProbe, recording: Recording) -> Iterator[Problem]:
    if not recording.today:
        yield Problem(f"it knows only how older versions of {probe.cli()} print", severity=INFO)
    elif probe.tears(recording):
        message = f"{recording.name} prints a text in pieces, and each is put on a line of its own"
        yield Problem(message, expected="jq -j", severity=WARNING)


def _ignores_own_events(probe: AgentProbe) -> bool:
    """Whether the response holds nothing of the events that agent_invoke itself makes."""
    if not probe.makes_events():
        return False
    made = probe.extract(probe.invocation().stdout, "made.log")
    return not made.trouble and set(made.stdout.split()) <= {"null"}


@agent("RB177", "The response is nothing else", Harm.WRONG_RESPONSE, hook=EXTRACT)
def response_is_only_text(probe: AgentProbe) -> Iterator[Problem]:
    """The prompt itself explains the completion signal, and tools print files that quote it. If any of that is in
    the response, the loop believes that the work is done.

    Warning: every text is there twice.

    Bad:  cat "$1"
    Good: ... | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
    """
    recording, answer, verdict = _extraction(probe)
    if not _reads_json(probe) and not verdict.leaked:
        return  # each line is text
    if {line.strip() for line in recording.lines} & {line.encode() for line in answer.stdout.splitlines()}:
        yield Problem("it gives the events as they are", expected="their text", about=(Aspect.RAW,))
        return
    tools = re.search(r"\[?tool\b|\b(?:" + "|".join(map(re.escape, recording.tools)) + r")\b", answer.stdout)
    rest = verdict.extra or (tools.group(0) if tools is not None and verdict.notices else "")
    where = f"on the output of {recording.name} it gives"
    if verdict.leaked or rest:
        yield Problem(f"{where} {excerpt(' '.join(verdict.leaked) or rest)}")
    elif verdict.repeated:
        yield Problem(f"{where} {excerpt(verdict.repeated[0])} twice", severity=WARNING)


@agent("RB178", "Bad lines in the output are skipped", Harm.WRONG_RESPONSE, hook=EXTRACT)
def response_survives(probe: AgentProbe) -> Iterator[Problem]:
    """Output holds lines that are no JSON: warnings, half an event of a run that was ended, empty lines. jq on the
    whole file stops at the first of them, and the completion signal behind it is never seen.

    Bad:  jq -r 'select(.type=="assistant") | ...' "$1"
    Good:
        while IFS= read -r line; do
            printf '%s\\n' "$line" | jq -r 'select(.type=="assistant") | ...' 2>/dev/null || true
        done <"$1"
    """
    recording = _extracts(probe)
    if not _reads_json(probe):
        return  # each line is text
    middle = len(recording.lines) // 2
    lines = (BAD_LINES[0], *recording.lines[:middle], *recording.bad_lines, *recording.lines[middle:])
    answer = probe.extract(b"".join(lines), "bad lines.log")
    if answer.trouble or not compare(answer.stdout, recording).shows:
        yield Problem("with lines that are not JSON, what follows them is lost")
    elif re.search(r"npm warn|rb\.never|a string|jq: |parse error", answer.stdout):
        yield Problem(f"bad lines show up in the response: {excerpt(answer.stdout)}", about=(Aspect.RAW,))


@agent(
    "RB179",
    "A last line without a newline counts",
    Harm.GOOD_TO_KNOW,
    hook=EXTRACT,
    hint='while IFS= read -r line || [[ -n "$line" ]]; do',
)
def last_line(probe: AgentProbe) -> Iterator[Problem]:
    """``read`` returns a failure for a last line that no newline ends, although it has read it. CLIs that are
    ended early leave such a line.

    Bad:  while IFS= read -r line; do ...; done <"$1"
    Good: while IFS= read -r line || [[ -n "$line" ]]; do ...; done <"$1"
    """
    recording = _extracts(probe)
    answer = probe.extract(b"".join(recording.upto_last_text().lines).rstrip(b"\n"), "no newline.log")
    if not answer.trouble and recording.texts[-1] not in answer.stdout:
        yield Problem("a last line without a newline is lost")


@agent("RB180", "No output, no response", Harm.WRONG_RESPONSE, hook=EXTRACT, own=True)
def empty_output(probe: AgentProbe) -> Iterator[Problem]:
    """A CLI that fails at once leaves an empty file, or none. The response is empty then, and nothing waits.

    Bad:  echo "Response:"; ...
    Good: while IFS= read -r line; do ...; done <"$1"
    """
    for what, answer in (
        ("an empty output", probe.extract(b"", "empty.log")),
        ("a missing file", probe.call(EXTRACT, str(probe.scratch.root / "no such file.log"))),
    ):
        if not answer.trouble and answer.stdout.strip():
            yield Problem(f"for {what} it prints {excerpt(answer.stdout)}")
