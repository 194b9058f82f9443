"""Tells somebody who isn't there what becomes of a swarm, as loops do: once for all its tasks."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from bridge.loop.caps import REASONS as CAPS
from bridge.loop.events import Notice, interruption
from bridge.loop.notify import Notifier
from bridge.swarm.events import SwarmEnded, TaskEnded, TaskProgress
from bridge.swarm.record import next_step

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from bridge.loop.events import LoopEvent
    from bridge.swarm.record import SwarmRecord

_OWN_DOING = ("interrupted", "skipped")
"""Outcomes that follow from something else, of which somebody is told."""


def notified(
    events: Generator[LoopEvent, None, None], record: SwarmRecord, folder: Path
) -> Generator[LoopEvent, None, None]:
    """Give a swarm's events, and tell who is to be told; what couldn't be sent is a `Notice`.

    Raises:
        ConfigurationError: the environment names what can't be told.
    """
    facts = {"project": record.project, "tool": "swarm", "run": record.run}
    return _notified(events, Notifier(facts, os.environ), record, folder)


def _notified(
    events: Generator[LoopEvent, None, None], notifier: Notifier, record: SwarmRecord, folder: Path
) -> Generator[LoopEvent, None, None]:
    came: BaseException | None = None
    with closing(events):
        while True:
            try:
                event = next(events) if came is None else events.throw(came)
            except StopIteration:
                return
            except BaseException as error:
                action, reason = interruption(error)
                told = {
                    "verdict": "interrupted",
                    "reason": reason,
                    "detail": "" if action == "interrupted" else str(error),
                }
                notifier.tell("ended", told | _totals(record))
                notifier.close()
                raise
            came = None
            kind, told = told_of(event, record, folder)
            if kind:
                notifier.tell(kind, told)
            if isinstance(event, SwarmEnded):
                notifier.close()
                yield from map(Notice, notifier.problems())
                yield event
                return
            try:
                yield from map(Notice, notifier.problems())
                yield event
            except BaseException as error:  # noqa: BLE001 - whatever it is, the swarm handles it
                came = error


def told_of(event: LoopEvent, record: SwarmRecord, folder: Path) -> tuple[str, dict[str, Any]]:
    """Say of what kind a notice of an event is, '' for none, and what is in it."""
    match event:
        case SwarmEnded():
            reason, _, detail = event.reason.partition(": ")
            verdict = "complete" if event.complete else "incomplete"
            told = {"verdict": verdict, "reason": reason, "detail": event.landed or detail or event.reason}
            return "cap" if reason in CAPS else "ended", told | _totals(record)
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
            told = {"task": event.task.task.id, "reason": event.reason, "until": event.until}
            return "limit", told | {"detail": f"{event.task.task.id}: {event.text}"}
        case TaskProgress(kind="refused"):
            told = {"task": event.task.task.id, "reason": "permission_denied"}
            return "refused", told | {"detail": f"{event.task.task.id}: {event.text}"}
    return "", {}


def _totals(record: SwarmRecord) -> dict[str, Any]:
    costs = [each.cost_usd for each in record.tasks if each.cost_usd is not None]
    tokens = [each.tokens for each in record.tasks if each.tokens is not None]
    return {
        "tasks": len(record.tasks),
        "merged": sum(each.merged for each in record.tasks),
        "turns": sum(each.turns for each in record.tasks),
        "failures": sum(each.step == "done" and not each.merged for each in record.tasks),
        "seconds": round((record.ended or time.time()) - record.began, 1),
        "tokens": sum(tokens) if tokens else None,
        "cost_usd": sum(costs) if costs else None,
    }
