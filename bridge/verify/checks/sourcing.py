"""What a script does while it is sourced: nothing but define and assign; it returns, and prints nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks import because, excerpt
from bridge.verify.facts.usage import only_asks
from bridge.verify.findings import ERROR, INFO, Aspect, Harm
from bridge.verify.probe.state import TROUBLE
from bridge.verify.registry import CannotTell, Problem, behaviour, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import CommandFact
    from bridge.verify.subject import Subject

_CHANGES: dict[str, tuple[str, tuple[Aspect, ...]]] = {
    "exit": ("ends the loop", (Aspect.ENDS,)),
    "exec": ("replaces the loop's shell, or its files", (Aspect.ENDS, Aspect.DESCRIPTORS)),
    "set": ("changes the options or the arguments of the loop's shell", (Aspect.OPTIONS, Aspect.ARGUMENTS)),
    "shopt": ("changes the options of the loop's shell", (Aspect.OPTIONS,)),
    "cd": ("changes the working folder of the loop", (Aspect.FOLDER,)),
    "pushd": ("changes the working folder of the loop", (Aspect.FOLDER,)),
    "popd": ("changes the working folder of the loop", (Aspect.FOLDER,)),
    "trap": ("changes the traps of the loop", (Aspect.TRAPS,)),
    "umask": ("changes the umask of the loop", (Aspect.UMASK,)),
    "ulimit": ("changes the limits of the loop", ()),
    "local": ("is an error outside of functions", ()),
}
"""By command: what it does when the script is sourced, and to what."""
_STRICT = re.compile(r"(?:-[eEu]*o (?:pipefail|errexit|nounset|errtrace)\b ?|-[eEu]+ ?)+")
"""What the loop of agents itself has on; ``-E`` does nothing where there is no trap."""
_PRINTS = ("echo", "printf")
_QUIET_WORDS = """
    : true false [[ [ test (( declare typeset export readonly unset source . eval return read mapfile
    readarray command type hash let getopts shift break continue builtin alias unalias
"""
_QUIET = frozenset(_QUIET_WORDS.split())
_TOOLS_WORDS = """
    dirname basename pwd readlink realpath uname tr sed awk grep cut head tail cat date id whoami hostname
    echo printf cd command type true false test [ [[ : mktemp sort wc tput
"""
_TOOLS = frozenset(_TOOLS_WORDS.split())
_FAR = ("curl", "wget", "ssh", "scp", "nc", "ping", "dig", "host", "gh", "npm", "npx", "pip", "pip3", "brew")
_DEFINITIONS = "only functions and variables outside of functions"


def _commands(subject: Subject) -> Iterator[CommandFact]:
    """What runs when the script is sourced, in the loop's own shell or not."""
    if not subject.facts.top.known:
        raise CannotTell("what stands outside of the functions could not be read")
    yield from (command for command in subject.facts.top.commands if not command.guarded)


@static("RB010", "Sourcing leaves the shell as it was", Harm.CHANGES_THE_LOOP, expected=_DEFINITIONS)
def leaves_the_shell(subject: Subject) -> Iterator[Problem]:
    """The script is sourced into the shell of the loop. What it changes there is changed for all that follows.

    ``set -e`` ends loops that were written without it, ``cd`` makes them work in another folder, a trap replaces
    their own, an ``exit`` ends them.

    Bad:
        set -euo pipefail
        IFS=,
    Good:
        driver_valid_tools() {
            local IFS=,
            …
    """
    for command in _commands(subject):
        if command.subshell or command.name not in _CHANGES or only_asks(command):
            continue
        if subject.kind == "agent" and command.name == "set" and _STRICT.fullmatch(" ".join(command.words[1:])):
            continue  # so has the loop
        what, about = _CHANGES[command.name]
        yield Problem(
            f"`{command.text}` runs when the script is sourced: it {what}",
            line=command.line,
            hint="move it into the function that needs it, within ( )",
            # In posix mode bash lists the traps in another way.
            about=(*about, Aspect.TRAPS) if "posix" in command.words else about,
        )
    for write in subject.facts.top.writes:
        if write.name == "IFS" and not write.subshell:
            yield Problem(
                "IFS is changed when the script is sourced: the loop's words are split differently from then on",
                line=write.line,
                expected="IFS as it was",
                hint="local IFS=… in the function that needs it",
                about=(Aspect.IFS,),
            )


@static("RB012", "Sourcing runs no commands", Harm.COSTS, expected=_DEFINITIONS)
def runs_nothing(subject: Subject) -> Iterator[Problem]:
    """A script is also sourced to look at it: by ``doctor``, by tests, in folders where no agent shall run.

    What it runs then costs time at each start, and where the loop has ``set -e`` on, one that fails ends it.
    Programs in ``$( )`` of an assignment are only mentioned, and common tools not at all; the CLI itself takes a
    second, and what asks the network takes as long as it likes.

    Error: a function of the loop that isn't ready yet.
    Info: a program whose output is taken.

    Bad:
        mkdir -p "$HOME/.cache/mine"
        git fetch
    Good:
        driver_build_command() {
            mkdir -p "$HOME/.cache/mine" || return 1
            …
    """
    for command in _commands(subject):
        if command.name in _CHANGES or command.name in _PRINTS or command.name in _QUIET:
            continue
        provided = subject.contract.functions.get(command.name)
        if provided is not None and not provided.at_load and not command.substituted:
            message = f"{command.name} is called when the script is sourced, before the loop has made it ready"
            yield Problem(message, line=command.line, expected=f"{command.name} only in hooks", severity=ERROR)
        elif not command.substituted:
            message = f"`{command.text}` runs when the script is sourced"
            yield Problem(message, line=command.line, hint="move it into the hook that needs it")
        elif command.name not in _TOOLS:
            slow = command.name in _FAR or command.name == _cli(subject)
            yield Problem(
                f"`{command.text}` runs each time the script is sourced",
                line=command.line,
                hint="ask for it in the hook that needs it",
                severity=None if slow else INFO,
            )


def _cli(subject: Subject) -> str:
    """The program that the script is about, as far as its text tells."""
    answered = re.search(
        rb"driver_cli_binary[^}]*?(?:echo|printf \S+)\s+[\"']?([\w.+-]+)", subject.source
    ) or re.search(rb"^\s*AGENT_CLI=[\"']?([\w.+-]+)", subject.source, re.MULTILINE)
    return answered[1].decode() if answered else subject.name


@behaviour("RB050", "Sourcing it returns", Harm.ENDS_THE_LOOP, expected="only definitions at the top level")
def loading_comes_back(subject: Subject) -> Iterator[Problem]:
    """A script is sourced into the loop's own shell. An ``exit`` there ends the loop, not the script; so does
    ``exec``, and a command that waits for input stops it before the first iteration.

    Bad:  command -v my-cli >/dev/null || exit 1
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    answer = subject.probe.loading().result
    if answer.trouble:
        status = f" {answer.status}" if answer.trouble == "exited" else ""
        yield Problem(
            f"sourcing it {TROUBLE[answer.trouble]}{status}{because(answer.stderr)}",
            hint="move the work into a hook, and return instead of exit",
            about=(Aspect.ENDS,),
        )


@behaviour("RB051", "Sourcing it succeeds", Harm.ENDS_THE_LOOP, expected="status 0")
def loading_succeeds(subject: Subject) -> Iterator[Problem]:
    """The loops source scripts with ``set -e`` in force, so a last command that fails ends the loop at once,
    without a word. The usual culprit is a short condition as the last line of the file.

    Bad:  [[ -n "${MY_DEBUG:-}" ]] && set_debug
    Good: if [[ -n "${MY_DEBUG:-}" ]]; then set_debug; fi
    """
    answer = subject.probe.loading().result
    if not answer.trouble and answer.status:
        yield Problem(
            f"sourcing it returns {answer.status}{because(answer.stderr)}",
            hint="make the last command of the file one that can't fail",
            about=(Aspect.ENDS,),
        )


@behaviour("RB052", "Sourcing it prints nothing", Harm.NOISE, expected="no output")
def loading_is_silent(subject: Subject) -> Iterator[Problem]:
    """What a script prints while it is loaded lands in the middle of the loop's own display, or in the answer
    of whatever program had sourced it to ask a question.

    Bad:  echo "my-platform driver loaded"
    Good: # nothing: the loop says itself which driver it uses
    """
    answer = subject.probe.loading().result
    for stream, text in (("stdout", answer.stdout), ("stderr", answer.stderr)):
        if text and not (stream == "stderr" and (answer.status or answer.trouble)):
            yield Problem(f"sourcing it prints {excerpt(text)} on {stream}", about=(Aspect.STDOUT,))
