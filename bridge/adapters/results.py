"""From what came for a command to its result."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.adapters.captures import captured
from bridge.adapters.cleaning import clean
from bridge.adapters.interleave import placed, without_prompts
from bridge.adapters.modes import ModeState, effect_of, mode_at_prompt, shows_prompt
from bridge.adapters.result import Result
from bridge.adapters.view import plain, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.ending import EndedBy, Ending
    from bridge.adapters.line import Command, Line

__all__ = ["Results"]


class Results:
    """Makes the results of the commands of `line`."""

    def __init__(self, line: Line) -> None:
        self._line, self._adapter = line, line.adapter

    def keep_segment(self, command: Command, ending: Ending) -> None:
        """Clean the output of one line of a block, and keep it with the command."""
        text = self._cleaned(command, ending)
        if text:
            command.segments.append(text)

    def _cleaned(self, command: Command, ending: Ending) -> str:
        watch = command.watch
        assert watch is not None
        start = watch.offset if ending.start is None else ending.start
        window, truncated = self._line.stream.between(start, ending.end)
        if ending.start is None:
            window = window.removeprefix(_shown_keys(self._adapter.input.clear_line or ""))
        command.truncated = command.truncated or truncated
        exact = ending.start is not None
        return clean(self._adapter, window, command.sent, exact=exact, prompt=self._line.primary)

    def result(
        self, command: Command, ending: Ending, *, by: EndedBy | None = None, recovered: bool = False
    ) -> Result:
        """The result of `command`; a command that is over is no longer pending.

        Args:
            command: what was run.
            ending: how it ended, or what there was when the time was over.
            by: told as its end, instead of what `ending` says.
            recovered: the program is back at its prompt although the command did not end by itself.
        """
        duration = time.monotonic() - command.started
        over = recovered or (ending.by not in ("timeout", "input") and not (ending.continued and not recovered))
        last = self._cleaned(command, ending)
        output = "\n".join([*command.segments, last] if last else command.segments)
        before = self._line.mode.name or (self._adapter.modes[0].name if self._adapter.modes else None)
        mode = ModeState()
        groups: Mapping[str, str] = {}
        shown = ""
        if ending.prompt is not None:
            groups, shown = ending.prompt.groups, plain(ending.prompt.text)
        if over:
            self._line.mode = mode = self._mode(ending, output)
            self._line.prompt_end = max(self._line.prompt_end, ending.prompt.end if ending.prompt else ending.end)
            self._line.pending = None
            if ending.prompt is not None:  # in a mode that announces nothing
                self._line.input_began = True
            if command.path is not None:
                with suppress(OSError):
                    os.unlink(command.path)
        told = captured(self._adapter, groups, shown, mode)
        interleave = self._adapter.output.async_interleave
        if interleave.strategy == "quiesce":
            output = without_prompts(output, self._line.primary)
        output, apart = placed(output, command.out_of_band, command.afterwards, interleave)
        return Result(
            command=command.command,
            output=output,
            exit_code=self._line.terminal.status if ending.by == "exit" else ending.status,
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
            effect=effect_of(self._adapter.modes, before, command.command),
            last_exit=command.watch.last_exit if command.watch is not None else None,
        )

    def _mode(self, ending: Ending, output: str) -> ModeState:
        if not self._adapter.modes:
            return ModeState()
        if ending.prompt is not None:
            return mode_at_prompt(
                self._adapter.modes, plain(ending.prompt.text), plain(output), self._line.mode.name
            )
        deadline = time.monotonic() + 0.15
        while True:
            text, _ = self._line.stream.between(ending.end, self._line.stream.offset)
            line = plain(visible(text.decode("utf-8", "surrogateescape")).text).rpartition("\n")[2]
            found = mode_at_prompt(self._adapter.modes, line, plain(output), self._line.mode.name)
            left = deadline - time.monotonic()
            drawn = self._line.input_began if self._line.genuine else shows_prompt(self._adapter.modes, line)
            if drawn or left <= 0 or self._line.terminal.ended:
                return found
            self._line.pump(left)


def _shown_keys(keys: str) -> bytes:
    """How a terminal echoes keys that nobody takes: control characters as ``^A``."""
    return "".join(f"^{chr(ord(each) ^ 64)}" if each < " " or each == "\x7f" else each for each in keys).encode()
