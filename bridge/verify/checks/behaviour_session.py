"""Sessions: where a driver finds the id of a finished run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.recordings import Recording, recordings, recordings_of
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.probe import DriverProbe, HookResult
    from bridge.verify.subject import Subject

__all__: list[str] = []

DRIVER = ("driver",)
EXTRACT = "driver_extract_session_id_from_output"
FALLBACK = "driver_fallback_session_id"
_GARBAGE = b'npm warn: this line is no JSON\n{"type":"text","part":{"te\n\n[1,2\n\xff\xfe\n'


_OTHER_IDS = (
    b'{"type":"rb.other","uuid":"0d15ea5e-0000-4000-8000-000000000001","request_id":"req_0d15ea5e"}\n'
    b'{"type":"assistant","message":{"id":"msg_0d15ea5e","content":[{"type":"text","text":"the other session_id: '
    b'0d15ea5e-0000-4000-8000-000000000002"}]}}\n'
)


def _own_recordings(probe: DriverProbe) -> list[Recording]:
    return recordings_of(known.cli[0] if (known := probe.known()) is not None else probe.cli())


def _extracted(probe: DriverProbe, recording: Recording) -> HookResult:
    return probe.call(EXTRACT, probe.scratch.file(f"{recording.name}.log", b"".join(recording.lines)))


@check("RB150", "The session id is found in the output", applies=DRIVER, phase="behaviour")
def extraction_finds(subject: Subject) -> Iterator[Finding]:
    """The hook is asked first, and what it prints is taken for the id: one word on one line. Anything around it
    ends up on the next command line.

    Bad::

        grep -o '"sessionID":"[^"]*"' "$1"

    Good::

        sed -n 's/.*"sessionID":"\\([^"]*\\)".*/\\1/p' "$1" | head -n 1
    """
    probe = subject.driver
    if not probe.own(EXTRACT):
        return
    mine = _own_recordings(probe)
    answers = [(r, _extracted(probe, r)) for r in mine or recordings().values() if r.session]
    for _, answer in answers:
        if answer.trouble:
            return
        if answer.text and (
            len(answer.text.split()) != 1 or not re.fullmatch(r"[\w.:@=+~-]+", answer.text.strip())
        ):
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
    for recording, answer in answers:
        if answer.text.strip() == recording.session:
            # What stands behind the id is another matter with every version.
            longer = [re.sub(rb"\}\s*\Z", b',"rb":"rb-behind"}\n', line) for line in recording.lines]
            found = probe.call(EXTRACT, probe.scratch.file("longer.log", b"".join(longer)))
            if not found.trouble and found.text.strip() != recording.session:
                what = said(found.text) if found.text else "nothing"
                yield subject.finding(
                    "RB150", f"where more keys follow the id it prints {what}", hook=EXTRACT,
                    expected=recording.session or "", severity=Severity.WARNING,
                )  # fmt: skip
            return
    if not mine and not any(answer.text.strip() == recording.session for recording, answer in answers):
        wrong = next((answer.text for _, answer in answers if answer.text), "")
        yield subject.finding(
            "RB150", f"no recorded output gives its id{': ' + said(wrong) if wrong else ''}", hook=EXTRACT,
            severity=Severity.WARNING if wrong else Severity.INFO,
        )  # fmt: skip


@check("RB151", "Nothing is found where nothing is", applies=DRIVER, phase="behaviour")
def extraction_finds_nothing(subject: Subject) -> Iterator[Finding]:
    """For an empty output, one that is no JSON, and a file that does not exist, the answer is no output. Then the
    next step of the recovery is tried. The status does not matter.

    Bad::

        jq -r '.sessionID' "$1"          # prints: null

    Good::

        jq -r '.sessionID // empty' "$1"
    """
    probe = subject.driver
    if not probe.own(EXTRACT):
        return
    cases = {
        "an empty output": b"",
        "an output that is no JSON": _GARBAGE,
        "events without an id": b'{"type":"text","part":{"text":"hello"}}\n{"type":"result","ok":true}\n',
        "events with ids of other things": _OTHER_IDS,
    }
    for what, data in cases.items():
        answer = probe.call(EXTRACT, probe.scratch.file("nothing.log", data))
        if not answer.trouble and answer.text.strip():
            yield subject.finding("RB151", f"for {what} it prints {said(answer.text)}", hook=EXTRACT)
            return
    answer = probe.call(EXTRACT, str(probe.scratch.root / "no such output.log"))
    if not answer.trouble and answer.text.strip():
        yield subject.finding("RB151", f"without an output file it prints {said(answer.text)}", hook=EXTRACT)


@check("RB155", "The recovery finds the session", applies=DRIVER, phase="behaviour")
def recovery(subject: Subject) -> Iterator[Finding]:
    """Three steps are tried: the driver's own extraction, the keys that every host knows, the driver's fallback.
    For a driver that supports sessions one of them has to find the id in what its CLI prints today; a hook that
    prints a wrong one is believed before the others are asked.

    Bad::

        driver_extract_session_id_from_output() { basename "$1" .log; }

    Good::

        # no hook, where the output has session_id, sessionId or metadata.session_id
    """
    from bridge.session_id import recover

    probe = subject.driver
    if probe.truth("driver_supports_sessions") is not True or probe.session() is None:
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
