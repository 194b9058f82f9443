"""One run of a lifted hook: bytes in, bytes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from bridge.stream.lift.body import Body, echoed
from bridge.stream.lift.faults import Doubt
from bridge.stream.lift.jqline import JqLine, odd
from bridge.stream.lift.lines import Block, blocks
from bridge.stream.lift.shelltree import Jq, Loop, Pipeline, Say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.stream.lift.body import Run

__all__ = ["LoopRun", "Outcome"]


class Outcome(NamedTuple):
    """What bash made of some input."""

    stdout: bytes
    status: int = 0
    stderr: bytes = b""


@dataclass(slots=True)
class LoopRun:
    """A loop over the lines of its input, while it runs.

    Attributes:
        loop: what is run.
        body: its body, compiled.
        engines: the jqs in it.
        oracle: the same hook, run by bash on the bytes that it is given.
        on_error: takes what goes to stderr.
        errexit: the option is on: the first line that fails ends it.
        status: exit status so far.
    """

    loop: Loop
    body: Run
    engines: list[JqLine]
    oracle: Callable[[bytes], Outcome]
    on_error: Callable[[bytes], object]
    errexit: bool
    status: int = 0
    _asked: list[bytes] = field(default_factory=list)

    def run(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The output."""
        simple = simple_pair(self.loop)
        ended = False
        for block in blocks(pieces):
            if block.raw:
                yield from self._ask(block.raw)
            elif simple is None:
                yield from self._lines(block)
            else:
                yield from self._simple(block, *simple)
            ended = self.errexit and self.status != 0
            if ended:
                return

    def _ask(self, data: bytes) -> Iterator[bytes]:
        outcome = self.oracle(data)
        self.status = outcome.status
        if outcome.stderr:
            self.on_error(outcome.stderr)
        if outcome.stdout:
            yield outcome.stdout

    def _split(self, block: Block) -> list[str]:
        for engine in self.engines:
            engine.writer.source = block.text
        lines = block.text.split("\n")
        last = lines.pop()
        if last and self.loop.last:
            lines.append(last)
        return [line.strip(" \t") for line in lines] if self.loop.strip else lines

    def _lines(self, block: Block) -> Iterator[bytes]:
        out: list[str] = []
        name = self.loop.name
        for line in self._split(block):
            printed: list[str] = []
            try:
                self.status = self.body({name: line}, None, printed)
            except Doubt:
                if out:
                    yield "".join(out).encode()
                    out = []
                yield from self._ask(line.encode() + b"\n")
            else:
                out += printed
            if self.errexit and self.status:
                break
        if out:
            yield "".join(out).encode()

    def _simple(self, block: Block, say: Say, jq: Jq, ignored: bool) -> Iterator[bytes]:
        """The hot path: a line, to one jq."""
        engine = self.engines[0]
        parts, parse = engine.parts, engine.line
        text = block.text
        check = "\x1e" in text or "\\ud" in text or "\\uD" in text
        needle = engine.needle if ignored and jq.quiet else ""
        if needle and needle not in text and "\\u" not in text:
            return
        options, loud = say.options, not jq.quiet
        status = self.status
        if ignored:
            engine.not_json = 0
        for line in self._split(block):
            if needle and needle not in line and "\\u" not in line:
                continue
            mark = len(parts)
            try:
                if check and odd(line):
                    raise Doubt
                if options and line[:1] == "-":
                    status = parse(echoed(line))
                else:
                    status = parse(line)
                if loud and engine.failed:
                    del parts[mark:]
                    raise Doubt
            except Doubt:
                if parts:
                    printed = "".join(parts)
                    parts.clear()
                    yield printed.encode()
                yield from self._ask(line.encode() + b"\n")
                status = self.status
            if status and self.errexit and not ignored:
                self.status = status
                break
        if parts:
            printed = "".join(parts)
            parts.clear()
            yield printed.encode()
        self.status = 0 if ignored else status


def simple_pair(loop: Loop) -> tuple[Say, Jq, bool] | None:
    """The echo and the jq, when that is all that the body does with its line."""
    from bridge.stream.lift.shelltree import AndOr, Nothing
    from bridge.stream.lift.words import Variable

    body, ignored = loop.body, False
    if isinstance(body, AndOr) and body.word == "||" and body.right == Nothing(0):
        body, ignored = body.left, True
    if isinstance(body, Pipeline) and len(body.stages) == 1 and body.ignored:
        return None
    line = (Variable(loop.name, True),)
    if isinstance(body, Jq) and body.here == line:
        return Say(line), body, ignored
    if isinstance(body, Pipeline) and len(body.stages) == 2:
        say, jq = body.stages
        if isinstance(say, Say) and isinstance(jq, Jq) and say.word == line and jq.here is None:
            return say, jq, ignored
    return None
