"""Interactive programs (shells, REPLs, debuggers) that YAML files describe, driven on a pseudo terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.adapters.adapter import Adapter
    from bridge.adapters.results import Result
    from bridge.adapters.session import Session

__all__ = ["Adapter", "Result", "Session"]

_HOMES = {"Adapter": "adapter", "Result": "results", "Session": "session"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'bridge.adapters' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"bridge.adapters.{_HOMES[name]}"), name)
    return value
