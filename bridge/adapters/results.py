"""What one command gave: its result, and how it is made from what came."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from bridge.adapters.cleaning import clean, echoed_keys, interleaved, without_prompts
from bridge.adapters.escapes import plain, visible
from bridge.adapters.modes import ModeState, captures_of, effect_of, mode_at_prompt, shows_prompt
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.channel import Channel, PendingCommand
    from bridge.adapters.ending import EndedBy, Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One command's result.

    Attributes:
        command: what was run.
        output: what it printed, as a terminal would show it: no echo, no prompt, progress bars in their last state.
            Colours stay unless the adapter has ``strip_ansi: true``. Bytes that are not UTF-8 are lone surrogates.
        exit_code: its exit code; None when the program reports none. With ended_by "exit" the program's own.
        cwd: the working folder, as announced last during this command; None when it was not.
        mode: the mode that the program is in now; None for adapters without modes.
        level: how deep that mode is nested, or None.
        duration: seconds from the Enter key to the end.
        ended_by: what showed the end. "osc", "marker" and "prompt" are prompts; "input" is a program that waits for
            input at no prompt that we know; "quiet" is silence (adapters without any prompt); "incomplete" a
            continuation prompt that was left by interrupt; "exit" the end of the program; "timeout" the deadline.
        truncated: more was printed than was kept: the middle of `output` is missing.
        recovered: after "timeout" and "incomplete": the program was interrupted and is back at its prompt.
        restarted: the program was restarted before this command, its state is lost.
        out_of_band: output that belongs to no command and came before this one's prompt.
        captures: groups of the prompt with a meaning, by name.
        counter: the prompt's counter, for programs that number their prompts.
        effect: the effect of the command in the mode that it was given in, by the mode's advance and exit commands:
            "step_over" is still paused, "resume" has left.
        last_exit: exit code that a native program left after, for shells that announce it.
    """

    command: str
    output: str
    exit_code: int | None = None
    cwd: str | None = None
    mode: str | None = None
    level: int | None = None
    duration: float = 0.0
    ended_by: EndedBy = "osc"
    truncated: bool = False
    recovered: bool = False
    restarted: bool = False
    out_of_band: str = ""
    captures: Mapping[str, str | int] = field(default_factory=dict)
    counter: int | None = None
    effect: str | None = None
    last_exit: int | None = None

    @property
    def timed_out(self) -> bool:
        """The deadline came first; `output` is what there was until then."""
        return self.ended_by == "timeout"

    @property
    def ok(self) -> bool:
        """It came back to a prompt, and without a failing exit code."""
        return self.ended_by in ("osc", "marker", "prompt", "quiet") and self.exit_code in (0, None)


# output that belongs to no command (``output.async_interleave``)


class Results:
    def __init__(self, channel: Channel) -> None:
        self._channel, self._adapter = channel, channel.adapter

    def keep_segment(self, command: PendingCommand, ending: Ending) -> None:
        text = self._cleaned(command, ending)
        if text:
            command.segments.append(text)

    def _cleaned(self, command: PendingCommand, ending: Ending) -> str:
        assert command.detector is not None
        exact = ending.start is not None
        start = command.detector.offset if ending.start is None else ending.start
        window, truncated = self._channel.between(start, ending.end)
        if not exact:
            window = window.removeprefix(echoed_keys(self._adapter.input.clear_line or ""))
        command.truncated = command.truncated or truncated
        return clean(self._adapter, window, command.sent, exact=exact, prompt=self._channel.rules.primary)

    def result(
        self, command: PendingCommand, ending: Ending, *, by: EndedBy | None = None, recovered: bool = False
    ) -> Result:
        """The result of `command`, which is no longer pending if it is over.

        `ending` is how it ended, or what there was at the deadline; `by` replaces its reason.
        """
        duration = time.monotonic() - command.started
        channel, adapter, detector = self._channel, self._adapter, command.detector
        last = self._cleaned(command, ending)
        output = "\n".join([*command.segments, last] if last else command.segments)
        before = channel.mode.name or (adapter.modes[0].name if adapter.modes else None)
        mode = ModeState()
        if recovered or (ending.by not in ("timeout", "input") and not ending.continued):
            mode = self._mode(ending, output)
            self._finish(command, ending, mode)
        groups, shown = (ending.prompt.groups, plain(ending.prompt.text)) if ending.prompt else ({}, "")
        captures = captures_of(adapter, groups, shown, mode)
        mode = ModeState(captures.mode or mode.name, captures.level if mode.level is None else mode.level)
        if channel.pending is None:
            channel.mode = mode
        interleave = adapter.output.async_interleave
        if interleave.strategy == "quiesce":
            output = without_prompts(output, channel.rules.primary)
        output, apart = interleaved(output, command.out_of_band, command.afterwards, interleave)
        return Result(
            command=command.text,
            output=output,
            exit_code=channel.terminal.status if ending.by == "exit" else ending.status,
            cwd=detector.cwd if detector is not None else None,
            mode=mode.name,
            level=mode.level,
            duration=duration,
            ended_by=by or ending.by,
            truncated=command.truncated,
            recovered=recovered,
            restarted=command.restarted,
            out_of_band=apart,
            captures=captures.values,
            counter=captures.counter,
            effect=effect_of(adapter.modes, before, command.text),
            last_exit=detector.last_exit if detector is not None else None,
        )

    def _finish(self, command: PendingCommand, ending: Ending, mode: ModeState) -> None:
        channel, prompt = self._channel, ending.prompt
        channel.mode = mode
        channel.prompt_end = max(channel.prompt_end, prompt.end if prompt else ending.end)
        channel.pending = None
        if prompt is not None:  # in a mode that announces nothing
            channel.input_began = True
        if command.path is not None:
            with suppress(OSError):
                os.unlink(command.path)

    def _mode(self, ending: Ending, output: str) -> ModeState:
        modes, channel = self._adapter.modes, self._channel
        if not modes:
            return ModeState()
        if ending.prompt is not None:
            return mode_at_prompt(modes, plain(ending.prompt.text), plain(output), channel.mode.name)
        deadline = time.monotonic() + 0.15
        while True:
            text, _ = channel.between(ending.end)
            line = plain(visible(text.decode("utf-8", "surrogateescape")).text).rpartition("\n")[2]
            found = mode_at_prompt(modes, line, plain(output), channel.mode.name)
            left = deadline - time.monotonic()
            drawn = channel.input_began if channel.genuine else shows_prompt(modes, line)
            if drawn or left <= 0 or channel.terminal.ended:
                return found
            channel.pump(left)
