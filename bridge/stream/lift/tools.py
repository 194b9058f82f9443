"""grep, head and their kin, as far as they are lifted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TOOLS"]

TOOLS: dict[str, Callable[[Any], Any]] = {}


def tool(node: Any) -> Callable[[str], tuple[str, int]]:
    """What a tool makes of a text."""
    return TOOLS[node.name](node)  # type: ignore[no-any-return]
