"""Mends of words on their way: quoted, trimmed, read to the end, and a session only where one is wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.mends.places import name_of, runs_in, text, within

if TYPE_CHECKING:
    from tree_sitter import Node

    from bridge.verify.mends.places import Places
    from bridge.verify.model import Edit
    from bridge.verify.registry import Problem
    from bridge.verify.subject import Subject


def parameters(function: Node, number: int) -> list[str]:
    """The names that a parameter has in a function: its number, and variables that begin as it and stay so."""
    assigned: dict[str, list[str]] = {}
    for node in within(function, "variable_assignment"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            assigned.setdefault(text(name), []).append("" if value is None else text(value))
    same = re.compile(rf'"?\$(?:{number}|\{{{number}(?::?-)?\}})"?')
    return [str(number), *(name for name, values in assigned.items() if all(map(same.fullmatch, values)))]


def _made_of(function: Node, names: list[str]) -> list[str]:
    """These variables, and those with their values or what their files hold in them."""
    found = list(names)
    for node in within(function, "variable_assignment"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None or value.type == "array" or text(name) in found:
            continue
        if any(re.search(rf"\$\{{?{re.escape(each)}\b", text(value)) for each in found):
            found.append(text(name))
    return found


def quoted(_subject: Subject, places: Places, problem: Problem, *, parameter: int) -> list[Edit] | None:
    """Quotes around the prompt, the context or the session id wherever they are a word without."""
    node = places.function("driver_build_command")
    if problem.hook != "driver_build_command" or node is None:
        return None
    names = _made_of(node, parameters(node, parameter))
    edits: list[Edit] = []
    for word in within(node, "simple_expansion", "expansion", "command_substitution"):
        if _is_bare(word) and _is_about(word, names):
            edits += [places.inserted(word.start_byte, '"'), places.inserted(word.end_byte, '"')]
    return edits


def _is_bare(node: Node) -> bool:
    """Whether it stands among the words of an array or a command, where it is split."""
    parent = node.parent
    if parent is not None and parent.type == "concatenation":
        if any(child.type in ("string", "raw_string") for child in parent.children):
            return False  # somebody has thought about which part is quoted
        parent = parent.parent
    return parent is not None and parent.type in ("array", "command")


def _is_about(node: Node, names: list[str]) -> bool:
    if node.type == "command_substitution":
        inner = re.fullmatch(r'\$\((?:cat |<)\s*"?\$\{?(\w+)\}?"?\)', text(node))
    else:
        inner = re.fullmatch(r"\$\{?(\w+)\}?", text(node))
    return inner is not None and inner[1] in names


def only_when_resumed(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """What is said of the session where there is an id, only said where CLAUDE_USE_CONTINUE is true as well."""
    node = places.function("driver_build_command")
    if problem.hook != "driver_build_command" or node is None or b"CLAUDE_USE_CONTINUE" in (node.text or b""):
        return None
    names = "|".join(map(re.escape, parameters(node, 3)))
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


def trimmed(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """Each tool of the list without the blanks around it, where driver_build_command goes through them."""
    node = places.function("driver_build_command")
    if problem.hook != "driver_build_command" or node is None or not problem.message.startswith("blanks"):
        return None
    lists = ["CLAUDE_ALLOWED_TOOLS"]
    for command in within(node, "command"):
        words = text(command)
        filled = re.match(r"(?:IFS=\S+ +)?read +(?:-r *-?a|-ra|-a) +(\w+)", words)
        if filled and "CLAUDE_ALLOWED_TOOLS" in text(command.parent or command):
            lists.append(filled[1])
    loops = [
        loop
        for loop in within(node, "for_statement")
        if any(re.search(rf"\$\{{?{name}\b", _head(loop)) for name in lists)
    ]
    if len(loops) != 1:
        return None
    name, body = loops[0].child_by_field_name("variable"), loops[0].child_by_field_name("body")
    first = next((child for child in body.named_children if child.type != "comment"), None) if body else None
    if name is None or first is None:
        return None
    tool, indent = text(name), places.indent(first)
    lines = (
        f'{tool}="${{{tool}#"${{{tool}%%[![:space:]]*}}"}}"',
        f'{tool}="${{{tool}%"${{{tool}##*[![:space:]]}}"}}"',
    )
    between = "; " if indent is None else f"\n{indent}"
    return [places.inserted(first.start_byte, "".join(line + between for line in lines))]


def _head(loop: Node) -> str:
    body = loop.child_by_field_name("body")
    return text(loop)[: body.start_byte - loop.start_byte] if body is not None else ""


def to_the_end(_subject: Subject, places: Places, problem: Problem) -> list[Edit] | None:
    """``|| [[ -n $line ]]`` behind each ``read`` of this hook's loops: it fails on a last line without newline."""
    node = places.function(problem.hook or "")
    if node is None:
        return None
    edits = []
    for loop in within(node, "while_statement"):
        condition = loop.named_children[0]
        if condition.type == "command" and name_of(condition) == "read":
            line = re.fullmatch(r"(?:IFS=\S* +)?read(?: +-r)? +(\w+)", text(condition))
            if line is None:
                return None
            edits.append(places.inserted(condition.end_byte, f' || [[ -n "${line[1]}" ]]'))
    return edits
