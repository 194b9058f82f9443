"""Walks a syntax tree of bash in the order of its text and collects what each function does.

One method per kind of node that means something; everything else is walked through. The grammar has habits
that are undone here: a redirection at the end of a pipeline or list is given to the whole (bash gives it to
the last command), words behind a redirection count as its targets (``echo >&2 text``), and what a here-document
is piped into stands inside of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.facts.commands import TARGETS, Commands
from bridge.verify.facts.expressions import text
from bridge.verify.facts.scope import Place, Scope

if TYPE_CHECKING:
    from tree_sitter import Node

    from bridge.verify.facts.model import Function

__all__ = ["Walker"]

_SOURCED = re.compile(r"\(\s*return\b|BASH_SOURCE[\s\S]*\$\{?0\b|\$\{?0\b[\s\S]*BASH_SOURCE")


class Walker(Commands):
    """What holds commands together: pipelines, lists, branches, loops, subshells."""

    def __init__(self, *, first_line: int = 1) -> None:
        super().__init__(first_line=first_line)
        self._by_type |= {
            "redirected_statement": self._redirected,
            "pipeline": self._pipeline,
            "list": self._list,
            "if_statement": self._if,
            "case_item": self._branch,
            "for_statement": self._for,
            "c_style_for_statement": self._counting,
            "while_statement": self._while,
            "subshell": self._subshell,
            "command_substitution": self._substitution,
            "process_substitution": self._substitution,
            "compound_statement": self._group,
        }

    def top(self, root: Node) -> Function:
        """Walk a whole tree; what stands in no function is returned."""
        scope = Scope("", line=self._line(root), end_line=self._first_line + root.end_point[0], place=Place())
        self._children(root, scope, Place())
        return scope.function(known=not root.has_error)

    def _redirected(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        own: list[str] = []
        more: list[Node] = []
        downstream: list[Node] = []
        for child in [child for child in node.children if child.type in TARGETS]:
            targets = child.children_by_field_name("destination") if child.type == "file_redirect" else []
            own.append(text(child) if len(targets) < 2 else text(child).split(text(targets[1]))[0].rstrip())
            more += targets[1:]
            for part in child.children:
                if part.type in ("pipeline", "list", "command", "redirected_statement", "while_statement"):
                    downstream.append(part)
                elif child.type == "heredoc_redirect" and part.type == "file_redirect":
                    own.append(text(part))
                elif part.is_named:
                    self.visit(part, scope, place)
            if any(part.type == "&>>" for part in child.children):
                self.newer.append((self._line(child), "&>>"))
        body = node.child_by_field_name("body")
        piped = any(part.type in ("pipeline", "while_statement") for part in downstream)
        if body is not None and body.type == "command" and more:
            words = [text(child) for child in body.children if child.type not in TARGETS | {"variable_assignment"}]
            self._note(words + [text(each) for each in more], self._line(body), (*own, *redirects), scope, place)
        elif body is not None:
            self.visit(body, scope, place._replace(subshell=True) if piped else place, (*own, *redirects))
        source = text(body) if body else "here-document"
        for part in downstream:
            inner = place._replace(subshell=True, upstream=source) if piped else place
            self.visit(part, scope, inner)

    def _pipeline(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        upstream = place.upstream
        stages = [child for child in node.children if child.is_named and child.type != "comment"]
        for child in node.children:
            if child.type == "|&":
                self.newer.append((self._line(child), "|&"))
        for index, stage in enumerate(stages):
            last = index == len(stages) - 1
            after = "" if last else _between(node, stage)
            given = (redirects if last else ()) + (("2>&1",) if after == "|&" else ())
            self.visit(stage, scope, place._replace(subshell=True, upstream=upstream), given)
            upstream = f"{upstream} | {text(stage)}" if upstream else text(stage)

    def _list(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        parts = [child for child in node.children if child.is_named and child.type != "comment"]
        guarded = place.guarded
        for index, part in enumerate(parts):
            inner = place._replace(conditional=place.conditional or index > 0, guarded=guarded)
            self.visit(part, scope, inner, redirects if index == len(parts) - 1 else ())
            guarded = guarded or bool(_SOURCED.search(text(part)))

    def _if(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        inner = place._replace(around=redirects + place.around)
        branch = inner._replace(conditional=True)
        in_condition = True
        for child in node.children:
            if child.type == "then":
                in_condition = False
            elif child.is_named:
                if in_condition and _SOURCED.search(text(child)):
                    branch = branch._replace(guarded=True)
                self.visit(child, scope, inner if in_condition else branch)

    def _branch(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        self._children(node, scope, place._replace(conditional=True, around=redirects + place.around))

    def _body(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        inner = place._replace(around=redirects + place.around)
        for child in node.children:
            if child.type in ("do_group", "compound_statement") and child == node.child_by_field_name("body"):
                self._children(child, scope, inner._replace(loop=True, conditional=True))
            elif child.is_named:
                self.visit(child, scope, inner)

    def _while(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        self._body(node, scope, place, redirects)

    def _for(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None:
            scope.write(text(variable), self._line(variable), "loop", place)
        self._body(node, scope, place, redirects)

    def _counting(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        for field in ("initializer", "condition", "update"):
            for part in node.children_by_field_name(field):
                self._calculate([part], scope, place)
        body = node.child_by_field_name("body")
        if body is not None:
            inner = place._replace(around=redirects + place.around, loop=True, conditional=True)
            self._children(body, scope, inner)

    def _subshell(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        self._children(node, scope, place._replace(subshell=True, around=redirects + place.around))

    def _substitution(self, node: Node, scope: Scope, place: Place, _redirects: tuple[str, ...]) -> None:
        self._children(node, scope, place._replace(subshell=True, substituted=True, upstream=""))

    def _group(self, node: Node, scope: Scope, place: Place, redirects: tuple[str, ...]) -> None:
        if node.children and node.children[0].type == "((":
            self._calculate(node.named_children, scope, place)
        else:
            self._children(node, scope, place._replace(around=redirects + place.around))


def _between(pipeline: Node, stage: Node) -> str:
    after = stage.next_sibling
    return after.type if after is not None and after.parent == pipeline else ""
