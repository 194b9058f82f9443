"""What the engine writes during one turn: its logs. All else is the loop's own business."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.loop.ports import RunLogs
from bridge.loop.turn_logs import bound_logs, logs_of_turns, unused
from bridge.setups.wiggum import files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.loop.decide import State
    from bridge.loop.events import LoopEvent
    from bridge.loop.plan import Plan
    from bridge.setups.wiggum.files import Layout


_TURN_LOG = re.compile(r"(iteration_\d+(?:-\d+)?)\.(?:log|err)(?:\.gz)?")


def log_names(layout: Layout, iteration: int, max_bytes: int) -> RunLogs:
    """Return names for the logs of a turn that no earlier one has used; keep all of them within `max_bytes`."""
    logs = layout.folder / "logs"
    with files.usable():
        logs.mkdir(parents=True, exist_ok=True)
    bound_logs(logs_of_turns(logs, _TURN_LOG), max_bytes=max_bytes, say=lambda line: files.log(layout, line))
    name, number = f"iteration_{iteration:04d}", 1
    while not unused(logs / f"{name}.log"):
        number += 1
        name = f"iteration_{iteration:04d}-{number}"
    return RunLogs(logs / f"{name}.log", logs / f"{name}.err")


class TurnStore:
    """The engine's store for a single turn: it starts with the turn's number and no session."""

    def __init__(self, layout: Layout, iteration: int, max_bytes: int) -> None:
        self._layout = layout
        self._most = max_bytes
        self._iteration = iteration
        self.logs: RunLogs | None = None
        """Those of the last run."""

    def begin(self) -> Iterable[str]:
        """The lock is held by who started the loop."""
        return ()

    def load(self, state: State) -> tuple[State, Iterable[str]]:
        """Number the turn."""
        from dataclasses import replace

        return (replace(state, iteration=self._iteration - 1) if not state.iteration else state), ()

    def read_plan(self) -> Plan | None:
        """The loop reads the plan itself: a plan alone doesn't end it in the engine."""
        return None

    def new_logs(self, iteration: int) -> RunLogs:
        """Return names for the logs."""
        self.logs = log_names(self._layout, iteration, self._most)
        return self.logs

    def agent(self, pid: int | None) -> None:
        """Note nothing: the guardian sees to it."""

    def show(self, data: bytes) -> None:
        """Keep nothing: the logs have it."""

    def record(self, event: LoopEvent) -> None:
        """Write nothing: the turn's end is the loop's matter."""

    def end(self) -> None:
        """Let go of nothing."""
