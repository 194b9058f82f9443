"""What was observed of one script, as plain data."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Case", "Facet", "Observation", "Observed"]

Case = tuple[tuple[str, str], ...]
"""The inputs of one call: pairs of what was varied and a word for its value, such as ``("session", "an id")``."""

Facet = tuple[str, ...]
"""One side of an answer, element by element: the arguments of a command, the lines of an output, one status."""


class Observation(NamedTuple):
    """What one call of one hook answered: each facet by its name (``argv``, ``stdout``, ``status``)."""

    hook: str
    case: Case
    facets: dict[str, Facet]


class Observed(NamedTuple):
    """Everything that was observed of one script.

    kind: ``driver`` or ``agent``.
    hooks: those hooks of the contract that it defines.
    observations: in the order of the calls.
    """

    kind: str
    hooks: frozenset[str]
    observations: tuple[Observation, ...]
