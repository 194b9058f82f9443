"""Mends: the one safe change with which a finding is gone, for the checks that have one.

A mend is a function of the script's syntax and the finding; it gives the edits, or None where it isn't sure.
`bridge.verify.mends.trial` says whether they make anything worse.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.facts.expressions import text
from bridge.verify.findings import Fix
from bridge.verify.mends import variables
from bridge.verify.mends.syntax import Syntax, name_of, runs_in, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from bridge.verify.findings import Edit, Finding
    from bridge.verify.subject import Subject

    Make = Callable[[Syntax, Finding], Iterable[Edit] | None]


def for_bash(syntax: Syntax, _finding: Finding) -> list[Edit] | None:
    """A first line that names bash instead of sh; what is written for another shell stays."""
    line = syntax.source.split(b"\n", 1)[0]
    if not re.fullmatch(rb"#! ?(/usr/bin/env |(/usr)?/bin/)(sh|dash)", line):
        return None
    return [syntax.replaced(0, len(line), "#!/usr/bin/env bash")]


def with_errors(syntax: Syntax, _finding: Finding) -> list[Edit] | None:
    """The redirection of the CLI's errors to /dev/null, taken away where agent_invoke runs it."""
    node = syntax.function("agent_invoke")
    if node is None:
        return None
    found = [
        redirect
        for redirect in within(node, "file_redirect")
        if re.fullmatch(r"2> ?/dev/null", text(redirect))
        and b"AGENT_CLI" in ((redirect.parent or node).text or b"")
    ]
    if len(found) != 1:
        return None
    start = found[0].start_byte
    before = syntax.source[:start]
    return [syntax.replaced(len(before.rstrip(b" ")), found[0].end_byte, "")]


_LINE_BY_LINE = {"jq": " --unbuffered", "grep": " --line-buffered", "python3": " -u", "python": " -u"}


def unbuffered(syntax: Syntax, finding: Finding) -> list[Edit] | None:
    """The option with which a program of the display's pipeline writes each line at once."""
    node = syntax.function(finding.hook or "")
    if node is None:
        return None
    one_by_one = [each for loop in within(node, "while_statement") for each in within(loop, "command")]
    edits = []
    for command in within(node, "command"):
        name, option = command.child_by_field_name("name"), _LINE_BY_LINE.get(name_of(command))
        words = {text(child) for child in command.named_children}
        if name is None or option is None or option.strip() in words or command in one_by_one:
            continue
        edits.append(syntax.inserted(name.end_byte, option))
    return edits


def returning(syntax: Syntax, finding: Finding) -> list[Edit] | None:
    """``return`` for ``exit``, in the hook itself: a helper would only come back to a hook that goes on."""
    node = syntax.function(finding.hook or "")
    if node is None or finding.hook not in syntax.subject.contract.hooks:
        return None
    exits = [
        command
        for command in within(node, "command")
        if name_of(command) == "exit" and command.start_point[0] + 1 == finding.line
    ]
    if not exits or not all(runs_in(node, each) for each in exits):
        return None
    return [syntax.replaced(each.start_byte, each.start_byte + len("exit"), "return") for each in exits]


def _parameters(function: Node, number: int) -> list[str]:
    """The names that a parameter has in a function: its number, and variables that begin as it and stay so."""
    assigned: dict[str, list[str]] = {}
    for node in within(function, "variable_assignment"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            assigned.setdefault(text(name), []).append("" if value is None else text(value))
    same = re.compile(rf'"?\$(?:{number}|\{{{number}(?::?-)?\}})"?')
    return [str(number), *(name for name, values in assigned.items() if all(map(same.fullmatch, values)))]


def only_when_resumed(syntax: Syntax, finding: Finding) -> list[Edit] | None:
    """What is said of the session where there is an id, only said where CLAUDE_USE_CONTINUE is true as well."""
    node = syntax.function("driver_build_command")
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
        return [syntax.inserted(tests[0].start_byte + 3, '"${CLAUDE_USE_CONTINUE:-}" == "true" && ')]
    return [syntax.inserted(tests[0].start_byte, '[ "${CLAUDE_USE_CONTINUE:-}" = "true" ] && ')]


class Recipe(NamedTuple):
    """What a mend does, in the imperative, and what makes it; ``{about}`` is what the problem is about."""

    title: str
    make: Make


_LOCAL_IFS = Recipe("declare IFS local", variables.local_ifs)
_UNBUFFERED = Recipe("don't let it buffer", unbuffered)
_RESET = Recipe("reset the array first", variables.reset_first)

RECIPES: dict[str, Recipe] = {
    "RB002": Recipe("name bash in the first line", for_bash),
    "RB020": Recipe("declare {about} local", variables.declared_local),
    "RB030": Recipe("return from the hook", returning),
    "RB042": _UNBUFFERED,
    "RB061": _LOCAL_IFS,
    "RB110": Recipe("resume only where that is wanted", only_when_resumed),
    "RB112": _RESET,
    "RB133": _RESET,
    "RB173": Recipe("let errors be seen", with_errors),
    "RB182": _UNBUFFERED,
}
"""By the code of the check. Where a mend is more than one change, `bridge.verify.hints` says what to do."""


def mends_of(code: str) -> list[str]:
    """What can be done about the findings of this check, where their place is sure, in the imperative."""
    return [RECIPES[code].title.format(about="the variable")] if code in RECIPES else []


def fix_of(subject: Subject, finding: Finding) -> Fix | None:
    """The mend of a finding; None when there is none, or its place isn't sure."""
    recipe = RECIPES.get(finding.code)
    edits = recipe.make(Syntax(subject), finding) if recipe is not None else None
    if recipe is None or not edits:
        return None
    return Fix(recipe.title.format(about=", ".join(finding.about)), tuple(sorted(set(edits))))
