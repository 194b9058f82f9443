"""agent_NAME_detect_format and agent_NAME_normalize_response: what a provider adapter makes of an output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge.verify.checks import because, excerpt
from bridge.verify.checks.lines import argument_line, flag_line, member_line, ran_line
from bridge.verify.findings import WARNING, Harm
from bridge.verify.probe.provider import NO_OUTPUT, printed, saying
from bridge.verify.recordings import plain
from bridge.verify.registry import CannotTell, Problem, Settled, provider

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.verify.probe.provider import ProviderProbe
    from bridge.verify.recordings import Recording

_DETECT = "agent_NAME_detect_format"
_NORMALIZE = "agent_NAME_normalize_response"
_TEXT = (b"An answer\n", b"in plain words.\n")
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "boolean": bool, "number": (int, float), "array": list, "object": dict,
}  # fmt: skip
_BLOCK = "Did it.\n---RALPH_STATUS---\nSTATUS: {}\nEXIT_SIGNAL: {}\n---END_RALPH_STATUS---"
_BLOCKS = (("COMPLETE", "true", True), ("IN_PROGRESS", "false", False))


def _fits(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind != "number" or not isinstance(value, bool))


def _output(probe: ProviderProbe) -> Recording:
    if not (probe.has(probe.hook("detect_format")) and probe.has(probe.hook("normalize_response"))):
        raise Settled
    if (output := probe.output()) is None:
        raise CannotTell(probe.unrecorded())
    return output


def _record(probe: ProviderProbe, lines: tuple[bytes, ...]) -> Mapping[str, Any]:
    """What it makes of an output. Settled: nothing, which RB196 says, or the loop reads it as text."""
    response = probe.read(lines).response
    if response is None or response.record is None:
        raise Settled
    return response.record


@provider("RB195", "The format is json or text", Harm.WRONG_RESPONSE, expected="json, or text", hook=_DETECT)
def format_is_known(probe: ProviderProbe) -> Iterator[Problem]:
    """``json`` has the loop call ``agent_NAME_normalize_response``; ``text`` has it read the output itself, where
    it finds no status block that is part of a line of JSON. A CLI that fails prints words, or nothing: whoever
    calls that json reads no answer from it.

    Bad:  agent_mine_detect_format() { echo json; }
    Good: agent_mine_detect_format() { if jq -es . "$1" >/dev/null 2>&1; then echo json; else echo text; fi; }
    """
    hook = probe.hook("detect_format")
    if not probe.has(hook):
        raise Settled
    output = probe.output()
    cases = [("plain text", _TEXT, "text"), ("an empty file", (), "text")]
    if output is not None:
        cases.append(("what its CLI prints", output.lines, "json" if _shows_json(output) else ""))
    for what, lines, wanted in cases:
        answer = probe.read(lines).detected
        found = answer.stdout.strip()
        if answer.trouble:
            return
        if found not in ("json", "text") or (wanted and found != wanted):
            shown = excerpt(found) if found else "nothing"
            line = ran_line("detect_format", output=lines, printing=found.rpartition("\n")[2])
            yield Problem(f"{hook} prints {shown} for {what}", line=line, expected=wanted or "json, or text")
            return


@provider("RB196", "The record is whole", Harm.WRONG_RESPONSE, hook=_NORMALIZE)
def record_is_whole(probe: ProviderProbe) -> Iterator[Problem]:
    """The loop reads the members of the record by their names: one that is missing, or of another type, counts as
    null, and that is neither yes nor no. Where there is no record, status 1 says so.

    Warning: status 0 for an output that isn't there.

    Bad:  jq '{exit_signal: "true"}' "$1" >"$2"
    Good: jq '{exit_signal: true, summary: .result, session_id: .session_id, …}' "$1" >"$2"
    """
    hook = probe.hook("normalize_response")
    if not probe.has(hook) or not probe.has(probe.hook("detect_format")):
        raise Settled
    output = probe.output()
    read = probe.read(output.lines) if output is not None else None
    if read is not None and read.normalized is not None:
        if read.normalized.trouble:
            return
        if read.normalized.status:
            how = f"fails with status {read.normalized.status}{because(read.normalized.stderr)}"
            line = ran_line("normalize_response", output=output.lines if output is not None else ())
            yield Problem(f"{hook} {how} for what its CLI prints", line=line, expected="a record, and status 0")
            return
        if read.response is not None and read.response.record is None:
            line = argument_line("normalize_response", 2)
            yield Problem(read.response.why, line=line, expected="one JSON object")
            return
    shape = probe.shape()
    if shape is None or shape.record is None:
        if output is not None and read is not None and read.normalized is None:
            return  # text: the loop reads it
        raise CannotTell(probe.unrecorded())
    needed = [each for each in probe.contract.record.values() if each.needed]
    wrong = [each for each in needed if not _fits(shape.record.get(each.name), each.type)]
    if wrong:
        listed = ", ".join(
            f"{each.name} is {json.dumps(shape.record[each.name])[:40]}" if each.name in shape.record else each.name
            for each in wrong
        )
        expected = ", ".join(f"{each.name}: {each.type}" for each in wrong)
        there = next((each.name for each in (*wrong, *needed) if each.name in shape.record), needed[0].name)
        line = member_line(there, f"{there}:")
        yield Problem(f"the record lacks what a loop reads: {listed}", line=line, expected=expected)
    missing = probe.read_missing().normalized
    if missing is not None and missing.ok:
        line = ran_line("normalize_response", f".ralph/logs/{NO_OUTPUT}", ".ralph/.json_parse_result")
        yield Problem(f"{hook} returns 0 for an output that isn't there", line=line, severity=WARNING)


@provider(
    "RB197",
    "The record has what the assistant says",
    Harm.WRONG_RESPONSE,
    hook=_NORMALIZE,
    where=member_line("summary"),
)
def summary_is_the_answer(probe: ProviderProbe) -> Iterator[Problem]:
    """``summary`` is what the assistant said, with the status block that it ends with. An adapter that waits for
    events which its CLI never prints makes an empty one of every answer: the loop never learns that all is done.

    Bad:  summary=$(jq -rs '[.[] | select(.type == "assistant") | .text] | join("\\n")' "$1")   # of codex
    Good: summary=$(jq -rs '[.[].item | select(.type == "agent_message") | .text] | join("\\n")' "$1")
    """
    output, hook = _output(probe), probe.hook("normalize_response")
    record = _record(probe, output.lines)
    shown = str(record.get("summary") or "")
    last = output.texts[-1]
    if plain(last) in plain(shown):
        leaked = [word for word in output.never if word in shown]
        if leaked:
            yield Problem(f"{hook}: the summary has {excerpt(leaked[0])}, which the assistant didn't say")
        return
    cli, events = probe.program(), printed(output)
    unknown = [each for each in probe.sought() if each not in (*events, "error")]
    why = f"summary is {excerpt(shown)}" if shown else "summary is empty"
    if unknown:
        why += f": it looks for events of type {', '.join(unknown)}, of which there is none"
    yield Problem(
        f"{hook} finds nothing of the answer in what {cli} prints: {why}" if not shown else f"{hook}: {why}",
        line=member_line("summary", *(f'"{each}"' for each in unknown)),
        expected=f"{excerpt(last)}, of the events {', '.join(events)}" if events else excerpt(last),
        hint=f"run `{cli}` once, and read the answer from what it prints",
    )


@provider("RB198", "The status block decides", Harm.WRONG_RESPONSE, hook=_NORMALIZE)
def status_block_decides(probe: ProviderProbe) -> Iterator[Problem]:
    """The status block in the assistant's text is how every agent says that all is done: EXIT_SIGNAL: true ends the
    loop, and false has it go on, whatever else is said.

    Bad:  exit_signal=$(jq -r '.done // false' "$1")
    Good: exit_signal=$(printf '%s\\n' "$summary" | sed -n 's/^EXIT_SIGNAL: *//p' | tail -n 1)
    """
    output, hook = _output(probe), probe.hook("normalize_response")
    if plain(output.texts[-1]) not in plain(str(_record(probe, output.lines).get("summary") or "")):
        raise Settled  # RB197 says so
    for status, signal, wanted in _BLOCKS:
        lines = saying(output, _BLOCK.format(status, signal))
        record = _record(probe, lines)
        if record.get("exit_signal") is not wanted:
            found = json.dumps(record.get("exit_signal"))
            message = f"{hook}: exit_signal is {found} though the status block says EXIT_SIGNAL: {signal}"
            yield Problem(message, line=flag_line("exit_signal", wanted, lines), expected=signal)
            return
        if wanted and record.get("has_completion_signal") is not True:
            message = f"{hook}: has_completion_signal is not true though the status block says STATUS: COMPLETE"
            yield Problem(message, line=flag_line("has_completion_signal", wanted, lines), expected="true")
            return


@provider(
    "RB199", "The session's id is found", Harm.WRONG_SESSION, hook=_NORMALIZE, where=member_line("session_id")
)
def session_is_found(probe: ProviderProbe) -> Iterator[Problem]:
    """With the id that an output shows, the next turn resumes the session; without it each begins anew. Where the
    output is one object, the loop itself finds its ``session_id`` or ``sessionId``.

    Bad:  session_id=$(jq -rs '[.[].session_id // empty] | first // ""' "$1")    # of codex, which prints thread_id
    Good: session_id=$(jq -rs '[.[].thread_id // empty] | first // ""' "$1")
    """
    output, hook = _output(probe), probe.hook("normalize_response")
    found = str(_record(probe, output.lines).get("session_id") or "")
    if output.session is None or found == output.session or "supports_session_resume" not in probe.declared():
        return
    if not found and _shows_session(output):
        return
    cli = probe.program()
    shown = f"is {excerpt(found)}" if found else "is empty"
    yield Problem(f"{hook}: session_id {shown} for what {cli} prints", expected=excerpt(output.session))


def _shows_json(output: Recording) -> bool:
    return b"".join(output.lines).lstrip()[:1] in (b"{", b"[")


def _shows_session(output: Recording) -> bool:
    """Whether the loop finds it: one object with one of its keys."""
    if len(output.lines) > 1 and not output.at_the_end:
        return False
    try:
        found = json.loads(b"".join(output.lines))
    except ValueError:
        return False
    return isinstance(found, dict) and output.session in (found.get("session_id"), found.get("sessionId"))
