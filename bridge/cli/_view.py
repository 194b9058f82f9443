"""The live view of a run: on a terminal, a few lines that stay at its bottom; elsewhere plain lines."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self, TextIO

from bridge.base.wording import duration, tame
from bridge.cli._flow import Flow, Row, cut, erase, flows, rows_to_write, terminal_width
from bridge.cli._terminal import Style, steer
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    OutputText,
    ReviewEnded,
    ReviewStarted,
    ReviewTurnEnded,
    ReviewTurnStarted,
    RunProgress,
    Waiting,
)
from bridge.loop.engine.logs import shown_text
from bridge.loop.turn.progress import last_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.cli._render import Renderer
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.state import LoopState


_TICK = 0.25  # seconds between two looks of the lines' clocks
_MOST = 4096  # of the agent's text: its last sentence is shown


@contextmanager
def view(
    renderer: Renderer, *, calls_per_hour: int | None, max_iterations: int | None, quiet: bool
) -> Iterator[tuple[Callable[[LoopEvent], None], Callable[[BaseException], None]]]:
    """What shows the events of a loop, and its last line when a signal ends it.

    If `quiet`, or not on a terminal, or where calls aren't counted (None), that is the renderer alone.
    """
    if quiet or calls_per_hour is None or not flows(sys.stderr):
        yield renderer.show, renderer.interrupted
        return
    text_here = sys.stdout.isatty()
    bottom = Bottom(calls_per_hour, max_iterations, text_above=text_here)
    screen = Screen(sys.stderr, bottom.lines)

    def show(event: LoopEvent) -> None:
        bottom.take(event)
        if isinstance(event, OutputText) and text_here:
            screen.write(event.text)
        elif isinstance(event, RunProgress) or (isinstance(event, Waiting) and not event.first):
            screen.refresh()
        else:
            with screen.above():
                renderer.show(event)

    def interrupted(error: BaseException) -> None:
        with screen.above():
            renderer.interrupted(error)

    with screen:
        yield show, interrupted


class Screen:
    """The end of a terminal: the open row of the agent's text, and lines below it that stay there.
    If the terminal is gone, nothing is shown, and the loop goes on.
    """

    def __init__(self, stream: TextIO, lines: Callable[[], list[str]]) -> None:
        self._stream = stream
        self._lines = lines
        self._style = Style(stream)
        self._flow = Flow(colours=not os.environ.get("NO_COLOR"))
        self._shown: list[str] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self.refresh()
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._clock.join()
        with self.above():
            pass
        self._out(self._erased())

    def write(self, text: str) -> None:
        with self._lock:
            rows = self._flow.add(text, terminal_width(self._stream))
            self._out(self._erased() + rows_to_write(rows) + self._drawn())

    def refresh(self) -> None:
        with self._lock:
            self._out(self._erased() + self._drawn())

    @contextmanager
    def above(self) -> Iterator[None]:
        """End the open row, and have the lines out of the way while the block writes."""
        with self._lock:
            erased, row = self._erased(), self._flow.end()
            self._out(erased + (rows_to_write([Row(row)]) if row else ""))
            try:
                yield
            finally:
                self._out(self._drawn())

    def _tick(self) -> None:
        while not self._over.wait(_TICK):
            self.refresh()

    def _erased(self) -> str:
        shown, self._shown = self._shown, []
        return erase(shown, terminal_width(self._stream)) if shown else ""

    def _drawn(self) -> str:
        """The open row, and the lines with the cursor behind them."""
        # A line that fills its row leaves in doubt where the cursor is.
        width = terminal_width(self._stream) - 1
        lines = [cut(_tame(line), width) for line in self._lines()]
        styled = [self._style(line, *(("bold", "cyan") if n == 0 else ("dim",))) for n, line in enumerate(lines)]
        row = self._flow.row
        self._shown = [*([row] if row else []), *lines]
        return (rows_to_write([Row(row)]) if row else "") + "\n".join(styled)

    def _out(self, text: str) -> None:
        with suppress(OSError):
            steer(self._stream, text)


class Bottom:
    """The lines at the bottom: iteration, time, calls left, breaker; the tool in use; the last text.

    text_above: the agent's text is seen above these lines, so that they needn't repeat it.
    """

    def __init__(
        self,
        calls_per_hour: int,
        max_iterations: int | None,
        *,
        text_above: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._text_above = text_above
        self._text_seen = False
        self._calls = calls_per_hour
        self._most = max_iterations
        self._clock = clock
        self._began = clock()
        self._run_began: float | None = None
        self._iteration = 0
        self._state: LoopState | None = None
        self._plan: Plan | None = None
        self._tool = self._last = self._text = self._wait = self._look = ""
        self._until = 0.0

    def take(self, event: LoopEvent) -> None:
        match event:
            case IterationStarted():
                self._iteration, self._state, self._plan = event.iteration, event.state, event.plan
                self._run_began = self._clock()
                self._text_seen = self._text_above and event.live
                self._tool = self._last = self._text = self._wait = ""
            case RunProgress():
                self._tool = event.tool
                if not self._text_seen and (sentence := _sentence(event.last_line)):
                    self._last = sentence
            case OutputText():
                self._text = (self._text + event.text)[-_MOST:]
                if not self._text_seen:
                    self._last = last_sentence(self._text)
            case IterationEnded():
                self._state, self._plan, self._run_began = event.state, event.outcome.plan, None
            case Waiting():
                self._wait, self._until = event.reason, self._clock() + event.left
                self._state = event.state
            case CheckStarted() | ReviewTurnStarted() | ReviewStarted():
                self._look, self._run_began = str(event).removesuffix(" started"), self._clock()
            case CheckEnded() | ReviewTurnEnded() | ReviewEnded():
                self._look, self._run_began = "", None

    def lines(self) -> list[str]:
        now = self._clock()
        of = f"/{self._most}" if self._most else ""
        first = [f"iteration {self._iteration}{of}", duration(now - self._began)]
        if self._state is not None:
            first += self._state.facts(self._calls)
        if self._plan is not None and self._plan.total:
            first.append(f"{self._plan.done} of {self._plan.total} tasks")
        found = [" · ".join(first)]
        if self._look and self._run_began is not None:
            found.append(f"{self._look} under way for {duration(now - self._run_began)}")
        elif self._wait:
            found.append(f"waiting for another {duration(max(0.0, self._until - now))} ({self._wait})")
        elif self._run_began is not None:
            found.append(f"agent at work for {duration(now - self._run_began)}")
            found += [f"tool: {self._tool}"] if self._tool else []
            found += [f"last: {self._last}"] if self._last else []
        return found


def _sentence(line: str) -> str:
    """What the last line of a run says; '' for an event without text, or one that was cut."""
    return last_sentence("\n".join(each for each in shown_text(line) if not each.startswith("{")))


def _tame(text: str) -> str:
    """How wide a tab is depends on where it stands, which the lines at the bottom can't know."""
    return tame(text.replace("\t", "    "))
