"""Sessions: the CLI is asked for the id, as a last resort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.checks.behaviour_session import DRIVER, FALLBACK
from bridge.verify.model import Severity
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.probe import DriverProbe, HookResult
    from bridge.verify.subject import Subject

__all__: list[str] = []

ONE, TWO = "ses_4kQ0parserffeA1b2C3d4E5", "ses_9zX8secondffeF6g7H8i9J0"


def _listed(*ids: str) -> str:
    items = ",".join(f'{{"id":"{i}","sessionId":"{i}","session_id":"{i}","title":"run"}}' for i in ids)
    return f"[{items}]\n"


def _pretty(*ids: str) -> str:
    items = ",\n".join(f'  {{\n    "id": "{i}",\n    "title": "run"\n  }}' for i in ids)
    return f"[\n{items}\n]\n"


def _asked(probe: DriverProbe, answer: str | None, status: int = 0) -> HookResult:
    probe.cli()  # its scripted CLI must be there
    probe.scratch.answer(answer, status)
    found = probe.call(FALLBACK, probe.scratch.file("empty.log", b""))
    probe.scratch.answer(None)
    return found


@check("RB152", "The fallback gives the only session", applies=DRIVER, phase="behaviour")
def fallback_gives(subject: Subject) -> Iterator[Finding]:
    """When nothing in the output tells the id, the CLI is asked. If it lists one session, that is the one.

    Bad::

        my-cli session list --format json

    Good::

        my-cli session list --format json </dev/null | jq -r 'if length == 1 then .[0].id else empty end'
    """
    probe = subject.driver
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
        driver = probe.known()
        known = driver is not None and driver.falls_back
        yield subject.finding(
            "RB152", "with one session listed it prints nothing", hook=FALLBACK, expected=ONE,
            severity=None if known else Severity.INFO,
        )  # fmt: skip


@check("RB153", "The fallback refuses ambiguity", applies=DRIVER, phase="behaviour")
def fallback_refuses(subject: Subject) -> Iterator[Finding]:
    """With several sessions in the list there is no telling which one is the loop's. The newest may be the one
    in which a person is typing at this moment, and the loop would go on in it.

    Bad::

        my-cli session list --format json | jq -r '.[0].id'

    Good::

        my-cli session list --format json | jq -r 'if length == 1 then .[0].id else empty end'
    """
    probe = subject.driver
    if not probe.own(FALLBACK):
        return
    for listed in (_listed(ONE, TWO), _listed(TWO, ONE), _pretty(ONE, TWO)):
        answer = _asked(probe, listed)
        if not answer.trouble and answer.text.strip():
            yield subject.finding("RB153", f"with two sessions listed it prints {said(answer.text)}", hook=FALLBACK)
            return


@check("RB154", "The fallback gives nothing when the CLI fails", applies=DRIVER, phase="behaviour")
def fallback_fails_quietly(subject: Subject) -> Iterator[Finding]:
    """A CLI that is missing, fails, or has no session leaves no id. What it prints then must not be taken for one.

    Bad::

        my-cli session current 2>&1 | tail -n 1

    Good::

        my-cli session current 2>/dev/null || return 1
    """
    probe = subject.driver
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
