"""Where tasks come from: a source is one object, ours in a visible dict, others by the entry points of packages."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.tasks.task import Asked, Source, SourceKind

SOURCES: Mapping[str, str] = {
    "plan": "bridge.loop.tasks.plans",
    "prd": "bridge.loop.tasks.plans",
    "yaml": "bridge.loop.tasks.task_lines",
    "lines": "bridge.loop.tasks.task_lines",
    "ralphex": "bridge.loop.tasks.documents",
    "speckit": "bridge.loop.tasks.documents",
    "openspec": "bridge.loop.tasks.documents",
    "taskmaster": "bridge.loop.tasks.taskmaster",
    "github": "bridge.loop.tasks.github",
    "beads": "bridge.loop.tasks.beads",
}
"""Name, in front of the colon, to the module in whose KINDS it is."""

GROUP = "ralph_bridge.tasks"
"""The group of entry points: name of a kind of source to its object, such as ``mine = my_package:KIND``."""


@cache
def source_kinds() -> Mapping[str, SourceKind]:
    """Give every kind of source by name, ours first.

    Raises:
        ConfigurationError: a package's kind can't be loaded, or takes a name that there is already.
    """
    from bridge.base.packages import brought
    from bridge.loop.tasks.task import SourceKind

    found: dict[str, SourceKind] = {
        name: importlib.import_module(path).KINDS[name] for name, path in SOURCES.items()
    }
    return MappingProxyType(found | brought(GROUP, SourceKind, found, "source of tasks"))


def open_source(text: str, asked: Asked) -> Source:
    """Open what ``--from`` names.

    Args:
        text: ``NAME:WHAT``, such as ``prd:prd.json``.
        asked: the rest; its argument is filled in.

    Raises:
        ConfigurationError: there is no such source, or it doesn't know a filter that is asked for.
    """
    from bridge.base.resources import likely
    from bridge.errors import ConfigurationError

    name, colon, argument = text.partition(":")
    known = source_kinds()
    if not colon or name not in known:
        names = ", ".join(f"{each.name}:{each.takes}" for each in known.values())
        raise ConfigurationError(
            f"{text}: there is no such source of tasks.{likely(name, known)}\n  next: one of {names}"
        )
    for each in asked.filters.given():
        if each not in known[name].filters:
            able = ", ".join(f"{kind.name}:" for kind in known.values() if each in kind.filters) or "none"
            raise ConfigurationError(f"{text}: it knows no --{each}\n  next: leave it out; sources with it: {able}")
    return known[name].open(replace(asked, argument=argument))
