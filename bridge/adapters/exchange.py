"""The exchange with one program: a command goes in, its end is awaited, a result comes out; and its modes."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.adapters.channel import PAUSE, PendingCommand
from bridge.adapters.cleaning import out_of_band_text
from bridge.adapters.ending import EndDetector, Ending, announced_start
from bridge.adapters.modes import ModeState, default_mode, exit_of, is_default, mode_named
from bridge.adapters.patterns import usable
from bridge.adapters.payload import Payload
from bridge.adapters.prompts import PromptRules
from bridge.adapters.results import Results

if TYPE_CHECKING:
    from bridge.adapters.channel import Channel
    from bridge.adapters.results import Result

_LINE_GAP = 0.15
"""Silence after which the next line of a block is typed although no continuation prompt was seen."""
_IGNORED = 0.3
"""Silence after which a key that was pressed at a prompt is taken to be without effect."""
_READING = 0.2
"""Longest wait, in seconds, for a program that has drawn its prompt to read."""
_QUIESCE = 10.0
"""Longest wait, in seconds, for a program to fall silent after its prompt."""
_CLOSERS = ("", "'", '"', "]]", "*/")
"""Tried before the way out of a continuation: a string or a comment may be open."""
_DEEPEST = 20
"""How many nested modes are left one by one."""


class Exchange:
    def __init__(self, channel: Channel) -> None:
        self.channel, self.adapter, self.terminal = channel, channel.adapter, channel.terminal
        self._results = Results(channel)

    def begin(self, command: PendingCommand) -> None:
        self.channel.pump(0)
        command.out_of_band = self.channel.take_out_of_band()
        self.channel.transcript.forget(self.channel.offset)
        self.channel.pending = command
        if self.adapter.input.clear_line:
            self.channel.write(self.adapter.input.clear_line)
        text = command.payload.text
        command.lines = text.split("\n") if command.payload.route in ("lines", "wrapper", "heredoc") else [text]
        command.started = time.monotonic()
        self._type_next(command)

    def _type_next(self, command: PendingCommand) -> None:
        line = command.lines.pop(0)
        # The last line of a block may be an empty one, given or implied: Python's blocks end so.
        empty = command.text.endswith("\n") or self.adapter.input.multiline_detect == "prompt_based"
        more = bool(command.lines) or (command.payload.route == "lines" and empty)
        command.sent, command.detector = line, self.channel.new_detector(more=more)
        self.channel.input_began = not self.channel.genuine
        self.channel.type(line)

    def look(self) -> None:
        self.channel.pump(0)
        pending = self.channel.pending
        if pending is not None and not self.terminal.ended:
            ending = self._await(pending, time.monotonic())
            if ending is not None and not ending.continued:
                self._results.result(pending, ending)

    def complete(self, timeout: float | None, *, interrupt: bool, grace: float) -> Result:
        """Wait for the pending command to end, line by line; one result in any case."""
        command = self.channel.pending
        assert command is not None
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            ending = self._await(command, deadline, soft=bool(command.lines))
            if ending is None:
                return self._timed_out(command, interrupt=interrupt, grace=grace)
            if ending.by == "exit":
                return self._results.result(command, ending)
            if command.lines:
                self._results.keep_segment(command, ending)
                if ending.by == "osc" and not ending.continued:
                    self.channel.settle()  # typed before the prompt is drawn, it would be echoed twice
                self._type_next(command)
            elif ending.continued:
                result = self._continued(command, ending, grace)
                if result is not None:
                    return result
            elif ending.by == "input":
                command.incomplete = self._waits_for_more(command)
                command.asks = not command.incomplete
                return self._results.result(command, ending)  # still pending: an answer may come
            else:
                return self._results.result(command, self._quiesced(command, ending, deadline))

    def _await(self, command: PendingCommand, deadline: float | None, *, soft: bool = False) -> Ending | None:
        """The ending of what was typed last, or None at the deadline."""
        detector, channel = command.detector, self.channel
        assert detector is not None
        while True:
            decision = detector.decide(channel.observe(detector))
            if isinstance(decision, Ending):
                return decision
            if self.terminal.ended:
                return Ending("exit", channel.offset, announced_start(detector))
            if soft and channel.quiet >= _LINE_GAP and not self._is_running(detector):
                # On the current line is a continuation prompt that the adapter doesn't describe.
                return Ending("quiet", detector.line_start, announced_start(detector), continued=True)
            waits = [decision.seconds, _LINE_GAP if soft else None]
            if deadline is not None:
                if (left := deadline - time.monotonic()) <= 0:
                    return None
                waits.append(left)
            wait = min((each for each in waits if each is not None), default=None)
            # A prompt that only waits to be believed must not become a busy loop.
            channel.pump(None if wait is None else max(wait, 0.001))

    def _is_running(self, detector: EndDetector) -> bool:
        seen = self.channel.observe(detector)
        if seen.reading is False or detector.editor_is_off:
            return True
        return bool(seen.raw_prompt and seen.tty.canonical)

    def _continued(self, command: PendingCommand, ending: Ending, grace: float) -> Result | None:
        """The program wants more and there is no more: leave its continuation prompt."""
        self._results.keep_segment(command, ending)
        escape, tried = self.adapter.prompt.continuation_escape, command.escapes
        command.escapes += 1
        if escape and self.channel.rules.continuation and tried < len(_CLOSERS):
            escape = _CLOSERS[tried] + escape
            command.sent, command.detector = escape.rstrip("\r\n"), self.channel.new_detector()
            self.channel.write(escape)
            return None
        command.sent = ""
        if self.adapter.family != "shell" and not escape and not tried:
            # Python's blocks of one line end with an empty one.
            command.detector = self.channel.new_detector(more=False)
            self.channel.type("")
            return None
        command.incomplete = True
        back = self._interrupt_pending(command, grace)
        return self._results.result(command, back or ending, by="incomplete", recovered=back is not None)

    def _quiesced(self, command: PendingCommand, ending: Ending, deadline: float | None) -> Ending:
        """``async_interleave: quiesce``: the ending with the last prompt, once nothing has come for a while."""
        if self.adapter.output.async_interleave.strategy != "quiesce" or ending.prompt is None:
            return ending
        channel, last = self.channel, ending.prompt
        limit = time.monotonic() + _QUIESCE
        limit = limit if deadline is None else min(deadline, limit)
        detector = EndDetector(last.end, replace(channel.rules, osc=False, continuation=None, marker=False))
        detector.feed(channel.between(last.end)[0], [])
        while (left := min(channel.rules.settle - channel.quiet, limit - time.monotonic())) > 0:
            detector.feed(*channel.pump(left))
            if self.terminal.ended:
                break
        decision = detector.decide(channel.observe(detector))
        if isinstance(decision, Ending) and decision.prompt is not None:
            last = decision.prompt
        command.afterwards = out_of_band_text(channel.between(ending.prompt.end, last.start)[0], None)
        return ending._replace(prompt=last)

    def _waits_for_more(self, command: PendingCommand) -> bool:
        """Whether the program is at a continuation prompt that the adapter gives no way out of."""
        if command.detector is None or not command.detector.wants_more:
            return False
        return self.terminal.is_reading() is not False

    def _timed_out(self, command: PendingCommand, *, interrupt: bool, grace: float) -> Result:
        partial = Ending("timeout", self.channel.offset, announced_start(command.detector))
        # Nothing runs that could be interrupted, and some programs (Lua) end when they are at such a prompt.
        command.incomplete = self._waits_for_more(command)
        if interrupt and not command.incomplete and (back := self._interrupt_pending(command, grace)) is not None:
            return self._results.result(command, back, by="timeout", recovered=True)
        return self._results.result(command, partial)

    # keys

    def _interrupt_pending(self, command: PendingCommand, grace: float) -> Ending | None:
        """Press the interrupt key; the ending when the program comes back to its prompt within `grace` seconds."""
        key = self.adapter.signals.interrupt
        if key is None:
            return None
        command.lines.clear()
        if command.detector is not None and command.incomplete:
            self.await_read()  # bash ignores the key between its continuation prompt and the read after it
            command.detector = self.channel.new_detector()
        deadline = time.monotonic() + grace
        self.channel.write(key)
        if self.adapter.signals.interrupt_confirm:
            self.channel.pump(0.2)
            self.channel.write(self.adapter.signals.interrupt_confirm)
        ending = self._await(command, deadline)
        for number in (signal.SIGTERM, signal.SIGKILL):
            # A job that has taken the key for itself: an editor, another shell, a raw terminal.
            if ending is None and self.terminal.end_job(number):
                ending = self._await(command, time.monotonic() + grace / 2)
        if ending is None or ending.by in ("exit", "input") or ending.continued:
            return None
        return ending

    def interrupt(self, timeout: float) -> bool:
        """Press the interrupt key, and drop a pending command; whether the program is at its prompt afterwards."""
        command = self.channel.pending
        if command is None:
            return self._interrupt_prompt(timeout)
        ending = self._interrupt_pending(command, timeout)
        if ending is None and command.asks and not self.terminal.ended:
            # It still reads, at a prompt that isn't announced: whatever it is, it takes commands.
            self.channel.pending, self.channel.input_began = None, True
            self.channel.prompt_end = self.channel.offset
            return True
        if ending is not None:
            self._results.result(command, ending)
        return ending is not None

    def await_read(self) -> None:
        """Wait a moment for a program that has drawn its prompt to read, with the terminal as it wants it."""
        settled = time.monotonic() + _READING
        while self.terminal.is_reading() is not True and time.monotonic() < settled:
            self.channel.pump(0.005)

    def _interrupt_prompt(self, timeout: float) -> bool:
        """Press the key at a prompt, and wait until it is redrawn: keys typed before that would be lost."""
        channel, deadline = self.channel, time.monotonic() + timeout
        # An interrupt that comes between a prompt and the read after it takes bash's next key with it.
        self.await_read()
        channel.pump(0)
        detector, canonical = channel.new_detector(), self.terminal.state().canonical
        channel.write(self.adapter.signals.interrupt or "")
        while not self.terminal.ended and (left := deadline - time.monotonic()) > 0:
            decision = detector.decide(channel.observe(detector))
            if isinstance(decision, Ending):
                break
            left = min(left, _IGNORED - channel.quiet)
            if left <= 0:
                if self.terminal.state().canonical == canonical and channel.terminal.is_reading() is not False:
                    break
                left = 0.02
            detector.feed(*channel.pump(min(left, max(decision.seconds or left, 0.001))))
        return not self.terminal.ended

    def press(self, key: str, timeout: float) -> bool:
        self.terminal.write(key.encode("utf-8", "surrogateescape"))
        if self.channel.pending is None:
            return True
        ending = self._await(self.channel.pending, time.monotonic() + timeout)
        if ending is None or ending.by == "exit":
            return False
        self._results.result(self.channel.pending, ending)
        return True

    def collect(self, seconds: float) -> str:
        if self.channel.pending is not None:
            return ""
        self.channel.settle()
        self.channel.pump_for(seconds)
        found = self.channel.take_out_of_band()
        self.channel.prompt_end = self.channel.offset
        return found

    # modes

    def switch(self, key: str, mode: str, timeout: float) -> bool:
        """Press a key that changes modes; whether the prompt of `mode` is there within `timeout` seconds."""
        channel, given = self.channel, mode_named(self.adapter.modes, mode)
        pattern = usable(given.primary or given.detect) if given is not None else None
        settle = channel.rules.settle
        detector = EndDetector(channel.offset, PromptRules(primary=pattern, settle=settle, anywhere=True))
        channel.write(key)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0 and not self.terminal.ended:
            detector.feed(*channel.pump(min(left, 0.02)))
            if (pattern is None and channel.quiet >= settle) or (
                detector.looks_like_prompt and channel.quiet >= PAUSE
            ):
                channel.prompt_end = channel.offset
                channel.mode = ModeState(mode)
                return True
        return False

    def leave_modes(self, timeout: float) -> bool:
        """Leave mode after mode, each within `timeout` seconds; whether the default mode is reached."""
        modes = self.adapter.modes
        for _ in range(_DEEPEST):
            before = self.channel.mode
            mode = mode_named(modes, before.name)
            if is_default(modes, before.name) or mode is None:
                return True
            way = exit_of(mode)
            if way is None:
                return False
            if way.key:
                if not self.switch(way.key, default_mode(modes).name, timeout):
                    return False
                continue
            self.channel.settle()
            self.begin(PendingCommand(way.command, Payload("direct", way.command)))
            result = self.complete(timeout, interrupt=False, grace=timeout)
            if result.ended_by in ("timeout", "exit", "input", "incomplete") or self.channel.mode == before:
                return False
        return False
