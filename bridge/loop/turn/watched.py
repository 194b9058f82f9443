"""A CLI's program as it prints, until it ends or is ended: it has answered and stays, is silent, out of time."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from bridge.base.process.table import Rest
from bridge.errors import ProgramTimeout
from bridge.loop.turn.ending import EndWatch, Over, is_whole, rest_of
from bridge.loop.turn.tool import TurnResult

if TYPE_CHECKING:
    from collections.abc import Generator

    from bridge.base.process.program import Program
    from bridge.loop.turn.tool import TurnSettings
    from bridge.scripts.stream.analysis import Analyzer


class Watched:
    """One run of a program.

    Args:
        program: as it runs.
        analyzer: is fed what :meth:`lines` gives, by whoever reads that.
        settings: of the turn: how long it may stay once it has answered, how long it may be silent.
        every: the longest time, in seconds, between two looks; None: as those settings want it.

    Attributes:
        began: when, by ``time.monotonic``.
        completed: the line that was given last has a newline that the program hasn't printed yet.
    """

    def __init__(
        self, program: Program, analyzer: Analyzer, settings: TurnSettings, *, every: float = float("inf")
    ) -> None:
        self.began = time.monotonic()
        self.completed = False
        self._program, self._analyzer = program, analyzer
        grace = settings.graces.answered
        rest = rest_of(grace, program.timeout)
        self._watch = EndWatch(self.began, grace=grace, silence=settings.max_silence, rest=rest)
        self._rest = Rest(program.pid)
        self._every = max(min(every, self._watch.tick), 0.01)
        self._over: Over | None = None
        self._timed_out = False
        self._in_time: bool | None = None
        """It had answered when its time was up: half an answer that it tells at TERM looks like a whole one."""

    def lines(self) -> Generator[bytes, None, None]:
        """Give the lines that it prints, and an empty one behind each look at it."""
        with closing(self._program.lines(self._every)) as lines:
            try:
                for line in lines:
                    yield from self._taken(line)
                    if (over := self._ended_by(time.monotonic())) is not None:
                        self._over = over
                        self._program.end(interrupt=over is not Over.ANSWERED)
                        if over is Over.ANSWERED:  # what it says of being ended is no part of its answer
                            return
                    yield b""
            except ProgramTimeout:
                self._timed_out = not (self._analyzer.answered() if self._in_time is None else self._in_time)
                self._over = self._over if self._timed_out else Over.ANSWERED

    def _ended_by(self, now: float) -> Over | None:
        return self._watch.over(now, self._analyzer.answered, self._at_rest)

    def _at_rest(self) -> bool:
        return not self._analyzer.prints_events and self._rest.look()

    def _taken(self, line: bytes) -> Generator[bytes, None, None]:
        if self._program.out_of_time and self._in_time is None:
            self._in_time = self._analyzer.answered()
        if not line and is_whole(rest := self._program.unfinished()):  # a result without a newline behind it
            self._program.taken()
            line, self.completed = rest + b"\n", True
        if line:
            yield line
            self.completed = False
            self._watch.printed(time.monotonic(), self._analyzer.closings)
            if not self._analyzer.prints_events:
                self._rest.printed()

    def result(self, **more: Any) -> TurnResult:
        """Say what came of it, once it has ended; `more` as for :class:`TurnResult`."""
        assert self._program.status is not None
        answered, silent = self._over is Over.ANSWERED, self._over is Over.SILENT
        status = int(self._analyzer.reports_failure()) if answered else self._program.status
        return TurnResult(status, self._analyzer, timed_out=self._timed_out or silent, mute=silent, **more)
