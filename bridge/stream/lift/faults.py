"""The two ways in which something is not lifted, and the error of a jq program."""

from __future__ import annotations

__all__ = ["Doubt", "JqError", "NotLifted"]


class NotLifted(Exception):
    """The hook, or this run of it, is bash's; the text says why."""


class Doubt(Exception):
    """What jq prints for this line depends on its version, or on a corner that is not modelled."""


class JqError(Exception):
    """A runtime error of the program: it ends the value at hand, and the command's status is 5."""
