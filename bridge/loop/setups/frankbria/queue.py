"""The queue of issues and specs: ``.ralph/queue.json``, which ``ralph-queue`` writes and reads before and after us.

It is read anew before each change: others may add to it meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.files import descriptor
from bridge.base.json_files import as_array, as_object, parse_json, read_text, to_json, usable, write_json
from bridge.base.wording import one_line
from bridge.errors import ConfigurationError, ProjectBusy
from bridge.loop.setups.dot_ralph.controls import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

    from bridge.loop.setups.dot_ralph.folder import Folder

Item = dict[str, Any]
FILE, LOG = "queue.json", "logs/queue_processing.log"
STATUSES = ("pending", "processing", "completed", "failed", "skipped")
_LOCK = ".ralph_bridge.queue.lock"
_LAST = 99  # behind every priority


class Queue:
    """The queue of one project.

    Args:
        now: the time, in seconds since the epoch.
    """

    def __init__(self, folder: Folder, now: Callable[[], float] = time.time) -> None:
        self.folder, self._now = folder, now

    def read(self) -> dict[str, Any]:
        """Give the whole document, a new one where there is none.

        Raises:
            ConfigurationError: it is no queue; says why.
        """
        text = read_text(self.folder / FILE)
        if text is None:
            return self._new()
        document = as_object(parse_json(text)) or {}
        items, where = document.get("queue"), f"{self.folder.shown}/{FILE}"
        if not isinstance(items, list):
            raise ConfigurationError(f"{where} is no queue\n  next: mend it, or begin a new one: --queue-clear")
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"]:
                raise ConfigurationError(f"{where}: item {number} has no id\n  next: mend it, or --queue-clear")
        return document

    @property
    def items(self) -> list[Item]:
        found: list[Item] = self.read()["queue"]
        return found

    def write(self, items: Sequence[Item], *, anew: bool = False) -> None:
        """Put these in place of those that are there, `anew` also where that is no queue."""
        document = self._new() if anew else self.read()
        write_json(self.folder / FILE, {**document, "queue": [*items], "updated_at": self._iso()})

    def mark(self, name: str, status: str, error: str = "") -> None:
        """Say how it stands with an item."""
        items = self.items
        for item in items:
            if name in names(item):
                item["status"] = status
                if status == "failed":
                    item["error_message"] = error
                if status == "pending":
                    item["started_at"] = None
                if status == "processing" and not item.get("started_at"):
                    item["started_at"] = self._iso()
                if status in STATUSES[2:]:
                    item["completed_at"] = self._iso()
        self.write(items)

    def add(self, items: Sequence[Item]) -> list[str]:
        """Put items behind those that are there; give the ids of those that weren't there yet."""
        there = self.items
        known = {each["id"] for each in there}
        new = [_whole(each, self._iso()) for each in items if each["id"] not in known]
        if new:
            self.write([*there, *new])
        return [each["id"] for each in new]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep others from working on it while the block runs.

        Raises:
            ProjectBusy: somebody does.
        """
        import fcntl

        with usable(self.folder / _LOCK):
            held = descriptor(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise ProjectBusy("the queue is being processed already\n  next: wait for that, or end it") from None
        finally:
            os.close(held)

    def _iso(self) -> str:
        return timestamps.iso(self._now())

    def _new(self) -> dict[str, Any]:
        now = self._iso()
        return {"version": "1.0", "created_at": now, "updated_at": now, "repository": "", "queue": []}


def _whole(item: Item, now: str) -> Item:
    usual: Item = {"title": "", "priority": "", "labels": [], "milestone": None, "dependencies": []}
    new: Item = {"status": "pending", "added_at": now, "started_at": None, "completed_at": None}
    return {**usual, **item, **new, "error_message": ""}


# -- which one is next. Pure ---------------------------------------------------------------------------


def names(item: Item) -> set[str]:
    """What an item is called: by its id, and by its issue's number."""
    number = item.get("issue_number")
    return {item["id"]} if number is None else {item["id"], str(number)}


def needs(item: Item) -> list[str]:
    return [str(each) for each in as_array(item.get("dependencies")) if isinstance(each, int | str)]


def next_item(items: Sequence[Item], tried: Collection[str] = ()) -> Item | None:
    """Give the item to be worked on: pending, and nothing that it needs is still in the queue and not completed; of
    several the one with the lowest P0 to P9, then the first.

    Args:
        tried: ids that aren't meant.
    """
    there = {name for each in items for name in names(each)}
    there -= {name for each in items if each.get("status") == "completed" for name in names(each)}
    free = [
        each
        for each in items
        if each.get("status") == "pending" and each["id"] not in tried and there.isdisjoint(needs(each))
    ]
    return min(free, key=_rank, default=None)


def _rank(item: Item) -> int:
    found = re.search(r"[pP]([0-9])", str(item.get("priority") or ""))
    return _LAST if found is None else int(found[1])


def circle(items: Sequence[Item]) -> list[str]:
    """Give ids along a circle of needs; empty without one."""
    ids = {name: each["id"] for each in items for name in names(each)}
    graph: dict[Hashable, list[str]] = {
        each["id"]: [ids[name] for name in needs(each) if name in ids] for each in items
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [*map(str, error.args[1])]
    return []


# -- what is done with it at once ----------------------------------------------------------------------


def act(folder: Folder, words: Sequence[str], now: float) -> Shown:
    """Show the queue, or change it.

    Args:
        words: ``status [--json]``, ``next``, ``clear`` or ``remove ID``.
        now: in seconds since the epoch.

    Raises:
        ConfigurationError: there is nothing to show, or to remove; the file is no queue.
    """
    queue, what, given = Queue(folder, lambda: now), words[0], words[1:]
    if what == "clear":
        if folder.path.is_dir():
            queue.write([], anew=True)
        return Shown("The queue is empty.\n")
    document = queue.read()
    items: list[Item] = document["queue"]
    if what == "status":
        counts = {"total": len(items)} | {
            status: sum(each.get("status") == status for each in items) for status in STATUSES
        }
        if "--json" in given:
            return Shown(to_json(counts) + "\n")
        return Shown("\n".join(_listed(items, counts, str(document.get("repository") or ""))) + "\n")
    if what == "next":
        if (item := next_item(items)) is None:
            raise ConfigurationError(
                "no item of the queue is ready\n  next: --queue-status shows what they wait for"
            )
        return Shown(f"{item['id']}\n")
    if not given:
        raise ConfigurationError("--queue-remove needs an id, or the number of an issue\n  next: --queue-status")
    if not any(given[0] in names(each) for each in items):
        raise ConfigurationError(f"{given[0]} is not in the queue\n  next: --queue-status lists what is")
    queue.write([each for each in items if given[0] not in names(each)])
    return Shown(f"{given[0]} is out of the queue.\n")


def _listed(items: Sequence[Item], counts: dict[str, int], repository: str) -> Iterator[str]:
    each_of = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    yield f"Queue: {counts['total']} total — {each_of}"
    if repository:
        yield f"Repository: {one_line(repository, 200)}"
    yield ""
    if not items:
        yield "  (queue is empty)"
    for each in items:
        name = f"#{each.get('issue_number')}" if each.get("source") == "github" else each["id"]
        waits = ", ".join(f"#{need}" if need.isdecimal() else need for need in needs(each))
        line = f"[{each.get('priority') or '--'}] {name} {each.get('title', '')}  ({each.get('status')})"
        failed = each.get("error_message") if each.get("status") == "failed" else ""
        line += (f"  deps: {waits}" if waits else "") + (f": {failed}" if failed else "")
        yield f"  {one_line(line, 300)}"
