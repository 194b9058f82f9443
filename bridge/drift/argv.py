"""A command line held against help texts: is every option known where it stands? Pure."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from bridge.drift.help import Option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridge.drift.help import Help

    HelpOf = Callable[[tuple[str, ...]], Help | None]

__all__ = ["HIDDEN", "Wrong", "wrongs"]

HIDDEN: Mapping[str, frozenset[str]] = {
    "cline": frozenset({"-y", "--yolo"}),
    "amp": frozenset({"-x", "--execute", "--dangerously-allow-all", "--stream-json", "--stream-json-thinking"}),
    "claude": frozenset({"--max-turns"}),
}
"""Options that a CLI accepts and doesn't list; each was tried."""


_FREE = Option()
_ALWAYS = ("--help", "-h", "--version")
"""Options of every program, whether it lists them or not."""


class Wrong(NamedTuple):
    """What is wrong with one word of a command line.

    Attributes:
        word: the option.
        where: the command that it is given to, such as ``codex exec``.
        why: one sentence's end.
        hint: what may be meant.
    """

    word: str
    where: str
    why: str
    hint: str = ""


def wrongs(argv: Sequence[str], help_of: HelpOf) -> list[Wrong] | None:
    """Find the options that the CLI doesn't know, or not there, and values that it doesn't accept.

    Args:
        argv: the program's name and its arguments.
        help_of: the help of a command given as a path: ``("codex", "exec")``; None when it can't be read.

    Returns:
        None when there is no help to hold it against.
    """
    path: tuple[str, ...] = (argv[0],)
    help_ = help_of(path)
    if help_ is None or not help_.options:
        return None
    found: list[Wrong] = []
    words = list(argv[1:])
    positional = False
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            if positional or word not in help_.commands:
                positional = True
                continue
            path = (*path, help_.commands[word])
            deeper = help_of(path)
            if deeper is None or not deeper.options:
                break  # what stands behind it can't be told
            help_ = deeper
            continue
        name, option, value = _option(word, help_)
        if option is None:
            found += _unknown(name, path, help_)
            continue
        given = [value] if value is not None else _take(option, words)
        found += [
            Wrong(name, " ".join(path), f"does not accept {each!r}", f"it takes {', '.join(option.choices)}")
            for each in given
            if option.choices and each not in option.choices
        ]
    return found


def _option(word: str, help_: Help) -> tuple[str, Option | None, str | None]:
    """Give the option that a word names, and the value that is joined to it, if there is one.

    ``--name=value``, ``-xVALUE`` and ``-abx`` (several without values in one word); of the latter an unknown one
    is named alone.
    """
    options = help_.options
    name, equals, value = word.partition("=")
    if name in options or word.startswith("--"):
        return name, options.get(name) or (_FREE if name in _ALWAYS else None), value if equals else None
    for at, letter in enumerate(word[1:], 2):
        short = f"-{letter}"
        option = options.get(short) or (_FREE if short in _ALWAYS else None)
        if option is None:
            return (short if at > 2 else word), None, None
        if option.takes != "nothing":
            return short, option, word[at:].removeprefix("=") or None
    return word[:2], _FREE, None


def _take(option: Option, words: list[str]) -> list[str]:
    match option.takes:
        case "value":
            return [words.pop(0)] if words else []
        case "optional":
            return [words.pop(0)] if words and not words[0].startswith("-") else []
        case "several":
            taken = []
            while words and not words[0].startswith("-"):
                taken.append(words.pop(0))
            return taken
        case _:
            return []


def _unknown(name: str, path: tuple[str, ...], help_: Help) -> list[Wrong]:
    if name in HIDDEN.get(path[0], ()):
        return []
    if command := help_.commands.get(name.lstrip("-")):
        return [Wrong(name, " ".join(path), "is no option of it", f"it is a command: {path[0]} ... {command}")]
    close = difflib.get_close_matches(name, help_.options, 1, 0.7)
    return [Wrong(name, " ".join(path), "is no option of it", f"did you mean {close[0]}?" if close else "")]
