"""Checks as they are named on a command line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.verify.registry import Check

__all__ = ["all_checks", "find", "matching"]


def all_checks() -> Mapping[str, Check]:
    """Every check by its code, in the order of the codes."""
    from bridge.verify.checks import load
    from bridge.verify.registry import CHECKS

    load()
    return dict(sorted(CHECKS.items()))


def find(code: str) -> Check:
    """The check with this code, whatever its case.

    Raises:
        ConfigurationError: there is none; the likely meant one is named.
    """
    checks = all_checks()
    if (found := checks.get(code.upper())) is not None:
        return found
    raise ConfigurationError(f"no check is called {code!r}.{_meant(code, checks)}")


def matching(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """The codes that an option names by themselves or by their beginnings, separated by commas.

    Raises:
        ConfigurationError: one of them names no check.
    """
    wanted = [code.strip().upper() for text in given for code in text.split(",") if code.strip()]
    if not wanted:
        return ()
    checks = all_checks()
    for code in wanted:
        if not any(known.startswith(code) for known in checks):
            raise ConfigurationError(f"{option} {code}: no check is called so.{_meant(code, checks)}")
    return tuple(known for known in checks if known.startswith(tuple(wanted)))


def _meant(code: str, checks: Mapping[str, Check]) -> str:
    # A wrong number is nobody's slip of the pen for another one, unless it has the digits of one.
    digits = "".join(filter(str.isdigit, code))
    guess = f"RB{digits.zfill(3)}" if digits else ""
    close = [guess] if guess in checks else difflib.get_close_matches(code.upper(), checks, 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return f"{meant}\n  next: `ralph-bridge explain` lists all checks"
