"""Walks a syntax tree of bash in the order of its text and collects what each function does.

One method per kind of node that means something; everything else is walked through. The grammar has habits
that are undone here: a redirection at the end of a pipeline or list is given to the whole (bash gives it to
the last command), words behind a redirection count as its targets (``echo >&2 text``), and what a here-document
is piped into stands inside of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.facts.expressions import Expressions, text
from bridge.verify.facts.model import NAME, Context, FunctionFacts, How
from bridge.verify.facts.usage import filled_by, literal

if TYPE_CHECKING:
    from tree_sitter import Node


TARGETS = frozenset(["file_redirect", "heredoc_redirect", "herestring_redirect"])
_RUNNING = ("builtin", "command", "time")


class _Commands(Expressions):
    def __init__(self) -> None:
        super().__init__()
        self._by_type |= {
            "function_definition": self._function,
            "command": self._command,
            "declaration_command": self._declaration,
            "unset_command": self._unset,
            "test_command": self._test,
            "variable_assignment": self._assignment,
        }

    def _function(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        outer, own = self.scope, tuple(text(child) for child in node.children if child.type in TARGETS)
        self.scope = FunctionFacts(
            name=text(name),
            line=self._line(node),
            end_line=1 + node.end_point[0],
            known=not node.has_error,
            conditional=context.conditional or bool(outer.name),
            subshell=body.type == "subshell",
        )
        self.visit(body, Context(guarded=context.guarded, around=own + redirects))
        self.functions.append(self.scope)
        self.scope = outer

    def _command(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        words: list[str] = []
        own: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment":  # for this command alone: IFS=, read …
                value = child.child_by_field_name("value")
                if value is not None:
                    self.visit(value, context)
            elif child.type in TARGETS:
                own.append(text(child))
                self._children(child, context)
            elif child.is_named:
                words.append(text(child))
                self.visit(child, context)
        self._note(words, self._line(node), tuple(own) + redirects, context)

    def _note(self, words: list[str], line: int, redirects: tuple[str, ...], context: Context) -> None:
        if not words:
            return
        words = _unwrapped(words)
        name = (literal(words[0]) or "").removeprefix("\\")
        self.scope.run(name, tuple(words), line, redirects, context)
        filled = filled_by(name, tuple(words[1:]))
        self.scope.dynamic |= filled.dynamic
        how: How = "arithmetic" if name == "let" else "read"
        for variable in filled.names:
            self.scope.write(variable, line, how, context)
            flags = "".join(word[1:] for word in words[1:] if re.fullmatch(r"-[A-Za-z]+", word))
            (self.scope.arrays if "a" in flags or name in ("mapfile", "readarray") else self.scope.texts).add(
                variable
            )

    def _declaration(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        words = [text(child) for child in node.children]
        flags = "".join(word[1:] for word in words[1:] if word.startswith("-"))
        self.scope.run(words[0], tuple(words), self._line(node), redirects, context)
        ours = self.scope.name and (
            words[0] == "local" or (words[0] in ("declare", "typeset") and "g" not in flags)
        )
        functions = bool(set(flags) & set("fFp"))
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._declared(child, context, ours=bool(ours), flags=flags)
            elif child.type == "variable_name" and not functions:
                if ours:
                    self.scope.local.add(text(child))
                elif words[0] != "export":
                    self.scope.write(text(child), self._line(child), "declare", context)
            elif child.is_named:
                self.visit(child, context)
                self.scope.dynamic |= not ours and not functions and "$" in text(child)

    def _declared(self, node: Node, context: Context, *, ours: bool, flags: str) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if not ours or name is None:
            self._assignment(node, context, ())
            return
        if value is not None:
            self.visit(value, context)
            self._holds(node)
        self.scope.local.add(text(name))
        if "n" in flags and value is not None:
            target = literal(text(value))
            self.scope.references[text(name)] = target if target is not None and NAME.match(target) else None

    def _unset(self, node: Node, context: Context, _redirects: tuple[str, ...]) -> None:
        words = [text(child) for child in node.children]
        self.scope.run("unset", tuple(words), self._line(node), (), context)
        if "-f" in words:
            return
        for word in words[1:]:
            target = literal(word)
            if target is None:
                self.scope.dynamic = True
            elif NAME.match(target):
                self.scope.write(target, self._line(node), "unset", context)

    def _test(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        name = node.children[0].type if node.children else "[["
        self.scope.run(name, (text(node),), self._line(node), redirects, context)
        self._children(node, context)

    def _assignment(self, node: Node, context: Context, _redirects: tuple[str, ...]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if value is not None:
            self.visit(value, context)
        if name is None:
            return
        self._holds(node)
        how: How = "array" if value is not None and value.type == "array" else "string"
        if name.type == "subscript":
            how = "element"
            self._children(name, context)
            name = name.child_by_field_name("name") or name
        self.scope.write(text(name), self._line(node), how, context)

    def _holds(self, node: Node) -> None:
        """Note whether an assignment gives several elements, or a text."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type == "subscript":
            return
        if value is None or value.type != "array":
            self.scope.texts.add(text(name))
        elif any(child.type == "+=" for child in node.children) or len(value.named_children) > 1:
            self.scope.arrays.add(text(name))


def _unwrapped(words: list[str]) -> list[str]:
    """A command without the `builtin`, `command` or `time` before it, where they only run it."""
    while len(words) > 1 and words[0].lstrip("\\") in _RUNNING and not words[1].startswith("-"):
        words = words[1:]
    return words


_SOURCED = re.compile(r"\(\s*return\b|BASH_SOURCE[\s\S]*\$\{?0\b|\$\{?0\b[\s\S]*BASH_SOURCE")


class Walker(_Commands):
    """What holds commands together: pipelines, lists, branches, loops, subshells."""

    def __init__(self) -> None:
        super().__init__()
        self._by_type |= {
            "redirected_statement": self._redirected,
            "pipeline": self._pipeline,
            "list": self._list,
            "if_statement": self._if,
            "case_item": self._branch,
            "for_statement": self._for,
            "c_style_for_statement": self._counting,
            "while_statement": self._body,
            "subshell": self._subshell,
            "command_substitution": self._substitution,
            "process_substitution": self._substitution,
            "compound_statement": self._group,
        }

    def top(self, root: Node) -> FunctionFacts:
        """Walk a whole tree; what stands in no function is returned."""
        end = 1 + root.end_point[0]
        self.scope = FunctionFacts(name="", line=self._line(root), end_line=end, known=not root.has_error)
        self._children(root, Context())
        return self.scope

    def _redirected(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
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
                    self.visit(part, context)
            if any(part.type == "&>>" for part in child.children):
                self.newer.append((self._line(child), "&>>"))
        body = node.child_by_field_name("body")
        piped = any(part.type in ("pipeline", "while_statement") for part in downstream)
        if body is not None and body.type == "command" and more:
            words = [text(child) for child in body.children if child.type not in TARGETS | {"variable_assignment"}]
            self._note(words + [text(each) for each in more], self._line(body), (*own, *redirects), context)
        elif body is not None:
            self.visit(body, context._replace(subshell=True) if piped else context, (*own, *redirects))
        source = text(body) if body else "here-document"
        for part in downstream:
            inner = context._replace(subshell=True, upstream=source) if piped else context
            self.visit(part, inner)

    def _pipeline(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        upstream = context.upstream
        stages = [child for child in node.children if child.is_named and child.type != "comment"]
        for child in node.children:
            if child.type == "|&":
                self.newer.append((self._line(child), "|&"))
        for index, stage in enumerate(stages):
            last = index == len(stages) - 1
            after = "" if last else _between(node, stage)
            given = (redirects if last else ()) + (("2>&1",) if after == "|&" else ())
            self.visit(stage, context._replace(subshell=True, upstream=upstream), given)
            upstream = f"{upstream} | {text(stage)}" if upstream else text(stage)

    def _list(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        parts = [child for child in node.children if child.is_named and child.type != "comment"]
        guarded = context.guarded
        for index, part in enumerate(parts):
            inner = context._replace(conditional=context.conditional or index > 0, guarded=guarded)
            self.visit(part, inner, redirects if index == len(parts) - 1 else ())
            guarded = guarded or bool(_SOURCED.search(text(part)))

    def _if(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        inner = context._replace(around=redirects + context.around)
        branch = inner._replace(conditional=True)
        in_condition = True
        for child in node.children:
            if child.type == "then":
                in_condition = False
            elif child.is_named:
                if in_condition and _SOURCED.search(text(child)):
                    branch = branch._replace(guarded=True)
                self.visit(child, inner if in_condition else branch)

    def _branch(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        self._children(node, context._replace(conditional=True, around=redirects + context.around))

    def _body(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        inner = context._replace(around=redirects + context.around)
        for child in node.children:
            if child.type in ("do_group", "compound_statement") and child == node.child_by_field_name("body"):
                self._children(child, inner._replace(loop=True, conditional=True))
            elif child.is_named:
                self.visit(child, inner)

    def _for(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None:
            self.scope.texts.add(text(variable))
            self.scope.write(text(variable), self._line(variable), "loop", context)
        self._body(node, context, redirects)

    def _counting(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        for field in ("initializer", "condition", "update"):
            for part in node.children_by_field_name(field):
                self._calculate([part], context)
        body = node.child_by_field_name("body")
        if body is not None:
            inner = context._replace(around=redirects + context.around, loop=True, conditional=True)
            self._children(body, inner)

    def _subshell(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        self._children(node, context._replace(subshell=True, around=redirects + context.around))

    def _substitution(self, node: Node, context: Context, _redirects: tuple[str, ...]) -> None:
        self._children(node, context._replace(subshell=True, substituted=True, upstream=""))

    def _group(self, node: Node, context: Context, redirects: tuple[str, ...]) -> None:
        if node.children and node.children[0].type == "((":
            self._calculate(node.named_children, context)
        else:
            self._children(node, context._replace(around=redirects + context.around))


def _between(pipeline: Node, stage: Node) -> str:
    after = stage.next_sibling
    return after.type if after is not None and after.parent == pipeline else ""
