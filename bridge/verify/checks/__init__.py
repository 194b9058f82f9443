"""The checks. Each module registers its own when it is imported; the list says which there are."""

from __future__ import annotations

import importlib
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from bridge.verify.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.verify.registry import Check

__all__ = ["MODULES", "load"]

MODULES = (
    "static_file",
    "static_names",
    "static_loading",
    "static_globals",
    "static_answers",
    "static_hooks",
    "static_agent",
    "static_stderr",
    "behaviour_loading",
    "behaviour_host",
    "behaviour_files",
    "behaviour_driver",
    "behaviour_hooks",
    "behaviour_command",
    "behaviour_texts",
    "behaviour_repeat",
    "behaviour_resume",
    "behaviour_settings",
    "behaviour_live",
    "behaviour_filter",
    "behaviour_session",
    "behaviour_fallback",
    "behaviour_matrix",
    "behaviour_agent",
    "behaviour_response",
    "behaviour_display",
)


@cache
def load() -> Mapping[str, Check]:
    """All checks, in order of their codes."""
    for name in MODULES:
        importlib.import_module(f"{__name__}.{name}")
    return MappingProxyType(dict(sorted(CHECKS.items())))
