"""Who hears of a run while it goes on, and what they may say about its turns' environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridge.base.packages import room
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.loop.engine.events import LoopEvent

OPTIONS = ("telemetry", "telemetry_content")
"""Those of a run that are about telemetry."""
_TELEMETRY = "bridge.loop.telemetry"
"""The room that makes a trace of a run; without it there is no telemetry."""


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
        before: the trace of the run that it continues: a :class:`~bridge.loop.engine.run_record.RunRecord` has it.
        traced: puts down this run's own trace there.
    """

    run_id: str
    project: Path
    tool: str
    before: str
    traced: Callable[[str], None]


Observe = Callable[[RunFacts], Observer]


def telemetry_of(given: str | None, *, content: bool = False, **more: Any) -> tuple[Observe, ...]:
    """Give what makes the telemetry of a run; nothing where there is to be none.

    Args:
        given: ``otlp``, ``none``; None: as the environment says.
        content: prompts, answers and what tools are called with are sent, too.
        more: see :func:`bridge.loop.telemetry.observers`.

    Raises:
        ConfigurationError: it is asked for, and can't be had.
    """
    found = room(_TELEMETRY)
    if found is None:
        if given not in (None, "none"):
            raise ConfigurationError(f"telemetry {given}: this installation has none\n  next: leave it out")
        return ()
    made: tuple[Observe, ...] = found.observers(given, content=content, **more)
    return made


def telemetry_variables(given: str | None) -> tuple[str, ...]:
    """Name the variables that a box gets for the telemetry of a CLI itself; `given` as above."""
    found = room(_TELEMETRY)
    names: tuple[str, ...] = () if found is None else found.variables(given)
    return names
