"""Where a swarm stands, for people and programs who look at it. Nothing is written."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge import timestamps
from bridge.amounts import whole
from bridge.files import lenient, open_file
from bridge.loop.lock import standing
from bridge.swarm.record import asked_to_stop, next_step

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.swarm.record import SwarmRecord

_TAIL = 32 * 1024
"""Bytes at the end of a worker's events that are looked at for its last words."""


def shown(record: SwarmRecord, folder: Path) -> dict[str, Any]:
    """Where a swarm stands, ready for JSON."""
    where = standing(folder)
    tasks = []
    for each in record.tasks:
        events = folder / "tasks" / each.task.id / "events.jsonl"
        live = _live(events) if each.step == "running" else {}
        lost = each.step == "running" and not where.running
        tasks.append(
            {
                "id": each.task.id,
                "title": each.task.title,
                "needs": list(each.task.needs),
                "step": "lost" if lost else each.step,
                "outcome": each.outcome or None,
                "reason": each.reason or None,
                "detail": each.detail or None,
                "attempt": each.attempt,
                "worker": each.worker if each.worker >= 0 else None,
                "turn": live.get("turn") or each.turns or None,
                "turns": each.turns,
                "last": live.get("last"),
                "seconds": None if each.seconds is None else round(each.seconds, 3),
                "cost_usd": each.cost_usd,
                "tokens": each.tokens,
                "branch": each.branch or None,
                "kept": [*each.older, *each.kept],
                "tree": each.tree or None,
                "unsaved": each.unsaved or None,
                "merge": each.merge or None,
                "next": None
                if each.merged or each.step in ("running", "saved")
                else next_step(record, each, folder),
            }
        )
    return {
        "run": record.run,
        "state": where.word,
        "holder": where.run.pid if where.running and where.run is not None else None,
        "project": record.project,
        "branch": record.branch,
        "base": record.base,
        "began": timestamps.iso(record.began),
        "ended": None if record.ended is None else timestamps.iso(record.ended),
        "end": record.end,
        "jobs": record.jobs,
        "stopping": asked_to_stop(folder) or None,
        "merged": sum(each.merged for each in record.tasks),
        "cost_usd": record.cost_usd,
        "tokens": record.tokens,
        "into": record.into or None,
        "landed": record.landed or None,
        "tasks": tasks,
    }


def _live(events: Path) -> dict[str, Any]:
    """What a worker has reported last."""
    found: dict[str, Any] = {}
    for line in _last_lines(events):
        with suppress(ValueError, AttributeError, RecursionError):
            event = json.loads(line)
            if event.get("event") in ("turn", "line"):
                found["turn"] = whole(event.get("turn")) or found.get("turn")
                found["last"] = str(event.get("text") or "") or found.get("last")
    return found


def _last_lines(path: Path) -> list[bytes]:
    with lenient(), open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL, 0))
        return file.read().splitlines()[-50:]
    return []
