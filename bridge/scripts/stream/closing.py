"""Which event of a CLI's output says that it has answered. Pure; the events stand with the CLIs.

By the family of the output and not by the program's name: wrappers and scripts of others print the same events.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.clis import known_clis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.scripts.stream.documents import JsonObject


class _Condition(NamedTuple):
    """A field, by the keys that lead to it, and the values that it has to have, or must not.

    A value of '' stands for nothing in it, or no such field.
    """

    keys: tuple[str, ...]
    values: frozenset[str]
    holds: bool

    def met(self, event: JsonObject) -> bool:
        value: Any = event
        for key in self.keys:
            value = value.get(key) if isinstance(value, dict) else None
        value = "" if value is None or value == [] else value
        return (isinstance(value, str) and value in self.values) is self.holds


def _pattern(text: str) -> tuple[_Condition, ...]:
    found = []
    for each in text.split():
        name, _, values = each.partition("=")
        keys = name.removesuffix("!").split(".")
        found.append(_Condition((*keys,), frozenset(values.split("|")), not name.endswith("!")))
    return (*found,)


@cache
def _patterns(family: str) -> tuple[tuple[tuple[_Condition, ...], ...], ...]:
    clis = [cli for cli in known_clis().values() if cli.family == family]
    return tuple(
        tuple(dict.fromkeys(_pattern(text) for cli in clis for text in getattr(cli, name)))
        for name in ("closes", "aside")
    )


def closes(family: str, event: JsonObject) -> bool | None:
    """Say what an event means for the turn: True closes it, False belongs to a further answer, None says neither.

    >>> closes("codex", {"type": "turn.completed"}), closes("codex", {"type": "turn.started"})
    (True, False)
    >>> closes("claude", {"type": "system", "subtype": "task_notification"})
    """
    closing, aside = _patterns(family)
    if _any_met(closing, event):
        return True
    return None if _any_met(aside, event) else False


def _any_met(patterns: Iterable[tuple[_Condition, ...]], event: JsonObject) -> bool:
    return any(all(condition.met(event) for condition in pattern) for pattern in patterns)
