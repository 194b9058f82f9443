"""What was observed of one script, as plain data."""

from __future__ import annotations

import shlex
from typing import NamedTuple

__all__ = ["Case", "Facet", "Observation", "Observed", "joined"]

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


def joined(elements: Facet) -> str:
    """Arguments on one line as a shell would take them; names such as ``<prompt>`` stand for themselves."""
    quoted = (text if text.startswith("<") and text.endswith(">") else shlex.quote(text) for text in elements)
    return " ".join(quoted).replace("\n", "\\n")
