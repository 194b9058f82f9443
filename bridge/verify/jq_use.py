"""How a script uses jq: on one line at a time, or on everything at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.facts.builtins import literal

if TYPE_CHECKING:
    from bridge.verify.facts import Command

__all__ = ["at_once", "is_jq"]

_ARGUMENTS = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--argfile": 2, "--indent": 1, "-L": 1}
_TOLERANT = re.compile(r"fromjson\s*\?|try\s*\(?\s*fromjson")
_WHOLE = re.compile(r"\$\(\s*(?:<|cat\b)|`\s*cat\b")
_ONE_LINE = re.compile(r"^\s*(?:tail|head)\s+(?:-n\s*)?-?1\b")


class _Call(NamedTuple):
    flags: frozenset[str]
    program: str
    files: tuple[str, ...]


def is_jq(command: Command) -> bool:
    """Whether the command runs jq, or a program that takes its place."""
    return command.name.rpartition("/")[2] in ("jq", "gojq", "jaq")


def at_once(command: Command, source: str = "", *, streaming: bool) -> str:
    """Why this use of jq stands or falls with every line of its input; nothing when it doesn't.

    source: of the script, where the program may stand in a variable.
    streaming: what it prints must also appear before its input ends.
    """
    call = _parsed(command.words[1:])
    program = call.program + "".join(_values(call.program, source))
    if {"raw-input", "R"} & call.flags and not {"slurp", "s"} & call.flags and _TOLERANT.search(program):
        return "it keeps its output back (no --unbuffered)" if streaming and "unbuffered" not in call.flags else ""
    if call.files:
        return f"it is given the file {call.files[0]}"
    fed = [redirect for redirect in (*command.redirects, *command.around) if redirect.startswith(("<", "0<"))]
    own = next((redirect for redirect in command.redirects if redirect.startswith(("<", "0<"))), "")
    if own.startswith("<<") or (not own and not command.upstream and any(each.startswith("<<<") for each in fed)):
        text = own or next(each for each in fed if each.startswith("<<<"))
        return "it is given a whole file" if _WHOLE.search(text) else ""
    if own:
        return f"it reads {own.lstrip('<0 ')} as a whole"
    if command.upstream:
        return _piped(command, streaming=streaming)
    if {"null-input", "n"} & call.flags and "input" not in call.program:
        return ""
    if command.loop:
        return ""  # the caller decides: in a helper that is fed line by line this is right
    return "it reads the whole input"


def _values(program: str, source: str) -> list[str]:
    """What the variables in a program are given in the script: texts in quotes, and here-documents."""
    found = []
    for name in re.findall(r"\$\{?([A-Za-z_]\w*)", program):
        given = rf"\b{name}=(?:\$'|['\"])(?:[^'\"\\]|\\.)*"
        heredoc = rf"\b{name}\b[^\n]*<<-?\s*[\"']?(\w+)[\"']?\n[\s\S]*?\n\s*\1\b"
        found += [match[0] for match in re.finditer(f"{given}|{heredoc}", source)]
    return found


def _piped(command: Command, *, streaming: bool) -> str:
    upstream = command.upstream
    last = upstream.rsplit(" | ", 1)[-1].lstrip()
    if command.loop or (_ONE_LINE.match(last) and not streaming):
        return f"`{upstream.splitlines()[0][:60]}` gives it a whole file" if _reads_whole(upstream) else ""
    first = upstream.split(None, 1)[0] if upstream.split() else ""
    if first in ("echo", "printf"):
        return "it is given a whole file" if _WHOLE.search(upstream) else ""
    if re.search(r"\bwhile\b[\s\S]*\bread\b", upstream) and not streaming:
        return ""  # somebody looked at each line before
    return f"`{upstream.splitlines()[0][:60]}` gives it everything at once"


def _reads_whole(upstream: str) -> bool:
    return bool(re.match(r"\s*cat\s+[\"']?\$", upstream))


def _parsed(words: tuple[str, ...]) -> _Call:
    flags: set[str] = set()
    operands: list[str] = []
    from_file = rest = False
    position = 0
    while position < len(words):
        word, position = words[position], position + 1
        text = literal(word)
        if text is None or rest or not text.startswith("-") or text == "-":
            operands.append(word)
        elif text in ("--args", "--jsonargs"):
            break
        elif text == "--":
            rest = True
        elif text in _ARGUMENTS:
            position += _ARGUMENTS[text]
        elif text in ("-f", "--from-file"):
            from_file = True
        elif text.startswith("--"):
            flags.add(text[2:])
        else:
            flags.update(text[1:])
            from_file |= "f" in text[1:]
    program = "" if not operands else operands[0]
    return _Call(frozenset(flags), "" if from_file else program, tuple(operands[1:]))
