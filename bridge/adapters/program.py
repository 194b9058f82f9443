"""A running program with all that it needs: from its start to its first prompt, and its end."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from bridge.adapters.channel import DRAWN, Channel
from bridge.adapters.ending import EndDetector, recheck_delay
from bridge.adapters.escapes import plain, visible
from bridge.adapters.exchange import Exchange
from bridge.adapters.integration import SessionFolder
from bridge.adapters.launch import prepare
from bridge.adapters.patterns import search, usable
from bridge.adapters.prompts import PromptDetector, PromptRules
from bridge.adapters.render import render, trimmed
from bridge.adapters.terminal import Terminal
from bridge.base.records import dataclass
from bridge.errors import AdapterNotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.adapters.integration import Script
    from bridge.adapters.schema_model import AdapterFile

_LINE_GAP = 0.15
"""Silence after which the next line of a script is typed although the program doesn't seem to read."""
_PAUSE = 0.01
"""Silence of a program that reads after which it has read the last line."""


_LEAVING = 0.5
"""Seconds that a program has to leave a mode before it has to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """How a program is started; see :meth:`bridge.Adapter.start`."""

    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str] | None = None
    columns: int | None = None
    rows: int | None = None
    ready_timeout: float = 30.0
    output_limit: int = 32 * 1024 * 1024
    listener: Callable[[bytes], None] | None = None
    idle_timeout: float | None = None
    probe: bool = True


class ProgramRun:
    def __init__(self, adapter: AdapterFile, script: Script | None, options: StartOptions) -> None:
        """Start it and wait until it takes commands; raises what ``Adapter.start`` raises."""
        self.adapter = adapter
        self.folder = SessionFolder()
        try:
            launch = prepare(adapter, script, self.folder, options.env or {})
            self.terminal = Terminal(
                launch.argv,
                env=launch.env,
                cwd=os.fspath(options.cwd or os.path.expanduser("~")),
                # Line editors wrap what is longer than a line, and then move the cursor about.
                size=(options.rows or 50, options.columns or 8192),
                folder=self.folder.path,
            )
        except BaseException:
            self.folder.remove()
            raise
        self.channel = Channel(
            adapter,
            self.terminal,
            nonce=launch.nonce,
            has_script=script is not None,
            output_limit=options.output_limit,
        )
        self.channel.listener = options.listener
        self.exchange = Exchange(self.channel)
        try:
            Readiness(self.channel, options.ready_timeout).wait(launch.injection)
            if launch.nonce:
                self.folder.hide_script(of_shell=adapter.family == "shell")
        except BaseException as error:
            self.abandon()
            if isinstance(error, AdapterNotReady):
                error.add_note(f"command line: {launch.argv}")
            raise

    def abandon(self) -> None:
        self.terminal.close()
        self.folder.remove()

    def end(self) -> None:
        """Lead it out of its modes, give it its shutdown command and the grace for that; then by force."""
        shutdown, terminal = self.adapter.lifecycle.shutdown, self.terminal
        try:
            if shutdown.command and self._takes_commands():
                self.exchange.leave_modes(_LEAVING)
            if shutdown.command and self._takes_commands():
                self.channel.type(shutdown.command)
                terminal.wait(max(shutdown.grace_ms, 0) / 1000)
            if not terminal.ended and shutdown.force_signal != "kill":
                name = f"SIG{shutdown.force_signal.upper().removeprefix('SIG')}"
                terminal.signal(getattr(signal, name, signal.SIGKILL))
                terminal.wait(0.5)
        finally:
            self.abandon()

    def _takes_commands(self) -> bool:
        return not self.terminal.ended and self.channel.pending is None


class Readiness:
    def __init__(self, channel: Channel, timeout: float) -> None:
        self._channel, self._adapter, self._timeout = channel, channel.adapter, timeout
        self._begun = time.monotonic()
        self._deadline = self._begun + timeout
        rules = PromptRules(osc=channel.rules.osc, settle=max(channel.rules.settle, 0.05))
        self._detector = EndDetector(0, rules)
        self._first: PromptDetector | None = None
        """Looks for the prompt in all that comes from its creation on."""

    def wait(self, injection: str | None) -> None:
        """Wait for the first prompt; type `injection` when the program reads.

        Raises:
            AdapterNotReady: no prompt in time, or the program ended.
        """
        channel, listener = self._channel, self._channel.listener
        muted = injection is not None and self._adapter.ready.suppress_mirror_during_inject
        if muted:
            channel.listener = None
        if injection is not None:
            self._wait_to_inject()
        if channel.rules.primary:
            midline, anywhere = injection is not None, channel.rules.anywhere
            offset = channel.offset
            self._first = PromptDetector(channel.rules.primary, offset=offset, midline=midline, anywhere=anywhere)
        if injection is not None:
            self._inject(injection)
        self._wait_for_prompt()
        channel.ready_seconds = time.monotonic() - self._begun
        self._enter_first_prompt()
        channel.listener = listener
        if muted and listener is not None:
            listener(channel.greeting)

    def _wait_for_prompt(self) -> None:
        channel, ready = self._channel, self._adapter.ready
        kick_at = self._begun + max(ready.delay_after_inject_ms / 1000, 0.5)
        kicked = not ready.kick_enter_after_ready
        while not (self._at_prompt() and self._is_awaited()):
            now = time.monotonic()
            if channel.terminal.ended or now >= self._deadline:
                raise self._not_ready()
            if not kicked and now >= kick_at and channel.quiet > 0.05:
                kicked = True
                channel.type("")
            wait = self._first_wait()
            if wait == 0.0:
                wait = 0.05  # a prompt, but not what the adapter waits for
            if not kicked:
                wait = min(wait if wait is not None else kick_at - now, max(kick_at - now, 0.05))
            left = self._deadline - now
            data, marks = channel.pump(left if wait is None else min(wait, left))
            self._detector.feed(data, marks)
            if self._first is not None and data:
                self._first.follow(data)

    def _enter_first_prompt(self) -> None:
        channel = self._channel
        if channel.rules.osc and not channel.genuine:
            # Announced before it is drawn: the terminal's state at a prompt shows only once it is.
            channel.wait_drawn(max(channel.rules.settle, DRAWN))
        channel.raw_prompt = False if channel.terminal.state().canonical else None
        if not channel.genuine:
            channel.prompt_end = channel.offset
        announced = [mark.offset for mark in self._detector.marks if mark.code == "A"]
        drawn = self._first.at_end.start if self._first is not None and self._first.at_end else 0
        channel.greeting = channel.between(announced[-1] if announced else drawn)[0]
        channel.transcript.forget(channel.prompt_end)

    def _is_awaited(self) -> bool:
        """``wait_for_event: custom``: `wait_for` was printed, or the time for output to settle is over."""
        ready = self._adapter.ready
        if ready.wait_for_event != "custom" or not usable(ready.wait_for):
            return True
        if time.monotonic() - self._begun >= max(ready.output_settled_max_ms, 0) / 1000:
            return True
        shown = plain(visible(self._channel.text_since(0)).text).replace("\r\n", "\n")
        return search(ready.wait_for, shown) is not None

    def _at_prompt(self) -> bool:
        channel = self._channel
        if channel.rules.osc:
            return channel.input_began and any(mark.code == "A" for mark in self._detector.marks)
        if self._first is None:
            reading = channel.terminal.is_reading()
            return channel.quiet >= self._detector.rules.settle and reading is not False
        return self._first_wait() == 0.0

    def _first_wait(self) -> float | None:
        """How long to wait for a byte; 0.0 when there is a prompt that is believed."""
        channel = self._channel
        if channel.rules.osc:
            return None
        if self._first is None:
            return max(self._detector.rules.settle - channel.quiet, 0.02)
        if self._first.at_end is None:
            return None
        wait = 0.025
        if channel.terminal.state().canonical:
            # Banners hold prompt-like texts more often than output does: the program has to read.
            wait = {True: 0.0, False: 1.0, None: 0.05}[channel.terminal.is_reading()]
        left = max(wait - channel.quiet, 0.0)
        return min(left, recheck_delay(channel.quiet)) if left else 0.0

    def _wait_to_inject(self) -> None:
        """Wait until the program reads, for at most the times that the adapter gives."""
        ready, channel = self._adapter.ready, self._channel
        # Two fields give a length of silence; they are upper bounds here, so the smaller one that is given counts.
        given = [each for each in (ready.settle_before_inject_ms, ready.output_settled_stable_ms) if each > 0]
        settled = max(min(given, default=0), 50) / 1000
        silent = max(ready.output_settled_min_ms, 50) / 1000
        latest = min(time.monotonic() + max(ready.output_settled_max_ms, 1000) / 1000, self._deadline)
        while time.monotonic() < latest and not channel.terminal.ended:
            canonical = channel.terminal.state().canonical
            if not channel.offset:
                if time.monotonic() - self._begun >= silent and channel.terminal.is_reading():
                    return  # it reads and shows no prompt at all
            elif canonical is False or channel.quiet >= settled:
                return  # a line editor is at its prompt, or output has settled
            elif canonical and channel.quiet >= 0.05 and channel.terminal.is_reading():
                return
            channel.pump(0.02 if channel.offset else 0.1)

    def _inject(self, script: str) -> None:
        """Type `script`, to a prompt that is seen line by line: what is typed ahead is echoed anywhere."""
        channel, first = self._channel, self._first
        for number, line in enumerate(script.split("\n")):
            while first is not None and number and not channel.terminal.ended and time.monotonic() < self._deadline:
                quiet = channel.quiet
                if quiet >= _LINE_GAP:
                    break
                if quiet >= _PAUSE and channel.terminal.is_reading():
                    break
                first.follow(channel.pump(_PAUSE)[0])
            channel.type(line)

    def _not_ready(self) -> AdapterNotReady:
        channel, name = self._channel, self._adapter.name
        shown = plain(trimmed(render(channel.text_since(0))))[-1000:]
        if channel.terminal.ended:
            what = f"{name} ended with status {channel.terminal.status} before its first prompt"
        else:
            what = f"{name} showed no prompt within {self._timeout:g} s"
        seen = "\n    ".join(shown.splitlines()) or "nothing"
        wanted = "a prompt announced by OSC 633"
        if not channel.rules.osc:
            primary = channel.rules.primary
            wanted = f"a prompt like {primary!r}" if primary else "to read, silently: it has no prompt"
        return AdapterNotReady(f"{what}\n  expected: {wanted}\n  printed: {seen}\n  next: run it by hand")
