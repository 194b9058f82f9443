"""What a hook needs to be lifted as a whole: its parts, and the variables it depends on."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, NamedTuple

from bridge.stream.lift import shelltree as tree
from bridge.stream.lift.either import either
from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.words import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.stream.lift.words import Word

__all__ = ["Hook", "dissect"]


class Hook(NamedTuple):
    """A hook in parts.

    Attributes:
        setup: assignments that come first.
        main: the pipeline that does the work; a loop alone is a pipeline of one.
        ignored: ``|| true`` behind it.
        reads: globals that it uses.
        guards: files without which it does nothing (``[ -f "$1" ] || return``).
        otherwise: the loop that runs when the first one, which is `main`, prints nothing.
    """

    setup: tuple[tree.Assign, ...]
    main: tree.Pipeline
    ignored: bool
    reads: frozenset[str]
    guards: tuple[Word, ...]
    otherwise: tree.Loop | None = None


def dissect(body: tree.Statement) -> Hook:
    """Take the body of a function apart.

    Raises:
        NotLifted: there is more in it than assignments and one pipeline, or it keeps a state between lines.
    """
    statements = list(_flat(body))
    guards: list[Word] = []
    setup: list[tree.Assign] = []
    known: set[str] = set()
    reads: set[str] = set()
    while len(statements) > 1 and isinstance(statements[0], tree.Assign | tree.AndOr | tree.If):
        first = statements.pop(0)
        if not isinstance(first, tree.Assign):
            guards.append(_guarded(first))
            continue
        if isinstance(first.value, tree.Capture):
            raise NotLifted(f"{first.name} is the output of a command")
        reads |= set(_variables(first)) - known
        known.add(first.name)
        setup.append(first)
    if len(statements) != 1:
        raise NotLifted("several commands, one after the other")
    main, ignored, otherwise = statements[0], False, None
    if (loops := either(main)) is not None:
        main, otherwise = loops
    if isinstance(main, tree.AndOr) and main.word == "||" and main.right == tree.Nothing(0):
        main, ignored = main.left, True
    if isinstance(main, tree.Loop | tree.Jq | tree.Tool):
        main = tree.Pipeline((main,))
    if not isinstance(main, tree.Pipeline):
        raise NotLifted("no filter: neither a loop over lines nor a pipeline of jq")
    for stage in (*main.stages, *([otherwise] if otherwise else [])):
        if isinstance(stage, tree.Loop):
            assigned = {node.name for node in _walk(stage.body) if isinstance(node, tree.Assign)}
            _definite(stage.body, frozenset({stage.name}), frozenset(assigned - {stage.name}))
            reads |= set(_variables(stage)) - known - assigned - {stage.name}
        else:
            reads |= set(_variables(stage)) - known
    names = frozenset(name for name in reads if not name.isdigit())
    return Hook(tuple(setup), main, ignored, names, tuple(guards), otherwise)


def _guarded(node: tree.Statement) -> Word:
    """The file of ``[ -f file ] || return``, or of ``if [ ! -f file ]; then return; fi``."""
    test: tree.Statement | None = None
    if isinstance(node, tree.AndOr) and node.word == "||" and isinstance(node.right, tree.Return):
        test = node.left
    elif isinstance(node, tree.If) and node.no is None and isinstance(node.yes, tree.Return):
        test = node.test.statement if isinstance(node.test, tree.Not) else None
    if isinstance(test, tree.Test) and test.operator in ("-f", "-e", "-r"):
        return test.left
    raise NotLifted("several commands, one after the other")


def _flat(body: tree.Statement) -> Iterator[tree.Statement]:
    if isinstance(body, tree.Sequence):
        for statement in body.statements:
            yield from _flat(statement)
    else:
        yield body


def _walk(node: object) -> Iterator[object]:
    yield node
    if isinstance(node, tuple) and not isinstance(node, Variable):
        for item in node:
            yield from _walk(item)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _walk(getattr(node, field.name))


def _variables(node: object) -> Iterator[str]:
    return (found.name for found in _walk(node) if isinstance(found, Variable))


def _definite(node: tree.Statement, sure: frozenset[str], assigned: frozenset[str]) -> frozenset[str]:
    """Follow which of the `assigned` variables surely have a value of this line.

    Raises:
        NotLifted: one is used before: a line would depend on those before it.
    """
    if isinstance(node, tree.Sequence):
        for statement in node.statements:
            sure = _definite(statement, sure, assigned)
        return sure
    if isinstance(node, tree.AndOr):
        sure = _definite(node.left, sure, assigned)
        _definite(node.right, sure, assigned)
        return sure
    if isinstance(node, tree.If):
        after = _definite(node.test, sure, assigned)
        yes = _definite(node.yes, after, assigned)
        return yes & (_definite(node.no, after, assigned) if node.no is not None else after)
    if isinstance(node, tree.Assign) and isinstance(node.value, tree.Capture):
        _definite(node.value.body, sure, assigned)
        return sure | {node.name}
    for name in _variables(node):
        if name in assigned and name not in sure:
            raise NotLifted(f"${name} is carried from one line to the next")
    return sure | {node.name} if isinstance(node, tree.Assign) else sure
