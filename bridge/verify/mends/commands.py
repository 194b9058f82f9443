"""Mends of single commands: what they hold back, how they end, and when they are run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.mends.places import name_of, runs_in, text, within

if TYPE_CHECKING:
    from tree_sitter import Node

    from bridge.verify.mends.places import Places
    from bridge.verify.model import Edit, Finding
    from bridge.verify.subject import Subject


def for_bash(_subject: Subject, places: Places, _finding: Finding) -> list[Edit] | None:
    """A first line that names bash instead of sh; what is written for another shell stays."""
    line = places.source.split(b"\n", 1)[0]
    if not re.fullmatch(rb"#! ?(/usr/bin/env |(/usr)?/bin/)(sh|dash)", line):
        return None
    return [places.replaced(0, len(line), "#!/usr/bin/env bash")]


def with_errors(_subject: Subject, places: Places, finding: Finding) -> list[Edit] | None:
    """The redirection of agent_invoke's errors to /dev/null, taken away."""
    node = places.function("agent_invoke")
    if node is None:
        return None
    found = [
        redirect
        for redirect in within(node, "file_redirect")
        if redirect.start_point[0] + 1 == finding.line and re.fullmatch(r"2> ?/dev/null", text(redirect))
    ]
    if len(found) != 1:
        return None
    start = found[0].start_byte
    before = places.source[:start]
    return [places.replaced(len(before.rstrip(b" ")), found[0].end_byte, "")]


_UNBUFFERED = {"jq": " --unbuffered", "grep": " --line-buffered", "python3": " -u", "python": " -u"}


def unbuffered(_subject: Subject, places: Places, finding: Finding) -> list[Edit] | None:
    """The option with which a program of the display's pipeline writes each line at once."""
    node = places.function(finding.hook or "")
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


def returning(subject: Subject, places: Places, finding: Finding) -> list[Edit] | None:
    """``return`` for ``exit``, in the hook itself: a helper would only come back to a hook that goes on."""
    node = places.function(finding.hook or "")
    if node is None or finding.hook not in subject.contract.hooks:
        return None
    exits = [
        command
        for command in within(node, "command")
        if name_of(command) == "exit" and command.start_point[0] + 1 == finding.line
    ]
    if not exits or not all(runs_in(node, each) for each in exits):
        return None
    return [places.replaced(each.start_byte, each.start_byte + len("exit"), "return") for each in exits]


def _parameters(function: Node, number: int) -> list[str]:
    """The names that a parameter has in a function: its number, and variables that begin as it and stay so."""
    assigned: dict[str, list[str]] = {}
    for node in within(function, "variable_assignment"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            assigned.setdefault(text(name), []).append("" if value is None else text(value))
    same = re.compile(rf'"?\$(?:{number}|\{{{number}(?::?-)?\}})"?')
    return [str(number), *(name for name, values in assigned.items() if all(map(same.fullmatch, values)))]


def only_when_resumed(_subject: Subject, places: Places, finding: Finding) -> list[Edit] | None:
    """What is said of the session where there is an id, only said where CLAUDE_USE_CONTINUE is true as well."""
    node = places.function("driver_build_command")
    if finding.hook != "driver_build_command" or node is None or b"CLAUDE_USE_CONTINUE" in (node.text or b""):
        return None
    names = "|".join(map(re.escape, _parameters(node, 3)))
    session = re.compile(rf'\[\[? +(?:-n +)?"?\$\{{?(?:{names})(?::?-)?\}}?"? +\]\]?')
    tests = [each for each in within(node, "test_command") if session.fullmatch(text(each))]
    if len(tests) != 1 or not runs_in(node, tests[0]):
        return None
    parent, behind = tests[0].parent, tests[0].next_sibling
    decides = parent is not None and (
        (parent.type == "if_statement" and not any(child.type == "else_clause" for child in parent.children))
        or (parent.type == "list" and behind is not None and behind.type == "&&")
    )
    if not decides:
        return None
    if text(tests[0]).startswith("[[ "):
        return [places.inserted(tests[0].start_byte + 3, '"${CLAUDE_USE_CONTINUE:-}" == "true" && ')]
    return [places.inserted(tests[0].start_byte, '[ "${CLAUDE_USE_CONTINUE:-}" = "true" ] && ')]
