"""The syntax of jq: a program as a tree. What it means is told by `reading`; what it does, by jq itself.

A node is a tuple that begins with what it is: ``("field", term, "text")``.
"""

from __future__ import annotations

import json
import re
from typing import Any

Node = tuple[Any, ...]

_TOKEN = re.compile(
    r"""(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<field>\.[A-Za-z_]\w*)
    | (?P<variable>\$\w+(?:::\w+)*)
    | (?P<format>@\w+)
    | (?P<word>[A-Za-z_]\w*(?:::\w+)*)
    | (?P<string>")
    | (?P<sign>\?//|\|=|\+=|-=|\*=|//=|/=|%=|==|!=|<=|>=|//|\.\.|[-.|,+*/%=<>()\[\]{}:;?])
    """,
    re.VERBOSE,
)
_BLANK = re.compile(r"(?:\s+|#[^\n]*)*")
_PLAIN = re.compile(r'(?:[^"\\]|\\[^(])*')
_STRENGTH = {"|": 1, ",": 2, "//": 3, "or": 5, "and": 6, "+": 8, "-": 8, "*": 9, "/": 9, "%": 9}
_STRENGTH |= dict.fromkeys(("=", "|=", "+=", "-=", "*=", "/=", "//=", "%="), 4)
_STRENGTH |= dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 7)
_FROM_THE_RIGHT = ("|", "//")


class NotRead(ValueError):
    """This is no jq program, or one with a construct that isn't known here."""


def parsed(program: str) -> Node:
    """The tree of a program.

    Raises:
        NotRead: see there.
    """
    parser = _Parser(program)
    try:
        tree = parser.expression()
    except RecursionError as error:
        raise NotRead("nested too deeply") from error
    if parser.peek():
        raise NotRead(f"{parser.peek()!r} is not expected here")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    # -- tokens --------------------------------------------------------------------------------------

    def _token(self) -> tuple[str, str]:
        self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            if self._at < len(self._text):
                raise NotRead(f"{self._text[self._at]!r} is no token")
            return "", ""
        return str(found.lastgroup), found[0]

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self._token()[1]

    def _next(self) -> tuple[str, str]:
        kind, word = self._token()
        self._at += len(word)
        return kind, word

    def _taken(self, *words: str) -> bool:
        if self.peek() in words:
            self._next()
            return True
        return False

    def _expect(self, *words: str) -> None:
        kind, word = self._next()
        if word not in words or kind == "string":
            raise NotRead(f"{word!r} where {' or '.join(words)} is expected")

    # -- expressions ---------------------------------------------------------------------------------

    def expression(self, least: int = 1) -> Node:
        """One expression whose operators bind as strongly as `least`, or more so."""
        if self._taken("def"):
            name, parameters, body = self._definition()
            return ("def", name, parameters, body, self.expression())
        left = self._postfix()
        while (strength := _STRENGTH.get(self.peek(), 0)) >= least:
            sign = self._next()[1]
            left = ("binary", sign, left, self.expression(strength + (sign not in _FROM_THE_RIGHT)))
        return left

    def _definition(self) -> tuple[str, list[str], Node]:
        name = self._next()[1]
        parameters = []
        if self._taken("("):
            parameters.append(self._next()[1])
            while self._taken(";"):
                parameters.append(self._next()[1])
            self._expect(")")
        self._expect(":")
        body = self.expression()
        self._expect(";")
        return name, parameters, body

    def _postfix(self) -> Node:
        term = self._term()
        while True:
            kind, word = self._token()
            if kind == "field":
                self._next()
                term = ("field", term, word[1:])
            elif word == ".":
                self._next()
                if self.peek() == '"':
                    term = ("index", term, self._string())
            elif word == "[":
                term = self._indexed(term)
            elif word == "?":
                self._next()
            elif word == "as":
                self._next()
                patterns = self._patterns()
                self._expect("|")
                return ("as", term, patterns, self.expression())
            else:
                return term

    def _indexed(self, term: Node) -> Node:
        self._expect("[")
        if self._taken("]"):
            return ("each", term)
        if self._taken(":"):
            self.expression()
            self._expect("]")
            return ("slice", term)
        index = self.expression()
        if self._taken(":"):
            if self.peek() != "]":
                self.expression()
            self._expect("]")
            return ("slice", term)
        self._expect("]")
        return ("index", term, index)

    def _term(self) -> Node:
        kind, word = self._token()
        if kind == "string":
            return self._string()
        self._next()
        if kind == "word":
            return self._worded(word)
        if kind == "field":
            return ("field", ("identity",), word[1:])
        if kind == "number":
            return ("literal", json.loads(word) if word[0].isdigit() and word[-1] != "." else float(word))
        if kind == "variable":
            return ("variable", word)
        if kind == "format":
            return self._string() if self.peek() == '"' else ("call", word, [])
        return self._signed(word)

    def _signed(self, sign: str) -> Node:
        if sign == ".":
            return ("index", ("identity",), self._string()) if self.peek() == '"' else ("identity",)
        if sign == "..":
            return ("call", "recurse", [])
        if sign == "-":
            return ("call", "length", [self._postfix()])  # a number, whatever it is
        if sign == "(":
            inside = self.expression()
            self._expect(")")
            return inside
        if sign == "[":
            inside = ("call", "empty", []) if self.peek() == "]" else self.expression()
            self._expect("]")
            return ("array", inside)
        if sign == "{":
            return ("object", self._entries())
        raise NotRead(f"{sign!r} begins nothing")

    def _worded(self, word: str) -> Node:
        if word in ("null", "true", "false"):
            return ("literal", json.loads(word))
        if word in ("if", "elif"):
            return self._if()
        if word == "try":
            body = self._postfix()
            return ("binary", ",", body, self._postfix()) if self._taken("catch") else body
        if word in ("reduce", "foreach"):
            source = self._term_with_suffix()
            self._expect("as")
            patterns = self._patterns()
            steps = self._arguments()
            return ("loop", source, patterns, steps)
        if word == "label":
            self._next()
            self._expect("|")
            return self.expression()
        if word == "break":
            self._next()
            return ("call", "empty", [])
        if word in ("then", "else", "end", "as", "catch", "and", "or", "import", "include"):
            raise NotRead(f"{word!r} begins nothing")
        return ("call", word, self._arguments() if self.peek() == "(" else [])

    def _term_with_suffix(self) -> Node:
        term = self._term()
        while self._token()[1] != "as":
            kind, word = self._token()
            if kind == "field":
                self._next()
                term = ("field", term, word[1:])
            elif word == "[":
                term = self._indexed(term)
            elif word in ("?", "."):
                self._next()
            else:
                raise NotRead(f"{word!r} where as is expected")
        return term

    def _arguments(self) -> list[Node]:
        self._expect("(")
        found = [self.expression()]
        while self._taken(";"):
            found.append(self.expression())
        self._expect(")")
        return found

    def _if(self) -> Node:
        condition = self.expression()
        self._expect("then")
        then = self.expression()
        word = self._next()[1]
        if word == "elif":
            return ("if", condition, then, self._if())
        otherwise: Node = ("identity",)
        if word == "else":
            otherwise = self.expression()
            word = self._next()[1]
        if word != "end":
            raise NotRead(f"{word!r} where end is expected")
        return ("if", condition, then, otherwise)

    def _patterns(self) -> list[Node]:
        found = [self._pattern()]
        while self._taken("?//"):
            found.append(self._pattern())
        return found

    def _pattern(self) -> Node:
        """Names and where they come from: ``("names", {name: path})``, a path as a tuple of keys and numbers."""
        names: dict[str, tuple[str, ...]] = {}
        kind, word = self._next()
        if kind == "variable":
            names[word] = ()
        elif word == "[":
            number = 0
            while not self._taken("]"):
                names |= {n: (f"[{number}]", *path) for n, path in self._pattern()[1].items()}
                number += self._taken(",") or 1
        elif word == "{":
            while not self._taken("}"):
                kind, key = self._token()
                key = self._string()[-1] if kind == "string" else self._next()[1]
                if kind == "variable":
                    names[key] = (key[1:],)
                if self._taken(":"):
                    names |= {n: (key.lstrip("$"), *path) for n, path in self._pattern()[1].items()}
                self._taken(",")
        else:
            raise NotRead(f"{word!r} is no pattern")
        return ("names", names)

    def _entries(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        while not self._taken("}"):
            kind, key = self._token()
            if kind == "string":
                text = self._string()
                key = text[-1] if text[0] == "literal" else "?"
                short: Node = ("field", ("identity",), key)
            elif key == "(":
                self._next()
                self.expression()
                self._expect(")")
                key, short = "?", ("identity",)
            else:
                self._next()
                short = ("variable", key) if kind == "variable" else ("field", ("identity",), key)
                key = key.lstrip("$")
            found[key] = short
            if self._taken(":"):
                found[key] = self._value()
            if not self._taken(",") and self.peek() != "}":
                raise NotRead("an object that does not end")
        return found

    def _value(self) -> Node:
        value = self.expression(3)
        while self._taken("|"):
            value = ("binary", "|", value, self.expression(3))
        return value

    def _string(self) -> Node:
        self._expect_quote()
        pieces: list[Node] = []
        while True:
            plain = _PLAIN.match(self._text, self._at)
            assert plain is not None
            self._at = plain.end()
            if plain[0]:
                pieces.append(("literal", _unescaped(plain[0])))
            if self._text.startswith('"', self._at):
                self._at += 1
                break
            if not self._text.startswith("\\(", self._at):
                raise NotRead("a string that does not end")
            self._at += 2
            pieces.append(self.expression())
            self._expect(")")
        if all(piece[0] == "literal" for piece in pieces):
            return ("literal", "".join(piece[1] for piece in pieces))
        return ("text", pieces)

    def _expect_quote(self) -> None:
        if self._token()[0] != "string":
            raise NotRead("a string is expected")
        self._at += 1


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError as error:
        raise NotRead(f"{text!r} is no text") from error
