"""Walking a syntax tree: what every part of the walker needs, and expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from bridge.verify.facts.model import Function
    from bridge.verify.facts.scope import Place, Scope

__all__ = ["NEWER", "Expressions", "text"]

_ASSIGNING = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="])
_ANSWERED = frozenset([":-", "-", ":+", "+", ":=", "=", ":?", "?"])
_IN_PATTERN = re.compile(r"(?<!\\)\$\{?([A-Za-z_]\w*)")
NEWER = {
    "^^": "${x^^}", "^": "${x^}", ",,": "${x,,}", ",": "${x,}", "@": "${x@…}", "|&": "|&", "&>>": "&>>", ";&": ";&",
    ";;&": ";;&",
}  # fmt: skip
"""Tokens that bash 3.2 doesn't know, as people write them."""


class Expressions:
    """Arithmetic and expansions; `first_line` is the line of the file on which the tree begins."""

    def __init__(self, *, first_line: int = 1) -> None:
        self.functions: list[Function] = []
        self.newer: list[tuple[int, str]] = []
        self._first_line = first_line
        self._by_type: dict[str, Callable[[Node, Scope, Place, tuple[str, ...]], None]] = {
            "arithmetic_expansion": self._arithmetic,
            "expansion": self._expansion,
            "simple_expansion": self._simple_expansion,
            "regex": self._pattern,
        }

    def visit(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...] = ()) -> None:
        """Walk one node; `redirects` are those that the grammar gave to something around it."""
        special = self._by_type.get(node.type)
        if special:
            special(node, scope, place, redirects)
        elif node.child_count:
            self._children(node, scope, place._replace(around=redirects + place.around) if redirects else place)

    def _children(self, node: Node, scope: Scope, place: Place) -> None:
        children = node.children
        for child, after in zip(children, [*children[1:], None], strict=False):
            if child.is_named:
                apart = after is not None and after.type == "&"
                self.visit(child, scope, place._replace(subshell=True) if apart else place)
            elif child.type in NEWER and node.type in ("pipeline", "file_redirect", "case_item"):
                self.newer.append((self._line(child), NEWER[child.type]))

    def _line(self, node: Node) -> int:
        return int(self._first_line + node.start_point[0])

    def _arithmetic(self, node: Node, scope: Scope, place: Place, _redirects: tuple[str, ...]) -> None:
        self._calculate(node.named_children, scope, place)

    def _calculate(self, nodes: Iterable[Node], scope: Scope, place: Place) -> None:
        for node in nodes:
            if node.type == "variable_assignment":
                value = node.child_by_field_name("value")
                self._calculate([value] if value is not None else [], scope, place)
                self._counted(node.child_by_field_name("name"), scope, place)
            elif node.type == "binary_expression":
                operator = node.child_by_field_name("operator")
                if operator is not None and text(operator) in _ASSIGNING:
                    self._counted(node.child_by_field_name("left"), scope, place)
                self._calculate(node.named_children, scope, place)
            elif node.type in ("postfix_expression", "unary_expression"):
                if any(child.type in ("++", "--") for child in node.children):
                    self._counted(node.named_children[0], scope, place)
                self._calculate(node.named_children, scope, place)
            elif node.type in ("variable_name", "word"):
                scope.read(text(node), self._line(node))
            elif node.type in ("ternary_expression", "parenthesized_expression", "subscript"):
                self._calculate(node.named_children, scope, place)
            else:
                self.visit(node, scope, place)

    def _counted(self, node: Node | None, scope: Scope, place: Place) -> None:
        if node is not None:
            name = node.child_by_field_name("name") if node.type == "subscript" else node
            if name is not None:
                scope.write(text(name), self._line(node), "arithmetic", place)

    def _expansion(self, node: Node, scope: Scope, place: Place, _redirects: tuple[str, ...]) -> None:
        tokens = {child.type for child in node.children if not child.is_named}
        first = True
        for child in node.children:
            if child.type in ("variable_name", "subscript") and first:
                name = child if child.type == "variable_name" else child.child_by_field_name("name")
                if name is not None:
                    scope.read(text(name), self._line(child), defaulted=bool(tokens & _ANSWERED))
                    if tokens & {":=", "="}:
                        scope.write(text(name), self._line(child), "default", place)
                if child.type == "subscript":
                    self._children(child, scope, place)
                first = False
            elif child.is_named:
                self.visit(child, scope, place)
        for token in tokens & {"^^", "^", ",,", ",", "@"}:
            self.newer.append((self._line(node), NEWER[token]))

    def _simple_expansion(self, node: Node, scope: Scope, _place: Place, _redirects: tuple[str, ...]) -> None:
        for child in node.named_children:
            scope.read(text(child), self._line(child))

    def _pattern(self, node: Node, scope: Scope, _place: Place, _redirects: tuple[str, ...]) -> None:
        # The grammar doesn't look into patterns, though bash expands them.
        for match in _IN_PATTERN.finditer(text(node)):
            scope.read(match[1], self._line(node))


def text(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "surrogateescape")
