"""What a hook must not do to the shell that calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.model import Severity
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Command
    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

BOTH = ("driver", "agent")


@check("RB030", "No hook ends the shell that calls it", applies=BOTH, phase="static")
def no_exit(subject: Subject) -> Iterator[Finding]:
    """Hooks run in the loop's own shell: an ``exit`` there ends the loop, in the middle of its work.

    The same goes for ``exec PROGRAM``. Within ``( )`` or ``$( )`` both are fine. An agent's required functions run
    in a pipeline, where they end only that stage: a warning.

    Bad::

        [[ -f "$1" ]] || { echo "no prompt" >&2; exit 1; }

    Good::

        [[ -f "$1" ]] || { echo "no prompt" >&2; return 1; }
    """
    seen: set[tuple[int, str]] = set()
    for hook in subject.hooks:
        apart = subject.kind == "agent" and subject.contract.hooks[hook].subshell
        for command in subject.effects(hook).commands:
            if command.subshell or command.guarded or not _ends(command) or (apart and command.name == "exec"):
                continue
            if (command.line, command.text) in seen:
                continue
            seen.add((command.line, command.text))
            yield subject.finding(
                "RB030",
                f"`{command.text}` in {command.function} ends "
                + ("this stage of the pipeline" if apart else "the loop that calls it"),
                line=command.line,
                hook=hook,
                expected="return",
                hint=f"return instead of {command.name}, or ( ) around it",
                severity=Severity.WARNING if apart else None,
            )


def _ends(command: Command) -> bool:
    if command.name == "exec":
        return len(command.words) > 1
    return command.name == "exit" or (command.name == "kill" and "$$" in command.words)


_UNDONE = {"set": ("-", "+"), "shopt": ("-s", "-u")}


@check("RB031", "Hooks leave the shell as it was", applies=BOTH, phase="static", severity=Severity.WARNING)
def leaves_the_shell(subject: Subject) -> Iterator[Finding]:
    """What a hook changes in the loop's shell stays changed: options, working folder, traps, open files.

    Hooks that loops call in ``$( )`` or a pipeline are not concerned, nor what is undone in the same function.

    Bad::

        driver_build_command() {
            cd "$(dirname "$1")"

    Good::

        driver_build_command() {
            local folder
            folder=$(cd "$(dirname "$1")" && pwd)
    """
    seen: set[tuple[int, str]] = set()
    for hook in subject.hooks:
        if subject.contract.hooks[hook].subshell:
            continue
        commands = subject.effects(hook).commands
        for command in commands:
            if command.subshell or command.guarded or not _changes(command) or _undone(command, commands):
                continue
            if (command.line, command.text) not in seen:
                seen.add((command.line, command.text))
                yield subject.finding(
                    "RB031",
                    f"`{command.text}` in {command.function} changes the loop's shell",
                    line=command.line,
                    hook=hook,
                    expected="options, folder, traps and files as they were",
                    hint="put ( ) around it",
                )


def _changes(command: Command) -> bool:
    words = command.words[1:]
    if command.name == "exec":
        return not words and bool(command.redirects)
    if command.name in ("shopt", "trap"):
        return bool(words) and words[0] not in ("-p", "-q", "-l")
    return command.name in ("cd", "pushd", "umask") or (
        command.name == "set" and bool(words) and words[0] != "--" and words[0][0] in "-+"
    )


def _undone(command: Command, commands: tuple[Command, ...]) -> bool:
    """Whether the same function seems to undo it: the same command again, in the other sense."""
    later = [
        other
        for other in commands
        if other.function == command.function and other.line >= command.line and other != command
    ]
    earlier = [other for other in commands if other.function == command.function and other != command]
    if command.name in ("cd", "pushd", "trap", "umask", "exec"):
        undoing = ("cd", "popd", "pushd") if command.name in ("cd", "pushd") else (command.name,)
        return any(other.name in undoing for other in (later if command.name != "cd" else earlier))
    return any(other.name in (command.name, "eval") for other in earlier)
