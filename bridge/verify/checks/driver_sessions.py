"""Sessions: when one is resumed, and how its id is handed on."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.verify.checks import excerpt
from bridge.verify.checks.driver_command import HOOK, prompt_text
from bridge.verify.checks.lines import gate_line, session_line, word_line
from bridge.verify.command_line import beyond
from bridge.verify.findings import INFO, WARNING, Aspect, Harm
from bridge.verify.probe.commands import LONG_SESSION, OTHER_SESSIONS, SESSION, Build
from bridge.verify.registry import Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe

_SUPPORTS = "driver_supports_sessions"
_LAST = re.compile(r"--(?:continue(?:=true)?|last|resume-last|resume[= ](?:last|latest))")


def _given(probe: DriverProbe, session: str, resume: str = "true") -> list[str]:
    """What the command has because of this session id."""
    return beyond(probe.line(Build(session=session, resume=resume)) or [], probe.line(Build()) or [])


@driver(
    "RB109",
    "The session id arrives as one argument",
    Harm.WRONG_SESSION,
    hook=HOOK,
    where=session_line,
    hint="quote it where it is one word",
)
def session_arrives(probe: DriverProbe) -> Iterator[Problem]:
    """A driver that supports sessions (and one that does not say counts as such) has to hand the id on, whole,
    or every iteration starts from nothing although the loop believes that it goes on.

    Warning: the driver doesn't say whether it has sessions.
    Info: nor names one.

    Bad:  CLAUDE_CMD_ARGS+=(--resume $session_id)
    Good: CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    """
    base = probe.argv(Build())
    if not base or probe.truth(_SUPPORTS) is False:
        return
    if (session := probe.session()) is not None:
        if (problem := next(_broken_id(probe, session), None)) is not None:
            yield problem
        return
    built = probe.build(Build(session=SESSION, resume="true"))
    new = beyond(list(built.value or []), base) if built.ok else []
    declared = probe.own(_SUPPORTS) or any(SESSION.split("-")[0] in word for word in new)
    # A driver that doesn't even take the id may be one for a CLI without sessions, and rely on the defaults.
    named = re.search(r"\$\{?3\b|session", probe.functions()[HOOK], re.IGNORECASE) is not None
    yield Problem(
        "the session id does not arrive, although sessions are supported",
        hint="pass it on, or return 1 from driver_supports_sessions",
        severity=None if declared else WARNING if named else INFO,
        about=(Aspect.LOST,),
    )


def _changed(words: list[str], whole: str) -> str | None:
    """What arrives in the place of an id: a part of it, or all of it without its dashes, in other letters ..."""
    values = [re.sub(r"^--?[A-Za-z][\w-]*=", "", word) for word in words]
    glued = [value for value in values if re.fullmatch(rf"\s*[A-Za-z]*[_:]?{re.escape(whole)}\s*", value)]
    if glued and whole not in values:
        return glued[0]
    if any(whole in word for word in words):
        return None
    bare = re.sub(r"\W|_", "", whole).lower()
    for word in words:
        value = word.partition("=")[2] if word.startswith("-") else word
        seen = re.sub(r"\W|_", "", value).lower()
        if value in re.split("[-_]", whole)[:2] or (len(seen) > 5 and seen in bare):
            return value
    return None


def _broken_id(probe: DriverProbe, session: str) -> Iterator[Problem]:
    words, text = _given(probe, session), prompt_text(probe, Build())
    if any(re.match(r"--?[A-Za-z][\w-]*[ \t]+\S", word) for word in words):
        yield Problem("the session id and its option are one argument", hint="two elements of the array")
    if len(words) == 1 and session in words[0] and (words[0].startswith(text) or words[0].endswith(text)):
        rest = words[0].replace(text, "")
        if not re.search(r"(^|\s)-", rest):  # else it is code for a shell that nobody has followed
            yield Problem("the session id is only in the text of the prompt", hint="the CLI has an option for it")
    for whole in (SESSION, *OTHER_SESSIONS, LONG_SESSION):
        if (part := _changed(_given(probe, whole), whole)) is not None:
            yield Problem(f"the session id {excerpt(whole)} arrives as {excerpt(part)}", expected="the id as it is")
    for strange in ("id with  blanks", "id*", 'it\'s "one"', "all.*", "$HOME"):
        # Refused or ignored is as good as passed on.
        if _given(probe, strange) and not probe.received(Build(session=strange, resume="true")).count(strange):
            yield Problem(f"the session id {strange!r} does not arrive in one argument")


def _last_session(words: list[str]) -> str | None:
    """The option of a command that goes on with whatever session was the last."""
    cli = find_cli(os.path.basename(words[0])) if words else None
    if cli is not None and (short := next((word for word in words[1:] if word in cli.last_session), None)):
        return short
    pairs = (f"{word} {value}" for word, value in pairwise(words))
    return next((each for each in (*words, *pairs) if _LAST.fullmatch(each)), None)


@driver("RB110", "No session unless CLAUDE_USE_CONTINUE is true", Harm.WRONG_SESSION, hook=HOOK, where=gate_line)
def session_is_gated(probe: DriverProbe) -> Iterator[Problem]:
    """The setting is how a person turns resuming off. A driver that looks only at the id resumes all the same,
    with everything that the old session still believes.

    Bad:  [[ -n "$session_id" ]] && CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    Good: if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then ...
    """
    if not probe.line(Build()):
        return
    session = probe.session() or SESSION
    resumed = _given(probe, session)
    if (always := _last_session(probe.line(Build()) or [])) is not None:
        yield Problem(
            f"without a session, and with CLAUDE_USE_CONTINUE false, the command has {always}",
            line=word_line(Build(), always.partition(" ")[0]),
        )
        return
    # Not set, it counts as true, and some take other words that mean yes.
    for resume in ("false", "no", "off", "0", "never", "tbd", "untrue"):
        passed = [word for word in _given(probe, session, resume) if session in word or word in resumed]
        if not passed and probe.received(Build(session=session, resume=resume)).count(session):
            passed = [session]
        if passed:
            yield Problem(f"with CLAUDE_USE_CONTINUE {resume}, the command has {excerpt(' '.join(passed))}")
            return


@driver("RB111", "No session option with an empty id", Harm.WRONG_SESSION, hook=HOOK, where=gate_line)
def no_empty_session(probe: DriverProbe) -> Iterator[Problem]:
    """In the first iteration there is no id yet. An option without its value takes the next argument for it,
    usually the prompt; one that means "the last session" resumes somebody else's.

    Bad:  if [[ "$CLAUDE_USE_CONTINUE" == "true" ]]; then CLAUDE_CMD_ARGS+=("--resume" "$session_id"); fi
    Good: if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then ...
    """
    if not probe.line(Build()) or not probe.line(Build(resume="true")):
        return
    session = probe.session() or SESSION
    resumed, extra = _given(probe, session), _given(probe, "")
    words = re.compile(r"^(?!.*(?:new|no-|not-)).*(?:resume|continue|session|thread)", re.IGNORECASE)
    wrong = any(
        word in resumed or (word and word + session in resumed) or (len(word) < 40 and words.match(word))
        for word in extra
    )
    if wrong or ("" in extra and resumed):
        shown = excerpt(" ".join(word or '""' for word in extra))
        yield Problem(f"with an empty session id the command has {shown}")


@driver("RB122", "No session from a driver without sessions", Harm.FRAGILE, hook=HOOK, where=session_line)
def no_session_without_support(probe: DriverProbe) -> Iterator[Problem]:
    """A driver that says no to sessions is never given an id by the original loop, but other hosts pass one. It
    has to be ignored then: the CLI does not know it.

    Bad:  driver_supports_sessions() { return 1; }     # and driver_build_command passes --resume
    Good: driver_supports_sessions() { return 0; }
    """
    if probe.truth(_SUPPORTS) is False and probe.session() is not None:
        yield Problem(
            f"the session id is passed on, but {_SUPPORTS} says no",
            hint=f"return 0 from {_SUPPORTS}, or leave the id out",
            about=(_SUPPORTS,),
        )
