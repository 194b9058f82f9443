"""Existing installations: how each is found, read, run and stood in for.

A kind of setup is one object, :class:`bridge.setups.model.SetupKind`: ours in a visible dict, those of other
packages by the entry-point group ``ralph_bridge.setups``. Nothing outside of ``setups/NAME/`` names a kind.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.model import Installation, Setup, SetupKind

KINDS: Mapping[str, str] = {
    "plain": "bridge.setups.plain.kind",
    "bmalph": "bridge.setups.bmalph.kind",
    "ralph-loop": "bridge.setups.ralph_loop.kind",
    "frankbria": "bridge.setups.frankbria.kind",
    "wiggum": "bridge.setups.wiggum.kind",
    "snarktank": "bridge.setups.snarktank.kind",
    "pocock": "bridge.setups.pocock.kind",
    "ralphy": "bridge.setups.ralphy.kind",
    "playbook": "bridge.setups.playbook.kind",
    "script": "bridge.setups.script.kind",
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
    from bridge.packages import brought
    from bridge.setups.model import SetupKind

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
