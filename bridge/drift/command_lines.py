"""Command lines that call a CLI: in a script's own text, and behind programs that only start another one. Pure."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from bridge.clis import program_of_package

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.verify.facts import Facts

    Value = str | Sequence[str] | None
    ValueOf = Callable[[str], Value]


class _Launcher(NamedTuple):
    """Options that take the next word, and how many operands stand before the program that is started."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


_NPX = _Launcher(frozenset({"-p", "--package", "--cache", "--registry", "--userconfig"}))
_LAUNCHERS = {
    "caffeinate": _Launcher(),
    "command": _Launcher(),
    "env": _Launcher(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "exec": _Launcher(frozenset({"-a"})),
    "gtimeout": _Launcher(frozenset({"-k", "--kill-after", "-s", "--signal"}), 1),
    "ionice": _Launcher(frozenset({"-c", "--class", "-n", "--classdata"})),
    "nice": _Launcher(frozenset({"-n", "--adjustment"})),
    "nohup": _Launcher(),
    "npx": _NPX,
    "bunx": _NPX,
    "setsid": _Launcher(),
    "stdbuf": _Launcher(frozenset({"-i", "--input", "-o", "--output", "-e", "--error"})),
    "time": _Launcher(),
    "timeout": _Launcher(frozenset({"-k", "--kill-after", "-s", "--signal"}), 1),
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def is_launcher(name: str) -> bool:
    """Say whether a program only starts another one."""
    return os.path.basename(name) in _LAUNCHERS


def program_in(argv: Sequence[str], cli: str) -> list[str] | None:
    """Give the part of a command line that is the CLI's own, its name first; '' is whatever the launchers start.

    None: the CLI is not found in it, as within ``bash -c "..."``.

    >>> program_in(["timeout", "-k", "5", "600", "env", "A=1", "claude", "-p", "x"], "claude")
    ['claude', '-p', 'x']
    """
    words = list(argv)
    while words and is_launcher(words[0]):
        words = _started_by(words)
    if words:
        words[0] = program_of_package(words[0])
    if not cli:
        return words or None
    name = os.path.basename(cli)
    at = next((at for at, word in enumerate(words) if os.path.basename(word) == name), None)
    return None if at is None else [name, *words[at + 1 :]]


def _started_by(words: list[str]) -> list[str]:
    """What stands behind a launcher's own options, assignments and operands."""
    name = os.path.basename(words[0])
    launcher, at = _LAUNCHERS[name], 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") and not (name == "env" and _ASSIGNMENT.match(word)):
            break
        at += 2 if word in launcher.valued else 1
    rest = words[at + launcher.operands :]
    if launcher is _NPX and rest:
        rest[0] = re.sub(r"(?<=.)@[^/@]*$", "", rest[0])  # a version
    return rest


# -- in a script's text --------------------------------------------------------------------------------------

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-[^{}]*)?\}|(\w+))")
_ARRAY = re.compile(r'"?\$\{(\w+)\[[@*]\](?:\+[^{}]*)?\}"?')
_ARGUMENTS = re.compile(r"\$[@*]|\$\{[^{}]*[@*][^{}]*\}")
_EXPANSION = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+")
_UNKNOWN = "x"


def commands_in_text(facts: Facts, cli: str, value_of: ValueOf) -> dict[str, list[str]]:
    """Give the command lines in a script's text by where they stand; an unknown word ends one.

    `value_of` gives the value that a global has when the script has been sourced.
    """
    found: dict[str, list[str]] = {}
    for function in (*facts.functions, facts.top):
        for command in function.commands:
            argv = program_in(_expanded(command.words, value_of), "") or [""]
            if os.path.basename(argv[0]) != os.path.basename(cli) or len(argv) == 1 or argv in found.values():
                continue
            where = f"{function.name}, line {command.line}" if function.name else f"line {command.line}"
            found[where] = argv
    return found


def _expanded(sources: Sequence[str], value_of: ValueOf) -> list[str]:
    words: list[str] = []
    for source in sources:
        each = _expand(source, value_of)
        if each is None:
            break
        words += each
    return words


def _expand(source: str, value_of: ValueOf) -> list[str] | None:
    """The words that one of the text becomes; None when only running it would tell."""
    if whole := _ARRAY.fullmatch(source):
        return _listed(value_of(whole[1]))
    if (name := _VARIABLE.fullmatch(source)) or (name := _VARIABLE.fullmatch(source[1:-1])):
        value = value_of(name[1] or name[2])
        if source.startswith('"'):
            return [value] if isinstance(value, str) else [_UNKNOWN]
        return value.split() if isinstance(value, str) else None
    if _ARGUMENTS.search(source):
        return None
    if "$" in source or "`" in source:
        if '"' not in source:
            return None if not source.startswith("'") else [source[1:-1]]
        source = _EXPANSION.sub(_UNKNOWN, source)
    try:
        return shlex.split(source)
    except ValueError:
        return None


def _listed(value: Value) -> list[str] | None:
    return None if value is None or isinstance(value, str) else list(value)
