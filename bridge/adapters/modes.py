"""What a prompt shows: the mode that the program is in, and how that is left; the captures of its groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.patterns import groups_of, search

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from bridge.adapters.schema_model import AdapterFile, Mode


class ModeState(NamedTuple):
    """A mode, and how deep it is nested (None where that has no meaning)."""

    name: str | None = None
    level: int | None = None


def detect_mode(modes: Sequence[Mode], text: str) -> ModeState:
    """The mode that `text` shows: the first self-entered one found in it, else the default."""
    if not modes:
        return ModeState()
    for mode in modes:
        if mode.auto_enter and (match := search(mode.detect or mode.primary, text)):
            return ModeState(mode.name, _level(mode, match))
    return ModeState(default_mode(modes).name)


def mode_at_prompt(modes: Sequence[Mode], prompt: str, output: str, current: str | None = None) -> ModeState:
    """The mode after a command: a mode's own prompt on the last line takes precedence over the output, where a
    stale one or text that merely looks like one may stand. Both are without colours. `current`: its
    `exit_detect` shows that it was left.
    """
    if not modes:
        return ModeState()
    for mode in sorted(modes, key=lambda each: each.default):  # the special ones first
        # Modes that are entered by a key show it by their prompt only.
        for pattern in (mode.primary, mode.detect):
            if match := search(pattern, prompt):
                return ModeState(mode.name, _level(mode, match))
    before = mode_named(modes, current)
    if before is not None and search(before.exit_detect, prompt):
        return ModeState(default_mode(modes).name)
    return detect_mode(modes, output + "\n" + prompt)


def mode_named(modes: Sequence[Mode], name: str | None) -> Mode | None:
    return next((mode for mode in modes if mode.name == name), None)


def is_default(modes: Sequence[Mode], name: str | None) -> bool:
    """Whether this is the mode a program begins in; None, an unknown mode, counts."""
    return not modes or name is None or name == default_mode(modes).name


def effect_of(modes: Sequence[Mode], current: str | None, command: str) -> str | None:
    """The effect of the whole `command`, else of its first word, by the commands of the mode `current`."""
    mode = mode_named(modes, current)
    if mode is None:
        return None
    effects = {each.command.strip(): each.effect for each in mode.exit_commands}
    effects |= {each.command.strip(): each.effect for each in mode.advance_commands}
    text = command.strip()
    return effects.get(text) or effects.get(text.partition(" ")[0])


class Exit(NamedTuple):
    key: str = ""
    command: str = ""


_EXIT_EFFECTS = ("return_to_toplevel", "unwind_one_level", "invoke_restart", "resume")
"""Effects of exit commands, the most thorough first."""


def exit_of(mode: Mode) -> Exit | None:
    if mode.exit_key:
        return Exit(key=mode.exit_key)
    for effect in _EXIT_EFFECTS:
        for each in mode.exit_commands:
            if each.effect == effect:
                return Exit(command=each.command)
    return None


def default_mode(modes: Sequence[Mode]) -> Mode:
    return next((mode for mode in modes if mode.default), modes[0])


def shows_prompt(modes: Sequence[Mode], line: str) -> bool:
    return any(search(mode.primary or mode.detect, line) for mode in modes)


def _level(mode: Mode, match: re.Match[str]) -> int | None:
    if not (mode.nested and mode.level_capture):
        return None
    group = int(mode.level_capture) if mode.level_capture.isdigit() else mode.level_capture
    try:
        return int(match[group])
    except (IndexError, TypeError, ValueError):
        return None


class Captures(NamedTuple):
    """What a prompt shows: values by the names of ``group_captures``, and those with a role."""

    values: Mapping[str, str | int]
    counter: int | None = None
    level: int | None = None
    mode: str | None = None


def captures_of(adapter: AdapterFile, groups: Mapping[str, str], text: str, mode: ModeState) -> Captures:
    """What the prompt `text` shows: captures of `groups`, and those of the mode's own pattern."""
    values: dict[str, str | int] = {}
    roles: dict[str, str] = {}
    own = mode_named(adapter.modes, mode.name)
    sources = [(adapter.prompt.group_captures, groups)]
    if own is not None and own.group_captures:
        match = search(own.primary or own.detect, text)
        sources.append((own.group_captures, groups_of(match) if match else {}))
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
