"""Sessions: when one is resumed, and where a driver finds the id of a finished run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks.driver_command import HOOK, prompt_text
from bridge.verify.command_line import beyond
from bridge.verify.harms import FRAGILE, WRONG_SESSION
from bridge.verify.model import INFO, WARNING, Aspect
from bridge.verify.probe.commands import OTHER_SESSIONS, SESSION, Build
from bridge.verify.recordings import Recording, streamed
from bridge.verify.registry import DRIVER, CannotTell, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.state import HookResult
    from bridge.verify.subject import Subject


@behaviour("RB109", "The session id arrives as one argument", DRIVER, hook=HOOK, harm=WRONG_SESSION)
def session_arrives(subject: Subject) -> Iterator[Problem]:
    """A driver that supports sessions (and one that does not say counts as such) has to hand the id on, whole,
    or every iteration starts from nothing although the loop believes that it goes on.

    Warning: the driver doesn't say whether it has sessions.
    Info: nor names one.

    Bad:  CLAUDE_CMD_ARGS+=(--resume $session_id)
    Good: CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    """
    probe = subject.driver
    base = probe.argv(Build())
    if not base or probe.truth("driver_supports_sessions") is False:
        return
    if (session := probe.session()) is None:
        built = probe.build(Build(session=SESSION, resume="true"))
        pieces = (
            any(SESSION.split("-")[0] in a for a in beyond(list(built.value or []), base)) if built.ok else False
        )
        declared = probe.own("driver_supports_sessions") or pieces
        # A driver that doesn't even take the id may be one for a CLI without sessions, and rely on the defaults.
        body = probe.functions()[HOOK]
        named = re.search(r"\$\{?3\b|session", body, re.IGNORECASE) is not None
        yield Problem(
            "the session id does not arrive, although sessions are supported",
            hint="pass it on, or return 1 from driver_supports_sessions",
            severity=None if declared else WARNING if named else INFO,
            about=(Aspect.LOST,),
        )
        return
    problem = next(_broken_id(probe, session), None)
    if problem is not None:
        yield problem


def _broken_id(probe: DriverProbe, session: str) -> Iterator[Problem]:
    base = probe.line(Build()) or []

    def given(session: str) -> list[str]:
        return beyond(probe.line(Build(session=session, resume="true")) or [], base)

    words, text = given(session), prompt_text(probe, Build())
    if any(re.match(r"--?[A-Za-z][\w-]*[ \t]+\S", word) for word in words):
        yield Problem("the session id and its option are one argument", hint="two elements of the array")
    if len(words) == 1 and session in words[0] and words[0].startswith(text) | words[0].endswith(text):
        rest = words[0].replace(text, "")
        if not re.search(r"(^|\s)-", rest):  # else it is code for a shell that nobody has followed
            yield Problem("the session id is only in the text of the prompt", hint="the CLI has an option for it")
    for cut in (SESSION, *OTHER_SESSIONS):
        extra = given(cut)
        if not any(cut in a for a in extra) and any(re.split("[-_]", cut)[i] in extra for i in (0, 1)):
            yield Problem(f"of the session id {cut} only a part arrives")
    for strange in ("id with  blanks", "id*", 'it\'s "one"', "all.*", "$HOME"):
        # Refused or ignored is as good as passed on.
        if given(strange) and not probe.received(Build(session=strange, resume="true")).count(strange):
            yield Problem(f"the session id {strange!r} does not arrive in one argument")


@behaviour("RB110", "No session unless CLAUDE_USE_CONTINUE is true", DRIVER, hook=HOOK, harm=WRONG_SESSION)
def session_is_gated(subject: Subject) -> Iterator[Problem]:
    """The setting is how a person turns resuming off. A driver that looks only at the id resumes all the same,
    with everything that the old session still believes.

    Bad:  [[ -n "$session_id" ]] && CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    Good: if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then ...
    """
    probe = subject.driver
    base = probe.line(Build())
    if not base:
        return
    session = probe.session() or SESSION
    resumed = beyond(probe.line(Build(session=session, resume="true")) or [], base)
    for resume in ("false", "no"):  # not set, it counts as true
        case = Build(session=session, resume=resume)
        passed = [a for a in beyond(probe.line(case) or [], base) if session in a or a in resumed]
        if not passed and probe.received(case).count(session):
            passed = [session]
        if passed:
            yield Problem(f"with CLAUDE_USE_CONTINUE {resume}, the command has {said(' '.join(passed))}")
            return


@behaviour("RB111", "No session option with an empty id", DRIVER, hook=HOOK, harm=WRONG_SESSION)
def no_empty_session(subject: Subject) -> Iterator[Problem]:
    """In the first iteration there is no id yet. An option without its value takes the next argument for it,
    usually the prompt; one that means "the last session" resumes somebody else's.

    Bad:  if [[ "$CLAUDE_USE_CONTINUE" == "true" ]]; then CLAUDE_CMD_ARGS+=("--resume" "$session_id"); fi
    Good: if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then ...
    """
    probe = subject.driver
    base, argv = probe.line(Build()), probe.line(Build(resume="true"))
    if not base or not argv:
        return
    session = probe.session() or SESSION
    resumed = beyond(probe.line(Build(session=session, resume="true")) or [], base)
    words = re.compile(r"^(?!.*(?:new|no-|not-)).*(?:resume|continue|session|thread)", re.IGNORECASE)
    extra = beyond(argv, base)
    wrong = [a for a in extra if a in resumed or (a and a + session in resumed) or (len(a) < 40 and words.match(a))]
    if wrong or ("" in extra and resumed):
        shown = " ".join(a or '""' for a in extra)
        yield Problem(f"with an empty session id the command has {said(shown)}")


@behaviour("RB122", "No session from a driver without sessions", DRIVER, hook=HOOK, harm=FRAGILE)
def no_session_without_support(subject: Subject) -> Iterator[Problem]:
    """A driver that says no to sessions is never given an id by the original loop, but other hosts pass one. It
    has to be ignored then: the CLI does not know it.

    Bad:  driver_supports_sessions() { return 1; }     # and driver_build_command passes --resume
    Good: driver_supports_sessions() { return 0; }
    """
    probe = subject.driver
    if probe.truth("driver_supports_sessions") is False and probe.session() is not None:
        yield Problem(
            "the session id is passed on, but driver_supports_sessions says no",
            hint="return 0 from driver_supports_sessions, or leave the id out",
            about=("driver_supports_sessions",),
        )


EXTRACT = "driver_extract_session_id_from_output"
FALLBACK = "driver_fallback_session_id"
_GARBAGE = b'npm warn: this line is no JSON\n{"type":"text","part":{"te\n\n[1,2\n\xff\xfe\n'


_OTHER_IDS = (
    b'{"type":"rb.other","uuid":"0d15ea5e-0000-4000-8000-000000000001","request_id":"req_0d15ea5e"}\n'
    b'{"type":"rb.other","id":"evt_0d15ea5e"}\n'
    b'{"type":"rb.other","requestID":"req_0d15ea5e","messageID":"msg_0d15ea5e","callID":"call_0d15ea5e"}\n'
    b'{"type":"assistant","message":{"id":"msg_0d15ea5e","content":[{"type":"text","text":"the other session_id: '
    b'0d15ea5e-0000-4000-8000-000000000002"}]}}\n'
)


def _own_recordings(probe: DriverProbe) -> list[Recording]:
    return probe.recordings()


def _extracted(probe: DriverProbe, recording: Recording) -> HookResult:
    return probe.call(EXTRACT, probe.scratch.file(f"{recording.name}.log", b"".join(recording.lines)))


@behaviour("RB150", "The session id is found in the output", DRIVER, hook=EXTRACT, harm=WRONG_SESSION)
def extraction_finds(subject: Subject) -> Iterator[Problem]:
    """The hook is asked first, and what it prints is taken for the id: one word on one line. Anything around it
    ends up on the next command line.

    Warning: of a CLI without recordings, or when keys are added.
    Info: of older versions.

    Bad:  grep -o '"sessionID":"[^"]*"' "$1"
    Good: sed -n 's/.*"sessionID":"\\([^"]*\\)".*/\\1/p' "$1" | head -n 1
    """
    probe = subject.driver
    if not probe.own(EXTRACT):
        return
    mine = [recording for recording in _own_recordings(probe) if recording.session]
    answers = [(r, _extracted(probe, r)) for r in mine or streamed() if r.session]
    for recording, answer in answers:
        if answer.trouble:
            return
        # In the output of another CLI such keys may hold anything.
        if answer.text and not _is_id(answer.text) and (mine or (recording.session or "") in answer.text):
            yield Problem(f"it prints {said(answer.text)}", expected="one id, on one line")
            return
    for recording, answer in answers:
        if mine and answer.text.strip() != recording.session:
            what = said(answer.text) if answer.text else "nothing"
            # Not every driver knows the shapes of older versions, and the generic step comes next.
            older = (not recording.today or recording.at_the_end) and not answer.text
            yield Problem(
                f"on the output of {recording.name} it prints {what}",
                expected=recording.session or "",
                severity=INFO if older else None,
            )
            return
    for recording, answer in answers:
        if answer.text.strip() == recording.session:
            yield from _extracted_from_others(probe, recording)
            return
    if not mine:
        recorded = _own_recordings(probe)
        raise CannotTell(
            f"the recorded output, {recorded[0].name}, holds no session id" if recorded else probe.unrecorded()
        )


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[\w.:@=+~-]+", text.strip()) is not None


def _extracted_from_others(probe: DriverProbe, recording: Recording) -> Iterator[Problem]:
    """What stands before the id is no JSON at times, what stands behind it is another matter with every version."""
    found = probe.call(EXTRACT, probe.scratch.file("disturbed.log", _GARBAGE + b"".join(recording.lines)))
    if not found.trouble and found.text.strip() != recording.session:
        what = said(found.text) if found.text else "nothing"
        yield Problem(f"with lines that are no JSON before it, it prints {what}", expected=recording.session or "")
        return
    longer = [re.sub(rb"\}\s*\Z", b',"rb":"rb-behind"}\n', line) for line in recording.lines]
    found = probe.call(EXTRACT, probe.scratch.file("longer.log", b"".join(longer)))
    if not found.trouble and found.text.strip() != recording.session:
        what = said(found.text) if found.text else "nothing"
        yield Problem(
            f"where more keys follow the id it prints {what}", expected=recording.session or "", severity=WARNING
        )


@behaviour("RB151", "Nothing is found where nothing is", DRIVER, hook=EXTRACT, harm=WRONG_SESSION)
def extraction_finds_nothing(subject: Subject) -> Iterator[Problem]:
    """For an empty output, one that is no JSON, and a file that does not exist, the answer is no output. Then the
    next step of the recovery is tried. The status does not matter.

    Bad:  jq -r '.sessionID' "$1"          # prints: null
    Good: jq -r '.sessionID // empty' "$1"
    """
    probe = subject.driver
    if not probe.own(EXTRACT):
        return
    cases = {
        "an empty output": b"",
        "an output that is not JSON": _GARBAGE,
        "events without an id": b'{"type":"text","part":{"text":"hello"}}\n{"type":"result","ok":true}\n',
        "events with ids of other things": _OTHER_IDS,
    }
    for what, data in cases.items():
        answer = probe.call(EXTRACT, probe.scratch.file("nothing.log", data))
        if not answer.trouble and answer.text.strip():
            yield Problem(f"for {what} it prints {said(answer.text)}")
            return
    answer = probe.call(EXTRACT, str(probe.scratch.root / "no such output.log"))
    if not answer.trouble and answer.text.strip():
        yield Problem(f"without an output file it prints {said(answer.text)}")


@behaviour("RB155", "The recovery finds the session", DRIVER, harm=WRONG_SESSION)
def recovery(subject: Subject) -> Iterator[Problem]:
    """Three steps are tried: the driver's own extraction, the keys that every host knows, the driver's fallback.
    For a driver that supports sessions one of them has to find the id in what its CLI prints today; a hook that
    prints a wrong one is believed before the others are asked.

    Bad:  driver_extract_session_id_from_output() { basename "$1" .log; }
    Good: # no hook, where the output has session_id, sessionId or metadata.session_id
    """
    from bridge.session_id import recover

    probe = subject.driver
    if probe.truth("driver_supports_sessions") is not True or probe.session() is None:
        return
    for recording in _own_recordings(probe):
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
    """The two hooks as `bridge.session_id.recover` asks them."""

    def __init__(self, probe: DriverProbe) -> None:
        self._probe = probe

    def extract_session_id(self, output_file: str) -> str | None:
        return self._probe.call(EXTRACT, output_file).text or None if self._probe.own(EXTRACT) else None

    def fallback_session_id(self, output_file: str) -> str | None:
        return self._probe.call(FALLBACK, output_file).text or None if self._probe.own(FALLBACK) else None


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


@behaviour("RB152", "The fallback gives the only session", DRIVER, hook=FALLBACK, harm=WRONG_SESSION)
def fallback_gives(subject: Subject) -> Iterator[Problem]:
    """When nothing in the output tells the id, the CLI is asked. If it lists one session, that is the one.

    Info: it isn't known how this CLI is asked.

    Bad:  my-cli session list --format json
    Good: my-cli session list --format json </dev/null | jq -r 'if length == 1 then .[0].id else empty end'
    """
    probe = subject.driver
    if not probe.own(FALLBACK):
        return
    compact, pretty = _asked(probe, _listed(ONE)), _asked(probe, _pretty(ONE))
    if compact.trouble or pretty.trouble:
        return
    for answer in (compact, pretty):
        if answer.text and (ONE not in answer.text or len(answer.text.split()) != 1 or answer.text.strip() != ONE):
            yield Problem(f"it prints {said(answer.text)}", expected=f"only {ONE}")
            return
    if not (compact.text and pretty.text):
        # Only of opencode is it known how its CLI is asked.
        driver = probe.known()
        known = driver is not None and driver.falls_back
        yield Problem("with one session listed it prints nothing", expected=ONE, severity=None if known else INFO)


@behaviour("RB153", "The fallback refuses ambiguity", DRIVER, hook=FALLBACK, harm=WRONG_SESSION)
def fallback_refuses(subject: Subject) -> Iterator[Problem]:
    """With several sessions in the list there is no telling which one is the loop's. The newest may be the one
    in which a person is typing at this moment, and the loop would go on in it.

    Bad:  my-cli session list --format json | jq -r '.[0].id'
    Good: my-cli session list --format json | jq -r 'if length == 1 then .[0].id else empty end'
    """
    probe = subject.driver
    if not probe.own(FALLBACK):
        return
    for listed in (_listed(ONE, TWO), _listed(TWO, ONE), _pretty(ONE, TWO)):
        answer = _asked(probe, listed)
        if not answer.trouble and answer.text.strip():
            yield Problem(f"with two sessions listed it prints {said(answer.text)}")
            return


@behaviour("RB154", "The fallback gives nothing when the CLI fails", DRIVER, hook=FALLBACK, harm=WRONG_SESSION)
def fallback_fails_quietly(subject: Subject) -> Iterator[Problem]:
    """A CLI that is missing, fails, or has no session leaves no id. What it prints then must not be taken for one.

    Bad:  my-cli session current 2>&1 | tail -n 1
    Good: my-cli session current 2>/dev/null || return 1
    """
    probe = subject.driver
    if not probe.own(FALLBACK):
        return
    cases = {"lists no session": ("[]\n", 0), "fails": ("error: not logged in\n", 1), "prints nothing": (None, 0)}
    for what, (text, status) in cases.items():
        answer = _asked(probe, text, status)
        if not answer.trouble and answer.text.strip():
            yield Problem(f"when the CLI {what}, it prints {said(answer.text)}")
            return
    answer = probe.without_cli(FALLBACK, probe.scratch.file("empty.log", b""))
    if not answer.trouble and answer.text.strip():
        yield Problem(f"without the CLI it prints {said(answer.text)}")
