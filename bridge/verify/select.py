"""Which checks shall run: codes, or how they begin."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.verify.registry import Check

__all__ = ["chosen"]


def chosen(
    checks: Mapping[str, Check], select: Sequence[str], ignore: Sequence[str], *, static_only: bool = False
) -> tuple[Check, ...]:
    """The checks that shall run, in order of their codes.

    Raises:
        ConfigurationError: an entry is neither a code nor how one begins.
    """
    wanted = _codes(checks, select) if select else set(checks)
    wanted -= _codes(checks, ignore)
    return tuple(checks[code] for code in sorted(wanted) if checks[code].phase == "static" or not static_only)


def _codes(checks: Mapping[str, Check], entries: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for entry in entries:
        beginning = entry.strip().upper()
        matching = {code for code in checks if beginning and code.startswith(beginning)}
        if not matching:
            close = difflib.get_close_matches(beginning, checks, 1, 0.6)
            meant = (
                f"did you mean {close[0]}?" if close else "codes look like RB001; `ralph-bridge explain` lists them"
            )
            raise ConfigurationError(f"no check has the code {entry!r}; {meant}")
        found |= matching
    return found
