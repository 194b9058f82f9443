"""Values in a file that a CLI itself has to write, and that it runs or believes next time: servers, trust.

Pure. Keys are as :class:`bridge.base.clis.Cli` names them: ``projects.*.mcpServers``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Values = Mapping[tuple[str, ...], Any]


def values(document: Mapping[str, Any], keys: Iterable[str]) -> Values:
    """Give what stands at keys, by the way there. What is empty or false counts as not there.

    >>> values({"a": {"x": {"b": 1}, "y": {"b": 0}, "z": 2}}, ["a.*.b", "c"])
    {('a', 'x', 'b'): 1}
    """
    found: dict[tuple[str, ...], Any] = {}
    for key in keys:
        level: dict[tuple[str, ...], Any] = {(): document}
        for name in key.split("."):
            level = {
                (*way, each): inner[each]
                for way, inner in level.items()
                if isinstance(inner, dict)
                for each in (inner if name == "*" else [name] if name in inner else ())
            }
        found |= {way: value for way, value in level.items() if value}
    return found


def put_back(document: dict[str, Any], was: Values, now: Values) -> Values:
    """Have `document`, in which `now` stands, hold `was` instead, and leave the rest; give what had changed."""
    changed = {way: now.get(way) for way in was.keys() | now.keys() if was.get(way) != now.get(way)}
    for way in changed:
        inner = document
        for name in way[:-1]:
            if not isinstance(inner.get(name), dict):
                inner[name] = {}
            inner = inner[name]
        inner.pop(way[-1], None)
        if way in was:
            inner[way[-1]] = was[way]
    return changed
