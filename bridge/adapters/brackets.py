"""Whether a piece of code is complete, by counting its brackets: one forward pass, no knowledge of the language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.payload import first_line
from bridge.errors import IncompleteInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.adapters.model import AdapterFile, BalancedParens


_PREFIX = re.compile(r"['`,@#]+")
"""What may stand before a datum and belongs to it."""


class Balance(NamedTuple):
    complete: bool
    depth: int = 0
    reason: str = ""


def refuse_incomplete(adapter: AdapterFile, command: str) -> None:
    """``multiline_detect: balanced_parens``: raise IncompleteInput when brackets or strings are open."""
    if adapter.input.multiline_detect != "balanced_parens":
        return
    balance = balance_of(command, adapter.input.balanced_parens)
    if not balance.complete:
        raise IncompleteInput(
            f"incomplete input: {balance.reason}; nothing was sent to {adapter.name}\n"
            f"  command: {first_line(command)}\n  next: complete the command"
        )


def balance_of(text: str, syntax: BalancedParens) -> Balance:
    """Count the brackets of `text`.

    The first rule that fits at a position wins, in this order: character literal, datum comment, line comment,
    block comment, string, bracket, atom. Kinds of brackets aren't told apart. A datum comment takes the
    next datum of its own list away, which may be a list (with datum comments of its own), a string, a character or
    an atom; several of them may follow each other. What quotes a datum (``'``, ``#``, ``,@``) is none.
    """
    return _Scan(text, syntax).run()


class _Scan:
    """One pass over one text. A step returns a balance when the text can't be completed any more."""

    def __init__(self, text: str, syntax: BalancedParens) -> None:
        self.text, self.syntax = text, syntax
        self.at = self.depth = 0
        self.pending = [0]
        """Datum comments that wait for their datum, in each list that is open."""

    def run(self) -> Balance:
        while self.at < len(self.text):
            if broken := self._comment_or_literal() if self._at_prefix() else self._code():
                return broken
        if self.depth:
            return Balance(False, self.depth, f"expected {self.depth} more closing bracket(s)")
        if self.pending[0]:
            return self._no_datum()
        return Balance(True)

    def _at_prefix(self) -> bool:
        syntax = self.syntax
        prefixes = (syntax.char_literal_prefix, syntax.datum_comment_prefix, syntax.line_comment)
        return any(map(self._is, prefixes)) or self._at_block_comment()

    def _at_block_comment(self) -> bool:
        return len(self.syntax.block_comment) == 2 and self._is(self.syntax.block_comment[0])

    def _is(self, prefix: str | None) -> bool:
        return bool(prefix) and self.text.startswith(prefix or "", self.at)

    def _comment_or_literal(self) -> Balance | None:
        text, syntax, at = self.text, self.syntax, self.at
        if self._is(syntax.char_literal_prefix):
            # The prefix, one character of any kind, and the rest of a name such as ``#\space``.
            self.at += len(syntax.char_literal_prefix or "")
            named = text[self.at : self.at + 1].isalnum()
            self.at += 1
            if named:
                self._skip_until(lambda char: not (char.isalnum() or char in "-_+"))
            self._take_datum()
        elif self._is(syntax.datum_comment_prefix):
            self.pending[-1] += 1
            self.at += len(syntax.datum_comment_prefix or "")
        elif self._is(syntax.line_comment):
            self._skip_until(lambda char: char in "\r\n")
        else:
            opener, closer = syntax.block_comment
            end = text.find(closer, at + len(opener))
            if end < 0:
                return Balance(False, self.depth, f"the comment at {at} is not closed: expected {closer}")
            self.at = end + len(closer)
        return None

    def _code(self) -> Balance | None:
        char, syntax = self.text[self.at], self.syntax
        if char in syntax.string_delims:
            return self._string()
        if char in syntax.open:
            self.pending.append(0)
            self.depth += 1
            self.at += 1
        elif char in syntax.close:
            self.depth -= 1
            self.at += 1
            if self.depth < 0:
                return Balance(False, self.depth, f"unexpected {char!r} at {self.at - 1}")
            if self.pending[-1]:
                return self._no_datum()
            self.pending.pop()
            self._take_datum()
        elif self.pending[-1] and not char.isspace():
            start = self.at
            self._skip_until(lambda each: self._ends_name(each) or each in syntax.string_delims)
            if not _PREFIX.fullmatch(self.text[start : self.at]):
                self._take_datum()
        else:
            self.at += 1
        return None

    def _take_datum(self) -> None:
        """A datum is complete: a datum comment before it has what it waits for."""
        self.pending[-1] -= bool(self.pending[-1])

    def _no_datum(self) -> Balance:
        return Balance(False, self.depth, f"{self.pending[-1]} pending datum comment(s): the datum is missing")

    def _ends_name(self, char: str) -> bool:
        return char.isspace() or char in self.syntax.open or char in self.syntax.close

    def _skip_until(self, ends: Callable[[str], bool]) -> None:
        while self.at < len(self.text) and not ends(self.text[self.at]):
            self.at += 1

    def _string(self) -> Balance | None:
        start, delimiter = self.at, self.text[self.at]
        self._take_datum()
        self.at += 1
        while self.at < len(self.text):
            if self._is(self.syntax.escape):
                self.at += len(self.syntax.escape or "") + 1
            elif self.text[self.at] == delimiter:
                self.at += 1
                return None
            else:
                self.at += 1
        return Balance(False, self.depth, f"the string at {start} is not closed: expected {delimiter}")
