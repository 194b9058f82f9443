"""driver_build_command: called again, with more arguments, in other hosts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_command import DRIVER, HOOK
from bridge.verify.checks.behaviour_loading import said
from bridge.verify.checks.behaviour_texts import CONTEXT
from bridge.verify.model import Severity
from bridge.verify.probe import Build, DriverProbe
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []


@check("RB112", "Nothing stale of an earlier command", applies=DRIVER, phase="behaviour")
def nothing_stale(subject: Subject) -> Iterator[Finding]:
    """The same shell builds one command after the other. An array that is appended to, or a variable that keeps
    the last session, makes the second command carry arguments of the first.

    Bad::

        CLAUDE_CMD_ARGS+=("my-cli" "-p" "$prompt")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    fresh = probe.argv(Build())
    if not fresh or _unstable(probe):
        return
    loaded = Build(
        context=CONTEXT, session=probe.session() or "ses_1", resume="true", tools="Read,Write", mode="plan"
    )
    probe.build_again(loaded)
    later = probe.build_again(Build())
    if later.ok and later.value != fresh:
        left = [a for a in later.value or [] if a not in fresh] or list(later.value or [])[len(fresh) :]
        yield subject.finding(
            "RB112", f"after a command with context and session, the next one still has {said(' '.join(left))}",
            hook=HOOK,
        )  # fmt: skip


def _unstable(probe: DriverProbe) -> bool:
    first, second = probe.build(Build()), probe.build(Build(extra=(), host=":"))
    return first.value != second.value


@check(
    "RB117", "The same inputs give the same command", applies=DRIVER, phase="behaviour", severity=Severity.WARNING
)
def deterministic(subject: Subject) -> Iterator[Finding]:
    """A command that depends on the time, on chance or on a temporary file can't be tested, and can't be
    compared between two versions of a driver.

    Bad::

        CLAUDE_CMD_ARGS+=("--name" "run-$RANDOM")

    Good::

        CLAUDE_CMD_ARGS+=("--name" "ralph")
    """
    probe = subject.driver
    if probe.argv(Build()) and _unstable(probe):
        yield subject.finding("RB117", "two calls with the same inputs give two different commands", hook=HOOK)


@check("RB118", "Building prints nothing on stdout", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def building_is_silent(subject: Subject) -> Iterator[Finding]:
    """The command is handed over in the array. What is printed lands in the loop's display in every iteration.

    Bad::

        echo "${CLAUDE_CMD_ARGS[@]}"

    Good::

        return 0
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    for case in (Build(), Build(context=CONTEXT, session=probe.session() or "ses_1", resume="true")):
        answer = probe.build(case)
        if answer.ok and answer.stdout:
            yield subject.finding("RB118", f"it prints {said(answer.stdout)}", hook=HOOK)
            return


@check("RB119", "A fourth argument is tolerated", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def fourth_argument(subject: Subject) -> Iterator[Finding]:
    """Some loops in the field pass one argument more than the contract names.

    Bad::

        (( $# == 3 )) || return 2

    Good::

        local prompt_file="$1" loop_context="$2" session_id="$3"
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if argv and not _unstable(probe) and probe.argv(Build(extra=("a fourth",))) != argv:
        yield subject.finding("RB119", "the command is another one when there is a fourth argument", hook=HOOK)


@check("RB120", "It works in an unusual host", applies=DRIVER, phase="behaviour", severity=Severity.INFO)
def unusual_host(subject: Subject) -> Iterator[Finding]:
    """The original loop has default options. Others run with ``set -u``, with ``nullglob`` or another IFS; a
    driver that quotes its expansions and gives its variables defaults does not care.

    Bad::

        if [[ $CLAUDE_USE_CONTINUE == true ]]; then ...     # set -u, and the setting is not there

    Good::

        if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]]; then ...
    """
    probe = subject.driver
    argv = probe.argv(Build(context=CONTEXT))
    if not argv or _unstable(probe):
        return
    hosts = {
        "set -u": ("set -u", "set +u"),
        "nullglob": ("shopt -s nullglob", "shopt -u nullglob"),
        "IFS=,": ("IFS=,", "IFS=$' \\t\\n'"),
        "set -f": ("set -f", "set +f"),
        "HOME not set": ("__rb_home=$HOME; unset HOME", "HOME=$__rb_home; unset __rb_home"),
        "LC_ALL=C": (
            "__rb_lc=${LC_ALL-}; LC_ALL=C",
            "LC_ALL=$__rb_lc; [[ -n $LC_ALL ]] || unset LC_ALL; unset __rb_lc",
        ),
    }
    for name, (on, off) in hosts.items():
        answer = probe.build(Build(context=CONTEXT, host=on))
        probe.evaluate(off)
        if answer.value != argv or not answer.ok:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            yield subject.finding("RB120", f"with {name} the command is another one, or none{why}", hook=HOOK)


@check("RB123", "Nothing empty for what is empty", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def nothing_empty(subject: Subject) -> Iterator[Finding]:
    """Without a context, without a session and without an allowlist their options have to be left out: most CLIs
    take ``--context ""`` for an error, or for a prompt.

    Bad::

        CLAUDE_CMD_ARGS+=("--context" "$loop_context")

    Good::

        if [[ -n "$loop_context" ]]; then CLAUDE_CMD_ARGS+=("--context" "$loop_context"); fi
    """
    probe = subject.driver
    # Hosts give the settings a value; what a driver makes of an empty one is good to know, and no more.
    for case, severity in ((Build(), None), (Build(mode=""), Severity.INFO), (Build(output=""), Severity.INFO)):
        argv = probe.argv(case)
        if not argv:
            continue
        empty = [argv[i - 1] for i, a in enumerate(argv) if i and a == ""]
        empty += [a for a in argv[1:] if re.fullmatch(r"--?[\w-]+=", a)]
        if empty:
            shown = f"there is an empty argument after {said(empty[0])}"
            yield subject.finding("RB123", shown, hook=HOOK, severity=severity)
            return
    base, with_context = probe.argv(Build()), probe.argv(Build(context=CONTEXT))
    if base and with_context and CONTEXT in with_context:
        option = with_context[with_context.index(CONTEXT) - 1]
        if option.startswith("-") and option in base and len(with_context) > len(base):
            yield subject.finding("RB123", f"{option} is there although there is no context", hook=HOOK)


@check("RB124", "Building leaves the loop's stdin alone", applies=DRIVER, phase="behaviour")
def stdin_is_left(subject: Subject) -> Iterator[Finding]:
    """Hooks have the stdin of the loop. What they read there is lost for whoever it was meant for: the person who
    answers, or the list that a surrounding script reads line by line. On a terminal they wait for ever.

    Bad::

        prompt=$(cat - "$1")

    Good::

        prompt=$(cat "$1")
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if not argv or _unstable(probe):
        return
    # Held against a build of now: what stays of an earlier one is another check's.
    anew = "\\builtin unset -v CLAUDE_CMD_ARGS\nCLAUDE_CMD_ARGS=()\n"
    before = probe.build_again(Build(), anew)
    probe.evaluate(anew)
    answer = probe.call(HOOK, Build().prompt, "", "", array="CLAUDE_CMD_ARGS", stdin=b"rb-from-stdin\n")
    if answer.value != before.value:
        yield subject.finding("RB124", "the command is another one when there is something on stdin", hook=HOOK)
