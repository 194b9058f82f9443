"""The words of a jq program."""

from __future__ import annotations

import re

from bridge.stream.lift.faults import NotLifted

__all__ = ["Tokens"]

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


class Tokens:
    """A program, read word by word.

    Attributes:
        at: position behind the word at hand.
        kind: what the word is: "field", "number", "name", "variable", "format", "quote", "sign", "end".
        word: the word.
    """

    def __init__(self, program: str, at: int = 0) -> None:
        self.program = program
        self.at = at
        self.kind = ""
        self.word = ""
        self.advance()

    def advance(self) -> None:
        """On to the next word."""
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
        """On to the next word, if this is the one that is wanted."""
        if self.word == word and self.kind in ("sign", "name"):
            self.advance()
            return True
        return False

    def expect(self, word: str) -> None:
        """On to the next word; refuses any but the one that is wanted."""
        if not self.take(word):
            raise self.unexpected(word)

    def unexpected(self, wanted: str = "") -> NotLifted:
        """What to raise at this word."""
        said = "the end" if self.kind == "end" else repr(self.word)
        return NotLifted(
            f"jq: {said} where {wanted!r} was expected" if wanted else f"jq: {said} is not understood here"
        )
