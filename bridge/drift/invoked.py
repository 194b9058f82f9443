"""The command lines that a script's own text calls its CLI with, as far as they can be told without running it."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from bridge.drift.launchers import program_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.verify.facts import Facts

    Value = str | Sequence[str] | None
    ValueOf = Callable[[str], Value]

__all__ = ["invoked"]

_NAME = re.compile(r"\$(?:\{(\w+)(?::?-[^{}]*)?\}|(\w+))")
_ALL = re.compile(r'"?\$\{(\w+)\[[@*]\](?:\+[^{}]*)?\}"?')
_EVERY = re.compile(r"\$[@*]|\$\{[^{}]*[@*][^{}]*\}")
_EXPANSION = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+")
_UNKNOWN = "x"


def invoked(facts: Facts, cli: str, value_of: ValueOf) -> dict[str, list[str]]:
    """Give them by where they stand; a word that can't be told ends its command line.

    Args:
        facts: what the script says about itself.
        cli: the CLI's name or path.
        value_of: the value of a global, as it is when the script has been sourced.
    """
    found: dict[str, list[str]] = {}
    for function in (*facts.functions, facts.top):
        for command in function.commands:
            argv = program_in(_words(command.words, value_of), "") or [""]
            if os.path.basename(argv[0]) != os.path.basename(cli) or len(argv) == 1 or argv in found.values():
                continue
            where = f"{function.name}, line {command.line}" if function.name else f"line {command.line}"
            found[where] = argv
    return found


def _words(sources: Sequence[str], value_of: ValueOf) -> list[str]:
    words: list[str] = []
    for source in sources:
        each = _word(source, value_of)
        if each is None:
            break
        words += each
    return words


def _word(source: str, value_of: ValueOf) -> list[str] | None:
    """The words that one of the text becomes; None when only running it would tell."""
    if whole := _ALL.fullmatch(source):
        return _listed(value_of(whole[1]))
    if (name := _NAME.fullmatch(source)) or (name := _NAME.fullmatch(source[1:-1])):
        value = value_of(name[1] or name[2])
        if source.startswith('"'):
            return [value] if isinstance(value, str) else [_UNKNOWN]
        return value.split() if isinstance(value, str) else None
    if _EVERY.search(source):
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
