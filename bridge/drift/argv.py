"""A command line held against help texts: is every option known where it stands? Pure."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridge.drift.help import Help, Option

    HelpOf = Callable[[tuple[str, ...]], Help | None]

__all__ = ["HIDDEN", "Wrong", "wrongs"]

HIDDEN: Mapping[str, frozenset[str]] = {
    "cline": frozenset({"-y", "--yolo"}),
    "amp": frozenset({"-x", "--execute", "--dangerously-allow-all", "--stream-json", "--stream-json-thinking"}),
    "claude": frozenset({"--max-turns"}),
}
"""Options that a CLI accepts and doesn't list; each was tried."""


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
            if not positional and word in help_.commands and (deeper := help_of((*path, help_.commands[word]))):
                path, help_ = (*path, help_.commands[word]), deeper
            else:
                positional = True
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = help_.options.get(name)
        if option is None:
            found += _unknown(name, path, help_)
            continue
        given = [value] if equals else _take(option, words)
        found += [
            Wrong(name, " ".join(path), f"does not accept {each!r}", f"it takes {', '.join(option.choices)}")
            for each in given
            if option.choices and each not in option.choices
        ]
    return found


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
    close = difflib.get_close_matches(name, help_.options, 1, 0.7)
    return [Wrong(name, " ".join(path), "is no option of it", f"did you mean {close[0]}?" if close else "")]
