"""The live view of a run: on a terminal, a few lines that stay at its bottom; elsewhere plain lines."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.cli._terminal import duration, tame
from bridge.loop.events import (
    IterationEnded,
    IterationStarted,
    OutputText,
    ReviewEnded,
    ReviewStarted,
    RunProgress,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

    from bridge.cli._render import Renderer
    from bridge.loop.decide import State
    from bridge.loop.events import LoopEvent
    from bridge.loop.plan import Plan

__all__ = ["Bottom", "view"]


@contextmanager
def view(
    renderer: Renderer, *, calls_per_hour: int, max_iterations: int | None, quiet: bool
) -> Iterator[Callable[[LoopEvent], None]]:
    """Give what shows the events of a loop.

    Args:
        renderer: prints the lines of the steps.
        calls_per_hour: how many runs may succeed in an hour.
        max_iterations: how many there are at most; None: any number.
        quiet: no view.
    """
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield renderer.show
        return
    from rich.console import Console
    from rich.live import Live

    bottom = Bottom(calls_per_hour, max_iterations)
    console = Console(file=sys.stderr)
    # What the renderer writes goes through here, and appears above the bottom lines.
    with Live(bottom, console=console, refresh_per_second=4, transient=True, redirect_stdout=sys.stdout.isatty()):
        lines = _Lines() if sys.stdout.isatty() else None

        def show(event: LoopEvent) -> None:
            bottom.take(event)
            if lines is not None and isinstance(event, OutputText):
                lines.add(event.text)
                return
            if lines is not None:
                lines.end()
            renderer.show(event)

        yield show
        if lines is not None:
            lines.end()


class _Lines:
    """Text of the agent, line by line: pieces of lines can't stand above lines that stay."""

    def __init__(self) -> None:
        self._open = ""

    def add(self, text: str) -> None:
        *whole, self._open = (self._open + text).split("\n")
        if whole:
            sys.stdout.write("".join(f"{_tame(line)}\n" for line in whole))

    def end(self) -> None:
        if self._open:
            sys.stdout.write(_tame(self._open) + "\n")
            self._open = ""


class Bottom:
    """The lines at the bottom: iteration, time, calls left, breaker; the tool in use; the last text.

    Args:
        calls_per_hour: how many runs may succeed in an hour.
        max_iterations: how many there are at most; None: any number.
        clock: seconds that only grow.
    """

    def __init__(
        self, calls_per_hour: int, max_iterations: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._calls = calls_per_hour
        self._most = max_iterations
        self._clock = clock
        self._began = clock()
        self._run_began: float | None = None
        self._iteration = 0
        self._state: State | None = None
        self._plan: Plan | None = None
        self._tool = self._last = self._wait = ""
        self._until = 0.0

    def take(self, event: LoopEvent) -> None:
        """Take in an event."""
        match event:
            case IterationStarted():
                self._iteration, self._state, self._plan = event.iteration, event.state, event.plan
                self._run_began = self._clock()
                self._tool = self._last = self._wait = ""
            case RunProgress():
                self._tool = event.tool
                self._last = self._last or event.last_line
            case OutputText():
                self._last = next((line for line in reversed(event.text.split("\n")) if line.strip()), self._last)
            case IterationEnded():
                self._state, self._plan, self._run_began = event.state, event.outcome.plan, None
            case Waiting():
                self._wait, self._until = event.reason, self._clock() + event.left
                self._state = event.state
            case ReviewStarted():
                self._wait = "review"
            case ReviewEnded():
                self._wait = ""

    def lines(self) -> list[str]:
        """Return the lines, the first of them always."""
        now = self._clock()
        of = f"/{self._most}" if self._most else ""
        first = [f"iteration {self._iteration}{of}", duration(now - self._began)]
        if self._state is not None:
            first.append(f"{self._state.calls.left(self._calls)} of {self._calls} calls left")
            if self._state.breaker is not None:
                first.append(f"breaker {self._state.breaker.state}")
        if self._plan is not None and self._plan.total:
            first.append(f"{self._plan.done} of {self._plan.total} tasks")
        found = [" · ".join(first)]
        if self._wait == "review":
            found.append("reviewing")
        elif self._wait:
            found.append(f"waiting for another {duration(max(0.0, self._until - now))} ({self._wait})")
        elif self._run_began is not None:
            found.append(f"agent at work for {duration(now - self._run_began)}")
            found += [f"tool: {self._tool}"] if self._tool else []
            found += [f"last: {self._last}"] if self._last else []
        return [_tame(line) for line in found]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the lines, each at most as wide as the terminal."""
        from rich.text import Text

        for number, line in enumerate(self.lines()):
            shown: Text = Text(line, style="bold cyan" if number == 0 else "dim", no_wrap=True, overflow="ellipsis")
            yield shown


def _tame(text: str) -> str:
    """How wide a tab is depends on where it stands, which the lines at the bottom can't know."""
    return tame(text.replace("\t", "    "))
