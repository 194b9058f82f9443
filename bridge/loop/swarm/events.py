"""What a `Swarm` reports while it is at work: events, and notices to who isn't there, once for all its tasks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bridge.base.records import dataclass
from bridge.loop.engine.caps import REASONS as CAPS
from bridge.loop.engine.events import LoopEvent
from bridge.loop.swarm.status import next_step, unfit
from bridge.loop.telemetry.steps import About, Step, begin_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord


@dataclass(frozen=True, slots=True)
class SwarmStarted(LoopEvent):
    """The swarm begins, or goes on: `record` says with what, `folder` is where that is put down."""

    record: SwarmRecord
    folder: Path
    resumed: bool


@dataclass(frozen=True, slots=True)
class TaskStarted(LoopEvent):
    task: TaskRecord


@dataclass(frozen=True, slots=True)
class TaskProgress(LoopEvent):
    """What a worker reports: ``turn`` (one begins), ``line`` (its last words), ``turn-ended``, ``notice``,
    ``limit`` (it waits for the end of one: `reason`, and `until` in ISO 8601), ``refused`` (the agent was refused
    tools)."""

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
class TaskWatched(LoopEvent):
    """A pull request is waited for; `text`: what is known of it, and what follows from that."""

    task: TaskRecord
    text: str


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
        return self.record.all_merged and not self.landed

    @property
    def status(self) -> int:
        """The exit code: 0 complete, 1 not; 2 or 4 where no loop could even begin, as of such a single one."""
        over = [each for each in self.record.tasks if each.outcome not in ("", "skipped")]
        codes = [unfit(each) for each in over]
        return 0 if self.complete else max(codes) if codes and all(codes) else 1


# -- notices -----------------------------------------------------------------------------------------

_OWN_DOING = ("interrupted", "skipped")
"""Outcomes that follow from something else, which somebody is told of."""


def notice_of(event: LoopEvent, record: SwarmRecord, folder: Path) -> tuple[str, dict[str, Any]]:
    """Of what kind a notice of an event is, '' for none, and what is in it."""
    match event:
        case SwarmEnded():
            reason, _, detail = event.reason.partition(": ")
            verdict = "complete" if event.complete else "incomplete"
            facts = {"verdict": verdict, "reason": reason, "detail": event.landed or detail or event.reason}
            return "cap" if reason in CAPS else "ended", facts | totals(record)
        case TaskEnded(task) if not task.merged and task.outcome not in _OWN_DOING:
            if task.outcome == "conflict" and record.redo_conflicts and not task.redone:
                return "", {}  # it begins anew
            return "task", {
                "task": task.task.id,
                "title": task.task.title,
                "reason": task.outcome,
                "detail": f"{task.task.id}: {task.outcome}" + (f": {task.detail}" if task.detail else ""),
                "branch": task.branch,
                "next": next_step(record, task, folder),
            }
        case TaskProgress(kind="limit"):
            facts = {"task": event.task.task.id, "reason": event.reason, "until": event.until}
            return "limit", facts | {"detail": f"{event.task.task.id}: {event.text}"}
        case TaskProgress(kind="refused"):
            facts = {"task": event.task.task.id, "reason": "permission_denied"}
            return "refused", facts | {"detail": f"{event.task.task.id}: {event.text}"}
    return "", {}


def totals(record: SwarmRecord) -> dict[str, Any]:
    return {
        "tasks": len(record.tasks),
        "merged": sum(each.merged for each in record.tasks),
        "turns": sum(each.turns for each in record.tasks),
        "failures": sum(each.step == "done" and not each.merged for each in record.tasks),
        "seconds": round(record.seconds_by(time.time()), 1),
        "tokens": record.tokens,
        "cost_usd": record.cost_usd,
    }


# -- telemetry ---------------------------------------------------------------------------------------


def _begun(event: SwarmStarted, about: About) -> Iterator[Step]:
    tasks, jobs = len(event.record.tasks), event.record.jobs
    yield begin_run(about, {"ralph_bridge.swarm.tasks": tasks, "ralph_bridge.swarm.jobs": jobs})


def _task_ended(event: TaskEnded, _about: About) -> Iterator[Step]:
    what = {"ralph_bridge.task.id": event.task.task.id, "ralph_bridge.task.outcome": event.task.outcome}
    yield Step("note", "run", "task ended", what)


def _over(event: SwarmEnded, _about: About) -> Iterator[Step]:
    known, complete = totals(event.record), event.complete
    what = {
        "ralph_bridge.verdict": "complete" if complete else "incomplete",
        "ralph_bridge.swarm.merged": known["merged"],
        "ralph_bridge.turns": known["turns"],
        "ralph_bridge.tokens": known["tokens"],
        "ralph_bridge.cost_usd": known["cost_usd"],
    }
    yield Step("end", "run", attributes=what, error="" if complete else "incomplete")


STEPS: dict[type[LoopEvent], Callable[[Any, About], Iterator[Step]]] = {
    SwarmStarted: _begun,
    TaskEnded: _task_ended,
    SwarmEnded: _over,
}
"""An event of a swarm to what it means for the spans."""
