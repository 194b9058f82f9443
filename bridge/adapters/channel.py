"""The channel to one program: what is typed, what comes back, and the state of its terminal."""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING

from bridge.adapters.cleaning import out_of_band_text
from bridge.adapters.ending import EndDetector, Situation
from bridge.adapters.escapes import Announcements, Questions, plain, protocol_number
from bridge.adapters.modes import ModeState
from bridge.adapters.prompts import prompt_rules
from bridge.adapters.waiting import is_computing, reads_terminal
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.adapters.escapes import Announcement
    from bridge.adapters.payload import Payload
    from bridge.adapters.schema_model import AdapterFile
    from bridge.adapters.terminal import Terminal

DRAWN = 0.15
"""Longest wait for an announced prompt to be drawn."""
PAUSE = 0.003
"""Silence after which a prompt that shows something is taken to be whole."""
_CHUNK = 256


@dataclass(slots=True)
class PendingCommand:
    """A command on its way.

    Attributes:
        lines: what is still to be typed.
        segments: output of what was typed already.
        escapes: how many ways out of a continuation were tried.
        incomplete: there was no way out but the interrupt key.
        out_of_band: what came between the last prompt and this command.
        afterwards: what came after its own prompt, if the adapter waits for that.
        asks: the program waits for input at no prompt that we know.
    """

    text: str
    payload: Payload
    restarted: bool = False
    path: str | None = None
    lines: list[str] = field(default_factory=list)
    sent: str = ""
    segments: list[str] = field(default_factory=list)
    started: float = 0.0
    detector: EndDetector | None = None
    escapes: int = 0
    truncated: bool = False
    out_of_band: str = ""
    afterwards: str = ""
    incomplete: bool = False
    asks: bool = False


class Transcript:
    """The clean bytes of a program by absolute offset; beyond `limit` of them the middle is dropped."""

    def __init__(self, limit: int = 32 * 1024 * 1024) -> None:
        self.end = 0
        self._limit = limit
        self._kept = bytearray()
        self._base = self._gap_at = self._gap = 0

    def add(self, data: bytes) -> None:
        self._kept += data
        self.end += len(data)
        if len(self._kept) > self._limit + self._limit // 4:
            half = self._limit // 2
            excess = len(self._kept) - self._limit
            self._gap_at = half
            self._gap += excess
            del self._kept[half : half + excess]

    def between(self, start: int, end: int) -> tuple[bytes, bool]:
        first, last = max(start - self._base, 0), max(end - self._base, 0)
        if not self._gap or last <= self._gap_at:
            return bytes(self._kept[first:last]), False
        tail = max(first - self._gap, self._gap_at)
        found = bytes(self._kept[tail : max(last - self._gap, tail)])
        if first >= self._gap_at + self._gap:
            return found, False
        return bytes(self._kept[first : self._gap_at]) + b"\n[...]\n" + found, True

    def forget(self, offset: int) -> None:
        if self._gap:
            keep = max(self.end - offset, 0)
            self._kept = self._kept[len(self._kept) - keep :] if keep else bytearray()
            self._base, self._gap, self._gap_at = self.end - len(self._kept), 0, 0
        elif offset > self._base:
            del self._kept[: offset - self._base]
            self._base = offset


class Channel:
    """One program's conversation.

    Announcements with a nonce are genuine: they are those of our own scripts, which also say when input begins,
    and number their prompts. One that nobody waits for, stale or made up, is not taken for that of another command.
    The listener is given everything that is clean, as it comes.
    """

    def __init__(
        self, adapter: AdapterFile, terminal: Terminal, *, nonce: str, has_script: bool, output_limit: int
    ) -> None:
        self.adapter, self.terminal = adapter, terminal
        self.rules = prompt_rules(adapter, has_script=has_script)
        self.genuine = bool(nonce)
        self.listener: Callable[[bytes], None] | None = None
        number = protocol_number(adapter.prompt.shell_integration.markers.prompt_start)
        self._questions, self._announcements = Questions(), Announcements(nonce=nonce, number=number)
        self.transcript = Transcript(output_limit)
        self._last_byte = time.monotonic()
        self.raw_prompt: bool | None = None
        self.prompt_end = self.announced_at = 0
        self.input_began = not self.genuine
        self.pending: PendingCommand | None = None
        self.cwd: str | None = None
        self.cwd_announcements = 0
        self._prompt_number = 0
        self._announces_begin = False
        self.mode = ModeState()
        """The mode that the program was in at its last prompt."""
        self._asides: list[str] = []
        self.ready_seconds = 0.0
        self.greeting = b""

    # reading

    @property
    def offset(self) -> int:
        return self.transcript.end

    @property
    def quiet(self) -> float:
        """Seconds since something came, or was written: silence before an answer means nothing."""
        return time.monotonic() - self._last_byte

    def pump(self, timeout: float | None) -> tuple[bytes, list[Announcement]]:
        """Wait at most `timeout` seconds for something, and take it in; clean bytes, and the announcements."""
        data, marks = self._read(timeout)
        self.transcript.add(data)
        if data and self.listener is not None:
            self.listener(data)
        cwd_key = self.adapter.prompt.shell_integration.property_updates.cwd_key
        marks = [mark for mark in marks if self._is_awaited(mark)]
        for mark in marks:
            self._note(mark, cwd_key)
        if self.pending is not None and self.pending.detector is not None and (data or marks):
            self.pending.detector.feed(data, marks, cwd_key=cwd_key)
        return data, marks

    def _read(self, timeout: float | None) -> tuple[bytes, list[Announcement]]:
        raw = self.terminal.read(timeout)
        if raw:
            self._last_byte = time.monotonic()
            text, answer = self._questions.feed(raw)
            if answer:
                self.terminal.write(answer)
            return self._announcements.feed(text)
        if not self.terminal.ended:
            return b"", []
        rest, marks = self._announcements.feed(self._questions.flush())
        return rest + self._announcements.flush(), marks

    def _is_awaited(self, mark: Announcement) -> bool:
        """Whether a mark belongs to the last prompt and the command behind it, or begins the next prompt."""
        if not self.genuine:
            return True
        if mark.code in "AP":
            awaited = mark.number in (self._prompt_number, self._prompt_number + 1)
            if mark.code == "A":
                awaited = mark.number == self._prompt_number + 1
                self._prompt_number += awaited
            return awaited
        return mark.number == self._prompt_number

    def _note(self, mark: Announcement, cwd_key: str) -> None:
        if mark.code == "P" and mark.key == cwd_key:
            self.cwd = mark.value
            self.cwd_announcements += 1
        elif mark.code == "B":
            if self.input_began and self.pending is None:
                self._keep_aside(mark.offset)
            self.input_began = True
            self.prompt_end = mark.offset
        elif mark.code in "AC":
            self._announces_begin |= mark.code == "C"
            self.input_began = not self.genuine
            self.announced_at = mark.offset

    def pump_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.terminal.ended:
            self.pump(left)

    def between(self, start: int, end: int | None = None) -> tuple[bytes, bool]:
        return self.transcript.between(start, self.offset if end is None else end)

    def text_since(self, start: int) -> str:
        return self.between(start)[0].decode("utf-8", "replace")

    def observe(self, detector: EndDetector) -> Situation:
        tty = self.terminal.state()
        if self.pending is not None and tty.canonical and self.raw_prompt is None:
            self.raw_prompt = True  # it was off at the prompt, or this would be False already
        unsure = tty.canonical or self.raw_prompt is not True
        needed = unsure and (detector.looks_like_prompt or not detector.rules.osc)
        reading = reads_terminal(self.terminal.pid, canonical=tty.canonical) if needed else None
        computing = reading is False and detector.looks_like_prompt and is_computing(self.terminal.pid)
        return Situation(
            tty=tty,
            quiet=self.quiet,
            raw_prompt=self.raw_prompt,
            reading=reading,
            computing=computing,
            announces_begin=self._announces_begin,
        )

    # writing

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "surrogateescape")
        pause = self.adapter.input.chunk_delay_ms / 1000
        size = _CHUNK if pause > 0 else max(len(data), 1)
        for start in range(0, len(data), size):
            self.send(data[start : start + size])
            if start + size < len(data):
                self.pump_for(pause)

    def send(self, data: bytes) -> None:
        self.terminal.write(data)
        self._last_byte = time.monotonic()

    def type(self, line: str) -> None:
        self.write(line + self.adapter.input.line_ending)

    def settle(self) -> None:
        """Wait until the prompt is drawn and the line editor is on; what was typed before would be echoed twice."""
        if not self.genuine:
            if self.rules.osc and self.raw_prompt is not False:
                self.wait_drawn(max(self.rules.settle, DRAWN))
            return
        deadline = time.monotonic() + 1.0
        while not (self.input_began or self.terminal.ended) and (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def wait_drawn(self, longest: float) -> None:
        """Wait until an announced prompt is drawn and its line editor on, which it is a moment before it draws:
        what is typed in between is echoed after the prompt, not before it. For scripts that don't announce the
        begin of input.
        """
        deadline = time.monotonic() + longest
        while not self.terminal.ended and (left := deadline - time.monotonic()) > 0:
            shown = plain(self.text_since(self.announced_at)).strip()
            if self.terminal.state().canonical is False and shown and self.quiet >= PAUSE:
                return
            self.pump(min(left, PAUSE))

    def new_detector(self, *, more: bool = True) -> EndDetector:
        """A detector for the end of what is typed next; `more`: something else could be typed after it."""
        prompt, rules = self.adapter.prompt, self.rules
        if prompt.strategy == "regex" and not prompt.continuation_escape and not more:
            # There is no way out of its continuation prompt, which only shows when the next line may be typed.
            rules = replace(rules, continuation=None, ignored=rules.continuation)
        return EndDetector(self.offset, rules)

    # output that belongs to no command

    def _keep_aside(self, offset: int) -> None:
        """Keep what was printed at a prompt that was redrawn below it; the new one has its line to itself."""
        text, _ = self.between(self.prompt_end, offset)
        if found := out_of_band_text(text.rpartition(b"\n")[0], self.rules.primary):
            self._asides.append(found)

    def take_out_of_band(self) -> str:
        """What came after the last prompt; each part is returned once."""
        last = out_of_band_text(self.between(self.prompt_end)[0], self.rules.primary)
        asides, self._asides = self._asides, []
        return "\n".join([*asides, last] if last else asides)
