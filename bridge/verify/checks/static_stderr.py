"""What becomes of the stderr of an agent's program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.model import Severity
from bridge.verify.registry import CannotTell, check
from bridge.verify.streams import stderr_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Command
    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

AGENT = ("agent",)

_LITERAL = re.compile(
    rb"^[ \t]*(?:(?:export|readonly|declare(?: -\w+)*)[ \t]+)?AGENT_CLI=[\"']?([\w./+-]+)", re.MULTILINE
)
_ONLY_LOOKS_WORDS = """
    command type which hash echo printf log local declare export test [ [[ readonly : return
"""
_ONLY_LOOKS = frozenset(_ONLY_LOOKS_WORDS.split())


@check("RB043", "agent_invoke lets errors be seen", applies=AGENT, phase="static")
def keeps_stderr(subject: Subject) -> Iterator[Finding]:
    """The program says on stderr why it fails: not logged in, no network, no budget. The loop leaves it alone, so
    that it reaches the terminal; thrown away, the loop fails again and again and nobody learns why.

    A filter that takes out known noise and lets the rest through is fine.

    Bad::

        "$AGENT_CLI" <"$1" 2>/dev/null

    Good::

        "$AGENT_CLI" <"$1"
        "$AGENT_CLI" <"$1" 2> >(grep -v "known noise" >&2)
    """
    for command, target in _stderr(subject):
        if target == "discarded":
            yield subject.finding(
                "RB043",
                f"`{command.text}` has its stderr thrown away",
                line=command.line,
                hook="agent_invoke",
                expected="stderr as the loop gave it",
                hint="remove the redirection",
            )


@check("RB044", "agent_invoke keeps stderr apart", applies=AGENT, phase="static", severity=Severity.WARNING)
def stderr_apart(subject: Subject) -> Iterator[Finding]:
    """In stdout, messages stand among the events: they are no JSON, so none is displayed. Files nobody reads.

    Bad::

        "$AGENT_CLI" <"$1" 2>&1

    Good::

        "$AGENT_CLI" <"$1"
        "$AGENT_CLI" <"$1" 2> >(tee -a errors.log >&2)
    """
    for command, target in _stderr(subject):
        if target in ("stdout", "file"):
            yield subject.finding(
                "RB044",
                f"the stderr of `{command.text}` goes " + ("into stdout" if target == "stdout" else "into a file"),
                line=command.line,
                hook="agent_invoke",
                expected="stderr as the loop gave it",
                hint="remove the redirection, or let a copy through to stderr",
            )


def _stderr(subject: Subject) -> Iterator[tuple[Command, str]]:
    """Where stderr goes of each command in agent_invoke that runs the program, or redirects everything."""
    if "agent_invoke" not in subject.facts.names:
        raise CannotTell("agent_invoke is not defined")
    found = _LITERAL.search(subject.source)
    program = found[1].decode() if found else ""
    effects = subject.effects("agent_invoke")
    seen: set[int] = set()
    for command in (*effects.commands, *subject.facts.top.commands):
        everything = command.name == "exec" and len(command.words) == 1
        if command.line in seen or command.guarded or not (everything or _runs(command, program)):
            continue
        if not everything and not command.function:
            continue
        seen.add(command.line)
        yield command, stderr_of((*command.redirects, *command.around))
    if not effects.known:
        raise CannotTell("agent_invoke could not be read")


def _runs(command: Command, program: str) -> bool:
    if command.name in _ONLY_LOOKS or any(word in ("--version", "-V", "--help") for word in command.words):
        return False
    if not command.name and not command.substituted:
        return True
    names = ("$AGENT_CLI", "${AGENT_CLI")
    return any(
        any(name in word for name in names) or (program and word.strip("\"'") == program) for word in command.words
    )
