"""How full the context of a session may be that is carried on from turn to turn. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.patterns import lazy
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CONTEXT = "RALPH_BRIDGE_MAX_CONTEXT"
_FORM = lazy(r"(\d{1,9}(?:\.\d{1,3})?)\s*(%|k|m)?", re.IGNORECASE)
_LEAST = 1000  # 80 would hardly be a number of tokens
_TIMES = {"k": 1000, "m": 1_000_000}

FRESH = (
    "This is a fresh session: the context of the one before was full to its bound. What it did is in the work tree,"
    " in git and in the plan; read there where the work stands."
)
"""What the turn is told that begins one."""


class ContextBound(NamedTuple):
    """How full a session's context may be: so many tokens, or a share of what the model's holds, above 0 to 1.

    text: as it was given.
    """

    text: str
    tokens: float | None = None
    share: float | None = None

    def reached(self, tokens: float | None, window: float | None) -> bool | None:
        """Say whether a context that holds so many tokens, of so many, is so full; None: that isn't known."""
        most = self.tokens
        if self.share is not None:
            most = None if window is None else self.share * window
        return None if most is None or tokens is None else tokens >= most

    def unknown(self, tokens: float | None, tool: str) -> str:
        """Say why it can't be held with a tool."""
        if tokens is None:
            return f"{tool} doesn't say how full its context is: max_context {self.text} can't be held"
        return (
            f"nobody says how much the context of {tool}'s model holds: max_context {self.text} can't be held"
            " · next: give it in tokens, such as 120k"
        )


def parse_bound(text: str, where: str = "--max-context") -> ContextBound:
    """Read a bound.

    Args:
        text: per cent of the model's window, or tokens: ``80%``, ``120000``, ``120k``.
        where: it stands, for messages.

    Raises:
        ConfigurationError: it is none.

    >>> parse_bound("80%").share, parse_bound("120k").tokens, parse_bound("90000").tokens
    (0.8, 120000.0, 90000.0)
    """
    found = _FORM.fullmatch(text.strip())
    number, unit = (float(found[1]), (found[2] or "").lower()) if found else (0.0, "")
    if unit == "%" and 0 < number <= 100:
        return ContextBound(text.strip(), share=number / 100)
    if unit != "%" and number * _TIMES.get(unit, 1) >= _LEAST:
        return ContextBound(text.strip(), tokens=number * _TIMES.get(unit, 1))
    raise ConfigurationError(
        f"{where} is {text!r}, expected per cent of the model's context, or tokens from 1000\n"
        "  next: such as 80%, 120000 or 120k"
    )


def bound_of(given: str | None, env: Mapping[str, str], where: str = "the environment") -> ContextBound | None:
    """Give the bound that an option says, else a variable; None: neither does.

    Args:
        given: the option's value.
        env: variables. where: they stand, for messages.

    Raises:
        ConfigurationError: that is no bound.
    """
    if given is not None:
        return parse_bound(given)
    text = env.get(MAX_CONTEXT, "").strip()
    return parse_bound(text, f"{MAX_CONTEXT} in {where}") if text else None


def size_words(tokens: float, window: float | None) -> str:
    """Say how full a context is.

    >>> size_words(170_000, 200_000), size_words(1290, None)
    ('170,000 of 200,000 tokens (85 %)', '1,290 tokens')
    """
    if not window:
        return f"{tokens:,.0f} tokens"
    return f"{tokens:,.0f} of {window:,.0f} tokens ({100 * tokens / window:.0f} %)"
