"""The part of the walker that reads commands, and what they set."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.verify.facts.builtins import NAME, filled_by, literal
from bridge.verify.facts.expressions import Expressions, text
from bridge.verify.facts.scope import Place, Scope

if TYPE_CHECKING:
    from tree_sitter import Node

    from bridge.verify.facts.model import How

__all__ = ["TARGETS", "Commands"]

TARGETS = frozenset(["file_redirect", "heredoc_redirect", "herestring_redirect"])
_RUNNING = ("builtin", "command", "time")


class Commands(Expressions):
    """Functions, simple commands, declarations and assignments."""

    def __init__(self, *, first_line: int = 1) -> None:
        super().__init__(first_line=first_line)
        self._by_type |= {
            "function_definition": self._function,
            "command": self._command,
            "declaration_command": self._declaration,
            "unset_command": self._unset,
            "test_command": self._test,
            "variable_assignment": self._assignment,
        }

    def _function(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        inner = Scope(
            text(name),
            line=self._line(node),
            end_line=self._first_line + node.end_point[0],
            place=Place(conditional=place.conditional or bool(scope.name), subshell=body.type == "subshell"),
        )
        own = tuple(text(child) for child in node.children if child.type in TARGETS)
        self.visit(body, inner, Place(guarded=place.guarded, around=own + redirects))
        self.functions.append(inner.function(known=not node.has_error))

    def _command(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        words: list[str] = []
        own: list[str] = []
        apart = _ended_by_lines(node)
        for child in node.children:
            if child.end_byte <= apart:
                self.visit(child, scope, place)
            elif child.type == "variable_assignment":  # for this command alone: IFS=, read …
                value = child.child_by_field_name("value")
                if value is not None:
                    self.visit(value, scope, place)
            elif child.type in TARGETS:
                own.append(text(child))
                self._children(child, scope, place)
            elif child.is_named:
                words.append(text(child))
                self.visit(child, scope, place)
        line = self._line(next((child for child in node.children if child.end_byte > apart), node))
        self._note(words, line, tuple(own) + redirects, scope, place)

    def _note(self, words: list[str], line: int, redirects: tuple[str, ...], scope: Scope, place: Place) -> None:
        if not words:
            return
        words = unwrapped(words)
        name = (literal(words[0]) or "").removeprefix("\\")
        scope.command(name, tuple(words), line, redirects, place)
        filled = filled_by(name, tuple(words[1:]))
        scope.dynamic |= filled.dynamic
        how: How = "arithmetic" if name == "let" else "read"
        for variable in filled.names:
            scope.write(variable, line, how, place)

    def _declaration(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        words = [text(child) for child in node.children]
        flags = "".join(word[1:] for word in words[1:] if word.startswith("-"))
        scope.command(words[0], tuple(words), self._line(node), redirects, place)
        ours = scope.name and (words[0] == "local" or (words[0] in ("declare", "typeset") and "g" not in flags))
        functions = bool(set(flags) & set("fFp"))
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._declared(child, scope, place, ours=bool(ours), flags=flags)
            elif child.type == "variable_name" and not functions:
                if ours:
                    scope.declare(text(child))
                elif words[0] != "export":
                    scope.write(text(child), self._line(child), "declare", place)
            elif child.is_named:
                self.visit(child, scope, place)
                scope.dynamic |= not ours and not functions and "$" in text(child)

    def _declared(self, node: Node, scope: Scope, place: Place, *, ours: bool, flags: str) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if not ours or name is None:
            self._assignment(node, scope, place, ())
            return
        if value is not None:
            self.visit(value, scope, place)
        if "n" in flags and value is not None:
            scope.refer(text(name), literal(text(value)))
        else:
            scope.declare(text(name))

    def _unset(self, node: Node, scope: Scope, place: Place, _redirects: tuple[str, ...]) -> None:
        words = [text(child) for child in node.children]
        scope.command("unset", tuple(words), self._line(node), (), place)
        if "-f" in words:
            return
        for word in words[1:]:
            target = literal(word)
            if target is None:
                scope.dynamic = True
            elif NAME.match(target):
                scope.write(target, self._line(node), "unset", place)

    def _test(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        name = node.children[0].type if node.children else "[["
        scope.command(name, (text(node),), self._line(node), redirects, place)
        self._children(node, scope, place)

    def _assignment(self, node: Node, scope: Scope, place: Place, _redirects: tuple[str, ...]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope, place)
        if name is None:
            return
        how: How = "array" if value is not None and value.type == "array" else "string"
        if name.type == "subscript":
            how = "element"
            self._children(name, scope, place)
            name = name.child_by_field_name("name") or name
        content = "" if value is None else text(value).strip()
        appends = any(child.type == "+=" for child in node.children)
        empty = content in ("", '""', "''") or (how == "array" and not content.strip("() \t\n"))
        scope.write(text(name), self._line(node), how, place, appends=appends, empty=empty)


def unwrapped(words: list[str]) -> list[str]:
    """A command without the `builtin`, `command` or `time` before it, where they only run it."""
    while len(words) > 1 and words[0].lstrip("\\") in _RUNNING and not words[1].startswith("-"):
        words = words[1:]
    return words


def _ended_by_lines(command: Node) -> int:
    """Where the assignments end that are statements of their own: the grammar takes ``a=1 b=2`` and the command in
    the next line for one command."""
    source, end = command.text or b"", 0
    for child, following in pairwise(command.children):
        between = source[child.end_byte - command.start_byte : following.start_byte - command.start_byte]
        if child.type not in ("variable_assignment", "comment"):
            break
        if b"\n" in between.replace(b"\\\n", b""):
            end = child.end_byte
    return end
