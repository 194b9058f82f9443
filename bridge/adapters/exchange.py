"""The conversation with one program: a command goes in, what ends it is waited for, a result comes out."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from bridge.adapters.ending import Ending, Watch, announced_start
from bridge.adapters.interleave import aside
from bridge.adapters.results import Results

if TYPE_CHECKING:
    from bridge.adapters.line import Command, Line
    from bridge.adapters.result import Result

__all__ = ["Exchange"]

_LINE_GAP = 0.15
"""Silence after which the next line of a block is typed although no continuation prompt was seen."""
_QUIESCE = 10.0
"""Longest wait, in seconds, for a program to fall silent behind its prompt."""
_CLOSERS = ("", "'", '"', "]]", "*/")
"""What the way out of a continuation is tried with: a text or a comment may be open."""


class Exchange:
    """Types commands and waits for what ends them; see :class:`bridge.adapters.session.Session`."""

    def __init__(self, line: Line) -> None:
        self.line, self.adapter = line, line.adapter
        self._results = Results(line)

    def begin(self, command: Command) -> None:
        """Type a command, or the first line of it."""
        self.line.pump(0)
        command.out_of_band = self.line.between_commands()
        self.line.stream.forget(self.line.stream.offset)
        self.line.pending = command
        if self.adapter.input.clear_line:
            self.line.write(self.adapter.input.clear_line)
        text = command.payload.text
        lines = command.payload.route in ("lines", "wrapper") or (command.payload.route == "heredoc")
        command.lines = text.split("\n") if lines else [text]
        command.started = time.monotonic()
        self._next(command)

    def _next(self, command: Command) -> None:
        line = command.lines.pop(0)
        command.sent = line
        command.watch = self.line.new_watch(more=bool(command.lines) or self._ends_with_enter(command))
        self.line.input_began = not self.line.genuine
        self.line.write(line + self.adapter.input.line_ending)

    def _ends_with_enter(self, command: Command) -> bool:
        """Whether the block's last line is an empty one, said or meant: Python's blocks end so."""
        block = command.payload.route == "lines"
        return block and (command.command.endswith("\n") or self.adapter.input.multiline_detect == "prompt_based")

    def look(self) -> None:
        """Take in what came, and see whether the pending command has ended meanwhile."""
        self.line.pump(0)
        if self.line.pending is not None and not self.line.terminal.ended:
            ending = self._await(self.line.pending, time.monotonic())
            if ending is not None and not ending.continued:
                self._results.result(self.line.pending, ending)

    def complete(self, timeout: float | None, *, interrupt: bool, grace: float) -> Result:
        """Wait for the pending command to end, line by line; one result in any case."""
        command = self.line.pending
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
                self._next(command)
            elif ending.continued:
                result = self._continued(command, ending, grace)
                if result is not None:
                    return result
            elif ending.by == "input":
                command.incomplete = self._waits_for_more(command)
                command.asks = not command.incomplete
                return self._results.result(command, ending)  # still pending: somebody may answer
            else:
                return self._results.result(command, self._quiesced(command, ending, deadline))

    def _await(self, command: Command, deadline: float | None, *, soft: bool = False) -> Ending | None:
        """The ending of what was typed last, or None at the deadline."""
        watch = command.watch
        assert watch is not None
        while True:
            verdict = watch.verdict(self.line.signs(watch))
            if isinstance(verdict, Ending):
                return verdict
            if self.line.terminal.ended:
                return Ending("exit", self.line.stream.offset, announced_start(watch))
            if soft and self.line.stream.quiet >= _LINE_GAP and not self._is_running(watch):
                # What stands on the current line is a continuation prompt that nobody told us of.
                return Ending("quiet", watch.line_start, announced_start(watch), continued=True)
            wait = verdict.seconds
            if soft:
                wait = _LINE_GAP if wait is None else min(wait, _LINE_GAP)
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                wait = left if wait is None else min(wait, left)
            # A prompt that is only waiting to be believed must not be waited for in a busy loop.
            self.line.pump(None if wait is None else max(wait, 0.001))

    def _is_running(self, watch: Watch) -> bool:
        """Whether something says that the program is not reading its next line yet."""
        signs = self.line.signs(watch)
        if signs.reading is False or watch.editor_is_off:
            return True
        return bool(signs.raw_prompt and signs.tty.canonical)

    def _continued(self, command: Command, ending: Ending, grace: float) -> Result | None:
        """The program wants more and there is no more: get it out of there."""
        escape = self.adapter.prompt.continuation_escape
        if escape and self.line.continuation and command.escapes < len(_CLOSERS):
            self._results.keep_segment(command, ending)
            escape = _CLOSERS[command.escapes] + escape
            command.escapes += 1
            command.sent = escape.rstrip("\r\n")
            command.watch = self.line.new_watch()
            self.line.write(escape)
            return None
        if self.adapter.family != "shell" and not escape and not command.escapes:
            # Python's blocks of one line end with an empty one.
            command.escapes = 1
            self._results.keep_segment(command, ending)
            command.sent = ""
            command.watch = self.line.new_watch(more=False)
            self.line.write(self.adapter.input.line_ending)
            return None
        command.incomplete = True
        self._results.keep_segment(command, ending)
        command.sent = ""
        recovered = self._interrupted(command, grace)
        return self._results.result(command, recovered or ending, by="incomplete", recovered=recovered is not None)

    def _quiesced(self, command: Command, ending: Ending, deadline: float | None) -> Ending:
        """``async_interleave: quiesce``: the ending once nothing has come for a while behind the prompt.

        The prompt that stands in the end is the one that tells the mode.
        """
        if self.adapter.output.async_interleave.strategy != "quiesce" or ending.prompt is None:
            return ending
        limit = time.monotonic() + _QUIESCE if deadline is None else min(deadline, time.monotonic() + _QUIESCE)
        watch = Watch(
            offset=ending.prompt.end,
            osc=False,
            primary=self.line.primary,
            others=self.line.others,
            settle=self.line.settle_seconds,
            anywhere=self.line.anywhere,
        )
        watch.feed(self.line.stream.between(ending.prompt.end, self.line.stream.offset)[0], [])
        while (left := min(self.line.settle_seconds - self.line.stream.quiet, limit - time.monotonic())) > 0:
            data, marks = self.line.pump(left)
            watch.feed(data, marks)
            if self.line.terminal.ended:
                break
        verdict = watch.verdict(self.line.signs(watch))
        last = ending.prompt
        if isinstance(verdict, Ending) and verdict.prompt is not None:
            last = verdict.prompt
        command.afterwards = aside(self.line.stream.between(ending.prompt.end, last.start)[0], None)
        return ending._replace(prompt=last)

    def _waits_for_more(self, command: Command) -> bool:
        """Whether the program is at a continuation prompt that nobody told us a way out of."""
        if command.watch is None or not command.watch.wants_more:
            return False
        terminal = self.line.terminal
        return terminal.is_reading(canonical=terminal.state().canonical) is not False

    def _timed_out(self, command: Command, *, interrupt: bool, grace: float) -> Result:
        partial = Ending("timeout", self.line.stream.offset, announced_start(command.watch))
        # Nothing runs that could be interrupted, and some programs (Lua) end when they are at such a prompt.
        command.incomplete = self._waits_for_more(command)
        if command.incomplete or not interrupt or self.adapter.signals.interrupt is None:
            return self._results.result(command, partial)
        back = self._interrupted(command, grace)
        if back is not None:
            return self._results.result(command, back, by="timeout", recovered=True)
        return self._results.result(command, partial)

    def _interrupted(self, command: Command, grace: float) -> Ending | None:
        """Press the interrupt key; the ending when the program comes back to its prompt within `grace` seconds."""
        key = self.adapter.signals.interrupt
        if key is None:
            return None
        command.lines.clear()
        if command.watch is not None and command.incomplete:
            command.watch = self.line.new_watch()
        deadline = time.monotonic() + grace
        self.line.write(key)
        confirm = self.adapter.signals.interrupt_confirm
        if confirm:
            self.line.pump(0.2)
            self.line.write(confirm)
        ending = self._await(command, deadline)
        for number in (signal.SIGTERM, signal.SIGKILL):
            # A job that has taken the key for itself: an editor, another shell, a raw terminal.
            if ending is None and self.line.terminal.end_job(number):
                ending = self._await(command, time.monotonic() + grace / 2)
        if ending is None or ending.by in ("exit", "input") or ending.continued:
            return None
        return ending

    def interrupt(self, timeout: float) -> bool:
        """Press the interrupt key.

        Whether the program is at its prompt afterwards. A pending command is dropped.
        """
        command = self.line.pending
        if command is None:
            self.line.terminal.write((self.adapter.signals.interrupt or "").encode())
            return not self.line.terminal.ended
        ending = self._interrupted(command, timeout)
        if ending is None and command.asks and not self.line.terminal.ended:
            # It reads still, at a prompt that nobody announces: whatever it is, it takes commands.
            self.line.pending, self.line.input_began = None, True
            self.line.prompt_end = self.line.stream.offset
            return True
        if ending is not None:
            self._results.result(command, ending)
        return ending is not None

    def press(self, key: str, timeout: float) -> bool:
        """Press some key; whether the pending command is over within `timeout` seconds."""
        self.line.terminal.write(key.encode("utf-8", "surrogateescape"))
        if self.line.pending is None:
            return True
        ending = self._await(self.line.pending, time.monotonic() + timeout)
        if ending is None or ending.by == "exit":
            return False
        self._results.result(self.line.pending, ending)
        return True

    def collect(self, seconds: float) -> str:
        """What comes within `seconds` while no command runs."""
        if self.line.pending is not None:
            return ""
        self.line.settle()
        self.line.pump_for(seconds)
        found = self.line.between_commands()
        self.line.prompt_end = self.line.stream.offset
        return found
