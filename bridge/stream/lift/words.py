"""Words of a shell function, taken apart: literal text and plain variables, nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bridge.stream.lift.faults import NotLifted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Variable", "Word", "constant", "expand", "names", "parse_word"]


class Variable(NamedTuple):
    """``$name``; `default` of ``${name:-default}``; `quoted`: it stands in double quotes."""

    name: str
    quoted: bool
    default: str | None = None


Word: TypeAlias = tuple[str | Variable, ...]

_BARE = re.compile(r"[A-Za-z0-9_./,:=+%@^-]+", re.ASCII)  # nothing that is a pattern, a tilde or a brace
_SINGLE = re.compile(r"'([^']*)'")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*|[1-9])|\{([A-Za-z_]\w*|[1-9])(?::-([A-Za-z0-9_./-]*))?\})", re.ASCII)
_IN_DOUBLE = re.compile(r'[^"\\$`]+')
_TAME = re.compile(r"[A-Za-z0-9_./:@%+,=^-]+", re.ASCII)
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


def parse_word(source: str) -> Word:
    """A word, from its text in the script.

    Raises:
        NotLifted: it holds anything but quotes, literal text and plain variables.
    """
    if source == "]":
        return ("]",)
    parts: list[str | Variable] = []
    at = 0
    while at < len(source):
        if found := _BARE.match(source, at):
            parts.append(found.group())
        elif found := _SINGLE.match(source, at):
            parts.append(found[1])
        elif found := _ANSI.match(source, at):
            parts.append(_ansi(found[1]))
        elif found := _VARIABLE.match(source, at):
            parts.append(_variable(found, quoted=False))
        elif source[at] == '"':
            at = _double(source, at + 1, parts)
            continue
        elif source[at] == "\\" and at + 1 < len(source) and source[at + 1] != "\n":
            parts.append(source[at + 1])
            at += 2
            continue
        else:
            raise NotLifted(f"the word {source[:60]}")
        at = found.end()
    return _joined(parts)


def _double(source: str, at: int, parts: list[str | Variable]) -> int:
    parts.append("")
    while at < len(source):
        if found := _IN_DOUBLE.match(source, at):
            parts.append(found.group())
            at = found.end()
        elif source[at] == '"':
            return at + 1
        elif source[at] == "\\" and at + 1 < len(source):
            following = source[at + 1]
            parts.append("" if following == "\n" else following if following in '$`"\\' else "\\" + following)
            at += 2
        elif found := _VARIABLE.match(source, at):
            parts.append(_variable(found, quoted=True))
            at = found.end()
        else:
            raise NotLifted(f"the expansion {source[at:][:40]}")
    raise NotLifted("a quote that does not end")


def _variable(found: re.Match[str], *, quoted: bool) -> Variable:
    return Variable(found[1] or found[2], quoted, found[3])


def _ansi(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1] not in _ANSI_ESCAPES:
            raise NotLifted(f"the escape {found.group()} in $'…'")
        return _ANSI_ESCAPES[found[1]]

    return re.sub(r"\\(.)", plain, text, flags=re.DOTALL)


def _joined(parts: list[str | Variable]) -> Word:
    out: list[str | Variable] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return tuple(out)


def constant(word: Word) -> str | None:
    """Its text, when it holds no variable."""
    return None if names(word) else "".join(part for part in word if isinstance(part, str))


def names(word: Word) -> frozenset[str]:
    """The variables in it."""
    return frozenset(part.name for part in word if isinstance(part, Variable))


def expand(word: Word, values: Mapping[str, str], *, splits: bool = True) -> str:
    """The text of a word.

    Args:
        values: the variables that are set.
        splits: a variable outside of quotes would be split and taken for a pattern.

    Raises:
        NotLifted: a variable is unset, or would be split here.
    """
    out: list[str] = []
    for part in word:
        if isinstance(part, str):
            out.append(part)
            continue
        value = values.get(part.name)
        if part.default is not None:
            value = value or part.default
        if value is None:
            raise NotLifted(f"the variable {part.name} is not set")
        if splits and not part.quoted and not _TAME.fullmatch(value):
            raise NotLifted(f"${part.name} outside of quotes, which bash would split: {value[:40]!r}")
        out.append(value)
    return "".join(out)
