"""Attempts: orders for workers, what they report, what came of each whoever saw its end, and what is begun anew."""

from __future__ import annotations

import os
import time
import zlib
from concurrent.futures import BrokenExecutor, Future
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.amounts import amount
from bridge.base.process.secrets import NOTIFY
from bridge.base.process.table import identify
from bridge.loop.engine.events import LoopEvent, Notice
from bridge.loop.swarm.courier import recover, words
from bridge.loop.swarm.events import TaskEnded, TaskProgress, TaskSaved, TaskStarted
from bridge.loop.swarm.folder import EventsTail, read_events, tail_size, task_folder
from bridge.loop.swarm.pulls import TOKENS
from bridge.loop.swarm.supervisor import UNSEEN, begun, ending, supervise
from bridge.loop.swarm.swarm_record import CLOSED
from bridge.loop.swarm.work_order import Order, Result
from bridge.loop.swarm.work_trees import LOCK, Saved

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from concurrent.futures import Executor

    from bridge.loop.engine.caps import Caps
    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import RecordWriter, SwarmRecord, TaskRecord

_PORTS, _FIRST_PORT, _BLOCKS = 10, 20_000, 60
_RECOVER = 20.0
_PROGRESS = ("turn", "line", "turn-ended", "notice", "limit", "refused")


class Attempts:
    """Those of one swarm, at work in an executor.

    Attributes:
        broken: the executor takes no more tasks.
        variables: that workers get, too.
        unreported: of what (``tokens``, ``cost``) a turn that went well has said nothing.
    """

    def __init__(
        self, project: SwarmProject, folder: Path, record: SwarmRecord, writer: RecordWriter, caps: Caps
    ) -> None:
        self._project = project
        self._folder = folder
        self._record = record
        self._writer = writer
        self._caps = caps
        self._tails: dict[str, EventsTail] = {}
        self.at_work: dict[Future[Result], TaskRecord] = {}
        self.broken = False
        self.unreported: set[str] = set()
        self.variables: Mapping[str, str] = {}

    @cached_property
    def to_copy(self) -> tuple[list[str], list[str]]:
        return self._project.to_copy()

    def start(self, task: TaskRecord, executor: Executor) -> Generator[LoopEvent, None, None]:
        """Begin one with a task that has its branch."""
        task.worker = self._free_worker()
        task.attempt += 1
        folder = task_folder(self._folder, task.task.id)
        events = folder / "events.jsonl"
        self._tails[task.task.id] = EventsTail(events, tail_size(events))
        if task.began is not None and task.ended is not None:
            task.before += max(task.ended - task.began, 0.0)
        task.step, task.began, task.ended = "running", time.time(), None
        order = self._order(task, folder)
        self._writer.write_task(task)
        try:
            self.at_work[executor.submit(supervise, order)] = task
        except (BrokenExecutor, RuntimeError) as error:
            task.step, task.began = "waiting", None
            task.attempt -= 1
            self._writer.write_task(task)
            yield self._broken(error)
        else:
            yield TaskStarted(task)

    def _free_worker(self) -> int:
        taken = {each.worker for each in self.at_work.values()}
        return next(number for number in range(self._record.jobs + len(taken)) if number not in taken)

    def _broken(self, error: BaseException) -> Notice:
        self.broken = True
        return Notice(f"the executor takes no more tasks: {words(error)}")

    def _order(self, task: TaskRecord, folder: Path) -> Order:
        project, tree = self._project, Path(task.tree)
        options = dict(self._record.options)
        write, further = project.instructions(task.task, options.get("prompt"), task.told)
        options |= {"setup": project.kind} | further
        if "words" in further:
            options.pop("prompt", None)
        for name in ("max_cost", "max_tokens", "price_in", "price_out"):
            if options.get(name) is None and getattr(self._caps, name) is not None:
                options[name] = getattr(self._caps, name)
        first = _FIRST_PORT + zlib.crc32(self._record.run.encode()) % _BLOCKS * 200
        return Order(
            run_folder=os.fspath(self._folder),
            folder=os.fspath(folder),
            task=task.task.id,
            attempt=task.attempt,
            source=os.fspath(project.folder),
            top=os.fspath(project.top),
            kind=project.kind,
            home=project.home,
            tree=task.tree,
            project=os.fspath(tree / project.prefix).rstrip("/"),
            branch=task.branch,
            base=task.base,
            kept=task.branch.replace("ralph/task/", "ralph/kept/", 1),
            lock=os.fspath(project.swarms / LOCK),
            setup=tuple(self.to_copy[0]),
            wanted=tuple(self.to_copy[1]),
            write=write,
            copied=task.copied,
            options=options,
            env={
                "RALPH_TASK": task.task.id,
                "RALPH_WORKER": str(task.worker),
                "RALPH_PORT_BASE": str(first + task.worker * _PORTS),
                "RALPH_PORT_COUNT": str(_PORTS),
                NOTIFY: "",  # the swarm does, once
                # The host's own: no agent pushes or comments in its user's name.
                **dict.fromkeys(TOKENS if self._record.uses_gh else (), ""),
                **self.variables,
            },
            timeout=self._record.task_seconds,
            host=identify(),
            run=self._record.run,
        )

    # -- what comes back -------------------------------------------------------------------------------

    def take_in(self) -> Generator[LoopEvent, None, None]:
        """What workers have reported, and the ends of attempts."""
        for task in list(self.at_work.values()):
            yield from self._reported(task)
        for future in [each for each in self.at_work if each.done()]:
            task = self.at_work.pop(future)
            yield from self._reported(task)
            yield from self._result(task, future)

    def _reported(self, task: TaskRecord) -> Generator[LoopEvent, None, None]:
        tail = self._tails.get(task.task.id)
        for event in tail.read() if tail is not None else ():
            kind, turn = str(event.get("event")), event.get("turn") or 0
            if kind == "turn-ended":
                self._count(task, event)
                self._writer.write_task(task)
            if kind in _PROGRESS:
                text = str(event.get("text") or event.get("error") or "")
                reason, until = (str(event.get(name) or "") for name in ("reason", "until"))
                yield TaskProgress(task, kind, turn, text, reason, until)

    def _count(self, task: TaskRecord, event: dict[str, Any]) -> None:
        task.turns += event.get("result") != "limit"
        amounts = [event.get(name) for name in ("input_tokens", "output_tokens")]
        tokens = [each for each in amounts if each is not None]
        cost = event.get("cost_usd")
        if tokens:
            task.tokens = (task.tokens or 0) + sum(tokens)
        if cost is not None:
            task.cost_usd = (task.cost_usd or 0.0) + cost
        if event.get("result") == "success":
            missing = {"tokens": not tokens, "cost": cost is None}
            self.unreported |= {name for name, is_missing in missing.items() if is_missing}

    def _result(self, task: TaskRecord, future: Future[Result]) -> Generator[LoopEvent, None, None]:
        if future.cancelled():
            yield self.lost(task, "the executor cancelled it")
        elif (error := future.exception()) is not None:
            if isinstance(error, BrokenExecutor) and not self.broken:
                yield self._broken(error)
            yield self.lost(task, f"the executor lost it: {words(error)}")
        elif future.result().reason in UNSEEN:
            yield self.lost(task, future.result().detail)
        else:
            yield self._ended(task, future.result(), time.time())

    def lost(self, task: TaskRecord, why: str) -> LoopEvent:
        """Save what an attempt has left of which nobody saw the end; complete is complete, though. What ended with
        its host goes on, unless it is elsewhere, where it may still be at work."""
        folder = task_folder(self._folder, task.task.id)
        tail = self._tails.pop(task.task.id, None)
        found = recover(folder, patience=_RECOVER)
        events = read_events(folder / "events.jsonl")
        end = ending([each for each in events if each.get("attempt") == task.attempt])
        if tail is None:  # the host that was killed may have put down a part of the turns: count all of them anew
            task.turns, task.cost_usd, task.tokens = 0, None, None
            for event in events:
                if event.get("event") == "turn-ended":
                    self._count(task, event)
        saved, copied = Saved(), {}
        if found is not None:
            order, saved = found
            # An earlier attempt's, where this one was yet to be prepared: of its plan nothing counts as copied.
            copied, task.tree = order.copied if order.attempt == task.attempt else {}, order.tree
        if end is None or end[0] == "interrupted":
            apart = end is None and found is not None and found[0].elsewhere
            verdict = "interrupted" if tail is None and not apart else "lost"
            end = verdict, "host killed" if tail is None else "worker lost", why
        at = time.time()
        if tail is None:
            known = (amount(each.get("at")) for each in events)
            at = max((task.began or 0.0, *(each for each in known if each is not None and each <= at)))
        return self._ended(task, Result(*end, saved, copied), at)

    def _ended(self, task: TaskRecord, result: Result, at: float) -> LoopEvent:
        self._tails.pop(task.task.id, None)
        task.ended = at
        task.reason, task.detail = result.reason, result.detail
        task.copied = {**task.copied, **result.copied}
        task.commit = result.saved.commit or task.commit
        task.kept += [each for each in result.saved.refs if each not in task.kept]
        task.unsaved = result.saved.unsaved
        task.tree = result.where or task.tree
        complete = result.verdict == "complete" and bool(task.commit)
        if complete:
            task.step = "saved"
        else:
            task.step, task.outcome = "done", result.verdict if result.verdict != "complete" else "failed"
        self._writer.write_task(task)
        return TaskSaved(task) if complete else TaskEnded(task)

    def cancel(self) -> None:
        """Take back what hasn't begun. Some engines call a task cancelled that runs: that one ends by itself."""
        for future, task in list(self.at_work.items()):
            if not begun(self._folder / "tasks" / task.task.id, task.attempt) and future.cancel():
                del self.at_work[future]
                task.step, task.outcome, task.reason = "done", "interrupted", "stopped"

    # -- once more -------------------------------------------------------------------------------------

    def anew(self, task: TaskRecord) -> None:
        """Let it run again: where it conflicts, from the new base, and told so; else where it left off."""
        if task.pushed and task.outcome in ("conflict", "check failed"):
            self._on_top(task)
        elif task.outcome in ("conflict", "check failed", CLOSED):
            self._from_new_base(task)
        task.step, task.outcome, task.reason, task.detail = "waiting", "", "", ""
        task.ended = None

    def _from_new_base(self, task: TaskRecord) -> None:
        task.told = (
            f"An earlier attempt at this task is on branch {task.branch} (see it with: git diff"
            f" {task.base[:12]} {task.branch}). It could not be merged: {task.detail}.\n"
            "What others did meanwhile is in your work tree. Do the task anew on top of that, and take over from"
            " the earlier attempt what is right."
        )
        task.older.append(task.branch)
        task.branch = task.tree = task.merge = task.onto = task.pushed = task.since = task.round = ""
        task.pull, task.copied, task.rounds, task.answered = {}, {}, 0, []

    def _on_top(self, task: TaskRecord) -> None:
        """Have the turn that was to mend an open pull request once more, told what was wrong with it."""
        task.told += f"\n\nWhat you did about that could not be taken over: {task.detail}."
        if task.since:
            task.told += f"\nRun `git merge {task.since}` in your work tree, resolve what conflicts, and commit."
        self.open_box(task)

    def open_box(self, task: TaskRecord) -> None:
        """Have the task's plan written anew: in that of the attempt before its box is ticked."""
        task.copied = {name: each for name, each in task.copied.items() if not self._project.is_of_task(name)}
