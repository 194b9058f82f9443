"""What one command gave: its result, and how it is made from what came."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.cleaning import clean, without_fill
from bridge.adapters.modes import ModeState, effect_of, mode_at_prompt, mode_named, shows_prompt
from bridge.adapters.patterns import compiled, searched
from bridge.adapters.prompts import PromptDetector
from bridge.adapters.render import trimmed
from bridge.adapters.view import plain, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.channel import Channel, PendingCommand
    from bridge.adapters.ending import EndedBy, Ending
    from bridge.adapters.model import AdapterFile, Interleave


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


class Captures(NamedTuple):
    """What a prompt shows: values by the names of ``group_captures``, and those with a role."""

    values: Mapping[str, str | int]
    counter: int | None = None
    level: int | None = None
    mode: str | None = None


def captures_of(adapter: AdapterFile, groups: Mapping[str, str], text: str, mode: ModeState) -> Captures:
    """What the prompt `text` shows, by ``prompt.group_captures`` and those of its mode.

    `groups` are those of the pattern that found the prompt; a mode's captures are groups of its own pattern.
    """
    values: dict[str, str | int] = {}
    roles: dict[str, str] = {}
    own = mode_named(adapter.modes, mode.name)
    sources = [(adapter.prompt.group_captures, groups)]
    if own is not None and own.group_captures:
        sources.append((own.group_captures, searched(own.primary or own.detect, text)))
    for captures, found in sources:
        for each in captures:
            if (value := found.get(each.group)) is not None:
                number = _number(value) if each.type == "int" else None
                values[each.name] = value if number is None else number
                roles[each.role or ""] = value
    return Captures(
        values,
        _number(roles.get("monotonic_counter")),
        _number(roles.get("nesting_level")),
        roles["mode_indicator"] if mode_named(adapter.modes, roles.get("mode_indicator")) else None,
    )


def _number(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.removeprefix("-").isdigit()):
        return None
    return int(text)


# output that belongs to no command (``output.async_interleave``)


def out_of_band_text(text: bytes, primary: str | None) -> str:
    """What came after a prompt, without colours, and without the prompt if it was drawn once more after it."""
    raw = without_fill(text.decode("utf-8", "surrogateescape"))
    shown = plain(visible(raw).text).replace("\r\n", "\n")
    if primary:
        detector = PromptDetector(primary)
        detector.feed(shown.encode("utf-8", "surrogateescape"))
        if detector.at_end is not None:
            shown = shown[: shown.rfind(detector.at_end.text)]
    return trimmed(shown).strip("\r\n") if shown.strip() else ""


def without_prompts(output: str, primary: str | None) -> str:
    """`output` without the lines that are a prompt and nothing else.

    For programs that draw their prompt and then go on printing: whether such a prompt ended the command or came too
    late to be noticed is a matter of milliseconds.
    """
    if not primary:
        return output
    pattern = compiled(primary)
    return "\n".join(line for line in output.split("\n") if not (line.strip() and pattern.fullmatch(plain(line))))


def interleaved(output: str, before: str, after: str, rule: Interleave) -> tuple[str, str]:
    """The output of a command, and what is kept apart from it.

    `before` came between the last prompt and the command, `after` after its own prompt. The strategy ``none``
    keeps it apart whatever `capture_as` is.
    """
    apart = "\n".join(each for each in (before, after) if each)
    if not apart or rule.strategy == "none" or rule.capture_as == "out_of_band":
        return output, apart
    if rule.capture_as == "discard":
        return output, ""
    return "\n".join(each for each in (before, output, after) if each), apart


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
            window = window.removeprefix(_echoed_keys(self._adapter.input.clear_line or ""))
        command.truncated = command.truncated or truncated
        return clean(self._adapter, window, command.sent, exact=exact, prompt=self._channel.rules.primary)

    def result(
        self, command: PendingCommand, ending: Ending, *, by: EndedBy | None = None, recovered: bool = False
    ) -> Result:
        """The result of `command`, which is no longer pending if it is over.

        `ending` is how it ended, or what there was at the deadline; `by` replaces its reason. `recovered`: the
        program is back at its prompt although the command did not end by itself.
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


def _echoed_keys(keys: str) -> bytes:
    """How a terminal echoes keys that aren't read: control characters as ``^A``."""
    return "".join(f"^{chr(ord(each) ^ 64)}" if each < " " or each == "\x7f" else each for each in keys).encode()
