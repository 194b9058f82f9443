"""Sessions: where a driver finds the id of a finished run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks import excerpt
from bridge.verify.findings import INFO, WARNING, Harm
from bridge.verify.recordings import carries, streamed
from bridge.verify.registry import CannotTell, Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.verify.findings import Severity
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.state import HookResult
    from bridge.verify.recordings import Recording

EXTRACT = "driver_extract_session_id_from_output"
FALLBACK = "driver_fallback_session_id"
_GARBAGE = b'npm warn: this line is no JSON\n{"type":"text","part":{"te\n\n[1,2\n\xff\xfe\n'
_EVENT = b'{"type":"rb.never.heard.of"}\n'
_OTHER_IDS = (
    b'{"type":"rb.other","uuid":"0d15ea5e-0000-4000-8000-000000000001","request_id":"req_0d15ea5e"}\n'
    b'{"type":"rb.other","id":"evt_0d15ea5e"}\n'
    b'{"type":"rb.other","requestID":"req_0d15ea5e","messageID":"msg_0d15ea5e","callID":"call_0d15ea5e"}\n'
    b'{"type":"assistant","message":{"id":"msg_0d15ea5e","content":[{"type":"text","text":"the other session_id: '
    b'0d15ea5e-0000-4000-8000-000000000002"}]}}\n'
)


def _extracted(probe: DriverProbe, name: str, data: bytes) -> HookResult:
    return probe.call(EXTRACT, probe.scratch.file(name, data))


def _speaking(cases: Iterable[tuple[str, HookResult]]) -> Iterator[Problem]:
    """The first of these cases in which an id is printed where there is none."""
    for when, answer in cases:
        if not answer.trouble and answer.text.strip():
            yield Problem(f"{when} it prints {excerpt(answer.text)}")
            return


@driver("RB150", "The session id is found in the output", Harm.WRONG_SESSION, hook=EXTRACT, own=True)
def extraction_finds(probe: DriverProbe) -> Iterator[Problem]:
    """The hook is asked first, and what it prints is taken for the id: one word on one line. Anything around it
    ends up on the next command line.

    Warning: of a CLI without recordings, or when keys are added.
    Info: of older versions; the first line alone is read, of a CLI that prints the id there and nowhere else.

    Bad:  grep -o '"sessionID":"[^"]*"' "$1"
    Good: sed -n 's/.*"sessionID":"\\([^"]*\\)".*/\\1/p' "$1" | head -n 1
    """
    recorded = probe.printed()
    mine = [recording for recording in recorded if recording.session]
    answers = [
        (each, _extracted(probe, f"{each.name}.log", b"".join(each.lines)))
        for each in mine or streamed()
        if each.session
    ]
    for recording, answer in answers:
        if answer.trouble:
            return
        # In the output of another CLI such keys may hold anything.
        if answer.text and not _is_id(answer.text) and (mine or (recording.session or "") in answer.text):
            yield Problem(f"it prints {excerpt(answer.text)}", expected="one id, on one line")
            return
    for recording, answer in answers:
        if mine and answer.text.strip() != recording.session:
            # Not every driver knows the shapes of older versions, and the generic step comes next.
            older = (not recording.today or recording.at_the_end) and not answer.text
            where = f"on the output of {recording.name}"
            yield _wrong(where, answer, recording, INFO if older else None)
            return
    found = next((recording for recording, answer in answers if answer.text.strip() == recording.session), None)
    if found is not None:
        yield from _extracted_from_others(probe, found)
    elif not mine:
        why = f"the recorded output, {recorded[0].name}, holds no session id" if recorded else probe.unrecorded()
        raise CannotTell(why)


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[\w.:@=+~-]+", text.strip()) is not None


def _wrong(where: str, answer: HookResult, recording: Recording, severity: Severity | None = None) -> Problem:
    printed = excerpt(answer.text) if answer.text else "nothing"
    return Problem(f"{where} it prints {printed}", expected=recording.session or "", severity=severity)


def _extracted_from_others(probe: DriverProbe, recording: Recording) -> Iterator[Problem]:
    """What stands before the id is no JSON at times, what stands behind it is another matter with every version."""
    longer = [re.sub(rb"\}\s*\Z", b',"rb":"rb-behind"}\n', line) for line in recording.lines]

    def otherwise(lines: Iterable[bytes]) -> HookResult | None:
        found = _extracted(probe, "others.log", b"".join(lines))
        return None if found.trouble or found.text.strip() == recording.session else found

    if (found := otherwise((_GARBAGE, *recording.lines))) is not None:
        once = not any(carries(line, recording.session or "") for line in recording.lines[1:])
        by_place = once and otherwise((_EVENT, *recording.lines)) is not None  # whatever stands before it
        where = "with lines that are no JSON before it,"
        yield _wrong(where, found, recording, INFO if by_place else None)
    elif (found := otherwise(longer)) is not None:
        yield _wrong("where more keys follow the id", found, recording, WARNING)


@driver("RB151", "Nothing is found where nothing is", Harm.WRONG_SESSION, hook=EXTRACT, own=True)
def extraction_finds_nothing(probe: DriverProbe) -> Iterator[Problem]:
    """For an empty output, one that is no JSON, and a file that does not exist, the answer is no output. Then the
    next step of the recovery is tried. The status does not matter.

    Bad:  jq -r '.sessionID' "$1"          # prints: null
    Good: jq -r '.sessionID // empty' "$1"
    """
    without_id = b'{"type":"text","part":{"text":"hello"}}\n{"type":"result","ok":true}\n'
    cases = {
        "for an empty output": b"",
        "for an output that is not JSON": _GARBAGE,
        "for events without an id": without_id,
        "for events with ids of other things": _OTHER_IDS,
        "without an output file": None,
    }
    missing = str(probe.scratch.root / "no such output.log")
    yield from _speaking(
        (when, probe.call(EXTRACT, missing) if data is None else _extracted(probe, "nothing.log", data))
        for when, data in cases.items()
    )


@driver("RB155", "The recovery finds the session", Harm.WRONG_SESSION)
def recovery(probe: DriverProbe) -> Iterator[Problem]:
    """Three steps are tried: the driver's own extraction, the keys that every host knows, the driver's fallback.
    For a driver that supports sessions one of them has to find the id in what its CLI prints today; a hook that
    prints a wrong one is believed before the others are asked.

    Bad:  driver_extract_session_id_from_output() { basename "$1" .log; }
    Good: # no hook, where the output has session_id, sessionId or metadata.session_id
    """
    from bridge.scripts.session_id import recover

    if probe.truth("driver_supports_sessions") is not True or probe.session() is None:
        return
    for recording in probe.printed():
        if not recording.today or not recording.session or recording.at_the_end:
            continue
        log = probe.scratch.file(f"{recording.name}.log", b"".join(recording.lines))
        found = recover(_Hooks(probe), log).session_id
        if found != recording.session:
            yield Problem(
                f"for the output of {recording.name} the recovery finds {found or 'nothing'}",
                hook=EXTRACT if probe.own(EXTRACT) else None,
                expected=recording.session,
            )


class _Hooks:
    """The two hooks as `bridge.scripts.session_id.recover` asks them."""

    def __init__(self, probe: DriverProbe) -> None:
        self._probe = probe

    def extract_session_id(self, output_file: str) -> str | None:
        return self._answer(EXTRACT, output_file)

    def fallback_session_id(self, output_file: str) -> str | None:
        return self._answer(FALLBACK, output_file)

    def _answer(self, hook: str, output_file: str) -> str | None:
        return self._probe.call(hook, output_file).text or None if self._probe.own(hook) else None


ONE, TWO = "ses_4kQ0parserffeA1b2C3d4E5", "ses_9zX8secondffeF6g7H8i9J0"


def _listed(*ids: str) -> str:
    items = ",".join(f'{{"id":"{i}","sessionId":"{i}","session_id":"{i}","title":"run"}}' for i in ids)
    return f"[{items}]\n"


def _pretty(*ids: str) -> str:
    items = ",\n".join(f'  {{\n    "id": "{i}",\n    "title": "run"\n  }}' for i in ids)
    return f"[\n{items}\n]\n"


def _asked(probe: DriverProbe, answer: str | None, status: int = 0) -> HookResult:
    """What the fallback prints when the CLI gives this answer."""
    probe.cli()  # its scripted CLI must be there
    probe.scratch.answer(answer, status)
    found = probe.call(FALLBACK, probe.scratch.file("empty.log", b""))
    probe.scratch.answer(None)
    return found


@driver("RB152", "The fallback gives the only session", Harm.WRONG_SESSION, hook=FALLBACK, own=True)
def fallback_gives(probe: DriverProbe) -> Iterator[Problem]:
    """When nothing in the output tells the id, the CLI is asked. If it lists one session, that is the one.

    Info: it isn't known how this CLI is asked.

    Bad:  my-cli session list --format json
    Good: my-cli session list --format json </dev/null | jq -r 'if length == 1 then .[0].id else empty end'
    """
    answers = [_asked(probe, _listed(ONE)), _asked(probe, _pretty(ONE))]
    if any(answer.trouble for answer in answers):
        return
    wrong = next((answer.text for answer in answers if answer.text and answer.text.strip() != ONE), "")
    if wrong:
        yield Problem(f"it prints {excerpt(wrong)}", expected=f"only {ONE}")
    elif not all(answer.text for answer in answers):
        # Only of opencode is it known how its CLI is asked.
        known = probe.known()
        severity = None if known is not None and known.falls_back else INFO
        yield Problem("with one session listed it prints nothing", expected=ONE, severity=severity)


@driver("RB153", "The fallback refuses ambiguity", Harm.WRONG_SESSION, hook=FALLBACK, own=True)
def fallback_refuses(probe: DriverProbe) -> Iterator[Problem]:
    """With several sessions in the list there is no telling which one is the loop's. The newest may be the one
    in which a person is typing at this moment, and the loop would go on in it.

    Bad:  my-cli session list --format json | jq -r '.[0].id'
    Good: my-cli session list --format json | jq -r 'if length == 1 then .[0].id else empty end'
    """
    lists = (_listed(ONE, TWO), _listed(TWO, ONE), _pretty(ONE, TWO))
    yield from _speaking(("with two sessions listed", _asked(probe, listed)) for listed in lists)


@driver("RB154", "The fallback gives nothing when the CLI fails", Harm.WRONG_SESSION, hook=FALLBACK, own=True)
def fallback_fails_quietly(probe: DriverProbe) -> Iterator[Problem]:
    """A CLI that is missing, fails, or has no session leaves no id. What it prints then must not be taken for one.

    Bad:  my-cli session current 2>&1 | tail -n 1
    Good: my-cli session current 2>/dev/null || return 1
    """
    cases = {"lists no session": ("[]\n", 0), "fails": ("error: not logged in\n", 1), "prints nothing": (None, 0)}
    problems = _speaking((f"when the CLI {what},", _asked(probe, *answer)) for what, answer in cases.items())
    if (problem := next(problems, None)) is not None:
        yield problem
    else:
        empty = probe.scratch.file("empty.log", b"")
        yield from _speaking([("without the CLI", probe.without_cli(FALLBACK, empty))])
