"""Mends that are about variables: declared local, begun anew, kept as they were."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.resources import nearest
from bridge.verify.facts.expressions import text
from bridge.verify.facts.usage import filled_by, literal
from bridge.verify.findings import Aspect
from bridge.verify.mends.syntax import runs_in, within

if TYPE_CHECKING:
    from tree_sitter import Node

    from bridge.verify.findings import Edit, Finding
    from bridge.verify.mends.syntax import Syntax
    from bridge.verify.subject import Subject


def declared_local(syntax: Syntax, finding: Finding) -> list[Edit] | None:
    """A global that a function leaves behind, declared local there; not one that others may want to have."""
    (name,) = finding.about
    if nearest(name, syntax.subject.contract.globals, 0.65):
        return None  # perhaps what a hook answers in was meant
    found = [
        function
        for function in syntax.subject.facts.functions
        if any(write.name == name and write.line == finding.line for write in function.writes)
    ]
    if len(found) != 1 or not found[0].known or not _is_its_own(syntax.subject, name, found[0].name):
        return None
    node = syntax.function(found[0].name)
    if node is None or not _written_first(node, name):
        return None
    declaration = _declaration(syntax, node)
    if declaration is not None:
        return [syntax.inserted(declaration.end_byte, f" {name}")]
    edit = syntax.at_the_beginning(node, f"local {name}")
    return None if edit is None else [edit]


def _is_its_own(subject: Subject, name: str, function: str) -> bool:
    """Whether nobody else can read what the function leaves in a variable."""
    facts = subject.facts
    word = re.compile(rf"\b{re.escape(name)}\b")
    lines = subject.source.decode(errors="replace").splitlines()
    for other in (*facts.functions, facts.top):
        if other.name == function or (other.name and name in other.local):
            continue
        body = "\n".join(lines[other.line - 1 : other.end_line]) if other.name else ""
        hidden = (other.dynamic or not other.known) and word.search(body)
        if hidden or any(read.name == name for read in other.reads):
            return False
    return facts.top.known and not facts.top.dynamic


_ANSWERED_IN = {
    "driver_build_command": "CLAUDE_CMD_ARGS",
    "driver_prepare_live_command": "LIVE_CMD_ARGS",
    "driver_valid_tools": "VALID_TOOL_PATTERNS",
}


def reset_first(syntax: Syntax, finding: Finding) -> list[Edit] | None:
    """The array that a hook answers in, emptied before anything else; not one that the hook looks at."""
    array = _ANSWERED_IN.get(finding.hook or "")
    node = syntax.function(finding.hook or "")
    if array is None or node is None:
        return None
    for name in within(node, "variable_name"):
        target = name.parent
        if text(name) == array and (target is None or target.type != "variable_assignment"):
            return None
    edit = syntax.at_the_beginning(node, f"{array}=()")
    return None if edit is None else [edit]


def local_ifs(syntax: Syntax, finding: Finding) -> list[Edit] | None:
    """An IFS that a hook sets for itself and leaves behind, declared local where it is set first."""
    node = syntax.function(finding.hook or "")
    if Aspect.IFS not in finding.about or node is None:
        return None
    statements = [
        each
        for each in within(node, "variable_assignment")
        if text(each).startswith("IFS=") and each.parent is not None and each.parent.type != "command"
    ]
    if not statements or not all(runs_in(node, each) for each in statements):
        return None
    # Where it is set under a condition only, the other way would have no IFS at all, or the declaration not.
    return [syntax.inserted(statements[0].start_byte, "local ")] if _is_own_statement(node, statements[0]) else None


def _is_own_statement(function: Node, node: Node) -> bool:
    return node.parent is not None and node.parent == function.child_by_field_name("body")


_HANDS_ON = ("export", "readonly", "declare", "typeset")


def _written_first(function: Node, name: str) -> bool:
    """Whether the function sets a variable before it reads it, for itself, and no text that runs later names it."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    written: int | None = None
    for node in within(function, *_WRITES, "command", "declaration_command", "string", "raw_string"):
        if node.type == "declaration_command" and text(node).split()[0] in _HANDS_ON and word.search(text(node)):
            return False
        if node.type == "command" and text(node).split()[0] in ("trap", "eval", "let") and word.search(text(node)):
            return False
        position = _sets(node, name)
        if position is not None and (written is None or position < written):
            written = position
    reads = [
        node.start_byte for node in within(function, "variable_name") if text(node) == name and not _is_target(node)
    ]
    return written is not None and all(position >= written for position in reads)


_WRITES = ("variable_assignment", "for_statement")


def _sets(node: Node, name: str) -> int | None:
    """Where a node has set the variable anew; None when it doesn't."""
    if node.type == "variable_assignment":
        target = node.child_by_field_name("name")
        plain = target is not None and text(target) == name and any(child.type == "=" for child in node.children)
        return node.end_byte if plain else None
    if node.type == "for_statement":
        target, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        return body.start_byte if target is not None and body is not None and text(target) == name else None
    if node.type == "command":
        words = [text(child) for child in node.named_children if "redirect" not in child.type]
        words = [word for word in words if "=" not in word.split("$")[0] or word.startswith("-")]
        if words and name in filled_by(literal(words[0]) or "", tuple(words[1:])).names:
            return node.end_byte
    return None


def _is_target(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type not in _WRITES:
        return False
    field = "name" if parent.type == "variable_assignment" else "variable"
    return parent.child_by_field_name(field) == node


def _declaration(syntax: Syntax, function: Node) -> Node | None:
    """The last ``local`` without options with which a function begins."""
    found: Node | None = None
    node = syntax.first(function)
    while node is not None and node.type in ("declaration_command", "comment"):
        if node.type == "declaration_command":
            words = [text(child) for child in node.children]
            if words[0] != "local":
                break
            if not any(word.startswith("-") for word in words[1:]):
                found = node
        node = node.next_named_sibling
    return found
