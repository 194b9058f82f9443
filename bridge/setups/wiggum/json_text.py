"""Editing a JSON file that belongs to others: all that isn't touched stays byte for byte. Pure.

Settings are written by people: their order, indentation, escapes and numbers aren't ours to change, so a member is
put into the text, or cut out of it, instead of writing the document anew.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from bridge.errors import ConfigurationError

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Node:
    """An object or an array in a text.

    Attributes:
        start: where its bracket opens.
        end: behind its closing bracket.
        members: for each member, where it starts (with its key) and ends, its key (None in an array), its
            value, and where that value starts.
    """

    start: int
    end: int
    members: tuple[tuple[int, int, str | None, Any, int], ...]

    def member(self, key: str) -> tuple[Any, int] | None:
        """Return a member's value and where it starts."""
        return next(((value, start) for _, _, name, value, start in self.members if name == key), None)


def parsed(text: str, where: str) -> Any:
    """Read a whole text, strictly.

    Raises:
        ConfigurationError: it is no JSON, or an object has a key twice; says in which line, and what to do.
    """

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigurationError(f"{where}: the key {twice!r} stands there twice\n  next: keep one of them")
        return dict(found)

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except ValueError as error:
        if isinstance(error, ConfigurationError):
            raise
        line = getattr(error, "lineno", 1)
        shown = text.splitlines()[line - 1].strip()[:80] if text.splitlines()[line - 1 : line] else ""
        raise ConfigurationError(
            f"{where}, line {line}: {getattr(error, 'msg', error)}: {shown!r}\n"
            "  expected: strict JSON, without comments and without a comma behind the last entry\n"
            "  next: put it right; nothing was changed"
        ) from None
    except RecursionError:
        raise ConfigurationError(f"{where} is nested too deeply\n  next: look at it; nothing was changed") from None


def node(text: str, start: int) -> Node:
    """Look at the object or array that starts here; the text as a whole is valid."""
    is_object = text[start] == "{"
    members = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, None
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value_start = at
        value, at = _DECODER.raw_decode(text, at)
        members.append((begin, at, key, value, value_start))
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return Node(start, at + 1, tuple(members))


def inserted(text: str, at: Node, value: Any, *, key: str | None = None) -> str:
    """Add a member at the end of an object (with a key) or array, indented as what is around it."""
    step = _step(text)
    if at.members:
        before = _indent(text, at.members[-1][0])
        gap = f"\n{before}" if before is not None else " "
        prefix, suffix, target = f",{gap}", "", at.members[-1][1]
        depth = before
    else:
        outer = _indent(text, at.start) or _line_indent(text, at.start)
        depth = outer + step
        prefix, suffix, target = f"\n{depth}", f"\n{outer}", at.start + 1
    shown = json.dumps(value, indent=step if depth is not None else None, ensure_ascii=False)
    shown = shown.replace("\n", f"\n{depth}") if depth is not None else shown
    named = f"{json.dumps(key)}: {shown}" if key is not None else shown
    rest = text[at.end - 1 :] if not at.members else text[target:]
    new = text[:target] + prefix + named + suffix + rest
    return new if "\r\n" not in text else re.sub(r"(?<!\r)\n", "\r\n", new)


def removed(text: str, at: Node, index: int) -> str:
    """Cut a member out of an object or array, with its comma."""
    begin, end = at.members[index][:2]
    if len(at.members) == 1:
        return text[: at.start + 1] + text[at.end - 1 :]
    if index:
        return text[: at.members[index - 1][1]] + text[end:]
    return text[:begin] + text[at.members[1][0] :]


def root(text: str) -> Node:
    """Look at the document itself, which is an object."""
    return node(text, _skip(text, 1 if text.startswith("\ufeff") else 0))


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _indent(text: str, at: int) -> str | None:
    """Return the white space in front of what starts a line; None when it doesn't."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip() and "\n" in text[:at] else None


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _step(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
