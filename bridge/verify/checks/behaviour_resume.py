"""driver_build_command: when a session is resumed, and when not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import SESSION, Build
from bridge.verify.probe.driver import OTHER_SESSIONS
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

DRIVER = ("driver",)
HOOK = "driver_build_command"


def beyond(more: list[str], base: list[str]) -> list[str]:
    """What `more` has beyond `base`, counting each."""
    rest = list(base)
    found = []
    for argument in more:
        if argument in rest:
            rest.remove(argument)
        else:
            found.append(argument)
    return found


@check("RB109", "The session id arrives as one argument", applies=DRIVER, phase="behaviour")
def session_arrives(subject: Subject) -> Iterator[Finding]:
    """A driver that supports sessions (and one that does not say counts as such) has to hand the id on, whole,
    or every iteration starts from nothing although the loop believes that it goes on.

    Bad::

        CLAUDE_CMD_ARGS+=(--resume $session_id)

    Good::

        CLAUDE_CMD_ARGS+=("--resume" "$session_id")
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
        yield subject.finding(
            "RB109",
            "the session id does not arrive, although sessions are supported",
            hook=HOOK,
            hint="pass it on, or return 1 from driver_supports_sessions",
            severity=None if declared else Severity.WARNING if named else Severity.INFO,
        )
        return
    if any(
        re.match(r"--?[A-Za-z][\w-]*[ \t]+\S", a)
        for a in beyond(probe.argv(Build(session=session, resume="true")) or [], base)
    ):
        yield subject.finding(
            "RB109", "the session id and its option are one argument", hook=HOOK, hint="two elements of the array"
        )
        return
    for cut in (SESSION, *OTHER_SESSIONS):
        extra = beyond(probe.argv(Build(session=cut, resume="true")) or [], base)
        if not any(cut in a for a in extra) and any(re.split("[-_]", cut)[i] in extra for i in (0, 1)):
            yield subject.finding("RB109", f"of the session id {cut} only a part arrives", hook=HOOK)
            return
    for strange in ("id with  blanks", "id*", 'it\'s "one"', "all.*", "$HOME"):
        argv = probe.argv(Build(session=strange, resume="true"))
        if argv is None or argv == base or any(strange in argument for argument in argv):
            continue  # refused or ignored is as good as passed on
        if any(word in a for word in strange.split() for a in beyond(argv, base)) or beyond(argv, base):
            yield subject.finding("RB109", f"the session id {strange!r} does not arrive in one argument", hook=HOOK)
            return


@check("RB110", "No session unless CLAUDE_USE_CONTINUE is true", applies=DRIVER, phase="behaviour")
def session_is_gated(subject: Subject) -> Iterator[Finding]:
    """The setting is how a person turns resuming off. A driver that looks only at the id resumes all the same,
    with everything that the old session still believes.

    Bad::

        [[ -n "$session_id" ]] && CLAUDE_CMD_ARGS+=("--resume" "$session_id")

    Good::

        if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then ...
    """
    probe = subject.driver
    base = probe.argv(Build())
    if not base:
        return
    session = probe.session() or SESSION
    resumed = beyond(probe.argv(Build(session=session, resume="true")) or [], base)
    for resume, what in (("false", "false"), (None, "not set"), ("", "empty"), ("no", "no")):
        argv = probe.argv(Build(session=session, resume=resume)) or []
        passed = [a for a in beyond(argv, base) if session in a or a in resumed]
        if passed:
            yield subject.finding(
                "RB110", f"with CLAUDE_USE_CONTINUE {what}, the command has {said(' '.join(passed))}", hook=HOOK
            )
            return


@check("RB111", "No session option with an empty id", applies=DRIVER, phase="behaviour")
def no_empty_session(subject: Subject) -> Iterator[Finding]:
    """In the first iteration there is no id yet. An option without its value takes the next argument for it,
    usually the prompt; one that means "the last session" resumes somebody else's.

    Bad::

        if [[ "$CLAUDE_USE_CONTINUE" == "true" ]]; then CLAUDE_CMD_ARGS+=("--resume" "$session_id"); fi

    Good::

        if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then ...
    """
    probe = subject.driver
    base, argv = probe.argv(Build()), probe.argv(Build(resume="true"))
    if not base or not argv:
        return
    session = probe.session() or SESSION
    resumed = beyond(probe.argv(Build(session=session, resume="true")) or [], base)
    words = re.compile(r"^(?!.*(?:new|no-|not-)).*(?:resume|continue|session|thread)", re.IGNORECASE)
    extra = beyond(argv, base)
    wrong = [a for a in extra if a in resumed or (a and a + session in resumed) or (len(a) < 40 and words.match(a))]
    if wrong or ("" in extra and resumed):
        shown = " ".join(a or '""' for a in extra)
        yield subject.finding("RB111", f"with an empty session id the command has {said(shown)}", hook=HOOK)


@check(
    "RB122",
    "No session from a driver without sessions",
    applies=DRIVER,
    phase="behaviour",
    severity=Severity.WARNING,
)
def no_session_without_support(subject: Subject) -> Iterator[Finding]:
    """A driver that says no to sessions is never given an id by the original loop, but other hosts pass one. It
    has to be ignored then: the CLI does not know it.

    Bad::

        driver_supports_sessions() { return 1; }     # and driver_build_command passes --resume

    Good::

        driver_supports_sessions() { return 0; }
    """
    probe = subject.driver
    if probe.truth("driver_supports_sessions") is False and probe.session() is not None:
        yield subject.finding(
            "RB122", "the session id is passed on, but driver_supports_sessions says no", hook=HOOK,
            hint="return 0 from driver_supports_sessions, or leave the id out",
        )  # fmt: skip
