"""Sessions: where a driver finds the id of a finished run; and the capability matrix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import Build, DriverProbe, driver_probe
from bridge.verify.probe.families import Recording, recordings, recordings_of
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.contract import DriverCapabilities
    from bridge.verify.model import Finding
    from bridge.verify.probe import Answer

__all__: list[str] = []

DRIVER = ("driver",)
EXTRACT = "driver_extract_session_id_from_output"
FALLBACK = "driver_fallback_session_id"
ONE, TWO = "ses_4kQ0parserffeA1b2C3d4E5", "ses_9zX8secondffeF6g7H8i9J0"
_GARBAGE = b"npm warn: this line is no JSON\n{\"type\":\"text\",\"part\":{\"te\n\n[1,2\n\xff\xfe\n"


def _own_recordings(probe: DriverProbe) -> list[Recording]:
    return recordings_of(probe.known.cli[0] if probe.known is not None else probe.cli)


def _extracted(probe: DriverProbe, recording: Recording) -> Answer:
    return probe.call(EXTRACT, probe.scratch.file(f"{recording.name}.log", b"".join(recording.lines)))


@check("RB150", "The session id is found in the output", applies=DRIVER, phase="behaviour")
def extraction_finds(subject: Any) -> Iterator[Finding]:
    """The hook is asked first, and what it prints is taken for the id: one word on one line. Anything around it
    ends up on the next command line.

    Bad::

        grep -o '"sessionID":"[^"]*"' "$1"

    Good::

        sed -n 's/.*"sessionID":"\\([^"]*\\)".*/\\1/p' "$1" | head -n 1
    """
    probe = driver_probe(subject)
    if not probe.own(EXTRACT):
        return
    mine = _own_recordings(probe)
    answers = [(r, _extracted(probe, r)) for r in mine or recordings().values() if r.session]
    for recording, answer in answers:
        if answer.trouble:
            return
        if answer.text and (len(answer.text.split()) != 1 or not re.fullmatch(r"[\w.:@=+~-]+", answer.text.strip())):
            yield subject.finding(
                "RB150", f"it prints {said(answer.text)}", hook=EXTRACT, expected="one id, on one line"
            )
            return
    for recording, answer in answers:
        if mine and answer.text.strip() != recording.session:
            what = said(answer.text) if answer.text else "nothing"
            # Not every driver knows the shapes of older versions, and the generic step comes next.
            older = not recording.today and not answer.text
            yield subject.finding(
                "RB150", f"on the output of {recording.name} it prints {what}", hook=EXTRACT,
                expected=recording.session or "", severity=Severity.INFO if older else None,
            )  # fmt: skip
            return
    if not mine and not any(answer.text.strip() == recording.session for recording, answer in answers):
        wrong = next((answer.text for _, answer in answers if answer.text), "")
        yield subject.finding(
            "RB150", f"no recorded output gives its id{': ' + said(wrong) if wrong else ''}", hook=EXTRACT,
            severity=Severity.WARNING if wrong else Severity.INFO,
        )  # fmt: skip


@check("RB151", "Nothing is found where nothing is", applies=DRIVER, phase="behaviour")
def extraction_finds_nothing(subject: Any) -> Iterator[Finding]:
    """For an empty output, one that is no JSON, and a file that does not exist, the answer is no output. Then the
    next step of the recovery is tried. The status does not matter.

    Bad::

        jq -r '.sessionID' "$1"          # prints: null

    Good::

        jq -r '.sessionID // empty' "$1"
    """
    probe = driver_probe(subject)
    if not probe.own(EXTRACT):
        return
    cases = {
        "an empty output": b"",
        "an output that is no JSON": _GARBAGE,
        "events without an id": b'{"type":"text","part":{"text":"hello"}}\n{"type":"result","ok":true}\n',
    }
    for what, data in cases.items():
        answer = probe.call(EXTRACT, probe.scratch.file("nothing.log", data))
        if not answer.trouble and answer.text.strip():
            yield subject.finding("RB151", f"for {what} it prints {said(answer.text)}", hook=EXTRACT)
            return
    answer = probe.call(EXTRACT, str(probe.scratch.root / "no such output.log"))
    if not answer.trouble and answer.text.strip():
        yield subject.finding("RB151", f"without an output file it prints {said(answer.text)}", hook=EXTRACT)


def _listed(*ids: str) -> str:
    items = ",".join(f'{{"id":"{i}","sessionId":"{i}","session_id":"{i}","title":"run"}}' for i in ids)
    return f"[{items}]\n"


def _pretty(*ids: str) -> str:
    items = ",\n".join(f'  {{\n    "id": "{i}",\n    "title": "run"\n  }}' for i in ids)
    return f"[\n{items}\n]\n"


def _asked(probe: DriverProbe, answer: str | None, status: int = 0) -> Answer:
    probe.cli  # noqa: B018 - its scripted CLI must be there
    probe.scratch.answer(answer, status)
    found = probe.call(FALLBACK, probe.scratch.file("empty.log", b""))
    probe.scratch.answer(None)
    return found


@check("RB152", "The fallback gives the only session", applies=DRIVER, phase="behaviour")
def fallback_gives(subject: Any) -> Iterator[Finding]:
    """When nothing in the output tells the id, the CLI is asked. If it lists one session, that is the one.

    Bad::

        my-cli session list --format json

    Good::

        my-cli session list --format json </dev/null | jq -r 'if length == 1 then .[0].id else empty end'
    """
    probe = driver_probe(subject)
    if not probe.own(FALLBACK):
        return
    compact, pretty = _asked(probe, _listed(ONE)), _asked(probe, _pretty(ONE))
    if compact.trouble or pretty.trouble:
        return
    for answer in (compact, pretty):
        if answer.text and (ONE not in answer.text or len(answer.text.split()) != 1 or answer.text.strip() != ONE):
            yield subject.finding("RB152", f"it prints {said(answer.text)}", hook=FALLBACK, expected=f"only {ONE}")
            return
    if not (compact.text and pretty.text):
        # Only of opencode is it known how its CLI is asked.
        known = probe.known is not None and probe.known.falls_back
        yield subject.finding(
            "RB152", "with one session listed it prints nothing", hook=FALLBACK, expected=ONE,
            severity=None if known else Severity.INFO,
        )  # fmt: skip


@check("RB153", "The fallback refuses ambiguity", applies=DRIVER, phase="behaviour")
def fallback_refuses(subject: Any) -> Iterator[Finding]:
    """With several sessions in the list there is no telling which one is the loop's. The newest may be the one
    in which a person is typing at this moment, and the loop would go on in it.

    Bad::

        my-cli session list --format json | jq -r '.[0].id'

    Good::

        my-cli session list --format json | jq -r 'if length == 1 then .[0].id else empty end'
    """
    probe = driver_probe(subject)
    if not probe.own(FALLBACK):
        return
    for listed in (_listed(ONE, TWO), _listed(TWO, ONE), _pretty(ONE, TWO)):
        answer = _asked(probe, listed)
        if not answer.trouble and answer.text.strip():
            yield subject.finding("RB153", f"with two sessions listed it prints {said(answer.text)}", hook=FALLBACK)
            return


@check("RB154", "The fallback gives nothing when the CLI fails", applies=DRIVER, phase="behaviour")
def fallback_fails_quietly(subject: Any) -> Iterator[Finding]:
    """A CLI that is missing, fails, or has no session leaves no id. What it prints then must not be taken for one.

    Bad::

        my-cli session current 2>&1 | tail -n 1

    Good::

        my-cli session current 2>/dev/null || return 1
    """
    probe = driver_probe(subject)
    if not probe.own(FALLBACK):
        return
    cases = {"lists no session": ("[]\n", 0), "fails": ("error: not logged in\n", 1), "prints nothing": (None, 0)}
    for what, (text, status) in cases.items():
        answer = _asked(probe, text, status)
        if not answer.trouble and answer.text.strip():
            yield subject.finding("RB154", f"when the CLI {what}, it prints {said(answer.text)}", hook=FALLBACK)
            return
    answer = probe.without_cli(FALLBACK, probe.scratch.file("empty.log", b""))
    if not answer.trouble and answer.text.strip():
        yield subject.finding("RB154", f"without the CLI it prints {said(answer.text)}", hook=FALLBACK)


@check("RB155", "The recovery finds the session", applies=DRIVER, phase="behaviour")
def recovery(subject: Any) -> Iterator[Finding]:
    """Three steps are tried: the driver's own extraction, the keys that every host knows, the driver's fallback.
    For a driver that supports sessions one of them has to find the id in what its CLI prints today; a hook that
    prints a wrong one is believed before the others are asked.

    Bad::

        driver_extract_session_id_from_output() { basename "$1" .log; }

    Good::

        # no hook, where the output has session_id, sessionId or metadata.session_id
    """
    from bridge.session_id import recover

    probe = driver_probe(subject)
    if probe.truth("driver_supports_sessions") is not True or probe.session is None:
        return
    for recording in _own_recordings(probe):
        if not recording.today or not recording.session:
            continue
        log = probe.scratch.file(f"{recording.name}.log", b"".join(recording.lines))
        found = recover(_Hooks(probe), log).session_id
        if found != recording.session:
            yield subject.finding(
                "RB155", f"for the output of {recording.name} the recovery finds {found or 'nothing'}",
                hook=EXTRACT if probe.own(EXTRACT) else None, expected=recording.session,
            )  # fmt: skip


class _Hooks:
    """The two hooks as `bridge.session_id.recover` asks them."""

    def __init__(self, probe: DriverProbe) -> None:
        self._probe = probe

    def extract_session_id(self, output_file: str) -> str | None:
        return self._probe.call(EXTRACT, output_file).text or None if self._probe.own(EXTRACT) else None

    def fallback_session_id(self, output_file: str) -> str | None:
        return self._probe.call(FALLBACK, output_file).text or None if self._probe.own(FALLBACK) else None


@check("RB156", "A known driver has the capabilities of the matrix", applies=DRIVER, phase="behaviour")
def matrix(subject: Any) -> Iterator[Finding]:
    """Five drivers are named in the contract, with what each of them can do. Loops and preflight checks count on
    it: they offer to resume, or to show live output, where the matrix says yes.

    Bad::

        # drivers/codex.sh
        driver_supports_sessions() { return 1; }

    Good::

        # drivers/codex.sh
        driver_supports_sessions() { return 0; }
    """
    probe = driver_probe(subject)
    if (known := probe.known) is None:
        return
    rows = {
        "driver_supports_tool_allowlist": known.allowlist,
        "driver_supports_sessions": known.sessions,
        "driver_supports_live_output": known.live_output,
    }
    for hook, wanted in rows.items():
        found = probe.truth(hook)
        if found is not None and found is not wanted:
            yield subject.finding(
                "RB156", f"{hook} says {'yes' if found else 'no'}", hook=hook, expected="yes" if wanted else "no"
            )
    yield from _matrix_of_hooks(subject, probe, known)


def _matrix_of_hooks(subject: Any, probe: DriverProbe, known: DriverCapabilities) -> Iterator[Finding]:
    for hook, wanted in ((EXTRACT, known.extracts_session_id), (FALLBACK, known.falls_back)):
        if wanted and not probe.own(hook):
            yield subject.finding("RB156", f"{hook} is missing", hook=hook, expected=f"{known.name} has it")
    if known.binary == "static" and probe.cli and probe.cli.rpartition("/")[2] not in known.cli:
        yield subject.finding(
            "RB156", f"driver_cli_binary prints {said(probe.cli)}", hook="driver_cli_binary", expected=known.cli[0]
        )
    if known.live_output and not probe.own("driver_stream_filter"):
        yield subject.finding("RB156", "driver_stream_filter is missing: nothing is shown", hook="driver_stream_filter")
    live = probe.live(Build())
    if known.live == "transform":
        if live is None or live[0].value == live[1]:
            yield subject.finding(
                "RB156", "the live command is the ordinary one", hook="driver_prepare_live_command",
                expected="stream-json instead of json",
            )  # fmt: skip
        elif isinstance(live[0].value, list) and "stream-json" not in live[0].value and not live[0].trouble:
            yield subject.finding(
                "RB156", "the live command does not ask for stream-json", hook="driver_prepare_live_command"
            )
    elif known.live == "passthrough" and live is not None and not live[0].trouble and live[0].value != live[1]:
        yield subject.finding(
            "RB156", "the live command is not the ordinary one", hook="driver_prepare_live_command",
            expected="a copy", severity=Severity.WARNING,
        )  # fmt: skip
