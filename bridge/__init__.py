"""ralph-bridge: runs the shell drivers of ralph coding loops unchanged.

The public names are loaded when they are first used: ``import bridge`` alone costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge._version import __version__

if TYPE_CHECKING:
    from bridge.adapters import Adapter
    from bridge.agent import Agent
    from bridge.driver import Driver
    from bridge.errors import BridgeError
    from bridge.shell import Reply, Shell

__all__ = ["Adapter", "Agent", "BridgeError", "Driver", "Reply", "Shell", "__version__"]

_HOMES = {
    "Adapter": "adapters",
    "Agent": "agent",
    "BridgeError": "errors",
    "Driver": "driver",
    "Reply": "shell",
    "Shell": "shell",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'bridge' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"bridge.{_HOMES[name]}"), name)
    return value
