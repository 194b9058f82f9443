"""Walks a syntax tree of bash in the order of its text and collects what each function does.

One method per kind of node that means something; everything else is walked through. The grammar has habits
that are undone here: a redirection at the end of a pipeline or list is given to the whole (bash gives it to
the last command), words behind a redirection count as its targets (``echo >&2 text``), and what a here-document
is piped into stands inside of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.facts.model import CommandFact, FirstOnly, FunctionFacts, How, Read, Write
from bridge.verify.facts.usage import NAME, filled_by, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node


class _Context(NamedTuple):
    """The circumstances of a node: `CommandFact` says what each means."""

    subshell: bool = False
    loop: bool = False
    guarded: bool = False
    conditional: bool = False
    substituted: bool = False
    upstream: str = ""
    around: tuple[str, ...] = ()


class _Scope:
    """One function in the making; `name` is empty for what stands outside of functions."""

    def __init__(self, name: str, *, line: int, end_line: int, context: _Context) -> None:
        self.name = name
        self.line = line
        self.end_line = end_line
        self.conditional = context.conditional
        self.subshell = context.subshell
        self.local: set[str] = set()
        self.references: dict[str, str | None] = {}
        self.dynamic = False
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.commands: list[CommandFact] = []
        self.arrays: set[str] = set()
        self.texts: set[str] = set()
        self.firsts: list[FirstOnly] = []

    def declare(self, name: str) -> None:
        """Note that a variable is local from here on."""
        self.local.add(name)

    def refer(self, name: str, target: str | None) -> None:
        """Note a name reference (``local -n name=target``); None: to something that can't be told."""
        self.local.add(name)
        self.references[name] = target if target is not None and NAME.match(target) else None

    def write(
        self, name: str, line: int, how: How, context: _Context, *, appends: bool = False, empty: bool = False
    ) -> None:
        """Note that a variable is set, if it is none of the function's own."""
        if name in self.references:
            target = self.references[name]
            if target is None:
                self.dynamic = True
                return
            name = target
        elif name in self.local or not NAME.match(name):
            return
        subshell = context.subshell or self.subshell
        self.writes.append(Write(name, line, how, subshell, appends, empty, self.name))

    def read(self, name: str, line: int, *, defaulted: bool = False) -> None:
        """Note that a variable is used, if it is none of the function's own."""
        if NAME.match(name) and name not in self.local:
            self.reads.append(Read(name, line, defaulted, self.name))

    def command(
        self, name: str, words: tuple[str, ...], line: int, redirects: tuple[str, ...], context: _Context
    ) -> None:
        """Note a simple command."""
        circumstances = context._replace(subshell=context.subshell or self.subshell)
        self.commands.append(
            CommandFact(name, words, line, redirects=redirects, function=self.name, **circumstances._asdict())
        )

    def function(self, *, known: bool) -> FunctionFacts:
        """What was collected."""
        return FunctionFacts(
            self.name,
            self.line,
            self.end_line,
            known=known,
            conditional=self.conditional,
            subshell=self.subshell,
            local=frozenset(self.local),
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            commands=tuple(self.commands),
            dynamic=self.dynamic,
            arrays=frozenset(self.arrays),
            texts=frozenset(self.texts),
            firsts=tuple(self.firsts),
        )


_ASSIGNING = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="])
_ANSWERED = frozenset([":-", "-", ":+", "+", ":=", "=", ":?", "?"])
_IN_PATTERN = re.compile(r"(?<!\\)\$\{?([A-Za-z_]\w*)")
NEWER = {
    "^^": "${x^^}", "^": "${x^}", ",,": "${x,,}", ",": "${x,}", "@": "${x@…}", "|&": "|&", "&>>": "&>>", ";&": ";&",
    ";;&": ";;&",
}  # fmt: skip
"""Tokens that bash 3.2 doesn't know, as people write them."""


class _Expressions:
    """Arithmetic and expansions."""

    def __init__(self) -> None:
        self.functions: list[FunctionFacts] = []
        self.newer: list[tuple[int, str]] = []
        self._by_type: dict[str, Callable[[Node, _Scope, _Context, tuple[str, ...]], None]] = {
            "arithmetic_expansion": self._arithmetic,
            "expansion": self._expansion,
            "simple_expansion": self._simple_expansion,
            "regex": self._pattern,
        }

    def visit(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...] = ()) -> None:
        """Walk one node; `redirects` are those that the grammar gave to something around it."""
        special = self._by_type.get(node.type)
        if special:
            special(node, scope, context, redirects)
        elif node.child_count:
            self._children(
                node, scope, context._replace(around=redirects + context.around) if redirects else context
            )

    def _children(self, node: Node, scope: _Scope, context: _Context) -> None:
        children = node.children
        for child, after in zip(children, [*children[1:], None], strict=False):
            if child.is_named:
                apart = after is not None and after.type == "&"
                self.visit(child, scope, context._replace(subshell=True) if apart else context)
            elif child.type in NEWER and node.type in ("pipeline", "file_redirect", "case_item"):
                self.newer.append((self._line(child), NEWER[child.type]))

    def _line(self, node: Node) -> int:
        return int(1 + node.start_point[0])

    def _arithmetic(self, node: Node, scope: _Scope, context: _Context, _redirects: tuple[str, ...]) -> None:
        self._calculate(node.named_children, scope, context)

    def _calculate(self, nodes: Iterable[Node], scope: _Scope, context: _Context) -> None:
        for node in nodes:
            if node.type == "variable_assignment":
                value = node.child_by_field_name("value")
                self._calculate([value] if value is not None else [], scope, context)
                self._counted(node.child_by_field_name("name"), scope, context)
            elif node.type == "binary_expression":
                operator = node.child_by_field_name("operator")
                if operator is not None and _text(operator) in _ASSIGNING:
                    self._counted(node.child_by_field_name("left"), scope, context)
                self._calculate(node.named_children, scope, context)
            elif node.type in ("postfix_expression", "unary_expression"):
                if any(child.type in ("++", "--") for child in node.children):
                    self._counted(node.named_children[0], scope, context)
                self._calculate(node.named_children, scope, context)
            elif node.type in ("variable_name", "word"):
                scope.read(_text(node), self._line(node))
            elif node.type in ("ternary_expression", "parenthesized_expression", "subscript"):
                self._calculate(node.named_children, scope, context)
            else:
                self.visit(node, scope, context)

    def _counted(self, node: Node | None, scope: _Scope, context: _Context) -> None:
        if node is not None:
            name = node.child_by_field_name("name") if node.type == "subscript" else node
            if name is not None:
                scope.write(_text(name), self._line(node), "arithmetic", context)

    def _expansion(self, node: Node, scope: _Scope, context: _Context, _redirects: tuple[str, ...]) -> None:
        if [child.type for child in node.children] == ["${", "variable_name", "}"]:
            self._first_only(node, _text(node.children[1]), scope)
        tokens = {child.type for child in node.children if not child.is_named}
        first = True
        for child in node.children:
            if child.type in ("variable_name", "subscript") and first:
                name = child if child.type == "variable_name" else child.child_by_field_name("name")
                if name is not None:
                    scope.read(_text(name), self._line(child), defaulted=bool(tokens & _ANSWERED))
                    if tokens & {":=", "="}:
                        scope.write(_text(name), self._line(child), "default", context)
                if child.type == "subscript":
                    self._children(child, scope, context)
                first = False
            elif child.is_named:
                self.visit(child, scope, context)
        for token in tokens & {"^^", "^", ",,", ",", "@"}:
            self.newer.append((self._line(node), NEWER[token]))

    def _simple_expansion(self, node: Node, scope: _Scope, _place: _Context, _redirects: tuple[str, ...]) -> None:
        for child in node.named_children:
            scope.read(_text(child), self._line(child))
            self._first_only(node, _text(child), scope)

    def _first_only(self, node: Node, name: str, scope: _Scope) -> None:
        """Note an expansion without index that is a word, or a part of one, of a command or an array."""
        around = node.parent
        while around is not None and around.type in ("string", "concatenation"):
            around = around.parent
        if around is None or around.type not in ("command", "command_name", "array") or not NAME.match(name):
            return
        called = around.parent if around.type == "command_name" else around
        word = called.child_by_field_name("name") if called is not None and called.type == "command" else None
        scope.firsts.append(FirstOnly(name, self._line(node), _text(word) if word is not None else ""))

    def _pattern(self, node: Node, scope: _Scope, _place: _Context, _redirects: tuple[str, ...]) -> None:
        # The grammar doesn't look into patterns, though bash expands them.
        for match in _IN_PATTERN.finditer(_text(node)):
            scope.read(match[1], self._line(node))


def _text(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "surrogateescape")


TARGETS = frozenset(["file_redirect", "heredoc_redirect", "herestring_redirect"])
_RUNNING = ("builtin", "command", "time")


class _Commands(_Expressions):
    """Functions, simple commands, declarations and assignments."""

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

    def _function(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        inner = _Scope(
            _text(name),
            line=self._line(node),
            end_line=1 + node.end_point[0],
            context=_Context(conditional=context.conditional or bool(scope.name), subshell=body.type == "subshell"),
        )
        own = tuple(_text(child) for child in node.children if child.type in TARGETS)
        self.visit(body, inner, _Context(guarded=context.guarded, around=own + redirects))
        self.functions.append(inner.function(known=not node.has_error))

    def _command(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        words: list[str] = []
        own: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment":  # for this command alone: IFS=, read …
                value = child.child_by_field_name("value")
                if value is not None:
                    self.visit(value, scope, context)
            elif child.type in TARGETS:
                own.append(_text(child))
                self._children(child, scope, context)
            elif child.is_named:
                words.append(_text(child))
                self.visit(child, scope, context)
        self._note(words, self._line(node), tuple(own) + redirects, scope, context)

    def _note(
        self, words: list[str], line: int, redirects: tuple[str, ...], scope: _Scope, context: _Context
    ) -> None:
        if not words:
            return
        words = _unwrapped(words)
        name = (literal(words[0]) or "").removeprefix("\\")
        scope.command(name, tuple(words), line, redirects, context)
        filled = filled_by(name, tuple(words[1:]))
        scope.dynamic |= filled.dynamic
        how: How = "arithmetic" if name == "let" else "read"
        for variable in filled.names:
            scope.write(variable, line, how, context)
            flags = "".join(word[1:] for word in words[1:] if re.fullmatch(r"-[A-Za-z]+", word))
            (scope.arrays if "a" in flags or name in ("mapfile", "readarray") else scope.texts).add(variable)

    def _declaration(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        words = [_text(child) for child in node.children]
        flags = "".join(word[1:] for word in words[1:] if word.startswith("-"))
        scope.command(words[0], tuple(words), self._line(node), redirects, context)
        ours = scope.name and (words[0] == "local" or (words[0] in ("declare", "typeset") and "g" not in flags))
        functions = bool(set(flags) & set("fFp"))
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._declared(child, scope, context, ours=bool(ours), flags=flags)
            elif child.type == "variable_name" and not functions:
                if ours:
                    scope.declare(_text(child))
                elif words[0] != "export":
                    scope.write(_text(child), self._line(child), "declare", context)
            elif child.is_named:
                self.visit(child, scope, context)
                scope.dynamic |= not ours and not functions and "$" in _text(child)

    def _declared(self, node: Node, scope: _Scope, context: _Context, *, ours: bool, flags: str) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if not ours or name is None:
            self._assignment(node, scope, context, ())
            return
        if value is not None:
            self.visit(value, scope, context)
            self._holds(node, scope)
        if "n" in flags and value is not None:
            scope.refer(_text(name), literal(_text(value)))
        else:
            scope.declare(_text(name))

    def _unset(self, node: Node, scope: _Scope, context: _Context, _redirects: tuple[str, ...]) -> None:
        words = [_text(child) for child in node.children]
        scope.command("unset", tuple(words), self._line(node), (), context)
        if "-f" in words:
            return
        for word in words[1:]:
            target = literal(word)
            if target is None:
                scope.dynamic = True
            elif NAME.match(target):
                scope.write(target, self._line(node), "unset", context)

    def _test(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        name = node.children[0].type if node.children else "[["
        scope.command(name, (_text(node),), self._line(node), redirects, context)
        self._children(node, scope, context)

    def _assignment(self, node: Node, scope: _Scope, context: _Context, _redirects: tuple[str, ...]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope, context)
        if name is None:
            return
        self._holds(node, scope)
        how: How = "array" if value is not None and value.type == "array" else "string"
        if name.type == "subscript":
            how = "element"
            self._children(name, scope, context)
            name = name.child_by_field_name("name") or name
        content = "" if value is None else _text(value).strip()
        appends = any(child.type == "+=" for child in node.children)
        empty = content in ("", '""', "''") or (how == "array" and not content.strip("() \t\n"))
        scope.write(_text(name), self._line(node), how, context, appends=appends, empty=empty)

    def _holds(self, node: Node, scope: _Scope) -> None:
        """Note whether an assignment gives several elements, or a text."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type == "subscript":
            return
        if value is None or value.type != "array":
            scope.texts.add(_text(name))
        elif any(child.type == "+=" for child in node.children) or len(value.named_children) > 1:
            scope.arrays.add(_text(name))


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
            "while_statement": self._while,
            "subshell": self._subshell,
            "command_substitution": self._substitution,
            "process_substitution": self._substitution,
            "compound_statement": self._group,
        }

    def top(self, root: Node) -> FunctionFacts:
        """Walk a whole tree; what stands in no function is returned."""
        scope = _Scope("", line=self._line(root), end_line=1 + root.end_point[0], context=_Context())
        self._children(root, scope, _Context())
        return scope.function(known=not root.has_error)

    def _redirected(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        own: list[str] = []
        more: list[Node] = []
        downstream: list[Node] = []
        for child in [child for child in node.children if child.type in TARGETS]:
            targets = child.children_by_field_name("destination") if child.type == "file_redirect" else []
            own.append(_text(child) if len(targets) < 2 else _text(child).split(_text(targets[1]))[0].rstrip())
            more += targets[1:]
            for part in child.children:
                if part.type in ("pipeline", "list", "command", "redirected_statement", "while_statement"):
                    downstream.append(part)
                elif child.type == "heredoc_redirect" and part.type == "file_redirect":
                    own.append(_text(part))
                elif part.is_named:
                    self.visit(part, scope, context)
            if any(part.type == "&>>" for part in child.children):
                self.newer.append((self._line(child), "&>>"))
        body = node.child_by_field_name("body")
        piped = any(part.type in ("pipeline", "while_statement") for part in downstream)
        if body is not None and body.type == "command" and more:
            words = [_text(child) for child in body.children if child.type not in TARGETS | {"variable_assignment"}]
            self._note(words + [_text(each) for each in more], self._line(body), (*own, *redirects), scope, context)
        elif body is not None:
            self.visit(body, scope, context._replace(subshell=True) if piped else context, (*own, *redirects))
        source = _text(body) if body else "here-document"
        for part in downstream:
            inner = context._replace(subshell=True, upstream=source) if piped else context
            self.visit(part, scope, inner)

    def _pipeline(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        upstream = context.upstream
        stages = [child for child in node.children if child.is_named and child.type != "comment"]
        for child in node.children:
            if child.type == "|&":
                self.newer.append((self._line(child), "|&"))
        for index, stage in enumerate(stages):
            last = index == len(stages) - 1
            after = "" if last else _between(node, stage)
            given = (redirects if last else ()) + (("2>&1",) if after == "|&" else ())
            self.visit(stage, scope, context._replace(subshell=True, upstream=upstream), given)
            upstream = f"{upstream} | {_text(stage)}" if upstream else _text(stage)

    def _list(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        parts = [child for child in node.children if child.is_named and child.type != "comment"]
        guarded = context.guarded
        for index, part in enumerate(parts):
            inner = context._replace(conditional=context.conditional or index > 0, guarded=guarded)
            self.visit(part, scope, inner, redirects if index == len(parts) - 1 else ())
            guarded = guarded or bool(_SOURCED.search(_text(part)))

    def _if(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        inner = context._replace(around=redirects + context.around)
        branch = inner._replace(conditional=True)
        in_condition = True
        for child in node.children:
            if child.type == "then":
                in_condition = False
            elif child.is_named:
                if in_condition and _SOURCED.search(_text(child)):
                    branch = branch._replace(guarded=True)
                self.visit(child, scope, inner if in_condition else branch)

    def _branch(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        self._children(node, scope, context._replace(conditional=True, around=redirects + context.around))

    def _body(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        inner = context._replace(around=redirects + context.around)
        for child in node.children:
            if child.type in ("do_group", "compound_statement") and child == node.child_by_field_name("body"):
                self._children(child, scope, inner._replace(loop=True, conditional=True))
            elif child.is_named:
                self.visit(child, scope, inner)

    def _while(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        self._body(node, scope, context, redirects)

    def _for(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None:
            scope.texts.add(_text(variable))
            scope.write(_text(variable), self._line(variable), "loop", context)
        self._body(node, scope, context, redirects)

    def _counting(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        for field in ("initializer", "condition", "update"):
            for part in node.children_by_field_name(field):
                self._calculate([part], scope, context)
        body = node.child_by_field_name("body")
        if body is not None:
            inner = context._replace(around=redirects + context.around, loop=True, conditional=True)
            self._children(body, scope, inner)

    def _subshell(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        self._children(node, scope, context._replace(subshell=True, around=redirects + context.around))

    def _substitution(self, node: Node, scope: _Scope, context: _Context, _redirects: tuple[str, ...]) -> None:
        self._children(node, scope, context._replace(subshell=True, substituted=True, upstream=""))

    def _group(self, node: Node, scope: _Scope, context: _Context, redirects: tuple[str, ...]) -> None:
        if node.children and node.children[0].type == "((":
            self._calculate(node.named_children, scope, context)
        else:
            self._children(node, scope, context._replace(around=redirects + context.around))


def _between(pipeline: Node, stage: Node) -> str:
    after = stage.next_sibling
    return after.type if after is not None and after.parent == pipeline else ""
