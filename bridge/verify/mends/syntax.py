"""Where in a script something stands, by its syntax tree; and changes there.

What isn't sure gives no change: where a function is defined twice, where the grammar didn't understand the text, or
where what it read isn't what the script holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.facts.expressions import text
from bridge.verify.findings import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from bridge.verify.subject import Subject

_SAME_SHELL = frozenset(
    (
        *("compound_statement", "do_group", "if_statement", "elif_clause", "else_clause", "case_statement"),
        *("case_item", "for_statement", "while_statement", "list", "redirected_statement", "negated_command"),
    )
)
"""Nodes whose children run in the shell that they stand in."""


def within(node: Node, *types: str) -> Iterator[Node]:
    """The nodes of these types in a node, in the order of the text; not those of functions defined in it."""
    for child in node.named_children:
        if child.type in types:
            yield child
        if child.type != "function_definition":
            yield from within(child, *types)


def runs_in(function: Node, node: Node) -> bool:
    """Whether a command of a function runs in the function's own shell: in no subshell, pipeline or background."""
    while node.parent is not None and node.type not in ("", "function_definition"):
        behind = node.next_sibling
        if behind is not None and behind.type == "&":
            return False
        if node.parent == function:
            return True
        node = node.parent
        if node.type not in _SAME_SHELL:
            return False
    return False


def name_of(command: Node) -> str:
    name = command.child_by_field_name("name")
    return "" if name is None else text(name)


class Syntax:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.source = subject.source
        # A tree of what was masked may have moved the text behind it.
        self.roots = [
            tree.root_node for tree in subject.reading.trees if tree.root_node.end_byte <= len(subject.source)
        ]

    def function(self, name: str) -> Node | None:
        """The only definition of a function, if its body is ``{ ... }``."""
        found = [
            node
            for root in self.roots
            for node in (*within(root, "function_definition"),)
            if (head := node.child_by_field_name("name")) is not None and text(head) == name
        ]
        body = found[0].child_by_field_name("body") if len(found) == 1 else None
        known = body is not None and body.type == "compound_statement" and body.children[0].type == "{"
        return found[0] if known and self.sure(found[0]) else None

    def sure(self, node: Node) -> bool:
        """Whether the script holds at this place what the grammar has read."""
        return node.text == self.source[node.start_byte : node.end_byte]

    def replaced(self, start: int, end: int, by: str) -> Edit:
        return Edit(start, end, self._position(start), self._position(end), by)

    def inserted(self, at: int, code: str) -> Edit:
        return self.replaced(at, at, code)

    def _position(self, offset: int) -> tuple[int, int]:
        begin = self.source.rfind(b"\n", 0, offset) + 1
        column = len(self.source[begin:offset].decode("utf-8", "surrogateescape"))
        return self.source.count(b"\n", 0, offset) + 1, column + 1

    def indent(self, node: Node) -> str | None:
        """The blanks before a node that is the first in its line; None when it isn't."""
        begin = self.source.rfind(b"\n", 0, node.start_byte) + 1
        before = self.source[begin : node.start_byte]
        return None if before.strip() else before.decode()

    def first(self, function: Node) -> Node | None:
        body = function.child_by_field_name("body")
        children = [] if body is None else body.named_children
        return next((child for child in children if child.type != "comment"), None)

    def at_the_beginning(self, function: Node, code: str) -> Edit | None:
        """A command put in front of all others of a function."""
        first = self.first(function)
        if first is None:
            return None
        indent = self.indent(first)
        return self.inserted(first.start_byte, f"{code}; " if indent is None else f"{code}\n{indent}")
