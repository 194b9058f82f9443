"""What of a script can be reached: its commands one by one, and where it goes one way or another.

Read from the syntax tree: a unit is what bash runs at once and tells a DEBUG trap of, a branching is a place where
one unit runs or another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.facts.expressions import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node


class Unit(NamedTuple):
    """A simple command, an assignment, a test, or the head of a loop or a case. text: without blanks."""

    line: int
    end: int
    text: str


class Arm(NamedTuple):
    """One way of a branching. first: the number of the unit that it begins with; None when it has none."""

    label: str
    first: int | None


class Branching(NamedTuple):
    """A place with several ways. before: the unit that runs whenever it is reached, if that is known.

    rest: what it is when none of the arms is taken; empty when that can't be, or can't be told.
    """

    line: int
    before: int | None
    arms: tuple[Arm, ...]
    rest: str = ""


class Defined(NamedTuple):
    """A function. first: the unit that it begins with."""

    name: str
    line: int
    first: int


def squeezed(text: str) -> str:
    """A command without what bash and people lay out in different ways."""
    return re.sub(r"[\s;]+", "", text.replace("\\\n", ""))


_SIMPLE = (
    "command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command",
    "test_command",
)  # fmt: skip
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_INNER = ("command_substitution", "process_substitution")


class Outline:
    """What can be reached in these trees.

    functions: those of which it is known what they begin with.
    behind: for a unit that bash may pass over in silence (a loop over nothing), the one that runs next.
    """

    def __init__(self, roots: Iterable[Node]) -> None:
        self.units: list[Unit] = []
        self.branchings: list[Branching] = []
        self.functions: list[Defined] = []
        self.behind: dict[int, int] = {}
        self._by_type: dict[str, Callable[[Node], int | None]] = {
            "redirected_statement": self._redirected,
            "pipeline": self._each,
            "negated_command": self._each,
            "list": self._list,
            "if_statement": self._if,
            "while_statement": self._while,
            "for_statement": self._for,
            "c_style_for_statement": self._counting,
            "case_statement": self._case,
            "compound_statement": self._group,
            "subshell": self._each,
            "function_definition": self._function,
        }
        for root in roots:
            self.block(root.named_children)

    def block(self, nodes: Iterable[Node]) -> int | None:
        """Commands one after the other; the unit that the first of them begins with."""
        begins: int | None = None
        silent: list[int] = []
        for node in (node for node in nodes if node.type != "comment"):
            first = self.visit(node)
            if first is None:
                continue
            for loop in silent:
                self.behind[loop] = first
            silent = [first] if node.type == "for_statement" else []
            begins = first if begins is None else begins
        return begins

    def visit(self, node: Node) -> int | None:
        """One command; the unit that it begins with, None when it has none or it can't be told."""
        special = self._by_type.get(node.type)
        if special is not None:
            return special(node)
        if node.type in _SIMPLE:
            return self._simple(node)
        self._substitutions(node)
        return None

    def _unit(self, node: Node, text: str) -> int:
        self.units.append(Unit(1 + node.start_point[0], 1 + node.end_point[0], squeezed(text)))
        return len(self.units) - 1

    def _simple(self, node: Node) -> int:
        number = self._unit(node, text(node))
        self._substitutions(node)
        return number

    def _substitutions(self, node: Node) -> None:
        for child in node.named_children:
            if child.type in _INNER:
                self.block(child.named_children)
            else:
                self._substitutions(child)

    def _redirected(self, node: Node) -> int | None:
        body = node.child_by_field_name("body")
        first = self.visit(body) if body is not None else self._unit(node, text(node))
        for child in node.named_children:
            if child.type in _REDIRECTS:
                self._behind_here_document(child)
        return first

    def _behind_here_document(self, redirect: Node) -> None:
        """The grammar puts what a here-document is piped into, or what follows it with &&, within it."""
        for child in redirect.named_children:
            if child.type in self._by_type or child.type in _SIMPLE:
                self.visit(child)
            else:
                self._substitutions(child)

    def _each(self, node: Node) -> int | None:
        firsts = [self.visit(child) for child in node.named_children if child.type != "comment"]
        return firsts[0] if firsts else None

    def _list(self, node: Node) -> int | None:
        parts = [child for child in node.named_children if child.type != "comment"]
        operator = next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
        first = self.visit(parts[0])
        second = self.visit(parts[-1]) if len(parts) > 1 else None
        # How often the right side could have run is that of the left one's beginning.
        ends = f"not {operator}"
        self.branchings.append(Branching(1 + parts[-1].start_point[0], first, (Arm(operator, second),), ends))
        return first

    def _if(self, node: Node) -> int | None:
        condition, body, clauses = _clauses(node)
        before = self.block(condition)
        arms = [Arm("then", self.block(body))]
        rest = "else"
        for clause in clauses:
            if clause.type == "elif_clause":
                wanted, then, _ = _clauses(clause)
                self.block(wanted)
                arms.append(Arm("elif", self.block(then)))
            else:
                arms.append(Arm("else", self.block(clause.named_children)))
                rest = ""
        self.branchings.append(Branching(1 + node.start_point[0], before, tuple(arms), rest))
        return before

    def _while(self, node: Node) -> int | None:
        body = node.child_by_field_name("body")
        return self._loop(node, self.block(child for child in node.named_children if child != body))

    def _for(self, node: Node) -> int | None:
        head, body = _head(node), node.child_by_field_name("body")
        number = self._unit(node, head)
        self.units[number] = self.units[number]._replace(end=self.units[number].line + head.rstrip().count("\n"))
        for child in node.named_children:
            if child != body:
                self._substitutions(child)
        return self._loop(node, number)

    def _counting(self, node: Node) -> int | None:
        return self._loop(node, self._unit(node.children[0], _head(node).removeprefix("for")))

    def _loop(self, node: Node, before: int | None) -> int | None:
        body = node.child_by_field_name("body")
        inside = self.block(body.named_children) if body is not None else None
        self.branchings.append(Branching(1 + node.start_point[0], before, (Arm("loop", inside),)))
        return before

    def _case(self, node: Node) -> int:
        items = [child for child in node.named_children if child.type == "case_item"]
        word = next((child for child in node.children if child.type == "in"), node.children[0])
        number = self._unit(node.children[0], text(node)[: word.end_byte - node.start_byte])
        arms, others, falls = [], True, False
        for item in items:
            patterns = item.children_by_field_name("value")
            label = "|".join(text(pattern) for pattern in patterns)
            commands = [child for child in item.named_children if child not in patterns]
            first = self.block(commands)
            arms.append(Arm(f"case {label}", None if falls else first))
            # What one arm falls through to has run for another.
            falls |= any(child.type in (";&", ";;&") for child in item.children)
            others &= label != "*"
        rest = "no case" if others and all(arm.first is not None for arm in arms) else ""
        self.branchings.append(Branching(1 + node.start_point[0], number, tuple(arms), rest))
        return number

    def _group(self, node: Node) -> int | None:
        return self._simple(node) if node.children[0].type == "((" else self.block(node.named_children)

    def _function(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        first = self.visit(body) if body is not None else None
        if name is not None and first is not None:
            self.functions.append(Defined(text(name), 1 + node.start_point[0], first))


def _head(node: Node) -> str:
    body = node.child_by_field_name("body")
    return text(node) if body is None else text(node)[: body.start_byte - node.start_byte]


def _clauses(node: Node) -> tuple[list[Node], list[Node], list[Node]]:
    """Condition, body and further clauses of an ``if`` or ``elif``."""
    condition: list[Node] = []
    body: list[Node] = []
    clauses: list[Node] = []
    into = condition
    for child in node.children:
        if child.type == "then":
            into = body
        elif child.type in ("elif_clause", "else_clause"):
            clauses.append(child)
        elif child.is_named:
            into.append(child)
    return condition, body, clauses
