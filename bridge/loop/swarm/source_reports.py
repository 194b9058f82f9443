"""What the source of a swarm's tasks is told, one task after the other, beside the work."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.base.process.ask import ended_when
from bridge.base.wording import one_line
from bridge.errors import BridgeError
from bridge.loop.swarm.swarm_record import CLOSED, RETRIED, UNFINISHED
from bridge.loop.tasks import open_source
from bridge.loop.tasks.source_updates import Account, tell
from bridge.loop.tasks.task import Asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord
    from bridge.loop.tasks.source_updates import Word
    from bridge.loop.tasks.task import Source

_ENOUGH = 3
"""Failures in a row at the end, after which the rest waits for `resume`."""


class Telling:
    """Tells one task at a time. What was told stands in the record, which only the host's own thread changes.

    Args:
        stopped: whether the host wants to end.

    Attributes:
        under_way: what is being told: the answer is why that can't be, or ''.
    """

    def __init__(self, project: SwarmProject, record: SwarmRecord, *, stopped: Callable[[], bool]) -> None:
        self._project = project
        self._record = record
        self._stopped = stopped
        self._pool = ThreadPoolExecutor(1)
        self._failed: set[str] = set()
        self._in_a_row = 0
        self.under_way: tuple[Future[str], TaskRecord, Word] | None = None

    @cached_property
    def _source(self) -> Source:
        asked = Asked(project=self._project.folder, plan=self._project.own.plan)
        return open_source(self._record.source, asked)

    def begin(self, *, over: bool = False) -> bool:
        """Begin with the next one that isn't told, unless one is under way; whether any is.

        Args:
            over: the swarm has ended: failures are told, too.
        """
        if self.under_way is not None or self._record.write_back == "none":
            return self.under_way is not None
        if over and self._in_a_row >= _ENOUGH:
            return False
        for task in self._record.tasks:
            word = self._word(task, over=over)
            if word and word != task.said and task.task.id not in self._failed:
                self.under_way = self._pool.submit(self._tell, account_of(self._record, task, word)), task, word
                return True
        return False

    def once_more(self) -> None:
        """Try again what couldn't be told."""
        self._failed.clear()
        self._in_a_row = 0

    def take_in(self) -> TaskRecord | None:
        """Put down what came of it, once that is known; gives the task."""
        if self.under_way is None or not self.under_way[0].done():
            return None
        (future, task, word), self.under_way = self.under_way, None
        task.untold = future.result()
        if task.untold:
            self._failed.add(task.task.id)
            self._in_a_row += 1
        else:
            task.said, self._in_a_row = word, 0
        return task

    def close(self) -> None:
        self._pool.shutdown()

    def _tell(self, account: Account) -> str:
        try:
            with ended_when(self._stopped):
                return tell(self._source, account, self._record.write_back)
        except BridgeError as error:  # it can't be opened
            return one_line(str(error).partition("\n  next:")[0])

    def _word(self, task: TaskRecord, *, over: bool) -> Word | None:
        if task.step in ("running", "saved", "watched"):
            return "begun"
        if task.merged:
            return "done" if over or self._record.pull_requests or not self._record.into else None
        return "failed" if over and task.outcome in RETRIED and task.outcome not in (CLOSED, UNFINISHED) else None


def account_of(record: SwarmRecord, task: TaskRecord, word: Word) -> Account:
    into = record.into if record.into and not record.landed else ""
    why = f"{task.outcome}: {task.detail}" if task.outcome == "conflict" else f"{task.outcome} ({task.reason})"
    return Account(
        run=record.run,
        task=task.task,
        word=word,
        why=why if word == "failed" else "",
        branch=task.pull_branch if record.pull_requests and task.merge else task.branch,
        merged=(into or record.branch) if task.outcome == "merged" else "",
        check=record.check if task.merge else "",
        pull_request=str(task.pull.get("url", "")),
        # Somebody closes it who sees to its getting where it was to go.
        closes=bool(record.landed) or (record.pull_requests and bool(task.closing)),
        turns=task.turns,
        seconds=task.seconds,
        cost_usd=task.cost_usd,
        tokens=task.tokens,
    )
