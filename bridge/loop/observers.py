"""Who hears of a run while it goes on, and what they may say about its turns' environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.loop.events import LoopEvent


class Observer:
    """Hears of all that happens in a run. None of its methods raises, and but for `close` none of them waits."""

    def take(self, event: LoopEvent) -> None:
        """Take an event, before it is recorded and anybody else sees it."""

    def line(self, data: bytes) -> None:
        """Take a line of what the tool prints, as it comes; maybe from another thread."""

    def variables(self) -> Mapping[str, str]:
        """Give further variables for the tool, whose turn has been told of by now."""
        return {}

    def problems(self) -> Iterable[str]:
        """Say what has gone wrong since the last time."""
        return ()

    def close(self) -> None:
        """The run is over. Takes a few seconds at most; may be called again."""


class Observers(Observer):
    """Several, as one."""

    def __init__(self, *observers: Observer) -> None:
        self._all = [*observers]

    def add(self, observers: Iterable[Observer]) -> None:
        self._all += observers

    def take(self, event: LoopEvent) -> None:
        for each in self._all:
            each.take(event)

    def line(self, data: bytes) -> None:
        for each in self._all:
            each.line(data)

    def variables(self) -> dict[str, str]:
        return {name: value for each in self._all for name, value in each.variables().items()}

    def problems(self) -> list[str]:
        return [line for each in self._all for line in each.problems()]

    def close(self) -> None:
        for each in self._all:
            each.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A run, for those who are to observe it.

    Attributes:
        run_id: of its record.
        project: the project's folder.
        tool: what it runs, such as ``driver codex``.
        before: the trace of the run that it goes on with, as :class:`bridge.loop.runs.RunRecord` has it, unchecked.
        traced: puts down this run's own trace there.
    """

    run_id: str
    project: Path
    tool: str
    before: str
    traced: Callable[[str], None]


Observe = Callable[[RunFacts], Observer]
