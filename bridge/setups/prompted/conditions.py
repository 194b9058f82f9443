"""Which parts of a script are run when nobody sets anything but its arguments. Pure.

Three-valued: True, False, and None for what only a run could tell.
"""

from __future__ import annotations

import fnmatch
import operator
import re
from typing import TYPE_CHECKING

from bridge.setups.prompted.tree import above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node


_EMPTY = {"-z": True, "-n": False}
_ORDER = {f"-{name}": getattr(operator, name) for name in ("eq", "ne", "gt", "ge", "lt", "le")}
_SIGNS = {"&&", "||", "=", "==", "!=", "=~", *_ORDER}


def taken(
    node: Node, value: Callable[[Node], str | None], assume: Callable[[Node], bool] = lambda _guard: False
) -> bool | None:
    """Say whether what is around a node lets it run.

    Args:
        value: gives the text of a word; None: only a run could tell.
        assume: of a condition of which only a run could tell: whether it is taken for met.
    """
    verdict: bool | None = True
    for guard, wanted in guards(node):
        held = _matches(*guard, value) if isinstance(guard, tuple) else holds(guard, value)
        if held is None:
            verdict = verdict if assume(guard[0] if isinstance(guard, tuple) else guard) else None
        elif held is not wanted:
            return False
    return verdict


def guards(node: Node) -> Iterator[tuple[Node | tuple[Node, Node], bool]]:
    """Give the conditions around a node, and what each has to be for it to run; a pair: the word and the item of a
    ``case``."""
    inner = node
    for up in above(node):
        if up.type in ("if_statement", "elif_clause"):
            own = _condition(up)
            if inner.type in ("elif_clause", "else_clause"):
                others = [each for each in up.named_children if each.type == "elif_clause"]
                earlier = [each for each in others if each.end_byte <= inner.start_byte]
                yield from ((each, False) for each in (own, *map(_condition, earlier)) if each is not None)
            elif own is not None and own.end_byte <= inner.start_byte:
                yield own, True
        elif up.type == "case_item" and up.parent is not None and inner not in up.children_by_field_name("value"):
            yield (up.parent.named_children[0], up), True
        elif up.type == "list" and inner == up.named_children[-1] and len(up.named_children) > 1:
            yield up.named_children[0], any(each.type == "&&" for each in up.children)
        inner = up


def _condition(branch: Node) -> Node | None:
    """The last command in front of its ``then``."""
    then = next((each.start_byte for each in branch.children if each.type == "then"), 0)
    return next((each for each in reversed(branch.named_children) if each.end_byte <= then), None)


def holds(node: Node, value: Callable[[Node], str | None]) -> bool | None:
    """Say whether a condition holds."""
    parts = node.named_children
    match node.type:
        case "test_command" | "parenthesized_expression" | "redirected_statement" if parts:
            return holds(parts[0], value)
        case "negated_command" if parts:
            return _not(holds(parts[0], value))
        case "list" | "binary_expression" if len(parts) >= 2:
            return _binary(node, value)
        case "unary_expression" if len(node.children) == 2:
            operator, operand = node.children[0], node.children[1]
            if operator.type == "!":
                return _not(holds(operand, value))
            text = value(operand)
            sign = (operator.text or b"").decode()
            return None if text is None or sign not in _EMPTY else (text == "") is _EMPTY[sign]
        case "command":
            return {"true": True, ":": True, "cd": True, "false": False}.get(
                (node.text or b"").decode().partition(" ")[0]
            )
    return None


def _binary(node: Node, value: Callable[[Node], str | None]) -> bool | None:
    left, right = node.named_children[0], node.named_children[-1]
    sign = next((text for each in node.children[1:-1] if (text := (each.text or b"").decode()) in _SIGNS), "")
    if sign in ("&&", "||"):
        sides = [holds(left, value), holds(right, value)]
        decisive = sign == "||"
        return decisive if decisive in sides else None if None in sides else not decisive
    first, second = value(left), value(right)
    if first is None or (second is None and sign != "=~"):
        return None
    if sign in ("=", "=="):
        return fnmatch.fnmatchcase(first, second or "")
    if sign == "!=":
        return not fnmatch.fnmatchcase(first, second or "")
    if sign == "=~":
        return _found((right.text or b"").decode(), first)
    if sign in _ORDER and re.fullmatch(r"-?\d{1,18}", first) and re.fullmatch(r"-?\d{1,18}", second or ""):
        return bool(_ORDER[sign](int(first), int(second or "0")))
    return None


def _found(pattern: str, text: str) -> bool | None:
    """Numbers only, which is what such scripts look for; no pattern of somebody else's is run."""
    digits = re.fullmatch(r"[\"']?\^(?:\[0-9\]|\[\[:digit:\]\]|\\d)\+\$[\"']?", pattern)
    return None if digits is None else re.fullmatch(r"[0-9]+", text) is not None


def _matches(word: Node, item: Node, value: Callable[[Node], str | None]) -> bool | None:
    text = value(word)
    if text is None:
        return None
    patterns = ((each.text or b"").decode().strip("\"'") for each in item.children_by_field_name("value"))
    return any(fnmatch.fnmatchcase(text, each) for each in patterns)


def _not(held: bool | None) -> bool | None:
    return None if held is None else not held
