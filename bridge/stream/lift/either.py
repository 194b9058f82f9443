"""``loop | grep -a '' || loop``: the second loop speaks only where the first had nothing to say.

bash can only be asked about the hook as a whole. Asked about a line of the first loop, it would answer with
the second loop where the first is silent; so it is given a witness as well, a line of which the first loop's
words are certain, and these are taken off its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.lines import blocks
from bridge.stream.lift.running import LoopRun, Outcome, simple_pair
from bridge.stream.lift.shelltree import AndOr, Loop, Pipeline, Present, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["EitherRun", "either"]


class _NoWitnessError(Exception):
    """The first loop is certain of no line at all."""


def either(statement: Statement) -> tuple[Loop, Loop] | None:
    """The two loops, when it is of this form: both read the same file, and print whole lines.

    Raises:
        NotLifted: it nearly is.
    """
    if not isinstance(statement, AndOr) or statement.word != "||" or not isinstance(statement.right, Loop):
        return None
    left, second = statement.left, statement.right
    if not isinstance(left, Pipeline) or len(left.stages) != 2 or left.stages[1] != Present():
        return None
    first = left.stages[0]
    if not isinstance(first, Loop) or first.file is None or first.file != second.file:
        raise NotLifted("two loops that don't read the same file")
    for loop in (first, second):
        pair = simple_pair(loop)
        if pair is None or pair[1].options.join:
            raise NotLifted("two loops that do more than to put each line through jq -r")
    return first, second


class EitherRun:
    """One run; `status` is that of whichever loop spoke last.

    Args:
        start: makes the run of a loop, given the function that asks bash.
        loops: the two.
        content: opens the input anew.
        oracle: asks bash about the hook as a whole.
    """

    def __init__(
        self,
        start: Callable[[Loop, Callable[[bytes], Outcome]], LoopRun],
        loops: tuple[Loop, Loop],
        content: Callable[[], Iterable[bytes]],
        oracle: Callable[[bytes], Outcome],
    ) -> None:
        self._start = start
        self._loops = loops
        self._content = content
        self._oracle = oracle
        self._witness: tuple[bytes, bytes] | None = None
        self.status = 0

    def run(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The output."""
        spoke = False
        try:
            for printed in self._start(self._loops[0], self._first).run(pieces):
                spoke = True
                yield printed
        except _NoWitnessError:
            outcome = self._oracle(b"".join(self._content()))
            self.status = outcome.status
            if outcome.stdout:
                yield outcome.stdout
            return
        if not spoke:
            # Nothing of what bash could be asked about has made the first loop speak.
            second = self._start(self._loops[1], self._oracle)
            yield from second.run(self._content())
            self.status = second.status

    def _first(self, data: bytes) -> Outcome:
        """What the first loop makes of these bytes."""
        if self._witness is None:
            self._witness = self._certain()
        line, words = self._witness
        answer = self._oracle(line + data)
        return answer._replace(stdout=answer.stdout.removeprefix(words), status=0)

    def _certain(self) -> tuple[bytes, bytes]:
        """A line of the input, and what the first loop surely prints for it."""

        def refuse(_: bytes) -> Outcome:
            raise Doubt

        for block in blocks(self._content()):
            for text in () if block.raw else block.text.split("\n"):
                line = text.encode() + b"\n"
                try:
                    words = b"".join(self._start(self._loops[0], refuse).run([line]))
                except Doubt:
                    continue
                if words:
                    return line, words
        raise _NoWitnessError
