"""Walks arithmetic and expansions of a syntax tree, and collects what they do to variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.facts.model import NAME, Context, FirstOnly, FunctionFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node


def text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")


_ASSIGNING = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="])
_ANSWERED = frozenset([":-", "-", ":+", "+", ":=", "=", ":?", "?"])
_IN_PATTERN = re.compile(r"(?<!\\)\$\{?([A-Za-z_]\w*)")
NEWER = {
    "^^": "${x^^}", "^": "${x^}", ",,": "${x,,}", ",": "${x,}", "@": "${x@…}", "|&": "|&", "&>>": "&>>", ";&": ";&",
    ";;&": ";;&",
}  # fmt: skip
"""Tokens that bash 3.2 doesn't know, as people write them."""


class Expressions:
    def __init__(self) -> None:
        self.functions: list[FunctionFacts] = []
        self.scope = FunctionFacts(name="", line=1, end_line=1)  # what is walked now; no name: outside of functions
        self.newer: list[tuple[int, str]] = []
        self._by_type: dict[str, Callable[[Node, Context, tuple[str, ...]], None]] = {
            "arithmetic_expansion": self._arithmetic,
            "expansion": self._expansion,
            "simple_expansion": self._simple_expansion,
            "regex": self._pattern,
        }

    def visit(self, node: Node, context: Context, redirects: tuple[str, ...] = ()) -> None:
        """Walk one node; `redirects` are those that the grammar gave to something around it."""
        special = self._by_type.get(node.type)
        if special:
            special(node, context, redirects)
        elif node.child_count:
            self._children(node, context._replace(around=redirects + context.around) if redirects else context)

    def _children(self, node: Node, context: Context) -> None:
        children = node.children
        for child, after in zip(children, [*children[1:], None], strict=False):
            if child.is_named:
                apart = after is not None and after.type == "&"
                self.visit(child, context._replace(subshell=True) if apart else context)
            elif child.type in NEWER and node.type in ("pipeline", "file_redirect", "case_item"):
                self.newer.append((self._line(child), NEWER[child.type]))

    def _line(self, node: Node) -> int:
        return int(1 + node.start_point[0])

    def _arithmetic(self, node: Node, context: Context, _redirects: tuple[str, ...]) -> None:
        self._calculate(node.named_children, context)

    def _calculate(self, nodes: Iterable[Node], context: Context) -> None:
        for node in nodes:
            if node.type == "variable_assignment":
                value = node.child_by_field_name("value")
                self._calculate([value] if value is not None else [], context)
                self._counted(node.child_by_field_name("name"), context)
            elif node.type == "binary_expression":
                operator = node.child_by_field_name("operator")
                if operator is not None and text(operator) in _ASSIGNING:
                    self._counted(node.child_by_field_name("left"), context)
                self._calculate(node.named_children, context)
            elif node.type in ("postfix_expression", "unary_expression"):
                if any(child.type in ("++", "--") for child in node.children):
                    self._counted(node.named_children[0], context)
                self._calculate(node.named_children, context)
            elif node.type in ("variable_name", "word"):
                self.scope.read(text(node), self._line(node))
            elif node.type in ("ternary_expression", "parenthesized_expression", "subscript"):
                self._calculate(node.named_children, context)
            else:
                self.visit(node, context)

    def _counted(self, node: Node | None, context: Context) -> None:
        if node is not None:
            name = node.child_by_field_name("name") if node.type == "subscript" else node
            if name is not None:
                self.scope.write(text(name), self._line(node), "arithmetic", context)

    def _expansion(self, node: Node, context: Context, _redirects: tuple[str, ...]) -> None:
        if [child.type for child in node.children] == ["${", "variable_name", "}"]:
            self._first_only(node, text(node.children[1]))
        tokens = {child.type for child in node.children if not child.is_named}
        first = True
        for child in node.children:
            if child.type in ("variable_name", "subscript") and first:
                name = child if child.type == "variable_name" else child.child_by_field_name("name")
                if name is not None:
                    self.scope.read(text(name), self._line(child), defaulted=bool(tokens & _ANSWERED))
                    if tokens & {":=", "="}:
                        self.scope.write(text(name), self._line(child), "default", context)
                if child.type == "subscript":
                    self._children(child, context)
                first = False
            elif child.is_named:
                self.visit(child, context)
        for token in tokens & {"^^", "^", ",,", ",", "@"}:
            self.newer.append((self._line(node), NEWER[token]))

    def _simple_expansion(self, node: Node, _place: Context, _redirects: tuple[str, ...]) -> None:
        for child in node.named_children:
            self.scope.read(text(child), self._line(child))
            self._first_only(node, text(child))

    def _first_only(self, node: Node, name: str) -> None:
        """Note an expansion without index that is a word, or a part of one, of a command or an array."""
        around = node.parent
        while around is not None and around.type in ("string", "concatenation"):
            around = around.parent
        if around is None or around.type not in ("command", "command_name", "array") or not NAME.match(name):
            return
        called = around.parent if around.type == "command_name" else around
        word = called.child_by_field_name("name") if called is not None and called.type == "command" else None
        self.scope.firsts.append(FirstOnly(name, self._line(node), text(word) if word is not None else ""))

    def _pattern(self, node: Node, _place: Context, _redirects: tuple[str, ...]) -> None:
        # The grammar doesn't look into patterns, though bash expands them.
        for match in _IN_PATTERN.finditer(text(node)):
            self.scope.read(match[1], self._line(node))
