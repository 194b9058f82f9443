"""What a script does while it is sourced: nothing but define and assign."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.model import Severity
from bridge.verify.registry import CannotTell, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Command
    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

BOTH = ("driver", "agent")

_CHANGES = {
    "exit": "ends the loop",
    "exec": "replaces the loop's shell, or its files",
    "set": "changes the options or the arguments of the loop's shell",
    "shopt": "changes the options of the loop's shell",
    "cd": "changes the working folder of the loop",
    "pushd": "changes the working folder of the loop",
    "popd": "changes the working folder of the loop",
    "trap": "changes the traps of the loop",
    "umask": "changes the umask of the loop",
    "ulimit": "changes the limits of the loop",
    "local": "is an error outside of functions",
}
_PRINTS = frozenset(["echo", "printf"])
_QUIET_WORDS = """
    : true false [[ [ test (( declare typeset export readonly unset source . eval return read mapfile
    readarray command type hash let getopts shift break continue builtin alias unalias
"""
_QUIET = frozenset(_QUIET_WORDS.split())
_TOOLS_WORDS = """
    dirname basename pwd readlink realpath uname tr sed awk grep cut head tail cat date id whoami hostname
    echo printf cd command type true false test [ [[ : mktemp sort wc tput
"""
_FAR = frozenset(
    ["curl", "wget", "ssh", "scp", "nc", "ping", "dig", "host", "gh", "npm", "npx", "pip", "pip3", "brew"]
)
_TOOLS = frozenset(_TOOLS_WORDS.split())


def _commands(subject: Subject) -> Iterator[Command]:
    """What runs when the script is sourced, in the loop's own shell or not."""
    if not subject.facts.top.known:
        raise CannotTell("what stands outside of the functions could not be read")
    yield from (command for command in subject.facts.top.commands if not command.guarded)


@check("RB010", "Sourcing leaves the shell as it was", applies=BOTH, phase="static")
def leaves_the_shell(subject: Subject) -> Iterator[Finding]:
    """The script is sourced into the shell of the loop. What it changes there is changed for all that follows.

    ``set -e`` ends loops that were written without it, ``cd`` makes them work in another folder, a trap replaces
    their own, an ``exit`` ends them.

    Bad::

        set -euo pipefail
        IFS=,

    Good::

        driver_valid_tools() {
            local IFS=,
            …
    """
    for command in _commands(subject):
        if command.subshell or command.name not in _CHANGES or _only_asks(command):
            continue
        yield subject.finding(
            "RB010",
            f"`{command.text}` runs when the script is sourced: it {_CHANGES[command.name]}",
            line=command.line,
            expected="only functions and variables outside of functions",
            hint="move it into the function that needs it, within ( )",
            severity=Severity.WARNING if command.name == "shopt" else None,
        )
    for write in subject.facts.top.writes:
        if write.name == "IFS" and not write.subshell:
            yield subject.finding(
                "RB010",
                "IFS is changed when the script is sourced: the loop's words are split differently from then on",
                line=write.line,
                expected="IFS as it was",
                hint="local IFS=… in the function that needs it",
            )


def _only_asks(command: Command) -> bool:
    words = command.words[1:]
    if command.name == "set":
        return not words
    if command.name in ("shopt", "trap"):
        return not words or words[0] in ("-p", "-q", "-l")
    return command.name in ("umask", "ulimit") and not words


@check("RB011", "Sourcing prints nothing", applies=BOTH, phase="static", severity=Severity.WARNING)
def silent(subject: Subject) -> Iterator[Finding]:
    """What a script prints while it is sourced lands among what the loop prints or hands on.

    Bad::

        echo "loading my driver"

    Good::

        # nothing: loops say themselves what they load
    """
    for command in _commands(subject):
        if command.subshell or command.name not in _PRINTS or _goes_elsewhere(command):
            continue
        yield subject.finding(
            "RB011",
            f"`{command.text}` prints when the script is sourced",
            line=command.line,
            expected="no output",
            hint="remove it, or move it into a function",
            severity=Severity.INFO if command.conditional else None,
        )


def _goes_elsewhere(command: Command) -> bool:
    if command.name == "printf" and len(command.words) > 1 and command.words[1].startswith("-v"):
        return True
    return any(
        re.match(r"1?>|&>", to) and not re.match(r"1?>&", to) for to in (*command.redirects, *command.around)
    )


@check("RB012", "Sourcing runs no commands", applies=BOTH, phase="static", severity=Severity.WARNING)
def runs_nothing(subject: Subject) -> Iterator[Finding]:
    """A script is also sourced to look at it: by ``doctor``, by tests, in folders where no agent shall run.

    What it runs then costs time at each start, and where the loop has ``set -e`` on, one that fails ends it.
    Programs in ``$( )`` of an assignment are only mentioned, and common tools not at all; the CLI itself takes a
    second, and what asks the network takes as long as it likes.

    Bad::

        mkdir -p "$HOME/.cache/mine"
        git fetch

    Good::

        driver_build_command() {
            mkdir -p "$HOME/.cache/mine" || return 1
            …
    """
    for command in _commands(subject):
        if command.name in _CHANGES or command.name in _PRINTS or command.name in _QUIET:
            continue
        provided = subject.contract.functions.get(command.name)
        if provided is not None and not provided.at_load and not command.substituted:
            yield subject.finding(
                "RB012",
                f"{command.name} is called when the script is sourced, before the loop has made it ready",
                line=command.line,
                expected=f"{command.name} only in hooks",
                severity=Severity.ERROR,
            )
        elif not command.substituted:
            yield subject.finding(
                "RB012",
                f"`{command.text}` runs when the script is sourced",
                line=command.line,
                expected="only functions and variables outside of functions",
                hint="move it into the hook that needs it",
            )
        elif command.name not in _TOOLS:
            slow = command.name in _FAR or command.name == _cli(subject)
            yield subject.finding(
                "RB012",
                f"`{command.text}` runs each time the script is sourced",
                line=command.line,
                expected="only functions and variables outside of functions",
                hint="ask for it in the hook that needs it",
                severity=None if slow else Severity.INFO,
            )


def _cli(subject: Subject) -> str:
    """The program that the script is about, as far as its text tells."""
    said = re.search(
        rb"driver_cli_binary[^}]*?(?:echo|printf \S+)\s+[\"']?([\w.+-]+)", subject.source
    ) or re.search(rb"^\s*AGENT_CLI=[\"']?([\w.+-]+)", subject.source, re.MULTILINE)
    return said[1].decode() if said else subject.name


@check("RB013", "Sourcing keeps the loop's variables", applies=BOTH, phase="static")
def keeps_variables(subject: Subject) -> Iterator[Finding]:
    """The loop and its settings file have set these; whoever sets them again overrules the user.

    A default that leaves a value alone is fine.

    Bad::

        CLAUDE_OUTPUT_FORMAT="json"

    Good::

        : "${CLAUDE_OUTPUT_FORMAT:=json}"
    """
    top = subject.facts.top
    kept = {(read.name, read.line) for read in top.reads}
    for write in top.writes:
        entry = subject.contract.globals.get(write.name)
        if write.subshell or write.how == "default" or (write.name, write.line) in kept:
            continue
        environment = write.name in ("PATH", "HOME", "LANG", "TMOUT", "CDPATH") or write.name.startswith("LC_")
        if environment or (entry is not None and entry.role in ("setting", "derived", "environment", "controller")):
            yield subject.finding(
                "RB013",
                f"{write.name} is set when the script is sourced"
                + (f": {entry.meaning}" if entry is not None else "; it belongs to the environment"),
                line=write.line,
                expected="the value that the loop, its settings or the environment gave",
                hint=f'a default keeps it: : "${{{write.name}:=…}}"',
                severity=Severity.WARNING if environment else None,
            )
