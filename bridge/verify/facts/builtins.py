"""Which variables a builtin sets, told by its words."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["NAME", "Filled", "filled_by", "literal"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TARGET = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[.*\])?\Z", re.DOTALL)
_LET = re.compile(
    r"\s*(?:([A-Za-z_]\w*)(?:\[[^]]*\])?\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    r"|(?:\+\+|--)\s*([A-Za-z_]\w*))"
)

# The options of each that take a value, in the value's own word or joined to it.
_VALUED = {"read": "adinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc", "printf": "v", "wait": "p"}


class Filled(NamedTuple):
    """names: variables that are set. dynamic: there may be others, which only running it would tell."""

    names: tuple[str, ...] = ()
    dynamic: bool = False


def literal(word: str) -> str | None:
    """What a word stands for if that can be told without running anything, else None."""
    if len(word) >= 2 and word[0] == word[-1] == "'" and "'" not in word[1:-1]:
        return word[1:-1]
    if "$" in word or "`" in word:
        return None
    if len(word) >= 2 and word[0] == word[-1] == '"' and '"' not in word[1:-1]:
        return word[1:-1].replace("\\\\", "\\") if "\\" in word else word[1:-1]
    return re.sub(r"\\(.)", r"\1", word.replace('"', "").replace("'", ""))


def filled_by(name: str, words: tuple[str, ...]) -> Filled:
    """The variables that the builtin `name` sets when it is given `words` (its name not among them)."""
    if name in ("eval", "source", "."):
        return Filled(dynamic=True)
    if name == "let":
        found = [match for word in words if (match := _LET.match(word.strip("\"'")))]
        return Filled(tuple(match[1] or match[2] for match in found))
    if name == "getopts":
        return _targets(words[1:2])
    if name not in _VALUED:
        return Filled()
    options, rest = _options(words, _VALUED[name])
    if name in ("printf", "wait"):
        return _targets([options[key] for key in ("v", "p") if key in options])
    if name == "read":
        return _targets([options["a"]] if "a" in options else rest or ["REPLY"])
    return _targets(rest[:1] or ["MAPFILE"])


def _options(words: tuple[str, ...], valued: str) -> tuple[dict[str, str], list[str]]:
    """Options that take a value with it, and the words behind all options."""
    options: dict[str, str] = {}
    position = 0
    while position < len(words) and words[position].startswith("-") and len(words[position]) > 1:
        word, position = words[position], position + 1
        if word == "--":
            break
        for index, key in enumerate(word[1:], 1):
            if key in valued:
                if word[index + 1 :]:
                    options[key] = word[index + 1 :]
                elif position < len(words):
                    options[key], position = words[position], position + 1
                break
    return options, list(words[position:])


def _targets(words: list[str] | tuple[str, ...]) -> Filled:
    names = []
    dynamic = False
    for word in words:
        text = literal(word)
        match = _TARGET.match(text) if text is not None else None
        if match:
            names.append(match[1])
        else:
            dynamic = True
    return Filled(tuple(names), dynamic)
