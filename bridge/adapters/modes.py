"""Which mode a program is in, told from text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.adapters.model import Mode

__all__ = [
    "ModeState",
    "WayOut",
    "default_mode",
    "detect_mode",
    "effect_of",
    "is_default",
    "mode_at_prompt",
    "mode_named",
    "searched",
    "shows_prompt",
    "usable",
    "way_out",
]


class ModeState(NamedTuple):
    """A mode, and how deep it is nested (None where that has no meaning)."""

    name: str | None = None
    level: int | None = None


def detect_mode(modes: Sequence[Mode], text: str) -> ModeState:
    """The mode that `text` shows: the first self-entered one that is found in it, else the default one.

    Patterns that don't compile are passed over.
    """
    if not modes:
        return ModeState()
    for mode in modes:
        if mode.auto_enter and (match := _search(mode.detect or mode.primary, text)):
            return ModeState(mode.name, _level(mode, match))
    return ModeState(default_mode(modes).name)


def mode_at_prompt(modes: Sequence[Mode], prompt: str, output: str, current: str | None = None) -> ModeState:
    """The mode after a command: what the last prompt line says comes before what stands in the output.

    A stale prompt in the output (P: patterns without ``$`` stick) or text that merely looks like one doesn't count
    when some mode's own prompt stands on the prompt line.

    Args:
        modes: in the order of the file.
        prompt: the last line on screen, without colours.
        output: what the command printed, without colours.
        current: the mode that the command was given in; its `exit_detect` may say that it was left.
    """
    if not modes:
        return ModeState()
    for mode in sorted(modes, key=lambda each: each.default):  # the more special ones first
        # Modes that are entered by a key have only their prompt to show for it.
        for pattern in (mode.primary, mode.detect):
            if match := _search(pattern, prompt):
                return ModeState(mode.name, _level(mode, match))
    before = mode_named(modes, current)
    if before is not None and _search(before.exit_detect, prompt):
        return ModeState(default_mode(modes).name)
    return detect_mode(modes, output + "\n" + prompt)


def mode_named(modes: Sequence[Mode], name: str | None) -> Mode | None:
    """The mode of that name."""
    return next((mode for mode in modes if mode.name == name), None)


def is_default(modes: Sequence[Mode], name: str | None) -> bool:
    """Whether a program in this mode is where it began (None: nothing is known to the contrary)."""
    return not modes or name is None or name == default_mode(modes).name


def effect_of(modes: Sequence[Mode], current: str | None, command: str) -> str | None:
    """What `command` does in the mode `current`, by its `advance_commands` and `exit_commands`.

    The whole command counts, else its first word.
    """
    mode = mode_named(modes, current)
    if mode is None:
        return None
    effects = {each.command.strip(): each.effect for each in mode.exit_commands}
    effects |= {each.command.strip(): each.effect for each in mode.advance_commands}
    said = command.strip()
    return effects.get(said) or effects.get(said.partition(" ")[0])


class WayOut(NamedTuple):
    """How a mode is left: by a key, which is pressed, or a command, which is run."""

    key: str = ""
    command: str = ""


_LEAVING = ("return_to_toplevel", "unwind_one_level", "invoke_restart", "resume")
"""Effects of exit commands; the sooner one the surer it leads out."""


def way_out(mode: Mode) -> WayOut | None:
    """How `mode` is left, or None when the adapter doesn't say."""
    if mode.exit_key:
        return WayOut(key=mode.exit_key)
    for effect in _LEAVING:
        for each in mode.exit_commands:
            if each.effect == effect:
                return WayOut(command=each.command)
    return None


def default_mode(modes: Sequence[Mode]) -> Mode:
    """The mode that a program begins in."""
    return next((mode for mode in modes if mode.default), modes[0])


def shows_prompt(modes: Sequence[Mode], line: str) -> bool:
    """Whether `line` is the prompt of one of `modes`."""
    return any(_search(mode.primary or mode.detect, line) for mode in modes)


def usable(pattern: str | None) -> str | None:
    """`pattern` if it can be used at all."""
    try:
        return pattern if pattern and compiled(pattern) else None
    except re.error:
        return None


def searched(pattern: str | None, text: str) -> dict[str, str]:
    """Groups of `pattern` in `text`, by number and name; those that took no part are absent."""
    match = _search(pattern, text)
    if match is None:
        return {}
    groups = {str(number): value for number, value in enumerate(match.groups(), 1) if value is not None}
    return groups | {name: value for name, value in match.groupdict().items() if value is not None}


def _search(pattern: str | None, text: str) -> re.Match[str] | None:
    if not pattern:
        return None
    try:
        return compiled(pattern).search(text)
    except re.error:
        return None


def _level(mode: Mode, match: re.Match[str]) -> int | None:
    if not (mode.nested and mode.level_capture):
        return None
    group = int(mode.level_capture) if mode.level_capture.isdigit() else mode.level_capture
    try:
        return int(match[group])
    except (IndexError, TypeError, ValueError):
        return None
