"""The steps of the shipped features, for a conftest or a plugin: the only place that imports pytest-bdd.

A module that wants them says ``globals().update(steps())``; where its tests get their drivers from is its own
matter: a fixture ``world`` that is a `bridge.verify.gherkin.world.World`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

__all__ = ["steps"]

_MODULES: Final = (
    "given",
    "when",
    "then_loaded",
    "then_command",
    "then_live",
    "then_session",
    "checked",
    "agents",
    "lifting",
)
_PREFIX: Final = "pytestbdd_stepdef"


def steps() -> dict[str, object]:
    """All step definitions, as the fixtures that pytest-bdd makes of them, by name."""
    found: dict[str, object] = {}
    for name in _MODULES:
        definitions = vars(import_module(f"{__name__}.{name}")).items()
        for key, definition in definitions:
            if key.startswith(_PREFIX):
                if key in found:
                    raise RuntimeError(f"two steps are called {key.removeprefix(_PREFIX)}")
                found[key] = definition
    return found
