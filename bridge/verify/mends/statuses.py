"""Mends that are about the status of a hook: how it ends, and what it says by that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.mends.places import name_of, runs_in, text, within
from bridge.verify.mends.words import parameters

if TYPE_CHECKING:
    from tree_sitter import Node

    from bridge.verify.mends.places import Places
    from bridge.verify.model import Edit
    from bridge.verify.registry import Problem
    from bridge.verify.subject import Subject


def returning(subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """``return`` for ``exit``, in the hook itself: a helper would only come back to a hook that goes on."""
    node = places.function(problem.hook or "")
    if node is None or problem.hook not in subject.contract.hooks:
        return None
    exits = [
        command
        for command in within(node, "command")
        if name_of(command) == "exit" and command.start_point[0] + 1 == problem.line
    ]
    if not exits or not all(runs_in(node, each) for each in exits):
        return None
    return [places.replaced(each.start_byte, each.start_byte + len("exit"), "return") for each in exits]


def succeeding(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """``if [[ ... ]]; then command; fi`` for ``[[ ... ]] && command`` at the end of a function: there the status of
    the test would be that of the function, and 1 only says "not this time"."""
    node = places.function(problem.hook or "")
    body = None if node is None else node.child_by_field_name("body")
    if node is None or body is None:
        return None
    commands = [child for child in body.named_children if child.type != "comment"]
    last = commands[-1] if commands else None
    chain = last.child_by_field_name("body") if last is not None and last.type == "redirected_statement" else last
    if last is None or chain is None or chain.type != "list" or not runs_in(node, chain):
        return None
    tests, command = chain.named_children[0], chain.named_children[-1]
    if not _is_test(tests) or _is_test(command) or chain.children[1].type != "&&":
        return None
    return [
        places.inserted(chain.start_byte, "if "),
        places.replaced(tests.end_byte, command.start_byte, "; then "),
        places.inserted(last.end_byte, "; fi"),
    ]


def _is_test(node: Node) -> bool:
    """Whether it asks for something, and does nothing."""
    if node.type == "list":
        return all(map(_is_test, node.named_children)) and "||" not in (child.type for child in node.children)
    return node.type == "test_command"


_SAID = {"true": 0, "yes": 0, "false": 1, "no": 1}


def by_status(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """``true`` or ``false`` for an ``echo`` of that word, where the function ends; not if others call it."""
    hook = problem.hook or ""
    node = places.function(hook)
    if node is None or len(re.findall(rb"\b%b\b" % hook.encode(), places.source)) != 1:
        return None
    edits = []
    for command in within(node, "command"):
        if name_of(command) not in ("echo", "printf"):
            continue
        words = [text(child) for child in command.named_children[1:]]
        said = re.sub(r"\\n|[\"']", "", " ".join(words)).strip().lower()
        if said not in _SAID or not runs_in(node, command) or not _ends_with(command, _SAID[said]):
            return None
        edits.append(places.replaced(command.start_byte, command.end_byte, ("true", "false")[_SAID[said]]))
    return edits


def _ends_with(command: Node, status: int) -> bool:
    """Whether nothing follows a command in its place but a ``return`` of this status."""
    behind = command.next_named_sibling
    if behind is None or behind.type in ("else_clause", "elif_clause"):
        return True
    return text(behind) in ((f"return {status}", "return") if status else ("return 0",))


def without_prompt(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """A test for the prompt's file, behind the declarations with which driver_build_command begins."""
    node = places.function("driver_build_command")
    if problem.hook != "driver_build_command" or node is None or not problem.message.startswith("it returns 0"):
        return None
    behind = places.first(node)
    while behind is not None and (behind.type in ("declaration_command", "comment") or _is_reset(behind)):
        behind = behind.next_named_sibling
    indent = None if behind is None else places.indent(behind)
    if behind is None or indent is None or re.search(rb"-[efrs]\s+\S*\$", node.text or b""):
        return None  # it asks for something, and goes on: what it means by that isn't known
    name = next((name for name in parameters(node, 1) if name != "1"), "1")
    code = f'[[ -f "${name}" ]] || {{ echo "driver_build_command: no prompt: ${name}" >&2; return 1; }}'
    return [places.inserted(behind.start_byte, f"{code}\n{indent}")]


def _is_reset(node: Node) -> bool:
    return re.fullmatch(r"(CLAUDE_CMD_ARGS)=\(\)", text(node)) is not None
