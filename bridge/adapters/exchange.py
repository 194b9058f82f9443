"""The conversation with one program: typing, waiting for prompts, making results."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.adapters.captures import captured
from bridge.adapters.cleaning import clean
from bridge.adapters.ending import Ending, Signs, Watch, again
from bridge.adapters.interleave import aside, placed, without_prompts
from bridge.adapters.modes import (
    ModeState,
    default_mode,
    effect_of,
    is_default,
    mode_at_prompt,
    mode_named,
    shows_prompt,
    usable,
    way_out,
)
from bridge.adapters.patterns import compiled
from bridge.adapters.payload import Payload
from bridge.adapters.prompts import PromptDetector
from bridge.adapters.render import render, trimmed
from bridge.adapters.result import Result
from bridge.adapters.view import plain, visible
from bridge.errors import AdapterNotReady

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.ending import EndedBy
    from bridge.adapters.model import AdapterFile
    from bridge.adapters.osc import Mark
    from bridge.adapters.stream import Stream

__all__ = ["Command", "Exchange"]

_LINE_GAP = 0.15
"""Silence after which the next line of a block is typed although no continuation prompt was seen."""
_DRAWN = 0.15
"""Longest wait for a prompt that was announced to be drawn."""
_PAUSE = 0.003
"""Silence after which a prompt that shows something is taken to be whole."""
_QUIESCE = 10.0
"""Longest wait, in seconds, for a program to fall silent behind its prompt."""
_DEEPEST = 20
"""How many modes within each other are left one by one."""
_CHUNK = 256
_CLOSERS = ("", "'", '"', "]]", "*/")
"""What the way out of a continuation is tried with: a text or a comment may be open."""


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


class Exchange:
    """Types commands and waits for what ends them; see :class:`bridge.adapters.session.Session`.

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
        self._osc, self._primary, self._continuation, self._genuine = osc, primary, continuation, genuine
        self._others = [
            pattern
            for mode in adapter.modes
            if not mode.default and (pattern := usable(mode.primary or mode.detect))
        ]
        self._anywhere = adapter.prompt.anchor == "anywhere"
        self._settle = max(adapter.output.post_prompt_settle_ms, 0) / 1000
        self._raw_prompt: bool | None = None
        self._prompt_end = self._announced_at = 0
        self._input_began = not genuine
        self.pending: Command | None = None
        self.cwd: str | None = None
        self.mode = ModeState()
        """The mode that the program was in at its last prompt."""
        self.typed = False
        self.ready_seconds = 0.0
        self.greeting = b""

    # the stream

    def _pump(self, timeout: float | None) -> tuple[bytes, list[Mark]]:
        data, marks = self.stream.pump(timeout)
        key = self.adapter.prompt.shell_integration.property_updates.cwd_key
        for mark in marks:
            if mark.code == "P" and mark.key == key:
                self.cwd = mark.value
            elif mark.code == "B":
                self._input_began = True
                self._prompt_end = mark.offset
            elif mark.code in "AC":
                self._input_began = not self._genuine
                self._announced_at = mark.offset
        if self.pending is not None and self.pending.watch is not None and (data or marks):
            self.pending.watch.feed(data, marks, cwd_key=key)
        return data, marks

    def _signs(self, watch: Watch) -> Signs:
        tty = self.terminal.state()
        if self.pending is not None and tty.canonical and self._raw_prompt is None:
            self._raw_prompt = True  # it was off at the prompt, or this would be False already
        unsure = tty.canonical or self._raw_prompt is not True
        needs = unsure and (watch.looks_like_prompt or not watch.osc)
        reading = self.terminal.is_reading(canonical=tty.canonical) if needs else None
        return Signs(tty, self.stream.quiet, self._raw_prompt, reading)

    # ready

    def ready(self, inject: str | None, timeout: float) -> None:
        """Wait for the first prompt; type `inject` when the program reads.

        With ``suppress_mirror_during_inject`` whoever listens gets the first prompt only, not what led there.

        Raises:
            AdapterNotReady: no prompt within `timeout` seconds, or the program ended.
        """
        begun = time.monotonic()
        deadline = begun + timeout
        watch = Watch(offset=0, osc=self._osc, primary=None, settle=max(self._settle, 0.05))
        first = PromptDetector(self._primary, anywhere=self._anywhere) if self._primary else None
        kick_at = begun + max(self.adapter.ready.delay_after_inject_ms / 1000, 0.5)
        kicked = not self.adapter.ready.kick_enter_after_ready
        muted = inject is not None and self.adapter.ready.suppress_mirror_during_inject
        listener = self.stream.listener
        if inject is not None:
            self._wait_to_inject(deadline)
            if muted:
                self.stream.listener = None
            for line in inject.split("\n"):
                self._write(line + self.adapter.input.line_ending)
        while True:
            now = time.monotonic()
            if self._at_first_prompt(watch, first) and self._awaited(now - begun):
                break
            if self.terminal.ended or now >= deadline:
                raise self._not_ready(timeout)
            if not kicked and now >= kick_at and self.stream.quiet > 0.05:
                kicked = True
                self._write(self.adapter.input.line_ending)
            wait = self._first_wait(first, watch)
            if wait == 0.0:
                wait = 0.05  # a prompt, but not what the adapter waits for
            if not kicked:
                wait = min(wait if wait is not None else kick_at - now, max(kick_at - now, 0.05))
            limit = deadline - now if wait is None else min(wait, deadline - now)
            data, marks = self._pump(limit)
            watch.feed(data, marks)
            if first is not None and data:
                first.follow(data)
        self.ready_seconds = time.monotonic() - begun
        if self._osc and not self._genuine:
            # Announced before it is drawn: how the terminal stands at a prompt shows only once it is.
            self._drawn(max(self._settle, _DRAWN))
        state = self.terminal.state()
        self._raw_prompt = False if state.canonical else None
        if not self._genuine:
            self._prompt_end = self.stream.offset
        announced = [mark.offset for mark in watch.marks if mark.code == "A"]
        drawn = first.standing.start if first is not None and first.standing else 0
        self.greeting = self.stream.between(announced[-1] if announced else drawn, self.stream.offset)[0]
        self.stream.forget(self._prompt_end)
        self.stream.listener = listener
        if muted and listener is not None:
            listener(self.greeting)

    def _awaited(self, seconds: float) -> bool:
        """``wait_for_event: custom``: `wait_for` was printed, or the time for output to settle is over."""
        ready = self.adapter.ready
        if ready.wait_for_event != "custom" or not (pattern := usable(ready.wait_for)):
            return True
        if seconds >= max(ready.output_settled_max_ms, 0) / 1000:
            return True
        text, _ = self.stream.between(0, self.stream.offset)
        return compiled(pattern).search(plain(visible(text.decode("utf-8", "replace")).text)) is not None

    def _drawn(self, longest: float) -> None:
        """Wait until a prompt that was announced is drawn and its line editor on; for scripts that don't say so.

        The editor is on a moment before it draws: what is typed in between is echoed behind the prompt, not before
        it.
        """
        deadline = time.monotonic() + longest
        while not self.terminal.ended and (left := deadline - time.monotonic()) > 0:
            if self.terminal.state().canonical is False and self._shows_text() and self.stream.quiet >= _PAUSE:
                return
            self._pump(min(left, _PAUSE))

    def _shows_text(self) -> bool:
        text, _ = self.stream.between(self._announced_at, self.stream.offset)
        return bool(plain(text.decode("utf-8", "replace")).strip())

    def _at_first_prompt(self, watch: Watch, first: PromptDetector | None) -> bool:
        if self._osc:
            return self._input_began and any(mark.code == "A" for mark in watch.marks)
        if first is None:
            reads = self.terminal.is_reading(canonical=self.terminal.state().canonical)
            return self.stream.quiet >= watch.settle and reads is not False
        return self._first_wait(first, watch) == 0.0

    def _first_wait(self, first: PromptDetector | None, watch: Watch) -> float | None:
        """How long to wait for a byte; 0.0 when a prompt stands that is believed."""
        if self._osc:
            return None
        if first is None:
            return max(watch.settle - self.stream.quiet, 0.02)
        if first.standing is None:
            return None
        canonical = self.terminal.state().canonical
        # Banners hold prompt-like texts more often than output does: the program has to read.
        reading = self.terminal.is_reading(canonical=True) if canonical else None
        wait = {True: 0.0, False: 1.0, None: 0.05}[reading] if canonical else 0.025
        left = max(wait - self.stream.quiet, 0.0)
        return min(left, again(self.stream.quiet)) if left else 0.0

    def _wait_to_inject(self, deadline: float) -> None:
        """Wait until the program reads, for at most the times that the adapter gives."""
        ready = self.adapter.ready
        begun = time.monotonic()
        # Two fields say how long to be quiet; they are upper bounds here, so the smaller one that is given counts.
        given = [each for each in (ready.settle_before_inject_ms, ready.output_settled_stable_ms) if each > 0]
        settled = max(min(given, default=0), 50) / 1000
        latest = min(time.monotonic() + max(ready.output_settled_max_ms, 1000) / 1000, deadline)
        while time.monotonic() < latest and not self.terminal.ended:
            canonical = self.terminal.state().canonical
            if self.stream.offset and canonical is False:
                break  # a line editor is at its prompt
            if (
                canonical
                and self.stream.offset
                and self.stream.quiet >= 0.05
                and self.terminal.is_reading(canonical=True)
            ):
                break
            if self.stream.offset and self.stream.quiet >= settled:
                break
            if (
                not self.stream.offset
                and time.monotonic() - begun >= max(ready.output_settled_min_ms, 50) / 1000
                and self.terminal.is_reading(canonical=canonical)
            ):
                break  # it reads and shows no prompt at all
            self._pump(0.02 if self.stream.offset else 0.1)

    def _not_ready(self, timeout: float) -> AdapterNotReady:
        text, _ = self.stream.between(0, self.stream.offset)
        shown = plain(trimmed(render(text.decode("utf-8", "replace"))))[-1000:]
        if self.terminal.ended:
            what = f"{self.adapter.name} ended with status {self.terminal.status} before its first prompt"
        else:
            what = f"{self.adapter.name} showed no prompt within {timeout:g} s"
        seen = "\n    ".join(shown.splitlines()) or "nothing"
        wanted = f"a prompt like {self._primary!r}" if self._primary else "to read, silently: it has no prompt"
        if self._osc:
            wanted = "a prompt announced by OSC 633"
        return AdapterNotReady(f"{what}\n  expected: {wanted}\n  printed: {seen}\n  next: run it by hand")

    # typing

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "surrogateescape")
        pause = self.adapter.input.chunk_delay_ms / 1000
        if pause <= 0 or len(data) <= _CHUNK:
            self.stream.write(data)
            return
        for start in range(0, len(data), _CHUNK):
            self.stream.write(data[start : start + _CHUNK])
            if start + _CHUNK < len(data):
                self._pump_for(pause)

    def _pump_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.terminal.ended:
            self._pump(left)

    def type(self, line: str) -> None:
        """Type one line and Enter, whatever comes of it."""
        self._write(line + self.adapter.input.line_ending)

    def settle(self) -> None:
        """Wait until the prompt is drawn and the line editor is on; what was typed before would be echoed twice."""
        if not self._genuine:
            if self._osc and self._raw_prompt is not False:
                self._drawn(max(self._settle, _DRAWN))
            return
        deadline = time.monotonic() + 1.0
        while not (self._input_began or self.terminal.ended) and (left := deadline - time.monotonic()) > 0:
            self._pump(left)

    def begin(self, command: Command) -> None:
        """Type a command, or the first line of it."""
        self._pump(0)
        command.out_of_band = self._between_commands()
        self.stream.forget(self.stream.offset)
        self.pending = command
        if (self.typed or self.stream.answered) and self.adapter.input.clear_line:
            self._write(self.adapter.input.clear_line)
        self.typed = self.stream.answered = False
        text = command.payload.text
        lines = command.payload.route in ("lines", "wrapper") or (command.payload.route == "heredoc")
        command.lines = text.split("\n") if lines else [text]
        command.started = time.monotonic()
        self._next(command)

    def _next(self, command: Command) -> None:
        line = command.lines.pop(0)
        command.sent = line
        command.watch = self._watch()
        self._input_began = not self._genuine
        self._write(line + self.adapter.input.line_ending)

    def _watch(self) -> Watch:
        return Watch(
            offset=self.stream.offset,
            osc=self._osc,
            primary=self._primary,
            continuation=self._continuation,
            others=self._others,
            marker=not self._osc and self.adapter.prompt.strategy != "regex",
            settle=self._settle,
            anywhere=self._anywhere,
        )

    def _between_commands(self) -> str:
        """What came behind the last prompt."""
        return aside(self.stream.between(self._prompt_end, self.stream.offset)[0], self._primary)

    # waiting

    def look(self) -> None:
        """Take in what came, and see whether the pending command has ended meanwhile."""
        self._pump(0)
        if self.pending is not None and not self.terminal.ended:
            ending = self._await(self.pending, time.monotonic())
            if ending is not None and not ending.continued:
                self._done(self.pending, ending)

    def complete(self, timeout: float | None, *, interrupt: bool, grace: float) -> Result:
        """Wait for the pending command to end, line by line; one result in any case."""
        command = self.pending
        assert command is not None
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            ending = self._await(command, deadline, soft=bool(command.lines))
            if ending is None:
                return self._timed_out(command, interrupt=interrupt, grace=grace)
            if ending.by == "exit":
                return self._done(command, ending)
            if command.lines:
                self._keep_segment(command, ending)
                self._next(command)
            elif ending.continued:
                result = self._continued(command, ending, grace)
                if result is not None:
                    return result
            elif ending.by == "input":
                command.asks = True
                return self._result(command, ending)  # still pending: somebody may answer
            else:
                return self._done(command, self._quiesced(command, ending, deadline))

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
            primary=self._primary,
            others=self._others,
            settle=self._settle,
            anywhere=self._anywhere,
        )
        watch.feed(self.stream.between(ending.prompt.end, self.stream.offset)[0], [])
        while (left := min(self._settle - self.stream.quiet, limit - time.monotonic())) > 0:
            data, marks = self._pump(left)
            watch.feed(data, marks)
            if self.terminal.ended:
                break
        verdict = watch.verdict(self._signs(watch))
        last = ending.prompt
        if isinstance(verdict, Ending) and verdict.prompt is not None:
            last = verdict.prompt
        command.afterwards = aside(self.stream.between(ending.prompt.end, last.start)[0], None)
        return ending._replace(prompt=last)

    def _await(self, command: Command, deadline: float | None, *, soft: bool = False) -> Ending | None:
        """The ending of what was typed last, or None at the deadline."""
        watch = command.watch
        assert watch is not None
        while True:
            verdict = watch.verdict(self._signs(watch))
            if isinstance(verdict, Ending):
                return verdict
            if self.terminal.ended:
                return Ending("exit", self.stream.offset, _start(watch))
            if soft and self.stream.quiet >= _LINE_GAP and not self._is_running(watch):
                # What stands on the current line is a continuation prompt that nobody told us of.
                return Ending("quiet", watch.line_start, _start(watch), continued=True)
            wait = verdict.seconds
            if soft:
                wait = _LINE_GAP if wait is None else min(wait, _LINE_GAP)
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                wait = left if wait is None else min(wait, left)
            # A prompt that is only waiting to be believed must not be waited for in a busy loop.
            self._pump(None if wait is None else max(wait, 0.001))

    def _is_running(self, watch: Watch) -> bool:
        """Whether something says that the program is not reading its next line yet."""
        signs = self._signs(watch)
        if signs.reading is False or watch.editor_is_off:
            return True
        return bool(signs.raw_prompt and signs.tty.canonical)

    def _continued(self, command: Command, ending: Ending, grace: float) -> Result | None:
        """The program wants more and there is no more: get it out of there."""
        escape = self.adapter.prompt.continuation_escape
        if escape and self._continuation and command.escapes < len(_CLOSERS):
            self._keep_segment(command, ending)
            escape = _CLOSERS[command.escapes] + escape
            command.escapes += 1
            command.sent = escape.rstrip("\r\n")
            command.watch = self._watch()
            self._write(escape)
            return None
        if self.adapter.family != "shell" and not escape and not command.escapes:
            # Python's blocks of one line end with an empty one.
            command.escapes = 1
            self._keep_segment(command, ending)
            command.sent = ""
            command.watch = self._watch()
            self._write(self.adapter.input.line_ending)
            return None
        command.incomplete = True
        self._keep_segment(command, ending)
        command.sent = ""
        recovered = self._interrupted(command, grace)
        return self._result(command, recovered or ending, by="incomplete", recovered=recovered is not None)

    def _timed_out(self, command: Command, *, interrupt: bool, grace: float) -> Result:
        partial = Ending("timeout", self.stream.offset, _start(command.watch))
        if not interrupt or self.adapter.signals.interrupt is None:
            return self._result(command, partial)
        back = self._interrupted(command, grace)
        if back is not None:
            return self._result(command, back, by="timeout", recovered=True)
        return self._result(command, partial)

    def _interrupted(self, command: Command, grace: float) -> Ending | None:
        """Press the interrupt key; the ending when the program comes back to its prompt within `grace` seconds."""
        key = self.adapter.signals.interrupt
        if key is None:
            return None
        command.lines.clear()
        if command.watch is not None and command.incomplete:
            command.watch = self._watch()
        deadline = time.monotonic() + grace
        self._write(key)
        confirm = self.adapter.signals.interrupt_confirm
        if confirm:
            self._pump(0.2)
            self._write(confirm)
        ending = self._await(command, deadline)
        for number in (signal.SIGTERM, signal.SIGKILL):
            # A job that has taken the key for itself: an editor, another shell, a raw terminal.
            if ending is None and self.terminal.end_job(number):
                ending = self._await(command, time.monotonic() + grace / 2)
        if ending is None or ending.by in ("exit", "input") or ending.continued:
            return None
        return ending

    def interrupt(self, timeout: float) -> bool:
        """Press the interrupt key.

        Whether the program is at its prompt afterwards. A pending command is dropped.
        """
        command = self.pending
        if command is None:
            self.terminal.write((self.adapter.signals.interrupt or "").encode())
            return not self.terminal.ended
        ending = self._interrupted(command, timeout)
        if ending is None and command.asks and not self.terminal.ended:
            # It reads still, at a prompt that nobody announces: whatever it is, it takes commands.
            self.pending, self._input_began = None, True
            self._prompt_end = self.stream.offset
            return True
        if ending is not None:
            self._done(command, ending)
        return ending is not None

    def press(self, key: str, timeout: float) -> bool:
        """Press some key; whether the pending command is over within `timeout` seconds."""
        self.terminal.write(key.encode("utf-8", "surrogateescape"))
        if self.pending is None:
            return True
        ending = self._await(self.pending, time.monotonic() + timeout)
        if ending is None or ending.by == "exit":
            return False
        self._done(self.pending, ending)
        return True

    def switch(self, key: str, mode: str, timeout: float) -> bool:
        """Press a key that changes modes; whether the prompt of `mode` is there within `timeout` seconds."""
        given = mode_named(self.adapter.modes, mode)
        pattern = usable(given.primary or given.detect) if given is not None else None
        begun = self.stream.offset
        self._write(key)
        watch = Watch(offset=begun, osc=False, primary=pattern, settle=self._settle, anywhere=True)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0 and not self.terminal.ended:
            data, marks = self._pump(min(left, 0.02))
            watch.feed(data, marks)
            if (pattern is None and self.stream.quiet >= self._settle) or (
                watch.looks_like_prompt and self.stream.quiet >= _PAUSE
            ):
                self._prompt_end = self.stream.offset
                self.mode = ModeState(mode)
                return True
        return False

    def leave_modes(self, timeout: float) -> bool:
        """Leave mode after mode, each within `timeout` seconds; whether the default mode is reached."""
        modes = self.adapter.modes
        for _ in range(_DEEPEST):
            mode = mode_named(modes, self.mode.name)
            if is_default(modes, self.mode.name) or mode is None:
                return True
            before, way = self.mode, way_out(mode)
            if way is None:
                return False
            if way.key:
                if not self.switch(way.key, default_mode(modes).name, timeout):
                    return False
                continue
            self.settle()
            self.begin(Command(way.command, Payload("direct", way.command)))
            ended_by = self.complete(timeout, interrupt=False, grace=timeout).ended_by
            if ended_by in ("timeout", "exit", "input", "incomplete") or self.mode == before:
                return False
        return False

    def collect(self, seconds: float) -> str:
        """What comes within `seconds` while no command runs."""
        if self.pending is not None:
            return ""
        self.settle()
        self._pump_for(seconds)
        found = self._between_commands()
        self._prompt_end = self.stream.offset
        return found

    # results

    def _keep_segment(self, command: Command, ending: Ending) -> None:
        text = self._cleaned(command, ending)
        if text:
            command.segments.append(text)

    def _cleaned(self, command: Command, ending: Ending) -> str:
        watch = command.watch
        assert watch is not None
        start = watch.offset if ending.start is None else ending.start
        window, truncated = self.stream.between(start, ending.end)
        command.truncated = command.truncated or truncated
        exact = ending.start is not None
        return clean(self.adapter, window, command.sent, exact=exact, prompt=self._primary)

    def _done(self, command: Command, ending: Ending) -> Result:
        return self._result(command, ending)

    def _result(
        self, command: Command, ending: Ending, *, by: EndedBy | None = None, recovered: bool = False
    ) -> Result:
        duration = time.monotonic() - command.started
        over = recovered or (ending.by not in ("timeout", "input") and not (ending.continued and not recovered))
        last = self._cleaned(command, ending)
        output = "\n".join([*command.segments, last] if last else command.segments)
        before = self.mode.name or (self.adapter.modes[0].name if self.adapter.modes else None)
        mode = ModeState()
        groups: Mapping[str, str] = {}
        shown = ""
        if ending.prompt is not None:
            groups, shown = ending.prompt.groups, plain(ending.prompt.text)
        if over:
            self.mode = mode = self._mode(ending, output)
            self._prompt_end = max(self._prompt_end, ending.prompt.end if ending.prompt else ending.end)
            self.pending = None
            if ending.prompt is not None:  # in a mode that announces nothing
                self._input_began = True
            if command.path is not None:
                with suppress(OSError):
                    os.unlink(command.path)
        told = captured(self.adapter, groups, shown, mode)
        interleave = self.adapter.output.async_interleave
        if interleave.strategy == "quiesce":
            output = without_prompts(output, self._primary)
        output, apart = placed(output, command.out_of_band, command.afterwards, interleave)
        return Result(
            command=command.command,
            output=output,
            exit_code=self.terminal.status if ending.by == "exit" else ending.status,
            cwd=command.watch.cwd if command.watch is not None else None,
            mode=told.mode or mode.name,
            level=told.level if mode.level is None else mode.level,
            duration=duration,
            ended_by=by or ending.by,
            truncated=command.truncated,
            recovered=recovered,
            restarted=command.restarted,
            out_of_band=apart,
            captures=told.values,
            counter=told.counter,
            effect=effect_of(self.adapter.modes, before, command.command),
            last_exit=command.watch.last_exit if command.watch is not None else None,
        )

    def _mode(self, ending: Ending, output: str) -> ModeState:
        if not self.adapter.modes:
            return ModeState()
        if ending.prompt is not None:
            return mode_at_prompt(self.adapter.modes, plain(ending.prompt.text), plain(output), self.mode.name)
        deadline = time.monotonic() + 0.15
        while True:
            text, _ = self.stream.between(ending.end, self.stream.offset)
            line = plain(visible(text.decode("utf-8", "surrogateescape")).text).rpartition("\n")[2]
            found = mode_at_prompt(self.adapter.modes, line, plain(output), self.mode.name)
            left = deadline - time.monotonic()
            drawn = self._input_began if self._genuine else shows_prompt(self.adapter.modes, line)
            if drawn or left <= 0 or self.terminal.ended:
                return found
            self._pump(left)


def _start(watch: Watch | None) -> int | None:
    return next((mark.offset for mark in watch.marks if mark.code == "C"), None) if watch is not None else None
