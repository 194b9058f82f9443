"""One run of a lifted hook: bytes in, bytes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bridge.stream.lift.body import Exit
from bridge.stream.lift.faults import Doubt
from bridge.stream.lift.jqlang.garbage import odd
from bridge.stream.lift.lines import Block, blocks
from bridge.stream.lift.plain import Frame, echoed
from bridge.stream.lift.shelltree import AndOr, Continue, Jq, Loop, Nothing, Pipeline, Say, Sequence, Test
from bridge.stream.lift.words import Variable, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.stream.lift.body import Run
    from bridge.stream.lift.jqlang.line import JqLine

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
        ended: errexit has ended it.
    """

    loop: Loop
    body: Run
    engines: list[JqLine]
    oracle: Callable[[bytes], Outcome]
    on_error: Callable[[bytes], object]
    errexit: bool
    status: int = 0
    ended: bool = False

    def run(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The output."""
        simple = simple_pair(self.loop)
        rest = blocks(pieces, last=self.loop.last)
        for block in rest:
            if simple is not None and not block.raw:
                yield from self._simple(block, *simple)
            else:
                left = None if simple is not None else rest
                yield from self._ask(block.raw, left) if block.raw else self._lines(block, rest)
            if self.ended:
                return

    def _ask(self, data: bytes, left: Iterator[Block] | None = None, text: str = "") -> Iterator[bytes]:
        """Bash's answer for these lines.

        A failure with errexit on may have ended the hook, or not, when its body has several commands: then
        bash gets all that is `left` (and `text`, before it), too.
        """
        outcome = self.oracle(data)
        if self.errexit and outcome.status:
            self.ended = True
            if left is not None:
                more = b"".join([block.raw or block.text.encode() for block in left])
                outcome = self.oracle(data + text.encode() + more)
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

    def _lines(self, block: Block, rest: Iterator[Block]) -> Iterator[bytes]:
        out: list[str] = []
        name = self.loop.name
        for number, line in enumerate(self._split(block), 1):
            frame = Frame({name: line}, None)
            try:
                self.status = self.body(frame)
            except Exit as end:
                self.status, self.ended = end.status, True
                out += frame.out
            except Doubt:
                if out:
                    yield "".join(out).encode()
                    out = []
                behind = "\n".join(block.text.split("\n")[number:]) if self.errexit else ""
                yield from self._ask(line.encode() + b"\n", rest, behind)
            else:
                out += frame.out
            if self.ended:
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
                status = parse(echoed(line)) if options and line[:1] == "-" else parse(line)
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
                self.ended = True
                break
        if parts:
            printed = "".join(parts)
            parts.clear()
            yield printed.encode()
        self.status = 0 if ignored else status


def simple_pair(loop: Loop) -> tuple[Say, Jq, bool] | None:
    """The echo and the jq, when that is all that the body does with its line, and whether `|| true` follows."""
    line = (Variable(loop.name, True),)
    body, ignored = loop.body, False
    if isinstance(body, Sequence) and len(body.statements) == 2 and body.statements[0] in _blank_guards(line):
        body = body.statements[1]  # of a blank line jq makes nothing, with status 0: as `continue` does
    if isinstance(body, AndOr) and body.word == "||" and body.right == Nothing(0):
        body, ignored = body.left, True
    stages = body.stages if isinstance(body, Pipeline) and not body.ignored else (body,)
    say, jq = stages[0] if len(stages) == 2 else Say(line), stages[-1]
    if not isinstance(jq, Jq) or not isinstance(say, Say) or jq.options.lines or jq.mute or say.word != line:
        return None
    return (say, jq, ignored) if jq.here == (None if len(stages) == 2 else line) else None


def _blank_guards(line: Word) -> tuple[AndOr, AndOr]:
    return AndOr("&&", Test("-z", line), Continue()), AndOr("||", Test("-n", line), Continue())
