"""Existing installations: how each is found, read and stood in for.

A setup is a module in a visible dict, never found by scanning. Each offers ``detect(folder)``, ``missing(folder)``,
``adopt(setup)`` and ``eject(setup)``, as `SetupModule` says.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.model import Setup, SetupModule

SETUPS: Mapping[str, str] = {
    "bmalph": "bridge.setups.bmalph",
    "ralph-loop": "bridge.setups.ralph_loop",
    "frankbria": "bridge.setups.frankbria",
}
"""Name, as ``--setup`` takes it, to module."""


def module(name: str) -> SetupModule:
    """Import the module of the setup called `name` (KeyError: there is none)."""
    return cast("SetupModule", importlib.import_module(SETUPS[name]))


def detect(folder: Path) -> list[Setup]:
    """Every setup that `folder` holds, in the order of `SETUPS`; nearly always none or one."""
    found = (module(name).detect(folder) for name in SETUPS)
    return [setup for setup in found if setup is not None]
