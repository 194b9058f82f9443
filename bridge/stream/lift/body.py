"""The body of a loop (one line at a time) as Python closures.

A statement becomes a function of a :class:`Frame`, which adds to it what is printed and gives the exit status.
What can't be foreseen raises :class:`Doubt`: bash is asked about that line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bridge.stream.lift import shelltree as tree
from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.plain import PLAIN, Frame, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.stream.lift.jqlang.line import JqLine

    Run: TypeAlias = Callable[[Frame], int]

__all__ = ["Body", "Exit"]


class _Next(Exception):
    """``continue``."""

    def __init__(self, status: int) -> None:
        self.status = status


class Exit(Exception):
    """errexit ends the shell, with this status."""

    def __init__(self, status: int) -> None:
        self.status = status


@dataclass(slots=True)
class Body:
    """Compiles statements.

    Attributes:
        fixed: variables that don't change from line to line (arguments, globals, locals set before).
        pipefail, errexit: options of the shell.
        not_json: jq's status after what is no JSON.
        engines: every jq in it.
        fed: the statement at hand reads a pipe within the body (else it would read the loop's own input).
    """

    fixed: Mapping[str, str]
    pipefail: bool = False
    errexit: bool = False
    not_json: int | None = None
    engines: list[JqLine] = field(default_factory=list)
    fed: bool = False

    def compile(self, node: tree.Statement) -> Run:
        """The function of a statement, in a place where errexit doesn't act.

        Raises:
            NotLifted: with the reason.
        """
        made = _COMPILERS.get(type(node)) or PLAIN.get(type(node))
        if made is None:
            raise NotLifted(f"`{type(node).__name__.lower()}` within the loop")
        return made(self, node)

    def acting(self, node: tree.Statement) -> Run:
        """The function of a statement, in a place where errexit acts if it is on."""
        if not self.errexit:
            return self.compile(node)
        if isinstance(node, tree.Sequence):
            return _sequence(self, node, acting=True)
        if isinstance(node, tree.If):
            return _if(self, node, acting=True)
        if isinstance(node, tree.AndOr):
            return _and_or(self, node, acting=True)
        inner = self.compile(node)
        if isinstance(node, tree.Not):
            return inner

        def run(frame: Frame) -> int:
            status = inner(frame)
            if status:
                raise Exit(status)
            return 0

        return run

    def jq(self, node: tree.Jq) -> JqLine:
        """The engine of a jq command, whose program and arguments don't change."""
        made = engine(node, self.fixed, self.engines)
        made.not_json = self.not_json
        return made

    def per_line(self, node: tree.Statement) -> Run:
        """The whole body, ``continue`` included; raises :class:`Exit`."""
        inner = self.acting(node)

        def run(frame: Frame) -> int:
            try:
                return inner(frame)
            except _Next as end:
                return end.status

        return run


def _part(body: Body, node: tree.Statement, acting: bool) -> Run:
    return body.acting(node) if acting else body.compile(node)


def _pipeline(body: Body, node: tree.Pipeline) -> Run:
    outer = body.fed
    stages: list[Run] = []
    for stage in node.stages:
        stages.append(body.compile(stage))
        body.fed = True
    body.fed = outer
    pipefail, ignored = body.pipefail, node.ignored

    def run(frame: Frame) -> int:
        given = frame.given
        worst = status = 0
        for stage in stages:
            inner = Frame(frame.values, given)
            status = stage(inner)
            worst = status or worst
            given = "".join(inner.out)
        frame.out.append(given or "")
        return 0 if ignored else worst if pipefail else status

    return run


def _assign(body: Body, node: tree.Assign) -> Run:
    name, local = node.name, node.local
    if not isinstance(node.value, tree.Capture):
        word = PLAIN[tree.Say](body, tree.Say(node.value, end=""))

        def plain(frame: Frame) -> int:
            inner = Frame(frame.values, None)
            word(inner)
            frame.values[name] = inner.out[0]
            return 0

        return plain
    captured = body.compile(node.value.body)

    def capture(frame: Frame) -> int:
        inner = Frame(dict(frame.values), frame.given)
        try:
            status = captured(inner)
        except _Next:
            raise Doubt from None
        text = "".join(inner.out)
        if "\0" in text:
            raise Doubt  # bash drops it, and says so
        frame.values[name] = text.rstrip("\n")
        return 0 if local else status

    return capture


def _not(body: Body, node: tree.Not) -> Run:
    inner = body.compile(node.statement)
    return lambda frame: int(inner(frame) == 0)


def _continue(_body: Body, _node: tree.Continue) -> Run:
    def run(_frame: Frame) -> int:
        raise _Next(0)

    return run


def _and_or(body: Body, node: tree.AndOr, *, acting: bool = False) -> Run:
    left, right, word = body.compile(node.left), _part(body, node.right, acting), node.word

    def run(frame: Frame) -> int:
        status = left(frame)
        return right(frame) if (status == 0) is (word == "&&") else status

    return run


def _if(body: Body, node: tree.If, *, acting: bool = False) -> Run:
    test, yes = body.compile(node.test), _part(body, node.yes, acting)
    no = _part(body, node.no, acting) if node.no is not None else None

    def run(frame: Frame) -> int:
        if test(frame) == 0:
            return yes(frame)
        return no(frame) if no is not None else 0

    return run


def _sequence(body: Body, node: tree.Sequence, *, acting: bool = False) -> Run:
    runs = [_part(body, statement, acting) for statement in node.statements]

    def run(frame: Frame) -> int:
        status = 0
        for one in runs:
            status = one(frame)
        return status

    return run


_COMPILERS: dict[type, Callable[..., Any]] = {
    tree.Pipeline: _pipeline,
    tree.Assign: _assign,
    tree.Continue: _continue,
    tree.Not: _not,
    tree.AndOr: _and_or,
    tree.If: _if,
    tree.Sequence: _sequence,
}
