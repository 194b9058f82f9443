"""Existing installations: how each is found, read, run and stood in for.

A kind of setup is one object, :class:`bridge.loop.setups.setup_kind.SetupKind`: ours in a visible dict, those of
other packages by the entry-point group ``ralph_bridge.setups``. Nothing outside of ``setups/NAME/`` names a kind.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Installation, Setup, SetupKind

KINDS: Mapping[str, str] = {
    "plain": "bridge.loop.setups.plain.kind",
    "bmalph": "bridge.loop.setups.bmalph.kind",
    "ralph-loop": "bridge.loop.setups.ralph_loop.kind",
    "frankbria": "bridge.loop.setups.frankbria.kind",
    "wiggum": "bridge.loop.setups.wiggum.kind",
    "snarktank": "bridge.loop.setups.snarktank.kind",
    "pocock": "bridge.loop.setups.pocock.kind",
    "ralphy": "bridge.loop.setups.ralphy.kind",
    "playbook": "bridge.loop.setups.playbook.kind",
    "script": "bridge.loop.setups.script.kind",
}
"""Name, as ``--setup`` takes it, to the module whose KIND it is."""

PLAIN = "plain"
"""The kind of a folder that is nothing else."""
SCRIPT = "script"
"""The kind of whatever is run by its script."""
GROUP = "ralph_bridge.setups"
"""The group of entry points: name of a kind to its object, such as ``mine = my_package:KIND``."""


@cache
def kinds() -> Mapping[str, SetupKind]:
    """Give every kind by name, ours first.

    Raises:
        ConfigurationError: a package's kind can't be loaded, or takes a name that there is already.
    """
    from bridge.base.packages import brought
    from bridge.loop.setups.setup_kind import SetupKind

    found: dict[str, SetupKind] = {name: importlib.import_module(path).KIND for name, path in KINDS.items()}
    return MappingProxyType(found | brought(GROUP, SetupKind, found, "kind of setup"))


def installations() -> dict[str, Installation]:
    return {name: kind.installation for name, kind in kinds().items() if kind.installation is not None}


def detect(folder: Path) -> list[Setup]:
    """Every setup that `folder` holds, in the order of the kinds; nearly always none or one."""
    kinds = installations().values()
    found = [setup for each in kinds if not each.last and (setup := each.detect(folder)) is not None]
    if any(not setup.bare for setup in found):
        return found
    return [setup for each in kinds if each.last and (setup := each.detect(folder)) is not None] or found


def check(kind: SetupKind, options: RunOptions, *, setup: Setup | None = None, by_flag: bool = False) -> None:
    """Refuse what doesn't apply to a kind, and name the kinds that have it; `by_flag` as the command line does."""
    from bridge.loop.setups.options import OPTIONS, RunOptions

    nothing = RunOptions()
    special = {name for each in kinds().values() for name in each.options}
    for name, option in OPTIONS.items():
        if name not in special - kind.options or getattr(options, name) == getattr(nothing, name):
            continue
        homes = ", ".join(each.name for each in kinds().values() if name in each.options)
        homes += f"; elsewhere {option.elsewhere}" if option.elsewhere else ""
        shown = option.flag.partition("/")[0] if by_flag and option.flag else name
        what = f"{kind.name} {'setup' if by_flag else 'loop'}"
        what += f" (told by {', '.join(setup.evidence)})" if setup is not None else ""
        raise ConfigurationError(f"{shown} does not apply to a {what}\n  next: leave it out; it is for {homes}")
    if options.driver is not None and options.agent is not None:
        mark = "--" if by_flag else ""
        raise ConfigurationError(f"{mark}driver and {mark}agent exclude each other\n  next: give one of them")
