"""The line to one program: what is typed, what comes back, and how the terminal stands."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.adapters.ending import Signs, Watch
from bridge.adapters.interleave import aside
from bridge.adapters.modes import ModeState, usable
from bridge.adapters.view import plain

if TYPE_CHECKING:
    from bridge.adapters.model import AdapterFile
    from bridge.adapters.osc import Mark
    from bridge.adapters.payload import Payload
    from bridge.adapters.stream import Stream

__all__ = ["DRAWN", "Command", "Line"]

DRAWN = 0.15
"""Longest wait for a prompt that was announced to be drawn."""
_PAUSE = 0.003
"""Silence after which a prompt that shows something is taken to be whole."""
_CHUNK = 256


@dataclass(slots=True)
class Command:
    """A command on its way.

    Attributes:
        lines: what is still to be typed.
        segments: output of what was typed already.
        escapes: how many ways out of a continuation were tried.
        incomplete: there was no way out but the interrupt key.
        out_of_band: what came between the last prompt and this command.
        afterwards: what came behind its own prompt, where the adapter waits for that.
        asks: the program waits for input at no prompt that we know.
    """

    command: str
    payload: Payload
    restarted: bool = False
    path: str | None = None
    lines: list[str] = field(default_factory=list)
    sent: str = ""
    segments: list[str] = field(default_factory=list)
    started: float = 0.0
    watch: Watch | None = None
    escapes: int = 0
    truncated: bool = False
    out_of_band: str = ""
    afterwards: str = ""
    incomplete: bool = False
    asks: bool = False


class Line:
    """One program's end of the conversation.

    Args:
        adapter: what its file says.
        stream: what the program prints.
        osc: it announces its prompts.
        primary: pattern of the prompt, when it doesn't.
        continuation: pattern of its continuation prompt.
        genuine: announcements are those of our own scripts, which also say when input begins.
    """

    def __init__(
        self,
        adapter: AdapterFile,
        stream: Stream,
        *,
        osc: bool,
        primary: str | None,
        continuation: str | None,
        genuine: bool,
    ) -> None:
        self.adapter, self.stream, self.terminal = adapter, stream, stream.terminal
        prompt = adapter.prompt
        self.is_lone = prompt.strategy == "regex" and bool(prompt.continuation) and not prompt.continuation_escape
        """The continuation prompt is known, and no way out of it: it tells when the next line may be typed."""
        self.osc, self.primary, self.continuation, self.genuine = osc, primary, continuation, genuine
        self.others = [
            pattern
            for mode in adapter.modes
            if not mode.default and (pattern := usable(mode.primary or mode.detect))
        ]
        self.anywhere = adapter.prompt.anchor == "anywhere"
        self.settle_seconds = max(adapter.output.post_prompt_settle_ms, 0) / 1000
        self.raw_prompt: bool | None = None
        self.prompt_end = self.announced_at = 0
        self.input_began = not genuine
        self.pending: Command | None = None
        self.cwd: str | None = None
        self.announcements = 0
        """How often the working folder was announced."""
        self.mode = ModeState()
        """The mode that the program was in at its last prompt."""
        self._asides: list[str] = []
        self.ready_seconds = 0.0
        self.greeting = b""

    def pump(self, timeout: float | None) -> tuple[bytes, list[Mark]]:
        """Wait at most `timeout` seconds for something, and take it in; what came, and the announcements in it."""
        data, marks = self.stream.pump(timeout)
        key = self.adapter.prompt.shell_integration.property_updates.cwd_key
        for mark in marks:
            if mark.code == "P" and mark.key == key:
                self.cwd = mark.value
                self.announcements += 1
            elif mark.code == "B":
                if self.input_began and self.pending is None:
                    self._keep_aside(mark.offset)
                self.input_began = True
                self.prompt_end = mark.offset
            elif mark.code in "AC":
                self.input_began = not self.genuine
                self.announced_at = mark.offset
        if self.pending is not None and self.pending.watch is not None and (data or marks):
            self.pending.watch.feed(data, marks, cwd_key=key)
        return data, marks

    def signs(self, watch: Watch) -> Signs:
        """What is known besides the stream, for the verdict of `watch`."""
        tty = self.terminal.state()
        if self.pending is not None and tty.canonical and self.raw_prompt is None:
            self.raw_prompt = True  # it was off at the prompt, or this would be False already
        unsure = tty.canonical or self.raw_prompt is not True
        needs = unsure and (watch.looks_like_prompt or not watch.osc)
        reading = self.terminal.is_reading(canonical=tty.canonical) if needs else None
        computing = reading is False and watch.looks_like_prompt and self.terminal.is_computing()
        return Signs(tty, self.stream.quiet, self.raw_prompt, reading, computing)

    def write(self, text: str) -> None:
        """Write to the program, in parts with pauses when the adapter asks for that."""
        data = text.encode("utf-8", "surrogateescape")
        pause = self.adapter.input.chunk_delay_ms / 1000
        if pause <= 0 or len(data) <= _CHUNK:
            self.stream.write(data)
            return
        for start in range(0, len(data), _CHUNK):
            self.stream.write(data[start : start + _CHUNK])
            if start + _CHUNK < len(data):
                self.pump_for(pause)

    def pump_for(self, seconds: float) -> None:
        """Take in what comes for so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.terminal.ended:
            self.pump(left)

    def type(self, line: str) -> None:
        """Type one line and Enter, whatever comes of it."""
        self.write(line + self.adapter.input.line_ending)

    def settle(self) -> None:
        """Wait until the prompt is drawn and the line editor is on; what was typed before would be echoed twice."""
        if not self.genuine:
            if self.osc and self.raw_prompt is not False:
                self.drawn(max(self.settle_seconds, DRAWN))
            return
        deadline = time.monotonic() + 1.0
        while not (self.input_began or self.terminal.ended) and (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def drawn(self, longest: float) -> None:
        """Wait until a prompt that was announced is drawn and its line editor on; for scripts that don't say so.

        The editor is on a moment before it draws: what is typed in between is echoed behind the prompt, not before
        it.
        """
        deadline = time.monotonic() + longest
        while not self.terminal.ended and (left := deadline - time.monotonic()) > 0:
            if self.terminal.state().canonical is False and self._shows_text() and self.stream.quiet >= _PAUSE:
                return
            self.pump(min(left, _PAUSE))

    def _shows_text(self) -> bool:
        text, _ = self.stream.between(self.announced_at, self.stream.offset)
        return bool(plain(text.decode("utf-8", "replace")).strip())

    def new_watch(self, *, more: bool = True) -> Watch:
        """A watch for the end of what is typed next.

        Args:
            more: there is something to type should the program want more.
        """
        ignore = self.is_lone and not more
        return Watch(
            offset=self.stream.offset,
            osc=self.osc,
            primary=self.primary,
            continuation=None if ignore else self.continuation,
            ignored=self.continuation if ignore else None,
            others=self.others,
            marker=not self.osc and self.adapter.prompt.strategy != "regex",
            settle=self.settle_seconds,
            anywhere=self.anywhere,
        )

    def _keep_aside(self, offset: int) -> None:
        """Keep what was printed at a prompt that was drawn anew below it; the new one has its line to itself."""
        text, _ = self.stream.between(self.prompt_end, offset)
        if found := aside(text.rpartition(b"\n")[0], self.primary):
            self._asides.append(found)

    def between_commands(self) -> str:
        """What came behind the last prompt, as output of no command; each piece is told once."""
        last = aside(self.stream.between(self.prompt_end, self.stream.offset)[0], self.primary)
        asides, self._asides = self._asides, []
        return "\n".join([*asides, last] if last else asides)
