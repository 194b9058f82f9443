"""The part of the jq language that is lifted: its tree and its parser.

Accepted is what jq 1.5 to 1.8 read alike; whatever one of them refuses or reads differently (an ``if``
without ``else``, ``.a.[0]``, a suffix behind ``end``) raises :class:`NotLifted` here.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.jqtree import (
    Alternative,
    Array,
    Binary,
    Bind,
    Call,
    Comma,
    If,
    Index,
    Iterate,
    Literal,
    Logic,
    Node,
    Number,
    Object,
    Pipe,
    Recurse,
    Reduce,
    Slice,
    Text,
    Try,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parse"]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_TOKEN = re.compile(
    r"""(?P<field>\.[A-Za-z_][A-Za-z_0-9]*)
    |(?P<number>[0-9]+(?:\.[0-9]+)?(?![.\w]))
    |(?P<name>[A-Za-z_][A-Za-z_0-9]*(?!\w|::))
    |(?P<variable>\$[A-Za-z_][A-Za-z_0-9]*(?!\w|::))
    |(?P<format>@[a-z0-9]+)
    |(?P<quote>")
    |(?P<sign>\?//|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|[.|,=<>+\-*/%()\[\]{}:;?])""",
    re.VERBOSE | re.ASCII,
)
_PLAIN = re.compile(r'[^"\\]+')
_KEYWORDS = frozenset(
    "def if then elif else end as reduce foreach try catch label import include and or __loc__".split()
)
_COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})
_BEYOND = 2**53


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


class _Parser:
    def __init__(self, program: str, at: int = 0) -> None:
        self.program = program
        self.at = at
        self.kind = ""
        self.word = ""
        self.advance()

    # -- tokens --------------------------------------------------------------------------------------

    def advance(self) -> None:
        blank = _BLANK.match(self.program, self.at)
        assert blank is not None
        self.at = blank.end()
        token = _TOKEN.match(self.program, self.at)
        if token is None:
            if self.at < len(self.program):
                raise NotLifted(f"jq: {self.program[self.at :][:20]!r} is not understood")
            self.kind, self.word = "end", ""
            return
        self.kind, self.word = token.lastgroup or "", token.group()
        self.at = token.end()

    def take(self, word: str) -> bool:
        if self.word == word and self.kind in ("sign", "name"):
            self.advance()
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self.unexpected(word)

    def unexpected(self, wanted: str = "") -> NotLifted:
        said = "the end" if self.kind == "end" else repr(self.word)
        return NotLifted(
            f"jq: {said} where {wanted!r} was expected" if wanted else f"jq: {said} is not understood here"
        )

    # -- expressions, the loosest first --------------------------------------------------------------

    def pipe(self) -> Node:
        if self.kind == "name" and self.word in ("def", "label", "import", "include", "foreach"):
            raise NotLifted(f"jq: `{self.word}`")
        left = self.comma()
        return Pipe(left, self.pipe()) if self.take("|") else left

    def comma(self) -> Node:
        left = self.alternative()
        while self.take(","):
            left = Comma(left, self.alternative())
        return left

    def alternative(self) -> Node:
        left = self.either()
        return Alternative(left, self.alternative()) if self.take("//") else left

    def either(self) -> Node:
        left = self.both()
        while self.take("or"):
            left = Logic("or", left, self.both())
        return left

    def both(self) -> Node:
        left = self.comparison()
        while self.take("and"):
            left = Logic("and", left, self.comparison())
        return left

    def comparison(self) -> Node:
        left = self.sum()
        if self.kind == "sign" and self.word in _COMPARE:
            operator = self.word
            self.advance()
            left = Binary(operator, left, self.sum())
        return left

    def sum(self) -> Node:
        left = self.product()
        while self.kind == "sign" and self.word in ("+", "-"):
            operator = self.word
            self.advance()
            left = Binary(operator, left, self.product())
        return left

    def product(self) -> Node:
        left = self.unary()
        while self.kind == "sign" and self.word in ("*", "/", "%"):
            operator = self.word
            self.advance()
            left = Binary(operator, left, self.unary())
        return left

    def unary(self) -> Node:
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
        name = self.variable()
        self.expect("|")
        return Bind(source, name, self.pipe())

    def variable(self) -> str:
        if self.kind != "variable" or self.word in ("$ENV", "$__loc__", "$__prog_args"):
            raise self.unexpected("$name")
        name = self.word[1:]
        self.advance()
        return name

    # -- terms ---------------------------------------------------------------------------------------

    def term(self) -> Node:
        node = self.atom()
        while True:
            if self.kind == "field":
                key: Node = Literal(self.word[1:])
                self.advance()
                node = Index(node, key, self.take("?"))
            elif self.take("["):
                node = self.bracket(node)
            elif self.kind == "sign" and self.word == ".":
                self.advance()
                if self.kind != "quote":
                    raise self.unexpected("a name")
                node = Index(node, self.string(), self.take("?"))
            elif self.kind == "sign" and self.word == "?":
                self.advance()
                if self.kind == "field" or self.word in ("[", "?", "."):
                    raise NotLifted("jq: a suffix behind `?`")
                return Try(node, None)
            else:
                break
            if self.kind == "sign" and self.word == "?":
                raise NotLifted("jq: two `?` in a row")
        return node

    def bracket(self, of: Node | None) -> Node:
        """What stands behind ``[`` as a suffix."""
        if self.take("]"):
            return Iterate(of, self.take("?"))
        if self.word == ":" and self.kind == "sign":
            start = None
        else:
            key = self.slice_end()
            if isinstance(key, int):
                start = key
            else:
                self.expect("]")
                return Index(of, key, self.take("?"))
        if start is not None and self.take("]"):
            return Index(of, Literal(start), self.take("?"))
        self.expect(":")
        stop = None
        if self.word != "]":
            end = self.slice_end()
            if not isinstance(end, int):
                raise NotLifted("jq: a slice whose ends are not constant")
            stop = end
        elif start is None:
            raise self.unexpected("a number")
        self.expect("]")
        return Slice(of, start, stop, self.take("?"))

    def slice_end(self) -> int | Node:
        minus = self.take("-")
        if self.kind == "number" and self.word.isdigit() and len(self.word) < 10:
            value = int(self.word)
            self.advance()
            return -value if minus else value
        if minus:
            raise NotLifted("jq: unary minus")
        return self.pipe()

    def atom(self) -> Node:
        kind, word = self.kind, self.word
        if kind == "quote":
            return self.string()
        if kind == "format":
            return self.formatted()
        self.advance()
        if kind == "field":
            return Index(None, Literal(word[1:]), self.take("?"))
        if kind == "number":
            return self.number(word)
        if kind == "variable":
            if word in ("$ENV", "$__loc__", "$__prog_args"):
                raise NotLifted(f"jq: `{word}` is about the process around it")
            return Variable(word[1:])
        if kind == "name" and word not in _KEYWORDS:
            return self.call(word)
        if kind == "sign":
            special = _ATOMS.get(word)
            if special is not None:
                return special(self)
        raise NotLifted(f"jq: {word!r} is not understood here" if word else "jq: the program ends too early")

    def number(self, word: str) -> Node:
        if self.kind == "field" or self.word in ("[", "."):
            raise NotLifted("jq: a suffix behind a number")
        if "." in word:
            return Number(word)
        if int(word) > _BEYOND or (len(word) > 1 and word[0] == "0"):
            raise NotLifted(f"jq: the number {word}")
        return Literal(int(word))

    def call(self, name: str) -> Node:
        constants: dict[str, object] = {"null": None, "true": True, "false": False}
        if name in constants:
            return Literal(constants[name])
        if not self.take("("):
            return Call(name)
        arguments = [self.pipe()]
        while self.take(";"):
            arguments.append(self.pipe())
        self.expect(")")
        return Call(name, tuple(arguments))

    def dot(self) -> Node:
        if self.kind == "quote":
            return Index(None, self.string(), self.take("?"))
        if self.take("["):
            return self.bracket(None)
        return Call(".")

    def group(self) -> Node:
        inner = self.pipe()
        self.expect(")")
        return inner

    def array(self) -> Node:
        if self.take("]"):
            return Array(None)
        inner = self.pipe()
        self.expect("]")
        return Array(inner)

    def object(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        if self.take("}"):
            return Object(())
        while True:
            entries.append(self.entry())
            if self.take("}"):
                return Object(tuple(entries))
            self.expect(",")

    def entry(self) -> tuple[Node, Node]:
        kind, word = self.kind, self.word
        key: Node
        if kind == "variable":
            name = self.variable()
            return Literal(name), Variable(name)
        if kind == "quote":
            key = self.string()
        elif self.take("("):
            key = self.group()
            if self.word != ":":
                raise self.unexpected(":")
        elif kind == "name" and word not in _KEYWORDS:
            self.advance()
            key = Literal(word)
            if self.word != ":":
                return key, Index(None, key, False)
        else:
            raise self.unexpected("a key")
        self.expect(":")
        value = self.term()
        while self.take("|"):
            value = Pipe(value, self.term())
        return key, value

    def formatted(self) -> Node:
        name = self.word
        self.advance()
        if name not in ("@json", "@text"):
            raise NotLifted(f"jq: the format `{name}`")
        if self.kind == "quote":
            return self.string(as_json=name == "@json")
        return Call("tojson" if name == "@json" else "tostring")

    def string(self, *, as_json: bool = False) -> Node:
        """A string literal; `at` stands behind its opening quote."""
        parts: list[str | Node] = []
        text = ""
        while True:
            if plain := _PLAIN.match(self.program, self.at):
                text += plain.group()
                self.at = plain.end()
            rest = self.program[self.at : self.at + 2]
            if rest[:1] == '"':
                self.at += 1
                break
            if rest == "\\(":
                inner = _Parser(self.program, self.at + 2)
                node = inner.pipe()
                if inner.word != ")":
                    raise inner.unexpected(")")
                parts += [text, node]
                text, self.at = "", inner.at
                continue
            piece = re.compile(r'\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})').match(self.program, self.at)
            if piece is None:
                raise NotLifted("jq: a string that does not end, or an escape in it that is not understood")
            text += json.loads(f'"{piece.group()}"')
            self.at = piece.end()
        self.advance()
        if not parts:
            return Literal(text)
        return Text((*parts, text), as_json)


_ATOMS: dict[str, Callable[[_Parser], Node]] = {
    ".": _Parser.dot,
    "..": lambda _: Recurse(),
    "(": _Parser.group,
    "[": _Parser.array,
    "{": _Parser.object,
}
