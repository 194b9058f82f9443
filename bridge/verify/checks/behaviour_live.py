"""Live mode: the command that prints events while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import Build, DriverProbe
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

DRIVER = ("driver",)
HOOK = "driver_prepare_live_command"
CONTEXT = 'Loop #2.  It\'s "json" now: $(x) *\nsecond line --output-format json'


def _live(subject: Subject) -> tuple[DriverProbe, Build] | None:
    probe = subject.driver
    if not probe.own(HOOK) or probe.truth("driver_supports_live_output") is not True or not probe.argv(Build()):
        return None
    return probe, Build(context=CONTEXT, session=probe.session() or "", resume="true", tools="Read,Bash(git *)")


@check("RB130", "The live command is filled in", applies=DRIVER, phase="behaviour")
def live_is_filled(subject: Subject) -> Iterator[Finding]:
    """In live mode the loop runs LIVE_CMD_ARGS. It has to begin with the same program as the command that it is
    made from.

    Bad::

        driver_prepare_live_command() { local LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }

    Good::

        driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
    """
    if (found := _live(subject)) is None or (live := found[0].live(Build())) is None:
        return
    answer, command, _ = live
    if answer.trouble:
        return
    if answer.status:
        yield subject.finding("RB130", f"it returns {answer.status}", hook=HOOK, expected="0")
    if answer.stdout:
        yield subject.finding("RB130", f"it prints {said(answer.stdout)}", hook=HOOK, severity=Severity.WARNING)
    if not isinstance(answer.value, list) or not answer.value:
        yield subject.finding("RB130", "LIVE_CMD_ARGS is empty", hook=HOOK)
    elif answer.value[0] != command[0]:
        yield subject.finding(
            "RB130",
            f"it begins with {said(answer.value[0])}",
            hook=HOOK,
            expected=f"{command[0]}, as the command does",
        )


@check("RB131", "The live command is a copy: CLAUDE_CMD_ARGS stays", applies=DRIVER, phase="behaviour")
def command_stays(subject: Subject) -> Iterator[Finding]:
    """The loop falls back to the ordinary command when live mode can't be had, and logs it. A hook that works on
    the array itself leaves the live flags in it.

    Bad::

        CLAUDE_CMD_ARGS+=("--verbose"); LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")

    Good::

        LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" "--verbose")
    """
    if (found := _live(subject)) is None or (live := found[0].live(found[1])) is None:
        return
    _, before, after = live
    if before != after:
        moved = [a for a in after if a not in before] or [a for a in before if a not in after]
        yield subject.finding("RB131", f"it changes CLAUDE_CMD_ARGS: {said(' '.join(moved))}", hook=HOOK)


@check("RB132", "The live command keeps prompt, context and session", applies=DRIVER, phase="behaviour")
def live_keeps_texts(subject: Subject) -> Iterator[Finding]:
    """Options are replaced, texts are not: what the prompt or the context say must not change because the word
    json is in them, and an argument with blanks stays one argument.

    Bad::

        LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]/json/stream-json})

    Good::

        for arg in "${CLAUDE_CMD_ARGS[@]}"; do
            [[ "$arg" == json ]] && arg=stream-json
            LIVE_CMD_ARGS+=("$arg")
        done
    """
    if (found := _live(subject)) is None or (live := found[0].live(found[1])) is None:
        return
    answer, command, _ = live
    if answer.trouble or not isinstance(answer.value, list) or not answer.value:
        return
    texts = [a for a in command if any(c.isspace() for c in a) or (found[1].session and found[1].session in a)]
    lost = [a for a in texts if a not in answer.value]
    if lost:
        yield subject.finding("RB132", f"this argument is lost or changed: {said(lost[0])}", hook=HOOK)
    elif any(answer.value.count(a) > command.count(a) for a in texts):
        yield subject.finding("RB132", "an argument with text is there more than once", hook=HOOK)
    else:
        # A context may be the very word that is looked for; where it is part of the prompt, it isn't alone.
        short = found[0].live(Build(context="json", output=None))
        if short is not None and short.argv is not None and short.argv.count("json") < short.command.count("json"):
            yield subject.finding("RB132", "a context that is only the word json is changed", hook=HOOK,
                hint="change the argument behind --output-format only", severity=Severity.INFO)  # fmt: skip


@check("RB133", "Nothing stale of an earlier live command", applies=DRIVER, phase="behaviour")
def live_is_fresh(subject: Subject) -> Iterator[Finding]:
    """The hook is called once per iteration in the same shell. Appending to LIVE_CMD_ARGS without emptying it
    first makes every command longer than the last.

    Bad::

        for arg in "${CLAUDE_CMD_ARGS[@]}"; do LIVE_CMD_ARGS+=("$arg"); done

    Good::

        LIVE_CMD_ARGS=()
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do LIVE_CMD_ARGS+=("$arg"); done
    """
    if (found := _live(subject)) is None:
        return
    probe, loaded = found
    first = probe.live(Build())
    if first is None or first[0].trouble or not isinstance(first[0].value, list):
        return
    probe.live_again(loaded)
    again = probe.live_again(Build())
    if again is not None and again[1] == first[1] and again[0].value != first[0].value:
        yield subject.finding("RB133", "after another live command, this one is not what it was", hook=HOOK)
