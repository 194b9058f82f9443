"""From the start of a program to its first prompt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bridge.adapters.ending import Watch, again
from bridge.adapters.line import DRAWN
from bridge.adapters.modes import usable
from bridge.adapters.patterns import compiled
from bridge.adapters.prompts import PromptDetector
from bridge.adapters.render import render, trimmed
from bridge.adapters.view import plain, visible
from bridge.errors import AdapterNotReady

if TYPE_CHECKING:
    from bridge.adapters.line import Line

__all__ = ["Readiness"]

_LINE_GAP = 0.15
"""Silence after which the next line of a script is typed although nobody seems to read."""
_PAUSE = 0.01
"""Silence of a program that reads after which it has read the last line."""


class Readiness:
    """Waits for the first prompt of the program at the other end of `line`."""

    def __init__(self, line: Line) -> None:
        self._line, self._adapter = line, line.adapter

    def wait(self, inject: str | None, timeout: float) -> None:
        """Wait for the first prompt; type `inject` when the program reads.

        With ``suppress_mirror_during_inject`` whoever listens gets the first prompt only, not what led there.

        Raises:
            AdapterNotReady: no prompt within `timeout` seconds, or the program ended.
        """
        begun = time.monotonic()
        deadline = begun + timeout
        watch = Watch(offset=0, osc=self._line.osc, primary=None, settle=max(self._line.settle_seconds, 0.05))
        kick_at = begun + max(self._adapter.ready.delay_after_inject_ms / 1000, 0.5)
        kicked = not self._adapter.ready.kick_enter_after_ready
        muted = inject is not None and self._adapter.ready.suppress_mirror_during_inject
        listener = self._line.stream.listener
        if muted:
            self._line.stream.listener = None
        if inject is not None:
            self._wait_to_inject(deadline)
        first = self._detector(midline=inject is not None)
        if inject is not None:
            self._inject(inject, first, deadline)
        while True:
            now = time.monotonic()
            if self._at_first_prompt(watch, first) and self._awaited(now - begun):
                break
            if self._line.terminal.ended or now >= deadline:
                raise self._not_ready(timeout)
            if not kicked and now >= kick_at and self._line.stream.quiet > 0.05:
                kicked = True
                self._line.write(self._adapter.input.line_ending)
            wait = self._first_wait(first, watch)
            if wait == 0.0:
                wait = 0.05  # a prompt, but not what the adapter waits for
            if not kicked:
                wait = min(wait if wait is not None else kick_at - now, max(kick_at - now, 0.05))
            limit = deadline - now if wait is None else min(wait, deadline - now)
            data, marks = self._line.pump(limit)
            watch.feed(data, marks)
            if first is not None and data:
                first.follow(data)
        self._line.ready_seconds = time.monotonic() - begun
        if self._line.osc and not self._line.genuine:
            # Announced before it is drawn: how the terminal stands at a prompt shows only once it is.
            self._line.drawn(max(self._line.settle_seconds, DRAWN))
        state = self._line.terminal.state()
        self._line.raw_prompt = False if state.canonical else None
        if not self._line.genuine:
            self._line.prompt_end = self._line.stream.offset
        announced = [mark.offset for mark in watch.marks if mark.code == "A"]
        drawn = first.standing.start if first is not None and first.standing else 0
        self._line.greeting = self._line.stream.between(
            announced[-1] if announced else drawn, self._line.stream.offset
        )[0]
        self._line.stream.forget(self._line.prompt_end)
        self._line.stream.listener = listener
        if muted and listener is not None:
            listener(self._line.greeting)

    def _detector(self, *, midline: bool) -> PromptDetector | None:
        """What looks for the prompt in all that comes from now on."""
        if not self._line.primary:
            return None
        offset = self._line.stream.offset
        return PromptDetector(self._line.primary, offset=offset, midline=midline, anywhere=self._line.anywhere)

    def _awaited(self, seconds: float) -> bool:
        """``wait_for_event: custom``: `wait_for` was printed, or the time for output to settle is over."""
        ready = self._adapter.ready
        if ready.wait_for_event != "custom" or not (pattern := usable(ready.wait_for)):
            return True
        if seconds >= max(ready.output_settled_max_ms, 0) / 1000:
            return True
        text, _ = self._line.stream.between(0, self._line.stream.offset)
        shown = plain(visible(text.decode("utf-8", "replace")).text).replace("\r\n", "\n")
        return compiled(pattern).search(shown) is not None

    def _at_first_prompt(self, watch: Watch, first: PromptDetector | None) -> bool:
        if self._line.osc:
            return self._line.input_began and any(mark.code == "A" for mark in watch.marks)
        if first is None:
            reads = self._line.terminal.is_reading(canonical=self._line.terminal.state().canonical)
            return self._line.stream.quiet >= watch.settle and reads is not False
        return self._first_wait(first, watch) == 0.0

    def _first_wait(self, first: PromptDetector | None, watch: Watch) -> float | None:
        """How long to wait for a byte; 0.0 when a prompt stands that is believed."""
        if self._line.osc:
            return None
        if first is None:
            return max(watch.settle - self._line.stream.quiet, 0.02)
        if first.standing is None:
            return None
        canonical = self._line.terminal.state().canonical
        # Banners hold prompt-like texts more often than output does: the program has to read.
        reading = self._line.terminal.is_reading(canonical=True) if canonical else None
        wait = {True: 0.0, False: 1.0, None: 0.05}[reading] if canonical else 0.025
        left = max(wait - self._line.stream.quiet, 0.0)
        return min(left, again(self._line.stream.quiet)) if left else 0.0

    def _wait_to_inject(self, deadline: float) -> None:
        """Wait until the program reads, for at most the times that the adapter gives."""
        ready = self._adapter.ready
        begun = time.monotonic()
        # Two fields say how long to be quiet; they are upper bounds here, so the smaller one that is given counts.
        given = [each for each in (ready.settle_before_inject_ms, ready.output_settled_stable_ms) if each > 0]
        settled = max(min(given, default=0), 50) / 1000
        latest = min(time.monotonic() + max(ready.output_settled_max_ms, 1000) / 1000, deadline)
        while time.monotonic() < latest and not self._line.terminal.ended:
            canonical = self._line.terminal.state().canonical
            if self._line.stream.offset and canonical is False:
                break  # a line editor is at its prompt
            if (
                canonical
                and self._line.stream.offset
                and self._line.stream.quiet >= 0.05
                and self._line.terminal.is_reading(canonical=True)
            ):
                break
            if self._line.stream.offset and self._line.stream.quiet >= settled:
                break
            if (
                not self._line.stream.offset
                and time.monotonic() - begun >= max(ready.output_settled_min_ms, 50) / 1000
                and self._line.terminal.is_reading(canonical=canonical)
            ):
                break  # it reads and shows no prompt at all
            self._line.pump(0.02 if self._line.stream.offset else 0.1)

    def _inject(self, script: str, first: PromptDetector | None, deadline: float) -> None:
        """Type `script`, to a prompt that is seen line by line: what is typed ahead is echoed anywhere."""
        for number, line in enumerate(script.split("\n")):
            while first is not None and number and not self._line.terminal.ended and time.monotonic() < deadline:
                quiet = self._line.stream.quiet
                if quiet >= _LINE_GAP:
                    break
                canonical = self._line.terminal.state().canonical
                if quiet >= _PAUSE and self._line.terminal.is_reading(canonical=canonical):
                    break
                first.follow(self._line.pump(_PAUSE)[0])
            self._line.write(line + self._adapter.input.line_ending)

    def _not_ready(self, timeout: float) -> AdapterNotReady:
        text, _ = self._line.stream.between(0, self._line.stream.offset)
        shown = plain(trimmed(render(text.decode("utf-8", "replace"))))[-1000:]
        if self._line.terminal.ended:
            what = f"{self._adapter.name} ended with status {self._line.terminal.status} before its first prompt"
        else:
            what = f"{self._adapter.name} showed no prompt within {timeout:g} s"
        seen = "\n    ".join(shown.splitlines()) or "nothing"
        wanted = (
            f"a prompt like {self._line.primary!r}" if self._line.primary else "to read, silently: it has no prompt"
        )
        if self._line.osc:
            wanted = "a prompt announced by OSC 633"
        return AdapterNotReady(f"{what}\n  expected: {wanted}\n  printed: {seen}\n  next: run it by hand")
