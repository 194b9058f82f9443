"""Built-ins that take programs, or give other than one output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.lift.faults import Doubt, JqError, NotLifted
from bridge.stream.lift.jqlang import tree
from bridge.stream.lift.jqlang.code import Code, piped, scalar
from bridge.stream.lift.jqlang.operators import iterate
from bridge.stream.lift.jqlang.values import Value, truthy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqlang.code import Emit
    from bridge.stream.lift.jqlang.compiler import Compiler

__all__ = ["GENERATORS"]


class _Enough(Exception):
    """Ends a generator of which no more is wanted."""


def _empty(_: Compiler) -> Code:
    return Code(lambda _value, _emit: None)


def _error(compiler: Compiler, message: tree.Node | None = None) -> Code:
    text = compiler.one(message, "an error's text") if message is not None else (lambda value: value)

    def one(value: Value) -> Value:
        raise JqError if type(text(value)) is str else Doubt

    return scalar(one)


def _select(compiler: Compiler, test: tree.Node) -> Code:
    code = compiler.compile(test)
    if code.one is None:

        def each(value: Value, emit: Emit) -> None:
            code.each(value, lambda out: emit(value) if truthy(out) else None)

        return Code(each)
    one = code.one

    def each_one(value: Value, emit: Emit) -> None:
        found = one(value)
        if found is not None and found is not False:
            emit(value)

    return Code(each_one)


def _map(compiler: Compiler, step: tree.Node) -> Code:
    return compiler.compile(tree.Array(tree.Pipe(tree.Iterate(None, optional=False), step)))


def _tostring(compiler: Compiler) -> Code:
    return scalar(compiler.writer.text)


def _tojson(compiler: Compiler) -> Code:
    return scalar(compiler.writer.to_json)


def _join(compiler: Compiler, separator: tree.Node) -> Code:
    between = compiler.one(separator, "an argument of `join`")
    text = compiler.writer.text

    def one(value: Value) -> Value:
        items = list(iterate(value))
        glue = between(value)
        if type(glue) is not str or any(type(item) in (list, dict) for item in items):
            raise JqError if len(items) > 1 and type(glue) is str else Doubt
        return glue.join(["" if item is None else text(item) for item in items])

    return scalar(one)


def _first(compiler: Compiler, source: tree.Node) -> Code:
    return _limit(compiler, tree.Literal(1), source)


def _limit(compiler: Compiler, count: tree.Node, source: tree.Node) -> Code:
    most = count.value if isinstance(count, tree.Literal) else 0
    if type(most) is not int or most < 1:
        raise NotLifted("jq: `limit` whose number isn't a constant above 0")
    each_source = compiler.breaking(source).each
    wanted = most

    def each(value: Value, emit: Emit) -> None:
        found: list[Value] = []

        def keep(out: Value) -> None:
            found.append(out)
            if len(found) >= wanted:
                raise _Enough

        failure: JqError | None = None
        try:
            each_source(value, keep)
        except _Enough:
            pass
        except JqError as error:
            failure = error
        for out in found:
            emit(out)
        if failure is not None:
            raise failure

    return Code(each)


def _last(compiler: Compiler, source: tree.Node) -> Code:
    each_source = compiler.compile(source).each

    def each(value: Value, emit: Emit) -> None:
        found: list[Value] = []
        each_source(value, lambda out: found.__setitem__(slice(None), [out]))
        if not found:
            raise Doubt  # null before 1.8, nothing since
        emit(found[0])

    return Code(each)


def _in(compiler: Compiler, source: tree.Node) -> Code:
    return _quantified(True)(compiler, tree.Binary("==", source, tree.Call(".")), tree.Call("."))


def _quantified(wanted: bool) -> Callable[..., Code]:
    def made(compiler: Compiler, *arguments: tree.Node) -> Code:
        items: tree.Node = arguments[0] if len(arguments) == 2 else tree.Iterate(None, optional=False)
        test: tree.Node = arguments[-1] if arguments else tree.Call(".")
        source = piped(compiler.breaking(items), compiler.breaking(test)).each

        def stop(out: Value) -> None:
            if truthy(out) is wanted:
                raise _Enough

        def one(value: Value) -> Value:
            try:
                source(value, stop)
            except _Enough:
                return wanted
            return not wanted

        return scalar(one)

    return made


GENERATORS: dict[str, Callable[..., Code]] = {
    "empty/0": _empty,
    "error/0": _error,
    "error/1": _error,
    "select/1": _select,
    "map/1": _map,
    "tostring/0": _tostring,
    "tojson/0": _tojson,
    "join/1": _join,
    "IN/1": _in,
    "recurse/0": lambda compiler: compiler.compile(tree.Recurse()),
    "first/1": _first,
    "limit/2": _limit,
    "last/1": _last,
    "any/0": _quantified(True),
    "any/1": _quantified(True),
    "any/2": _quantified(True),
    "all/0": _quantified(False),
    "all/1": _quantified(False),
    "all/2": _quantified(False),
}
