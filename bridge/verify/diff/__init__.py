"""How two versions of a script behave differently: both are run over the same inputs, and their answers compared.

``observe`` runs a script and writes down what it answered; everything after that is pure: ``changes`` puts equal
differences into one change with the inputs that it concerns, ``render`` shows them.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError
from bridge.verify.diff.changes import BehaviourChange, Hunk, changes
from bridge.verify.diff.observe import Observation, Observed, live_commands, observe, probe_of

if TYPE_CHECKING:
    from bridge.verify.diff.observe import Commands

__all__ = ["BehaviourChange", "Difference", "Hunk", "Observation", "Observed", "changes", "compare"]


class Difference(NamedTuple):
    """How two scripts differ; calls: how many calls of each were compared."""

    old: Path
    new: Path
    kind: str
    calls: int
    changes: tuple[BehaviourChange, ...]


def compare(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Difference:
    """Run both scripts, each in a bash and a folder of its own, and compare their answers.

    Raises:
        ConfigurationError: one of them is missing, no valid bash, or no script of this kind.
    """
    paths = (Path(os.path.abspath(old)), Path(os.path.abspath(new)))
    found: list[Observed] = []
    # The live command is made from a command: both versions get those of both, so that a change of the command is
    # not told a second time.
    commands: Commands = {}
    for path in paths:
        with closing(probe_of(path)) as probe:
            observed, built = observe(probe)
        found.append(observed)
        commands |= built
    first, second = found
    if first.kind != second.kind:
        kinds = ", ".join(f"{path} is {_a(each.kind)}" for path, each in zip(paths, found, strict=True))
        raise ConfigurationError(f"a driver can't be compared with an agent: {kinds}")
    for index, path in enumerate(paths):
        if commands:
            with closing(probe_of(path)) as probe:
                live = live_commands(probe, commands)
            found[index] = found[index]._replace(observations=(*found[index].observations, *live))
    first, second = found
    return Difference(Path(old), Path(new), first.kind, len(first.observations), tuple(changes(first, second)))


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "agent" else f"a {kind}"
