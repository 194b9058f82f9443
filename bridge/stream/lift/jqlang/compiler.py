"""A jq program of the lifted part of the language, compiled to Python closures.

Each node becomes a :class:`Code`: `one` for what gives exactly one value or an error, `each` for anything,
which hands every output to a function, so that what was printed before an error stays printed. An error of
the program is :class:`JqError`; :class:`Doubt` says that versions of jq differ here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.stream.lift.faults import Doubt, JqError, NotLifted
from bridge.stream.lift.jqlang.code import Code
from bridge.stream.lift.jqlang.values import Value, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.stream.lift.jqlang import tree
    from bridge.stream.lift.jqlang.code import Emit, One

__all__ = ["Compiler"]


@dataclass(slots=True)
class Compiler:
    """Compiles one program.

    Attributes:
        arguments: what ``--arg`` and ``--argjson`` gave.
        leaky: the program has a ``try``, which before jq 1.7 also catches errors behind it in the pipe:
            an error that leaves the program is a doubt.
        cells: the values of the variables that are bound at this place.
        trying: within a ``try``.
        strict: within what is ended early, see :meth:`breaking`.
    """

    arguments: Mapping[str, Value]
    writer: Writer = field(default_factory=Writer)
    leaky: bool = False
    cells: dict[str, list[Value]] = field(default_factory=dict)
    trying: bool = False
    strict: bool = False

    def compile(self, node: tree.Node) -> Code:
        """The code of a node.

        Raises:
            NotLifted: a word that is not lifted, or a use of one.
        """
        from bridge.stream.lift.jqlang.control import CONTROL
        from bridge.stream.lift.jqlang.paths import TERMS

        kind = type(node)
        return (CONTROL.get(kind) or TERMS[kind])(self, node)

    def one(self, node: tree.Node, where: str) -> One:
        """The code of a node that must have one output."""
        code = self.compile(node)
        if code.one is None:
            raise NotLifted(f"jq: {where} with more than one output, or none")
        return code.one

    def breaking(self, node: tree.Node) -> Code:
        """The code of what `first`, `limit`, `any` or `all` end early: jq 1.6 does it wrongly after a `?` or
        `try` has dropped an error."""
        if self.trying:
            raise NotLifted("jq: first, limit, any or all within a `try`, which differs between versions")
        outer, self.strict = self.strict, True
        code = self.compile(node)
        self.strict = outer
        return code

    def lenient(self, step: One) -> Code:
        """A step of a path whose own error is dropped."""
        strict = self.strict

        def each(value: Value, emit: Emit) -> None:
            try:
                out = step(value)
            except JqError:
                if strict:
                    raise Doubt from None
                return
            emit(out)

        return Code(each)

    def with_variable(self, name: str, body: tree.Node) -> tuple[list[Value], Code]:
        """The cell of a variable, and the code in which it has it."""
        outer = self.cells.get(name)
        cell: list[Value] = [None]
        self.cells[name] = cell
        code = self.compile(body)
        del self.cells[name]
        if outer is not None:
            self.cells[name] = outer
        return cell, code
