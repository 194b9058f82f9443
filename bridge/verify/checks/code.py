"""How the code of a script is written: for which bash, what it does with its arguments, arrays and jq programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.errors import FilterNotCompiled
from bridge.scripts.stream.jq import Filter
from bridge.scripts.stream.jq_oldest import newer_than_1_6
from bridge.verify.checks import excerpt
from bridge.verify.facts.usage import jq_program
from bridge.verify.findings import WARNING, Harm
from bridge.verify.registry import Problem, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import CommandFact
    from bridge.verify.subject import Subject


@static(
    "RB004",
    "bash 3.2 is enough",
    Harm.OLD_BASH,
    expected="bash 3.2 is enough",
    hint="write it as bash 3.2 has it, such as 2>&1 | for |&",
)
def old_bash(subject: Subject) -> Iterator[Problem]:
    """macOS ships bash 3.2 as /bin/bash. What is newer fails there, some of it only when the line is reached.

    Bad:
        mapfile -t lines <"$1"
        echo "${name,,}"
    Good:
        while IFS= read -r line; do lines+=("$line"); done <"$1"
        printf '%s\\n' "$name" | tr '[:upper:]' '[:lower:]'
    """
    found = {what: line for line, what in sorted(subject.facts.newer, reverse=True)}
    for function in (*subject.facts.functions, subject.facts.top):
        for command in function.commands:
            for what in _newer(command):
                found[what] = min(command.line, found.get(what, command.line))
    for what, line in sorted(found.items(), key=lambda item: (item[1], item[0])):
        yield Problem(f"{what} is newer than bash 3.2", line=line)


def _newer(command: CommandFact) -> Iterator[str]:
    words = command.words[1:]
    flags = "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
    if command.name in ("mapfile", "readarray", "coproc"):
        yield command.name
    elif command.name in ("declare", "local", "typeset", "readonly"):
        yield from (f"{command.name} -{flag}" for flag in "Anglu" if flag in flags)
    elif command.name == "[[" and re.search(r"(?:\[\[|&&|\|\||!|\()\s*-v\s", command.words[0]):
        yield "[[ -v"
    elif command.name == "printf" and any(re.search(r"%\([^)]*\)T", word) for word in words[:3]):
        yield "printf '%(…)T'"
    elif command.name == "wait" and "n" in flags:
        yield "wait -n"
    elif command.name == "read" and ("N" in flags or "i" in flags):
        yield "read -" + ("N" if "N" in flags else "i")
    if any(re.search(r"\$'[^']*\\[uU][0-9A-Fa-f]", word) for word in words):
        yield r"$'\u…'"
    if any(re.match(r"\{\w+\}[<>]", redirect) for redirect in command.redirects):
        yield "{name}>"


_POSITIONAL = re.compile(
    r"\$(?:[1-9@*#]|\{[#!]?[1-9@*#])|\b(?:shift|getopts|BASH_ARGV)\b|\bfor\s+\w+\s*(?:;|do\b|\n)"
)
_GIVEN = ("driver_extract_session_id_from_output", "agent_invoke", "agent_extract_response")


@static("RB032", "Hooks use their arguments", Harm.WRONG_PROMPT, expected='"$1"')
def uses_arguments(subject: Subject) -> Iterator[Problem]:
    """The prompt or the output is named by the argument: another path in each iteration, and another one in each
    host. A path that is written down, or stdin, is the wrong one sooner or later.

    Bad:  agent_invoke() { "$AGENT_CLI" < PROMPT.md; }
    Good: agent_invoke() { "$AGENT_CLI" < "$1"; }
    """
    lines = subject.source.decode(errors="replace").splitlines()
    for hook in _GIVEN:
        bodies = subject.facts.bodies(hook)
        if not bodies or any(not function.known or function.dynamic for function in bodies):
            continue
        if not any(_POSITIONAL.search("\n".join(lines[body.line - 1 : body.end_line])) for body in bodies):
            argument = subject.contract.hooks[hook].arguments[0]
            message = f"{hook} never looks at its argument, the {argument.meaning}"
            yield Problem(message, hook=hook, hint=f'local {argument.name}="$1"')


@static("RB033", "jq programs compile", Harm.NO_EFFECT, expected="a program that `jq -n` takes")
def jq_compiles(subject: Subject) -> Iterator[Problem]:
    """A program with a slip in it prints nothing, for no input, and what jq says of that often goes to /dev/null.

    Warning: jq 1.6, which many systems ship, doesn't know what it uses, such as an ``if`` without ``else``.

    Bad:  jq -r 'select(.type == "text" | .text' <<<"$line" 2>/dev/null
    Good: jq -r 'select(.type == "text") | .text' <<<"$line" 2>/dev/null
    """
    commands = [command for each in (subject.facts.top, *subject.facts.functions) for command in each.commands]
    for command in commands:
        program = jq_program(command) if command.name.rpartition("/")[2] == "jq" else None
        if program is None or re.match(r"\s*(?:import|include)\b", program):
            continue
        try:
            Filter(program)
        except FilterNotCompiled as error:
            where = command.function or "the script"
            yield Problem(
                f"jq in {where} does not compile its program: {excerpt(error.complaint)}",
                line=command.line,
                hook=_hook(subject, command.function),
                hint="try it with `jq -n`, and correct it",
            )
            continue
        if newer := newer_than_1_6(program):
            yield Problem(
                f"{newer} is newer than jq 1.6",
                expected="jq 1.6 is enough",
                severity=WARNING,
                line=command.line,
                hook=_hook(subject, command.function),
            )


def _hook(subject: Subject, function: str) -> str | None:
    return function if function in subject.contract.hooks else None


_ASKS_WORDS = "command type which hash echo printf log log_status [ test declare typeset local export"
_ASKS = frozenset(_ASKS_WORDS.split())


@static("RB034", "Arrays are expanded whole", Harm.WRONG_COMMAND)
def arrays_whole(subject: Subject) -> Iterator[Problem]:
    """``$x`` and ``${x}`` of an array are its first element: all other words of the command are lost, and nothing
    says so.

    Bad:  AGENT_ARGS=(exec --json); "$AGENT_CLI" $AGENT_ARGS <"$1"
    Good: AGENT_ARGS=(exec --json); "$AGENT_CLI" "${AGENT_ARGS[@]}" <"$1"
    """
    everyone = (*subject.facts.functions, subject.facts.top)
    globally = {name for each in everyone for name in each.arrays - each.local}
    globally -= {name for each in everyone for name in each.texts}  # a callee sees its caller's
    for function in everyone:
        own = (function.arrays & function.local) - function.texts
        for first in function.firsts:
            whole = own if first.name in function.local else globally
            if first.name in whole and first.command not in _ASKS:
                yield Problem(
                    f"{function.name or 'the script'} expands the array {first.name} without an index",
                    line=first.line,
                    hook=_hook(subject, function.name),
                    expected=f'"${{{first.name}[@]}}"',
                    hint="without [@] it is the first element only",
                )
