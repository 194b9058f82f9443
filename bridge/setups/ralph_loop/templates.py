"""Prompt templates: names in, values out, everything else left alone. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LARGE", "SMALL", "fill", "volume_hint"]

_NAME = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", re.ASCII)

SMALL = "will likely complete planning in one iteration"
LARGE = "decomposition ledger"


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace ``$NAME`` and ``${NAME}``, by nothing where the name has no value; no value is looked at again.

    >>> fill("${A}$B $5 $(date) ${A:-d} $$A", {"A": "a"})
    'a $5 $(date) ${A:-d} $a'
    """
    return _NAME.sub(lambda found: values.get(found[1] or found[2], ""), template)


def volume_hint(files: int, size: int) -> str:
    """SPEC_VOLUME_HINT of ``plan --process``: how much there is to plan from, and what that means.

    Args:
        files: how many process files there are.
        size: their bytes together.
    """
    kilobytes = size // 1024
    volume = f"{files} {'file' if files == 1 else 'files'}, {kilobytes} KB"
    if kilobytes < 50 and files < 5:
        return f"The process specifications are small ({volume}): you {SMALL}."
    return (
        f"The process specifications are large ({volume}): keep a {LARGE} in the plan and work through "
        "one spec file per iteration."
    )
