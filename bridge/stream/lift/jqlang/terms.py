"""Terms of the jq language: paths, literals, constructions, calls."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.jqlang.tokens import Tokens
from bridge.stream.lift.jqlang.tree import (
    Array,
    Call,
    Index,
    Iterate,
    Literal,
    Node,
    Number,
    Object,
    Pipe,
    Recurse,
    Slice,
    Text,
    Try,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KEYWORDS", "Terms"]

_PLAIN = re.compile(r'[^"\\]+')
KEYWORDS = frozenset(
    [
        "def",
        "if",
        "then",
        "elif",
        "else",
        "end",
        "as",
        "reduce",
        "foreach",
        "try",
        "catch",
        "label",
        "import",
        "include",
        "and",
        "or",
        "__loc__",
    ]
)
_BEYOND = 2**53


class Terms(Tokens, ABC):
    """Terms: values with suffixes."""

    def __init__(self, program: str, at: int = 0, definitions: dict[str, Node] | None = None) -> None:
        self.definitions = definitions if definitions is not None else {}
        self.bound = 0  # how many variables were seen
        super().__init__(program, at)

    @abstractmethod
    def pipe(self) -> Node:
        """Anything; the whole grammar knows how."""

    def variable(self) -> str:
        """A name with ``$``, without it."""
        if self.kind != "variable" or self.word in ("$ENV", "$__loc__", "$__prog_args"):
            raise self.unexpected("$name")
        name = self.word[1:]
        self.bound += 1
        self.advance()
        return name

    def term(self) -> Node:
        """A value with its suffixes."""
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
        """A number, or another index."""
        minus = self.take("-")
        if self.kind == "number" and self.word.isdigit() and len(self.word) < 10:
            value = int(self.word)
            self.advance()
            return -value if minus else value
        if minus:
            raise NotLifted("jq: unary minus")
        return self.pipe()

    def atom(self) -> Node:
        """A value without suffixes."""
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
            self.bound += 1
            return Variable(word[1:])
        if kind == "name" and word not in KEYWORDS:
            return self.call(word)
        if kind == "sign":
            special = _ATOMS.get(word)
            if special is not None:
                return special(self)
        raise NotLifted(f"jq: {word!r} is not understood here" if word else "jq: the program ends too early")

    def number(self, word: str) -> Node:
        """A number."""
        if self.kind == "field" or self.word in ("[", "."):
            raise NotLifted("jq: a suffix behind a number")
        if "." in word:
            return Number(word)
        if int(word) > _BEYOND or (len(word) > 1 and word[0] == "0"):
            raise NotLifted(f"jq: the number {word}")
        return Literal(int(word))

    def call(self, name: str) -> Node:
        """A built-in, or a constant that looks like one."""
        constants: dict[str, object] = {"null": None, "true": True, "false": False}
        if name in constants:
            return Literal(constants[name])
        if not self.take("("):
            return self.definitions.get(name) or Call(name)
        arguments = [self.pipe()]
        while self.take(";"):
            arguments.append(self.pipe())
        self.expect(")")
        return Call(name, tuple(arguments))

    def dot(self) -> Node:
        """What starts with a dot and is no field."""
        if self.kind == "quote":
            return Index(None, self.string(), self.take("?"))
        if self.take("["):
            return self.bracket(None)
        return Call(".")

    def group(self) -> Node:
        """What stands in parentheses."""
        inner = self.pipe()
        self.expect(")")
        return inner

    def array(self) -> Node:
        """``[…]``."""
        if self.take("]"):
            return Array(None)
        inner = self.pipe()
        self.expect("]")
        return Array(inner)

    def object(self) -> Node:
        """``{…}``."""
        entries: list[tuple[Node, Node]] = []
        if self.take("}"):
            return Object(())
        while True:
            entries.append(self.entry())
            if self.take("}"):
                return Object(tuple(entries))
            self.expect(",")

    def entry(self) -> tuple[Node, Node]:
        """A key and its value."""
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
        elif kind == "name" and word not in KEYWORDS:
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
        """``@json`` and ``@text``, alone or before a string."""
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
                inner = type(self)(self.program, self.at + 2, self.definitions)
                node = inner.pipe()
                self.bound += inner.bound
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


_ATOMS: dict[str, Callable[[Terms], Node]] = {
    ".": Terms.dot,
    "..": lambda _: Recurse(),
    "(": Terms.group,
    "[": Terms.array,
    "{": Terms.object,
}
