"""Which mode a program is in, told from text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.adapters.model import Mode

__all__ = ["ModeState", "detect_mode", "mode_at_prompt", "shows_prompt", "usable"]


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
    return ModeState(next((mode.name for mode in modes if mode.default), modes[0].name))


def mode_at_prompt(modes: Sequence[Mode], prompt: str, output: str) -> ModeState:
    """The mode after a command: what the last prompt line says comes before what stands in the output.

    A stale prompt in the output (P: patterns without ``$`` stick) or text that merely looks like one doesn't count
    when some mode's own prompt stands on the prompt line.

    Args:
        modes: in the order of the file.
        prompt: the last line on screen, without colours.
        output: what the command printed, without colours.
    """
    if not modes:
        return ModeState()
    for mode in sorted(modes, key=lambda each: each.default):  # the more special ones first
        # Modes that are entered by a key have only their prompt to show for it.
        for pattern in (mode.primary, mode.detect):
            if match := _search(pattern, prompt):
                return ModeState(mode.name, _level(mode, match))
    return detect_mode(modes, output + "\n" + prompt)


def shows_prompt(modes: Sequence[Mode], line: str) -> bool:
    """Whether `line` is the prompt of one of `modes`."""
    return any(_search(mode.primary or mode.detect, line) for mode in modes)


def usable(pattern: str | None) -> str | None:
    """`pattern` if it can be used at all."""
    try:
        return pattern if pattern and compiled(pattern) else None
    except re.error:
        return None


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
