"""One run of a pipeline over a whole input.

Where something is in doubt, bash runs the hook: on the whole file, of whose output the part that was given
out already is dropped; or, for a pipe, on the line in doubt, or on all that is left when lines hang together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.stream.lift.faults import Doubt
from bridge.stream.lift.lines import Block, blocks
from bridge.stream.lift.stages import JqStage, ToolStage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.stream.lift.jqlang.line import JqLine
    from bridge.stream.lift.running import Outcome
    from bridge.stream.lift.stages import Stage

__all__ = ["FlowRun", "local"]


@dataclass(slots=True)
class FlowRun:
    """A pipeline while it runs.

    Attributes:
        stages: its commands.
        engines: the jqs in them.
        oracle, on_error: as in :class:`LoopRun`.
        whole: reads the whole input again, where it is a file.
        pipefail: the option of the shell.
        status: exit status so far.
    """

    stages: list[Stage]
    engines: list[JqLine]
    oracle: Callable[[bytes], Outcome]
    on_error: Callable[[bytes], object]
    whole: Callable[[], bytes] | None
    pipefail: bool
    status: int = 0

    @property
    def greps(self) -> bool:
        """There is a grep: it looks at whole buffers to tell whether its input is text."""
        return any(isinstance(stage, ToolStage) and stage.work.finds for stage in self.stages)

    def run(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The output."""
        given = 0
        rest = blocks(pieces, nul=True)
        try:
            for block in rest:
                for out in self._block(block, rest):
                    given += len(out)
                    yield out
                if any(stage.done for stage in self.stages):
                    break
            out = self._through([], finish=True).encode()
        except Doubt:
            if self.whole is None:
                return  # _block has handed over everything
            yield from self._ask(self.whole(), given)
            return
        if out:
            yield out
        self._conclude()

    def _block(self, block: Block, rest: Iterator[Block]) -> Iterator[bytes]:
        if block.raw or "\0" in block.text or (block.open and not isinstance(self.stages[0], JqStage)):
            if self.whole is not None:
                raise Doubt
            yield from self._hand_over([block.raw or block.text.encode()], rest)
            raise Doubt
        for engine in self.engines:
            engine.writer.source = block.text
        lines = block.text.split("\n")
        if not lines[-1]:
            lines.pop()
        if self.whole is not None:
            if out := self._through(lines):
                yield out.encode()
            return
        for number, line in enumerate(lines):
            try:
                out = self._through([line])
            except Doubt:
                if any(isinstance(stage, JqStage) and stage.engine.broken for stage in self.stages):
                    left = "\n".join(lines[number:]) + ("" if block.open else "\n")
                    yield from self._hand_over([left.encode()], rest)
                    raise
                yield from self._ask(line.encode() + b"\n")
                self._adopt(self.status)
            else:
                if out:
                    yield out.encode()

    def _through(self, lines: list[str], *, finish: bool = False) -> str:
        text = ""
        for number, stage in enumerate(self.stages):
            if number:
                lines = text.split("\n")
                if lines.pop():
                    raise Doubt  # a line that has no end yet
            text = stage.feed(lines)
            if finish:
                text += stage.finish()
        return text

    def _adopt(self, status: int) -> None:
        """The status of bash for one line is that of the jq which was in doubt."""
        for stage in self.stages:
            if isinstance(stage, JqStage):
                stage.engine.parts.clear()
                stage.status = status

    def _hand_over(self, data: list[bytes], rest: Iterator[Block]) -> Iterator[bytes]:
        data += [block.raw or block.text.encode() for block in rest]
        yield from self._ask(b"".join(data))

    def _ask(self, data: bytes, given: int = 0) -> Iterator[bytes]:
        outcome = self.oracle(data)
        self.status = outcome.status
        if outcome.stderr:
            self.on_error(outcome.stderr)
        if outcome.stdout[given:]:
            yield outcome.stdout[given:]

    def _conclude(self) -> None:
        self.status = self.stages[-1].status
        if self.pipefail:
            failed = [stage.status for stage in self.stages if stage.status]
            self.status = failed[-1] if failed else 0


def local(stages: list[Stage]) -> bool:
    """Whether each line goes through alone, so that bash can be asked about one line of a pipe."""
    tools = [stage.work for stage in stages if isinstance(stage, ToolStage)]
    return all(work.first is None and work.last is None and not work.joined for work in tools)
