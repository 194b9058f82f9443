"""The part of the jq language that is lifted: its tree and its parser.

Accepted is what jq 1.6 to 1.8 read alike; whatever one of them refuses or reads differently (an ``if``
without ``else``, ``.a.[0]``, a suffix behind ``end``) raises :class:`NotLifted` here.
"""

from __future__ import annotations

import re

from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.jqlang.terms import KEYWORDS, Terms
from bridge.stream.lift.jqlang.tree import (
    Alternative,
    Binary,
    Bind,
    Call,
    Comma,
    If,
    Logic,
    Node,
    Pipe,
    Reduce,
    Try,
)

__all__ = ["parse"]

_COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})


def parse(program: str) -> Node:
    """The tree of a program.

    Raises:
        NotLifted: it is outside the accepted part of the language, or no jq program at all.
    """
    if re.search(r"#[^\n]*\\\r?(?:\n|$)", program):
        raise NotLifted("a comment in the jq program ends with a backslash")
    if "\0" in program or "\ufeff" in program:
        raise NotLifted("a NUL or a byte order mark in the jq program")
    parser = _Parser(program)
    tree: Node = Call(".") if parser.kind == "end" else parser.pipe()
    if parser.kind != "end":
        raise parser.unexpected()
    return tree


class _Parser(Terms):
    """Expressions, the loosest first."""

    def pipe(self) -> Node:
        """Anything."""
        if self.take("def"):
            self.definition()
            return self.pipe()
        if self.kind == "name" and self.word in ("label", "import", "include", "foreach"):
            raise NotLifted(f"jq: `{self.word}`")
        left = self.comma()
        return Pipe(left, self.pipe()) if self.take("|") else left

    def definition(self) -> None:
        """Behind ``def``: a name without arguments, whose body is put in the place of each call."""
        name = self.word
        if self.kind != "name" or name in KEYWORDS or name in ("null", "true", "false"):
            raise self.unexpected("a name")
        self.advance()
        self.expect(":")
        before = self.bound
        body = self.pipe()
        if self.bound != before:
            raise NotLifted(f"jq: `def {name}` with a variable in it")
        self.expect(";")
        self.definitions[name] = body

    def comma(self) -> Node:
        """Without pipes."""
        left = self.alternative()
        while self.take(","):
            left = Comma(left, self.alternative())
        return left

    def alternative(self) -> Node:
        """Without commas."""
        left = self.either()
        return Alternative(left, self.alternative()) if self.take("//") else left

    def either(self) -> Node:
        """Without ``//``."""
        left = self.both()
        while self.take("or"):
            left = Logic("or", left, self.both())
        return left

    def both(self) -> Node:
        """Without ``or``."""
        left = self.comparison()
        while self.take("and"):
            left = Logic("and", left, self.comparison())
        return left

    def comparison(self) -> Node:
        """Without ``and``."""
        left = self.sum()
        if self.kind == "sign" and self.word in _COMPARE:
            operator = self.word
            self.advance()
            left = Binary(operator, left, self.sum())
        return left

    def sum(self) -> Node:
        """Without comparisons."""
        left = self.product()
        while self.kind == "sign" and self.word in ("+", "-"):
            operator = self.word
            self.advance()
            left = Binary(operator, left, self.product())
        return left

    def product(self) -> Node:
        """Without sums."""
        left = self.unary()
        while self.kind == "sign" and self.word in ("*", "/", "%"):
            operator = self.word
            self.advance()
            left = Binary(operator, left, self.unary())
        return left

    def unary(self) -> Node:
        """A term, or what starts with a keyword."""
        if self.kind == "name":
            if self.take("if"):
                return self.branches()
            if self.take("reduce"):
                return self.reduction()
            if self.take("try"):
                body = self.term()
                return Try(body, self.term() if self.take("catch") else None)
        term = self.term()
        return self.binding(term) if self.take("as") else term

    def branches(self) -> Node:
        """Behind ``if`` or ``elif``."""
        test = self.pipe()
        self.expect("then")
        yes = self.pipe()
        if self.take("elif"):
            return If(test, yes, self.branches())
        if self.kind == "name" and self.word == "end":
            raise NotLifted("jq: an `if` without `else` (an error before jq 1.7)")
        self.expect("else")
        no = self.pipe()
        self.expect("end")
        if self.kind == "field" or self.word in ("[", "?", "."):
            raise NotLifted("jq: a suffix behind `end` (an error before jq 1.7)")
        return If(test, yes, no)

    def reduction(self) -> Node:
        """Behind ``reduce``."""
        source = self.term()
        self.expect("as")
        name = self.variable()
        self.expect("(")
        start = self.pipe()
        self.expect(";")
        update = self.pipe()
        self.expect(")")
        return Reduce(source, name, start, update)

    def binding(self, source: Node) -> Node:
        """Behind ``as``."""
        name = self.variable()
        self.expect("|")
        return Bind(source, name, self.pipe())
