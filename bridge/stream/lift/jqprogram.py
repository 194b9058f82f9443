"""A jq program of the lifted part of the language, compiled to Python closures.

Each node becomes a :class:`Code`: `one` for what gives exactly one value or an error, `each` for anything,
which hands every output to a function, so that what was printed before an error stays printed. An error of
the program is :class:`JqError`; :class:`Doubt` says that versions of jq differ here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bridge.stream.lift import jqtree as tree
from bridge.stream.lift.faults import Doubt, JqError, NotLifted
from bridge.stream.lift.jqoperators import BINARY, get, iterate, slice_of
from bridge.stream.lift.jqvalues import Fraction, Value, Writer, truthy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Emit: TypeAlias = Callable[[Value], Any]
    One: TypeAlias = Callable[[Value], Value]

__all__ = ["Code", "Compiler", "scalar"]


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled node.

    Attributes:
        each: (input, emit) -> None.
        one: input -> output, where there is exactly one output.
    """

    each: Callable[[Value, Emit], Any]
    one: One | None = None


def scalar(one: One) -> Code:
    """A node with one output."""
    return Code(lambda value, emit: emit(one(value)), one)


@dataclass(slots=True)
class Compiler:
    """Compiles one program.

    Attributes:
        arguments: what ``--arg`` and ``--argjson`` gave.
        leaky: the program has a ``try``, which before jq 1.7 also catches errors behind it in the pipe:
            an error that leaves the program is a doubt.
    """

    arguments: Mapping[str, Value]
    writer: Writer = field(default_factory=Writer)
    leaky: bool = False
    _cells: dict[str, list[Value]] = field(default_factory=dict)
    _trying: bool = False
    _breaking: bool = False

    def compile(self, node: tree.Node) -> Code:
        """The code of a node.

        Raises:
            NotLifted: a word that is not lifted, or a use of one.
        """
        return _COMPILERS[type(node)](self, node)

    def one(self, node: tree.Node, where: str) -> One:
        """The code of a node that must have one output."""
        code = self.compile(node)
        if code.one is None:
            raise NotLifted(f"jq: {where} with more than one output, or none")
        return code.one

    # -- structure -----------------------------------------------------------------------------------

    def pipe(self, node: tree.Pipe) -> Code:
        return piped(self.compile(node.left), self.compile(node.right))

    def comma(self, node: tree.Comma) -> Code:
        left, right = self.compile(node.left).each, self.compile(node.right).each

        def each(value: Value, emit: Emit) -> None:
            left(value, emit)
            right(value, emit)

        return Code(each)

    def alternative(self, node: tree.Alternative) -> Code:
        left, right = self.compile(node.left), self.compile(node.right)
        if left.one is not None and right.one is not None:
            return scalar(_first_truthy(left.one, right.one))

        def each(value: Value, emit: Emit) -> None:
            found: list[Value] = []
            left_each(value, lambda out: found.append(out) if truthy(out) else None)
            if not found:
                right_each(value, emit)
            for out in found:
                emit(out)

        left_each, right_each = _careful(left), right.each
        return Code(each)

    def logic(self, node: tree.Logic) -> Code:
        left, right = self.one(node.left, f"`{node.word}`"), self.one(node.right, f"`{node.word}`")
        if node.word == "and":
            return scalar(lambda value: truthy(left(value)) and truthy(right(value)))
        return scalar(lambda value: truthy(left(value)) or truthy(right(value)))

    def binary(self, node: tree.Binary) -> Code:
        work = BINARY[node.operator]
        left, right = self.compile(node.left), self.compile(node.right)
        if left.one is not None and right.one is not None:
            return scalar(_operated(work, left.one, right.one, node))

        def each(value: Value, emit: Emit) -> None:
            right.each(value, lambda b: left.each(value, lambda a: emit(work(a, b))))

        return Code(each)

    def branch(self, node: tree.If) -> Code:
        test, yes, no = self.compile(node.test), self.compile(node.yes), self.compile(node.no)
        if test.one is None:
            return Code(
                lambda value, emit: test.each(value, lambda out: (yes if truthy(out) else no).each(value, emit))
            )
        return _branched(test.one, yes, no)

    def breaking(self, node: tree.Node) -> Code:
        """The code of what `first`, `limit`, `any` or `all` end early: jq 1.6 does it wrongly after a `?` or
        `try` has dropped an error."""
        if self._trying:
            raise NotLifted("jq: first, limit, any or all within a `try`, which differs between versions")
        outer, self._breaking = self._breaking, True
        code = self.compile(node)
        self._breaking = outer
        return code

    def lenient(self, step: One) -> Code:
        """A step of a path whose own error is dropped."""
        strict = self._breaking

        def each(value: Value, emit: Emit) -> None:
            try:
                out = step(value)
            except JqError:
                if strict:
                    raise Doubt from None
                return
            emit(out)

        return Code(each)

    def attempt(self, node: tree.Try) -> Code:
        if self._trying or self._breaking:
            raise NotLifted("jq: a `try` within a `try`, `first`, `limit`, `any`, `all`: versions differ")
        self.leaky = self._trying = True
        body = self.compile(node.body).each
        self._trying = False
        handler = None if node.handler is None else self.handler(node.handler)

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

    def handler(self, node: tree.Node) -> Callable[[Value, Emit], Any]:
        constant = isinstance(node, tree.Literal | tree.Variable) or node in (tree.Call("empty"), tree.Array(None))
        if not constant:
            raise NotLifted("jq: a `catch` that isn't a constant (what it is given differs between versions)")
        return self.compile(node).each

    def bind(self, node: tree.Bind) -> Code:
        source = self.compile(node.source)
        cell, body = self._with(node.name, node.body)

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

    def _with(self, name: str, body: tree.Node) -> tuple[list[Value], Code]:
        outer = self._cells.get(name)
        cell: list[Value] = [None]
        self._cells[name] = cell
        code = self.compile(body)
        del self._cells[name]
        if outer is not None:
            self._cells[name] = outer
        return cell, code

    def reduction(self, node: tree.Reduce) -> Code:
        source, start = self.compile(node.source), self.one(node.start, "the start of `reduce`")
        cell, code = self._with(node.name, node.update)
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

    # -- paths ---------------------------------------------------------------------------------------

    def index(self, node: tree.Index) -> Code:
        of = self._of(node.of)
        if isinstance(node.key, tree.Literal):
            step = get(node.key.value)
            return piped(of, self.lenient(step) if node.optional else scalar(step))
        key = self.one(node.key, "an index")

        def each(value: Value, emit: Emit) -> None:
            at = key(value)
            step = get(at)
            of.each(
                value, (lambda out: optional(step, out, emit)) if node.optional else (lambda out: emit(step(out)))
            )

        if of.one is not None and not node.optional:
            of_one = of.one
            return scalar(lambda value: get(key(value))(of_one(value)))
        return Code(each)

    def _of(self, node: tree.Node | None) -> Code:
        return scalar(lambda value: value) if node is None else self.compile(node)

    def slice(self, node: tree.Slice) -> Code:
        step = slice_of(node.start, node.stop)
        return piped(self._of(node.of), self.lenient(step) if node.optional else scalar(step))

    def iteration(self, node: tree.Iterate) -> Code:
        def each(value: Value, emit: Emit) -> None:
            for item in iterate(value):
                emit(item)

        strict = self._breaking

        def each_optional(value: Value, emit: Emit) -> None:
            if type(value) in (list, dict):
                each(value, emit)
            elif strict:
                raise Doubt

        return piped(self._of(node.of), Code(each_optional if node.optional else each))

    def recursion(self, node: tree.Recurse) -> Code:
        def each(value: Value, emit: Emit) -> None:
            emit(value)
            if type(value) in (list, dict):
                for item in iterate(value):
                    each(item, emit)

        return Code(each)

    # -- values --------------------------------------------------------------------------------------

    def literal(self, node: tree.Literal) -> Code:
        constant = node.value
        return scalar(lambda _: constant)

    def fraction(self, node: tree.Number) -> Code:
        constant = Fraction(node.text)
        try:
            constant.plain  # noqa: B018
        except Doubt:
            raise NotLifted(f"jq: the number {node.text}") from None
        return scalar(lambda _: constant)

    def text(self, node: tree.Text) -> Code:
        write = self.writer.to_json if node.as_json else self.writer.text
        parts: list[One] = []
        for part in node.parts:
            if isinstance(part, str):
                parts.append(_constantly(part))
            else:
                parts.append(_written(self.one(part, "a `\\( )`"), write))
        return scalar(lambda value: "".join([part(value) for part in parts]))

    def array(self, node: tree.Array) -> Code:
        if node.inner is None:
            return scalar(lambda _: [])
        inner = self.compile(node.inner).each

        def one(value: Value) -> Value:
            found: list[Value] = []
            inner(value, found.append)
            return found

        return scalar(one)

    def object(self, node: tree.Object) -> Code:
        entries = [(self.one(key, "a key"), self.one(item, "a value of an object")) for key, item in node.entries]

        def one(value: Value) -> Value:
            made = {}
            for key, item in entries:
                name = key(value)
                if type(name) is not str:
                    raise JqError
                made[name] = item(value)
            return made

        return scalar(one)

    def variable(self, node: tree.Variable) -> Code:
        cell = self._cells.get(node.name)
        if cell is not None:
            return scalar(lambda _: cell[0])
        if node.name not in self.arguments:
            raise NotLifted(f"jq: ${node.name} is not defined")
        constant = self.arguments[node.name]
        return scalar(lambda _: constant)

    def call(self, node: tree.Call) -> Code:
        from bridge.stream.lift.jqwords import word

        return word(self, node)


def piped(left: Code, right: Code) -> Code:
    """``left | right``."""
    first, second = left.one, right.one
    if first is None:
        return Code(lambda value, emit: left.each(value, lambda out: right.each(out, emit)))
    if second is None:
        return Code(lambda value, emit: right.each(first(value), emit))
    return scalar(lambda value: second(first(value)))


def _careful(code: Code) -> Callable[[Value, Emit], Any]:
    def each(value: Value, emit: Emit) -> None:
        try:
            code.each(value, emit)
        except JqError:
            raise Doubt from None

    return each


def _first_truthy(left: One, right: One) -> One:
    def one(value: Value) -> Value:
        try:
            found = left(value)
        except JqError:
            raise Doubt from None
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


def _constantly(text: str) -> One:
    return lambda _: text


def _written(one: One, write: Callable[[Value], str]) -> One:
    return lambda value: write(one(value))


_COMPILERS: dict[type, Callable[[Compiler, Any], Code]] = {
    tree.Pipe: Compiler.pipe,
    tree.Comma: Compiler.comma,
    tree.Alternative: Compiler.alternative,
    tree.Logic: Compiler.logic,
    tree.Binary: Compiler.binary,
    tree.If: Compiler.branch,
    tree.Try: Compiler.attempt,
    tree.Bind: Compiler.bind,
    tree.Reduce: Compiler.reduction,
    tree.Index: Compiler.index,
    tree.Slice: Compiler.slice,
    tree.Iterate: Compiler.iteration,
    tree.Recurse: Compiler.recursion,
    tree.Literal: Compiler.literal,
    tree.Number: Compiler.fraction,
    tree.Text: Compiler.text,
    tree.Array: Compiler.array,
    tree.Object: Compiler.object,
    tree.Variable: Compiler.variable,
    tree.Call: Compiler.call,
}
