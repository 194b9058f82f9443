"""What the groups of a prompt mean: counters, levels, modes, or just a name for what stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.modes import mode_named, searched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.model import AdapterFile
    from bridge.adapters.modes import ModeState

__all__ = ["Captured", "captured"]


class Captured(NamedTuple):
    """What a prompt says.

    Attributes:
        values: by the name that ``group_captures`` gives; numbers where it says ``type: int``.
        counter: that of the role `monotonic_counter`.
        level: that of the role `nesting_level`.
        mode: that of the role `mode_indicator`, when a mode is called so.
    """

    values: Mapping[str, str | int]
    counter: int | None = None
    level: int | None = None
    mode: str | None = None


def captured(adapter: AdapterFile, groups: Mapping[str, str], text: str, mode: ModeState) -> Captured:
    """What the prompt `text` says, by ``prompt.group_captures`` and those of the mode that it belongs to.

    Args:
        adapter: with the captures.
        groups: of the pattern that found the prompt, by name and number.
        text: the prompt, without colours.
        mode: the mode that the program is in; its captures are groups of its own pattern.
    """
    found: dict[str, str | int] = {}
    roles: dict[str, str] = {}
    own = mode_named(adapter.modes, mode.name)
    sources = [(adapter.prompt.group_captures, groups)]
    if own is not None and own.group_captures:
        sources.append((own.group_captures, searched(own.primary or own.detect, text)))
    for captures, having in sources:
        for each in captures:
            if (value := having.get(each.group)) is not None:
                found[each.name] = int(value) if each.type == "int" and _is_number(value) else value
                roles[each.role or ""] = value
    return Captured(
        found,
        _number(roles.get("monotonic_counter")),
        _number(roles.get("nesting_level")),
        roles["mode_indicator"] if mode_named(adapter.modes, roles.get("mode_indicator")) else None,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _is_number(text) else None
