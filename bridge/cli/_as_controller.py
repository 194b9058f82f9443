"""A loop on the screen as its own controller has it: the log's lines on stderr, the agent's text on stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bridge.cli._flow import Page, flows
from bridge.cli._render import NOT_EARLY, SoFar, drive, last_line
from bridge.cli._terminal import LossyWriter, Style
from bridge.loop.engine.events import DenialHelp, IterationStarted, LoopEnded, OutputText
from bridge.loop.engine.policy import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from bridge.cli._render import Opening
    from bridge.loop.engine.events import LoopEvent

    OnLog = Callable[[str, str], None]

_COLOURS = {"ERROR": "red", "WARN": "yellow", "SUCCESS": "green", "LOOP": "cyan"}


class ControllerScreen:
    """Shows one loop; never in its way: what nobody reads, or nobody can read any more, is dropped.

    Args:
        quiet: show no line about the steps, and the last one only where the work isn't done.
        opening: gives the first line, and notes below it, from the first command, which the log waits for.
    """

    def __init__(self, *, live: bool, quiet: bool = False, opening: Opening | None = None) -> None:
        self._out, self._err = LossyWriter(sys.stdout), LossyWriter(sys.stderr)
        self._page = Page(sys.stdout, self._out.steer) if flows(sys.stdout) else None
        self._style = Style(sys.stderr)
        self._so_far = SoFar()
        self._live = live
        self._quiet = quiet
        self._opening = None if quiet else opening
        self._early: list[tuple[str, str]] = []

    def warn(self, line: str) -> None:
        self._err.say(f"Warning: {line}")

    def say(self, line: str) -> None:
        if not self._quiet:
            self._err.say(line)

    def write_line(self, text: str) -> None:
        """Write to stdout, on a line of its own."""
        self._end_row()
        self._out.write(text)

    def ring(self) -> None:
        self._end_row()
        self._out.steer("\a")

    def run(
        self,
        events: Callable[[OnLog], Generator[LoopEvent, None, None]],
        further: Callable[[LoopEvent], None] = lambda _event: None,
    ) -> LoopEnded:
        """Show a loop to its end, and return that.

        Args:
            events: starts it, given who gets the lines of its log.
            further: gets each event, too.
        """

        def show(event: LoopEvent) -> None:
            self._show(event)
            further(event)

        def interrupted(error: BaseException) -> None:
            self._begin()
            self._err.say(self._so_far.interrupted(self._style, error))

        return drive(events(self.log), show, interrupted)

    def ended(self, end: LoopEnded) -> None:
        self._end_row()
        if not self._quiet or end.verdict is not Verdict.COMPLETE:
            self._err.say(last_line(self._style, end))

    def _end_row(self) -> None:
        if self._page is not None:
            self._page.end()
        self._out.end()

    def log(self, level: str, line: str) -> None:
        if self._quiet and level not in ("ERROR", "WARN"):
            return
        if self._opening is not None:
            self._early.append((level, line))
            return
        self._end_row()
        colour = _COLOURS.get(level)
        self._err.say(self._style(line, colour) if colour else line)

    def _begin(self, argv: Sequence[str] = ()) -> None:
        opening, self._opening = self._opening, None
        for line in opening(argv) if opening is not None else ():
            self._err.say(line)
        early, self._early = self._early, []
        for level, line in early:
            self.log(level, line)

    def _show(self, event: LoopEvent) -> None:
        self._so_far.take(event)
        if isinstance(event, NOT_EARLY):
            self._begin(event.argv if isinstance(event, IterationStarted) else ())
        if isinstance(event, OutputText) and self._live:
            (self._page or self._out).write(event.text)
        elif isinstance(event, DenialHelp) and event.text:
            self.write_line(event.text + "\n")
