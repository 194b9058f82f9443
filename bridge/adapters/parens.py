"""Whether a piece of code is complete, by counting its brackets: one forward pass, no knowledge of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bridge.adapters.model import BalancedParens

__all__ = ["Verdict", "judge"]


class Verdict(NamedTuple):
    """complete or not, how many brackets are open, and why it isn't."""

    complete: bool
    depth: int = 0
    reason: str = ""


def judge(text: str, spec: BalancedParens) -> Verdict:
    """Count the brackets of `text` as `spec` describes them.

    The first rule that fits at a position wins, in this order: character literal, datum comment, line comment,
    block
    comment, string, bracket, atom. Kinds of brackets aren't told apart. A datum comment takes the next datum away,
    which may be a list, a string or an atom; several of them may follow each other.
    """
    return _Pass(text, spec).run()


class _Pass:
    """One run over one text."""

    def __init__(self, text: str, spec: BalancedParens) -> None:
        self.text, self.spec = text, spec
        self.at = self.depth = self.pending = 0
        self.anchors: list[int] = []
        """Depths at which a list began that a datum comment takes away."""

    def run(self) -> Verdict:
        while self.at < len(self.text):
            if broken := self._step():
                return broken
        if self.pending:
            return Verdict(False, self.depth, f"{self.pending} pending datum comment(s): the datum is missing")
        if self.depth:
            return Verdict(False, self.depth, f"expected {self.depth} more closing bracket(s)")
        return Verdict(True)

    def _step(self) -> Verdict | None:
        text, spec, at = self.text, self.spec, self.at
        if self._is(spec.char_literal_prefix):
            self._character(len(spec.char_literal_prefix or ""))
        elif self._is(spec.datum_comment_prefix):
            self.pending += 1
            self.at += len(spec.datum_comment_prefix or "")
        elif self._is(spec.line_comment):
            while self.at < len(text) and text[self.at] not in "\r\n":
                self.at += 1
        elif len(spec.block_comment) == 2 and self._is(spec.block_comment[0]):
            opener, closer = spec.block_comment
            end = text.find(closer, at + len(opener))
            if end < 0:
                return Verdict(False, self.depth, f"the comment at {at} is not closed: expected {closer}")
            self.at = end + len(closer)
        elif text[at] in spec.string_delims:
            return self._string()
        elif text[at] in spec.open:
            if self.pending:
                self.anchors.append(self.depth)
                self.pending -= 1
            self.depth += 1
            self.at += 1
        elif text[at] in spec.close:
            self.depth -= 1
            self.at += 1
            if self.depth < 0:
                return Verdict(False, self.depth, f"unexpected {text[at]!r} at {at}")
            if self.anchors and self.anchors[-1] == self.depth:
                self.anchors.pop()
        else:
            self._other()
        return None

    def _is(self, prefix: str | None) -> bool:
        return bool(prefix) and self.text.startswith(prefix or "", self.at)

    def _character(self, prefix: int) -> None:
        """A prefix, one character of any kind, and the rest of a name such as ``#\\space``."""
        self.at += prefix + 1
        while self.at < len(self.text) and not self._ends_name(self.text[self.at]):
            self.at += 1

    def _ends_name(self, char: str) -> bool:
        return char.isspace() or char in self.spec.open or char in self.spec.close

    def _string(self) -> Verdict | None:
        start, delimiter = self.at, self.text[self.at]
        self.pending -= bool(self.pending)
        self.at += 1
        while self.at < len(self.text):
            if self._is(self.spec.escape):
                self.at += len(self.spec.escape or "") + 1
            elif self.text[self.at] == delimiter:
                self.at += 1
                return None
            else:
                self.at += 1
        return Verdict(False, self.depth, f"the string at {start} is not closed: expected {delimiter}")

    def _other(self) -> None:
        if self.pending and not self.anchors and not self.text[self.at].isspace():
            while self.at < len(self.text) and not (
                self._ends_name(self.text[self.at]) or self.text[self.at] in self.spec.string_delims
            ):
                self.at += 1
            self.pending -= 1
        else:
            self.at += 1
