"""What a `Swarm` tells while it is at work, beside the notices of loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.loop.events import LoopEvent
from bridge.swarm.record import unfit

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.swarm.record import SwarmRecord, TaskRecord


@dataclass(frozen=True, slots=True)
class SwarmStarted(LoopEvent):
    """The swarm begins, or goes on: `record` says with what, `folder` is where that is put down."""

    record: SwarmRecord
    folder: Path
    resumed: bool


@dataclass(frozen=True, slots=True)
class TaskStarted(LoopEvent):
    """A worker begins with a task."""

    task: TaskRecord


@dataclass(frozen=True, slots=True)
class TaskProgress(LoopEvent):
    """What a worker tells: ``turn`` (one begins), ``line`` (its last words), ``turn-ended``, ``notice``, ``limit``
    (it waits for the end of one: `reason`, and `until` in ISO 8601), ``refused`` (the agent was refused tools)."""

    task: TaskRecord
    kind: str
    turn: int
    text: str
    reason: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class TaskSaved(LoopEvent):
    """A loop is complete, and its work is on the task's branch: it waits for its merge."""

    task: TaskRecord


@dataclass(frozen=True, slots=True)
class TaskEnded(LoopEvent):
    """A task is over; `task.outcome` says how, and everything that it wrote is on its branches."""

    task: TaskRecord


@dataclass(frozen=True, slots=True)
class SwarmEnded(LoopEvent):
    """The swarm is over, because of `reason`; `landed` is what became of the branch that was to be moved."""

    record: SwarmRecord
    reason: str
    landed: str = ""

    @property
    def complete(self) -> bool:
        """Whether all is merged, and has got where it was to go."""
        return self.record.all_merged and not self.landed

    @property
    def status(self) -> int:
        """The exit code: 0 complete, 1 not; 2 or 4 where no loop could even begin, as of such a single one."""
        over = [each for each in self.record.tasks if each.outcome not in ("", "skipped")]
        codes = [unfit(each) for each in over]
        return 0 if self.complete else max(codes) if codes and all(codes) else 1
