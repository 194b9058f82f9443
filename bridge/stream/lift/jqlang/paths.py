"""Paths, literals and constructions of a jq program, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.stream.lift.faults import Doubt, JqError, NotLifted
from bridge.stream.lift.jqlang import tree
from bridge.stream.lift.jqlang.code import Code, piped, scalar
from bridge.stream.lift.jqlang.operators import get, iterate, slice_of
from bridge.stream.lift.jqlang.values import Fraction, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqlang.code import Emit, One
    from bridge.stream.lift.jqlang.compiler import Compiler

__all__ = ["TERMS"]


def index(compiler: Compiler, node: tree.Index) -> Code:
    """``.name``, ``.[A]``."""
    of = _of(compiler, node.of)
    if isinstance(node.key, tree.Literal):
        step = get(node.key.value)
        return piped(of, compiler.lenient(step) if node.optional else scalar(step))
    if of.one is None or node.optional:
        raise NotLifted("jq: an index that isn't constant, of several values or with `?`")
    key, of_one = compiler.one(node.key, "an index"), of.one
    return scalar(lambda value: get(key(value))(of_one(value)))


def _of(compiler: Compiler, node: tree.Node | None) -> Code:
    return scalar(lambda value: value) if node is None else compiler.compile(node)


def cut(compiler: Compiler, node: tree.Slice) -> Code:
    """``.[A:B]``."""
    step = slice_of(node.start, node.stop)
    return piped(_of(compiler, node.of), compiler.lenient(step) if node.optional else scalar(step))


def iteration(compiler: Compiler, node: tree.Iterate) -> Code:
    """``.[]``, ``.[]?``."""

    def each(value: Value, emit: Emit) -> None:
        for item in iterate(value):
            emit(item)

    strict = compiler.strict

    def each_optional(value: Value, emit: Emit) -> None:
        if type(value) in (list, dict):
            each(value, emit)
        elif strict:
            raise Doubt

    return piped(_of(compiler, node.of), Code(each_optional if node.optional else each))


def recursion(_compiler: Compiler, _node: tree.Recurse) -> Code:
    """``..``."""

    def each(value: Value, emit: Emit) -> None:
        emit(value)
        if type(value) in (list, dict):
            for item in iterate(value):
                each(item, emit)

    return Code(each)


def literal(_compiler: Compiler, node: tree.Literal) -> Code:
    """A string, ``true``, ``false``, ``null`` or a whole number."""
    constant = node.value
    return scalar(lambda _: constant)


def fraction(_compiler: Compiler, node: tree.Number) -> Code:
    """A number that is written with a point."""
    constant = Fraction(node.text)
    try:
        constant.check()
    except Doubt:
        raise NotLifted(f"jq: the number {node.text}") from None
    return scalar(lambda _: constant)


def text(compiler: Compiler, node: tree.Text) -> Code:
    """A string with ``\\( )`` in it."""
    write = compiler.writer.to_json if node.as_json else compiler.writer.text
    parts: list[One] = []
    for part in node.parts:
        if isinstance(part, str):
            parts.append(_constantly(part))
        else:
            parts.append(_written(compiler.one(part, "a `\\( )`"), write))
    return scalar(lambda value: "".join([part(value) for part in parts]))


def array(compiler: Compiler, node: tree.Array) -> Code:
    """``[A]``, ``[]``."""
    if node.inner is None:
        return scalar(lambda _: [])
    inner = compiler.compile(node.inner).each

    def one(value: Value) -> Value:
        found: list[Value] = []
        inner(value, found.append)
        return found

    return scalar(one)


def mapping(compiler: Compiler, node: tree.Object) -> Code:
    """``{A: B}``."""
    entries = [
        (compiler.one(key, "a key"), compiler.one(item, "a value of an object")) for key, item in node.entries
    ]

    def one(value: Value) -> Value:
        made = {}
        for key, item in entries:
            name = key(value)
            if type(name) is not str:
                raise JqError
            made[name] = item(value)
        return made

    return scalar(one)


def variable(compiler: Compiler, node: tree.Variable) -> Code:
    """``$name``: bound in the program, or an argument of the command."""
    cell = compiler.cells.get(node.name)
    if cell is not None:
        return scalar(lambda _: cell[0])
    if node.name not in compiler.arguments:
        raise NotLifted(f"jq: ${node.name} is not defined")
    constant = compiler.arguments[node.name]
    return scalar(lambda _: constant)


def call(compiler: Compiler, node: tree.Call) -> Code:
    """A function by its name."""
    from bridge.stream.lift.jqlang.words import word

    return word(compiler, node)


def _constantly(text: str) -> One:
    return lambda _: text


def _written(one: One, write: Callable[[Value], str]) -> One:
    return lambda value: write(one(value))


TERMS: dict[type, Callable[[Compiler, Any], Code]] = {
    tree.Index: index,
    tree.Slice: cut,
    tree.Iterate: iteration,
    tree.Recurse: recursion,
    tree.Literal: literal,
    tree.Number: fraction,
    tree.Text: text,
    tree.Array: array,
    tree.Object: mapping,
    tree.Variable: variable,
    tree.Call: call,
}
