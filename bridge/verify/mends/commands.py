"""Mends of single commands: where they write, what they hold back, and which bash knows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.mends.places import name_of, redirections, runs_in, text, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from bridge.verify.mends.places import Places
    from bridge.verify.model import Edit
    from bridge.verify.registry import Problem
    from bridge.verify.subject import Subject


def for_bash(_subject: Subject, places: Places, _problem: Problem) -> list[Edit] | None:
    """A first line that names bash instead of sh; what is written for another shell stays."""
    line = places.source.split(b"\n", 1)[0]
    if not re.fullmatch(rb"#! ?(/usr/bin/env |(/usr)?/bin/)(sh|dash)", line):
        return None
    return [places.replaced(0, len(line), "#!/usr/bin/env bash")]


def for_old_bash(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """``2>&1 |`` for ``|&``, and ``>>file 2>&1`` for ``&>>file``: the same, and known to bash 3.2."""
    edits = []
    for root in places.roots:
        for node in _everywhere(root, "|&", "&>>"):
            if node.start_point[0] + 1 != problem.line or not places.sure(node):
                continue
            if node.type == "|&":
                edits.append(places.replaced(node.start_byte, node.end_byte, "2>&1 |"))
                continue
            redirect = node.parent
            if redirect is None or redirect.next_named_sibling is not None:
                return None
            edits.append(places.replaced(node.start_byte, node.end_byte, ">>"))
            edits.append(places.inserted(redirect.end_byte, " 2>&1"))
    return edits


def _everywhere(node: Node, *types: str) -> Iterator[Node]:
    for child in node.children:
        if child.type in types:
            yield child
        yield from _everywhere(child, *types)


def with_errors(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """The redirection of agent_invoke's errors to /dev/null, taken away."""
    node = places.function("agent_invoke")
    if node is None:
        return None
    found = [
        redirect
        for redirect in within(node, "file_redirect")
        if redirect.start_point[0] + 1 == problem.line and re.fullmatch(r"2> ?/dev/null", text(redirect))
    ]
    if len(found) != 1:
        return None
    start = found[0].start_byte
    before = places.source[:start]
    return [places.replaced(len(before.rstrip(b" ")), found[0].end_byte, "")]


_OF_STDOUT = re.compile(r"1?>|&>").match


def to_stderr(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """What a hook only tells people, sent to stderr; None where what it prints may be another command's input."""
    node = places.function(problem.hook or "")
    if node is None:
        return None
    edits = []
    for command in within(node, "command"):
        if name_of(command) not in ("echo", "printf") or not runs_in(node, command):
            continue
        if "-v" in (text(child) for child in command.named_children):
            continue
        if not any(map(_OF_STDOUT, redirections(node, command))):
            edits.append(places.inserted(command.end_byte, " >&2"))
    return edits


def silent(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """``command -v`` and the like, which print where a program is, without that."""
    node = places.function(problem.hook or "")
    if node is None:
        return None
    edits = []
    for command in within(node, "command"):
        if not re.match(r"(command -[vV]|type|which) ", text(command)) or not runs_in(node, command):
            continue
        given = redirections(node, command)
        if not any(map(_OF_STDOUT, given)):
            edits.append(places.inserted(command.end_byte, " >/dev/null" if given else " >/dev/null 2>&1"))
    return edits


_UNBUFFERED = {"jq": " --unbuffered", "grep": " --line-buffered", "python3": " -u", "python": " -u"}


def unbuffered(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """The option with which a program of the display's pipeline writes each line at once."""
    node = places.function(problem.hook or "")
    if node is None:
        return None
    one_by_one = [each for loop in within(node, "while_statement") for each in within(loop, "command")]
    edits = []
    for command in within(node, "command"):
        name, option = command.child_by_field_name("name"), _UNBUFFERED.get(name_of(command))
        words = {text(child) for child in command.named_children}
        if name is None or option is None or option.strip() in words or command in one_by_one:
            continue
        edits.append(places.inserted(name.end_byte, option))
    return edits
