"""Editing a JSON file that belongs to others: all that isn't touched stays byte for byte. Pure.

Settings are written by people: their order, indentation, escapes and numbers aren't ours to change, so a member is
put into the text, or cut out of it, instead of writing the document anew.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from bridge.errors import ConfigurationError

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")


class Member(NamedTuple):
    start: int  # with its key
    end: int
    key: str | None  # None in an array
    value: Any
    value_start: int


class Node(NamedTuple):
    """An object or an array in a text, from its opening bracket to behind its closing one."""

    start: int
    end: int
    members: tuple[Member, ...]

    def position(self, key: str) -> int:
        return [each.key for each in self.members].index(key)


def parsed(text: str, where: str) -> Any:
    """Read a whole text, strictly; raises ConfigurationError, also for an object that has a key twice."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigurationError(f"{where}: the key {twice!r} stands there twice\n  next: keep one of them")
        return dict(found)

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except ConfigurationError:
        raise
    except ValueError as error:  # also a number with more digits than Python takes
        line = getattr(error, "lineno", 1)
        shown = "".join(text.splitlines()[line - 1 : line]).strip()[:80]
        raise ConfigurationError(
            f"{where}, line {line}: {getattr(error, 'msg', error)}: {shown!r}\n"
            "  expected: strict JSON, without comments and without a comma behind the last entry\n"
            "  next: put it right; nothing was changed"
        ) from None
    except RecursionError:
        raise ConfigurationError(f"{where} is nested too deeply\n  next: look at it; nothing was changed") from None


def node_at(text: str, *path: str | int) -> Node:
    """Look at the document, or at what is in it behind these keys and indices; the text as a whole is valid."""
    found = _node(text, _skip(text, 1 if text.startswith("\ufeff") else 0))
    for step in path:
        index = step if isinstance(step, int) else found.position(step)
        found = _node(text, found.members[index].value_start)
    return found


def _node(text: str, start: int) -> Node:
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
        members.append(Member(begin, at, key, value, value_start))
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return Node(start, at + 1, tuple(members))


def inserted(text: str, node: Node, value: Any, *, key: str | None = None) -> str:
    """Add a member at the end of an object (with a key) or array, indented as what is around it."""
    found = re.search(r"\n([ \t]+)\S", text)
    step = found[1] if found else "  "
    if node.members:
        depth = _indent(text, node.members[-1].start)
        gap = f"\n{depth}" if depth is not None else " "
        prefix, suffix, target, rest = f",{gap}", "", node.members[-1].end, node.members[-1].end
    else:
        line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
        outer = line[: len(line) - len(line.lstrip())]
        depth = outer + step
        prefix, suffix, target, rest = f"\n{depth}", f"\n{outer}", node.start + 1, node.end - 1
    shown = json.dumps(value, indent=step if depth is not None else None, ensure_ascii=False)
    shown = shown.replace("\n", f"\n{depth}") if depth is not None else shown
    named = f"{json.dumps(key)}: {shown}" if key is not None else shown
    new = text[:target] + prefix + named + suffix + text[rest:]
    return new if "\r\n" not in text else re.sub(r"(?<!\r)\n", "\r\n", new)


def removed(text: str, node: Node, index: int) -> str:
    """Cut a member out of an object or array, with its comma."""
    begin, end = node.members[index][:2]
    if len(node.members) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if index:
        return text[: node.members[index - 1].end] + text[end:]
    return text[:begin] + text[node.members[1].start :]


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _indent(text: str, at: int) -> str | None:
    """Return the white space in front of what starts a line; None when it doesn't."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip() and "\n" in text[:at] else None
