"""What became of the tasks of a source on which one loop after the other works, as the loop's folder keeps it."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

from bridge.base.amounts import amount, whole
from bridge.base.json_files import as_array, as_object, read_object
from bridge.base.records import dataclass
from bridge.loop.engine.store import TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.loop.tasks.task import Task

_MANY = 10_000
_LONGEST = 500
_WORDS = ("id", "title", "ref", "run", "outcome", "reason")


@dataclass(slots=True, kw_only=True)
class Became:
    """What became of one task.

    Attributes:
        id, title: its own.
        ref: what its source calls it.
        run: the name of the run that worked on it.
        outcome: ``done`` or ``failed``; '': nothing yet.
        reason: the word why its loop ended.
        turns, seconds, cost_usd, tokens: of its loops that have ended; the last two None where no turn told any.
        told: the words that its source has been told.
        closed: its source was asked to close it.
    """

    id: str
    title: str
    ref: str
    run: str
    outcome: str = ""
    reason: str = ""
    turns: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None
    tokens: float | None = None
    told: list[str] = field(default_factory=list)
    closed: bool = False


@dataclass(slots=True, kw_only=True)
class TasksRecord:
    """Where a run over the tasks of a source stands.

    Attributes:
        source: as it is named. run: its own name, in what goes back to the source.
        ended: it has come to its end, in order.
        under_way: the key of the task that a loop works on, or worked on when it was ended in the middle; ''.
        cost_usd, tokens: what its loops that have ended used.
        tasks: what became of each, by `keys`.
    """

    source: str
    run: str
    ended: bool = False
    under_way: str = ""
    cost_usd: float = 0.0
    tokens: float = 0.0
    tasks: dict[str, Became] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        return {"schema": 1, **asdict(self)}


def keys(tasks: Iterable[Task]) -> dict[str, Task]:
    """Give tasks by what tells them apart when their source is read anew: what it calls them, else their words."""
    found: dict[str, Task] = {}
    seen: Counter[str] = Counter()
    for task in tasks:
        words = (task.ref or f"{task.title}\n{task.prompt}").encode("utf-8", "replace")
        key = hashlib.sha256(words).hexdigest()[:16]
        found[f"{key}.{seen[key]}" if seen[key] else key] = task
        seen[key] += 1
    return found


def read_tasks(state: Path) -> TasksRecord | None:
    """Read the record of the last run; None: there is none, or it is not to be understood.

    An agent may have written it, where no box keeps it from that.
    """
    found = read_object(state / TASKS)
    if found is None or not all(isinstance(found.get(name), str) for name in ("source", "run", "under_way")):
        return None
    tasks = as_object(found.get("tasks")) or {}
    became = {key: _became(each) for key, value in [*tasks.items()][:_MANY] if (each := as_object(value))}
    return TasksRecord(
        source=found["source"],
        run=found["run"][:_LONGEST],
        ended=found.get("ended") is True,
        under_way=found["under_way"],
        cost_usd=float(amount(found.get("cost_usd")) or 0),
        tokens=float(amount(found.get("tokens")) or 0),
        tasks=became,
    )


def _became(found: Mapping[str, Any]) -> Became:
    words = {name: str(found.get(name) or "")[:_LONGEST] for name in _WORDS}
    return Became(
        **words | {"outcome": words["outcome"] if words["outcome"] in ("done", "failed") else ""},
        turns=whole(found.get("turns")) or 0,
        seconds=float(amount(found.get("seconds")) or 0),
        cost_usd=amount(found.get("cost_usd")),
        tokens=amount(found.get("tokens")),
        told=[str(word)[:_LONGEST] for word in as_array(found.get("told"))[:10]],
        closed=found.get("closed") is True,
    )
