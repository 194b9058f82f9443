"""Both versions over the same inputs, in folders that look the same to them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError
from bridge.verify.diff import agents, drivers
from bridge.verify.diff.bench import Bench
from bridge.verify.diff.fold import changes
from bridge.verify.diff.model import Observation, Observed

if TYPE_CHECKING:
    from bridge.verify.diff.fold import Change

__all__ = ["Difference", "compare"]


class Difference(NamedTuple):
    """How two scripts differ.

    calls: how many calls of each were compared.
    """

    old: Path
    new: Path
    kind: str
    calls: int
    changes: tuple[Change, ...]


def compare(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Difference:
    """Run both scripts, each in a bash and a folder of its own, and compare their answers.

    Raises:
        ConfigurationError: one of them is missing, no valid bash, or no script of this kind.
    """
    paths = (Path(os.path.abspath(old)), Path(os.path.abspath(new)))
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-diff-") as folder:
        first, second = (_observe(path, Path(folder)) for path in paths)
        if first.observed.kind != second.observed.kind:
            kinds = ", ".join(f"{p} is {_a(o.observed.kind)}" for p, o in zip(paths, (first, second), strict=True))
            raise ConfigurationError(f"a driver can't be compared with an agent: {kinds}")
        # The live command is made from a command: both versions get those of both, so that a change of
        # the command is not told a second time.
        commands = {**first.commands, **second.commands}
        live = [_live(path, Path(folder), commands) if commands else () for path in paths]
    sides = [
        seen.observed._replace(observations=(*seen.observed.observations, *more))
        for seen, more in zip((first, second), live, strict=True)
    ]
    found = changes(sides[0], sides[1])
    return Difference(Path(old), Path(new), sides[0].kind, len(sides[0].observations), tuple(found))


class _Seen(NamedTuple):
    observed: Observed
    commands: drivers.Commands


def _observe(script: Path, folder: Path) -> _Seen:
    with Bench(script, folder) as bench:
        if any(name.startswith("driver_") for name in bench.functions):
            commands = drivers.build_commands(bench)
            drivers.other_hooks(bench)
            return _Seen(Observed("driver", drivers.hooks_of(bench), tuple(bench.observations)), commands)
        agents.all_hooks(bench)
        return _Seen(Observed("agent", bench.functions & agents.HOOKS, tuple(bench.observations)), {})


def _live(script: Path, folder: Path, commands: drivers.Commands) -> tuple[Observation, ...]:
    with Bench(script, folder) as bench:
        loaded = len(bench.observations)
        drivers.live_commands(bench, commands)
        return tuple(bench.observations[loaded:])


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "agent" else f"a {kind}"
