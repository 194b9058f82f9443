"""What jq's operators and keywords do with the outputs of their operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.stream.lift.faults import JqError, NotLifted
from bridge.stream.lift.jqlang import tree
from bridge.stream.lift.jqlang.code import Code, piped, scalar
from bridge.stream.lift.jqlang.operators import BINARY
from bridge.stream.lift.jqlang.values import Value, truthy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqlang.code import Emit, One
    from bridge.stream.lift.jqlang.compiler import Compiler

__all__ = ["CONTROL"]


def pipe(compiler: Compiler, node: tree.Pipe) -> Code:
    """``A | B``."""
    return piped(compiler.compile(node.left), compiler.compile(node.right))


def comma(compiler: Compiler, node: tree.Comma) -> Code:
    """``A, B``."""
    left, right = compiler.compile(node.left).each, compiler.compile(node.right).each

    def each(value: Value, emit: Emit) -> None:
        left(value, emit)
        right(value, emit)

    return Code(each)


def alternative(compiler: Compiler, node: tree.Alternative) -> Code:
    """``A // B``: the outputs of A that are neither false nor null, else those of B."""
    left, right = compiler.compile(node.left), compiler.compile(node.right)
    if left.one is not None and right.one is not None:
        return scalar(_first_truthy(left.one, right.one))

    def each(value: Value, emit: Emit) -> None:
        found = False

        def keep(out: Value) -> None:
            nonlocal found
            if truthy(out):
                found = True
                emit(out)

        left.each(value, keep)
        if not found:
            right.each(value, emit)

    return Code(each)


def logic(compiler: Compiler, node: tree.Logic) -> Code:
    """``A and B``, ``A or B``."""
    left, right = compiler.one(node.left, f"`{node.word}`"), compiler.one(node.right, f"`{node.word}`")
    if node.word == "and":
        return scalar(lambda value: truthy(left(value)) and truthy(right(value)))
    return scalar(lambda value: truthy(left(value)) or truthy(right(value)))


def binary(compiler: Compiler, node: tree.Binary) -> Code:
    """``A + B`` and its like; of several outputs, those of B vary slowest."""
    work = BINARY[node.operator]
    left, right = compiler.compile(node.left), compiler.compile(node.right)
    if left.one is not None and right.one is not None:
        return scalar(_operated(work, left.one, right.one, node))

    def each(value: Value, emit: Emit) -> None:
        right.each(value, lambda b: left.each(value, lambda a: emit(work(a, b))))

    return Code(each)


def branch(compiler: Compiler, node: tree.If) -> Code:
    """``if A then B else C end``."""
    test, yes, no = compiler.compile(node.test), compiler.compile(node.yes), compiler.compile(node.no)
    if test.one is None:
        return Code(
            lambda value, emit: test.each(value, lambda out: (yes if truthy(out) else no).each(value, emit))
        )
    return _branched(test.one, yes, no)


def attempt(compiler: Compiler, node: tree.Try) -> Code:
    """``try A catch B``, ``A?``: the outputs before an error stay."""
    if compiler.trying or compiler.strict:
        raise NotLifted("jq: a `try` within a `try`, `first`, `limit`, `any`, `all`: versions differ")
    compiler.leaky = compiler.trying = True
    body = compiler.compile(node.body).each
    compiler.trying = False
    handler = None if node.handler is None else handler_of(compiler, node.handler)

    def each(value: Value, emit: Emit) -> None:
        found: list[Value] = []
        failed = False
        try:
            body(value, found.append)
        except JqError:
            failed = True
        for out in found:
            emit(out)
        if failed and handler is not None:
            handler(None, emit)

    return Code(each)


def handler_of(compiler: Compiler, node: tree.Node) -> Callable[[Value, Emit], Any]:
    """What stands behind ``catch``, which has to be a constant."""
    constant = isinstance(node, tree.Literal | tree.Variable) or node in (tree.Call("empty"), tree.Array(None))
    if not constant:
        raise NotLifted("jq: a `catch` that isn't a constant (what it is given differs between versions)")
    return compiler.compile(node).each


def bind(compiler: Compiler, node: tree.Bind) -> Code:
    """``A as $name | B``."""
    source = compiler.compile(node.source)
    cell, body = compiler.with_variable(node.name, node.body)

    def each(value: Value, emit: Emit) -> None:
        def bound(out: Value) -> None:
            before = cell[0]
            cell[0] = out

            def onward(result: Value) -> None:
                inside = cell[0]
                cell[0] = before
                emit(result)
                cell[0] = inside

            try:
                body.each(value, onward)
            finally:
                cell[0] = before

        source.each(value, bound)

    return Code(each)


def reduction(compiler: Compiler, node: tree.Reduce) -> Code:
    """``reduce A as $name (B; C)``."""
    source, start = compiler.compile(node.source), compiler.one(node.start, "the start of `reduce`")
    cell, code = compiler.with_variable(node.name, node.update)
    if code.one is None:
        raise NotLifted("jq: the update of a `reduce` with more than one output, or none")
    update = code.one

    def one(value: Value) -> Value:
        state = [start(value)]

        def step(out: Value) -> None:
            cell[0] = out
            state[0] = update(state[0])

        source.each(value, step)
        return state[0]

    return scalar(one)


def _first_truthy(left: One, right: One) -> One:
    def one(value: Value) -> Value:
        found = left(value)
        return found if found is not None and found is not False else right(value)

    return one


def _operated(work: Callable[[Value, Value], Value], left: One, right: One, node: tree.Binary) -> One:
    if node.operator in ("==", "!=") and isinstance(node.right, tree.Literal) and isinstance(node.right.value, str):
        constant = node.right.value
        if node.operator == "==":
            return lambda value: left(value) == constant
        return lambda value: left(value) != constant

    def one(value: Value) -> Value:
        b = right(value)
        return work(left(value), b)

    return one


def _branched(test: One, yes: Code, no: Code) -> Code:
    yes_one, no_one = yes.one, no.one
    if yes_one is not None and no_one is not None:
        return scalar(lambda value: yes_one(value) if truthy(test(value)) else no_one(value))
    yes_each, no_each = yes.each, no.each

    def each(value: Value, emit: Emit) -> None:
        if truthy(test(value)):
            yes_each(value, emit)
        else:
            no_each(value, emit)

    return Code(each)


CONTROL: dict[type, Callable[[Compiler, Any], Code]] = {
    tree.Pipe: pipe,
    tree.Comma: comma,
    tree.Alternative: alternative,
    tree.Logic: logic,
    tree.Binary: binary,
    tree.If: branch,
    tree.Try: attempt,
    tree.Bind: bind,
    tree.Reduce: reduction,
}
