"""The process that hosts a swarm: who works on what, what came of it, and what is merged next."""

from __future__ import annotations

import os
import sys
import time
import zlib
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.files import write_atomic
from bridge.loop import runs
from bridge.loop.caps import Caps
from bridge.loop.events import LoopEvent, Notice, interruption
from bridge.loop.lock import one_loop
from bridge.loop.records import Spent
from bridge.process.secrets import NOTIFY, shown_words
from bridge.process.table import identify
from bridge.swarm.cleaning import remove_merged
from bridge.swarm.courier import recover, words
from bridge.swarm.events import SwarmEnded, SwarmStarted, TaskEnded, TaskProgress, TaskSaved, TaskStarted
from bridge.swarm.folder import (
    EventsTail,
    ask_to_stop,
    asked_to_stop,
    forget_stop,
    read_events,
    tail_size,
    task_folder,
)
from bridge.swarm.merging import Merged, MergeQueue, land
from bridge.swarm.order import Order, Result
from bridge.swarm.project import uncommitted
from bridge.swarm.record import MERGED, RecordWriter, SwarmRecord, TaskRecord
from bridge.swarm.status import PERMANENT, unfit
from bridge.swarm.supervisor import UNSEEN, begun, ending, supervise
from bridge.swarm.trees import LOCK, Saved

if TYPE_CHECKING:
    from collections.abc import Collection, Generator
    from concurrent.futures import Executor

    from bridge.swarm.project import SwarmProject

_TICK = 0.1
_PORTS, _FIRST_PORT, _BLOCKS = 10, 20_000, 60
_RECOVER = 20.0
_SHOWN = 5
_PROGRESS = ("turn", "line", "turn-ended", "notice", "limit", "refused")


class Host:
    """One process that hosts a swarm."""

    def __init__(
        self,
        project: SwarmProject,
        folder: Path,
        record: SwarmRecord,
        executor: Executor | None,
        retry: Collection[str],
        *,
        resumed: bool,
    ) -> None:
        self.project = project
        self.folder = folder
        self.record = record
        self.writer = RecordWriter(folder, record)
        self.retry = retry
        self.resumed = resumed
        self.executor = executor
        self.lock = project.swarms / LOCK
        self.at_work: dict[Future[Result], TaskRecord] = {}
        self.tails: dict[str, EventsTail] = {}
        self.merging: tuple[Future[Merged], TaskRecord] | None = None
        self.ending = False
        self.broken = False
        self.needs = any(each.task.needs for each in record.tasks)
        self.stirred = True  # something has ended, so that another task may begin
        self.why = ""
        self.queue = MergeQueue(project, record, lock=self.lock, stopped=lambda: self.ending)
        self.caps = Caps(
            max_cost=record.max_cost,
            max_tokens=record.max_tokens,
            price_in=record.price_in,
            price_out=record.price_out,
        )
        self.unreported: set[str] = set()
        self.to_copy: tuple[list[str], list[str]] = ([], [])

    def run(self) -> Generator[LoopEvent, None, None]:
        """Do all of it; the last event is a `SwarmEnded`."""
        with ExitStack() as held:
            held.enter_context(one_loop(self.folder, self.folder))
            active = runs.begin_run(self.folder, command=shown_words(sys.argv), now=time.time(), tool="swarm")
            end = ""
            try:
                self.queue.open()
                if self.executor is None:
                    self.executor = held.enter_context(ThreadPoolExecutor(max(self.record.jobs, 1)))
                self.merger = held.enter_context(ThreadPoolExecutor(1))
                self.write()
                try:
                    yield SwarmStarted(self.record, self.folder, self.resumed)
                    yield from self._notices()
                    yield from self._recovered()
                    yield from self._work()
                    last = yield from self._over()
                    end = last.reason
                except BaseException as error:
                    end = interruption(error)[1]
                    self._leave(end)
                    raise
            finally:
                with suppress(BridgeError):
                    runs.write_run(self.folder, active, now=time.time(), end=end or "error:")
        yield last

    def write(self, task: TaskRecord | None = None) -> None:
        """Put down where it stands, or where one task does."""
        if task is None:
            self.writer.write()
        else:
            self.writer.write_task(task)

    # -- before ----------------------------------------------------------------------------------------

    def _notices(self) -> Generator[LoopEvent, None, None]:
        self.to_copy = self.project.to_copy()
        if changed := uncommitted(self.project, [*self.to_copy[0], *self.to_copy[1]]):
            plan = "" if self.project.plan is None else self.project.prefix + self.project.plan
            shown = ", ".join(changed[:_SHOWN]) + (f" and {len(changed) - _SHOWN} more" * (len(changed) > _SHOWN))
            read = "" if plan not in changed else "; the boxes of the plan are read from it as it is"
            yield Notice(f"the work trees begin with the last commit, without your changes in {shown}{read}")
        if (self.project.top / ".gitmodules").is_file():
            yield Notice(
                "submodules are not checked out in the work trees; what an agent does in one is kept apart"
            )

    def _recovered(self) -> Generator[LoopEvent, None, None]:
        """What a host that was killed has left under way."""
        forget_stop(self.folder)
        for task in self.record.tasks:
            if task.step == "running":
                yield from self._lost(task, "the host of the swarm was killed")
        for task in self.record.tasks:
            again = task.outcome in ("interrupted", "skipped") or task.outcome in self.retry
            if task.step == "done" and again:
                self._anew(task)
        self.record.end, self.record.ended, self.record.landed = None, None, ""
        self.write()

    def _lost(self, task: TaskRecord, why: str) -> Generator[LoopEvent, None, None]:
        """Save what an attempt has left of which nobody saw the end; complete is complete, though."""
        folder = task_folder(self.folder, task.task.id)
        tail = self.tails.pop(task.task.id, None)
        found = recover(folder, patience=_RECOVER)
        events = read_events(folder / "events.jsonl")
        end = ending([each for each in events if each.get("attempt") == task.attempt])
        if tail is None:
            self._count_again(task, events)
        saved, copied = Saved(), {}
        if found is not None:
            order, saved = found
            copied, task.tree = order.copied, order.tree
        if end is not None and end[0] != "interrupted":
            result = Result(*end, saved, copied)
        else:
            result = Result("lost", "host killed" if tail is None else "worker lost", why, saved, copied)
        yield from self._ended(task, result)

    def _count_again(self, task: TaskRecord, events: list[dict[str, Any]]) -> None:
        """Count the turns of all attempts anew: the host that was killed may have put down a part of them."""
        task.turns, task.cost_usd, task.tokens = 0, None, None
        for event in events:
            if event.get("event") == "turn-ended":
                self._count(task, event)

    def _anew(self, task: TaskRecord) -> None:
        """Let it run again: where it conflicts, from the new base, and told so; else where it left off."""
        if task.outcome in ("conflict", "check failed"):
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
        task.branch = task.tree = ""
        task.copied = {}

    # -- the work --------------------------------------------------------------------------------------

    def _work(self) -> Generator[LoopEvent, None, None]:
        while True:
            yield from self._take_in()
            self._look_for_stop()
            yield from self._start_ready()
            self._merge_next()
            pending: set[Future[Any]] = {*self.at_work, *([self.merging[0]] if self.merging else [])}
            if not pending:
                return
            wait(pending, _TICK, FIRST_COMPLETED)

    def _look_for_stop(self) -> None:
        if not self.why and (asked := asked_to_stop(self.folder)):
            self.why = f"stopped ({asked})"
        if not self.why and self.caps.max_cost is None and self.caps.max_tokens is None:
            return
        if not self.why:
            spent = Spent(self.record.cost_usd or 0.0, self.record.tokens or 0.0)
            reached = self.caps.reached(spent, self.unreported, datetime.now().astimezone())
            if reached is not None:
                self.why = f"{reached.reason}: {reached.detail}"
                ask_to_stop(self.folder, "soon")

    def _start_ready(self) -> Generator[LoopEvent, None, None]:
        if not self.stirred:
            return  # of thousands of tasks none is looked at in vain
        self.stirred = False
        if self.needs:
            yield from self._skip()
        done = {each.task.id for each in self.record.tasks if self.needs and each.merged}
        for task in self.record.tasks:
            if self.why or self.broken or len(self.at_work) >= self.record.jobs:
                return
            if task.step == "waiting" and done.issuperset(task.task.needs):
                yield from self._start(task)

    def _skip(self) -> Generator[LoopEvent, None, None]:
        """End what waits for a task that has ended unmerged."""
        over = True
        while over:
            over = False
            unmerged = {each.task.id: each for each in self.record.tasks if each.step == "done" and not each.merged}
            for task in self.record.tasks:
                missing = [need for need in task.task.needs if need in unmerged]
                if task.step == "waiting" and missing:
                    over = True
                    task.step, task.outcome, task.reason = "done", "skipped", "needs"
                    task.detail = f"it needs {missing[0]}, which is not merged"
                    self.write(task)
                    yield TaskEnded(task)

    def _start(self, task: TaskRecord) -> Generator[LoopEvent, None, None]:
        task.worker = self._free_worker()
        task.attempt += 1
        self._name(task)
        folder = task_folder(self.folder, task.task.id)
        events = folder / "events.jsonl"
        self.tails[task.task.id] = EventsTail(events, tail_size(events))
        task.step, task.began, task.ended = "running", time.time(), None
        order = self._order(task, folder)
        self.write(task)
        assert self.executor is not None
        try:
            self.at_work[self.executor.submit(supervise, order)] = task
        except (BrokenExecutor, RuntimeError) as error:
            self.broken, task.step, task.began = True, "waiting", None
            task.attempt -= 1
            self.write(task)
            yield Notice(f"the executor takes no more tasks: {words(error)}")
            return
        yield TaskStarted(task)

    def _free_worker(self) -> int:
        taken = {each.worker for each in self.at_work.values()}
        return next(number for number in range(self.record.jobs + len(taken)) if number not in taken)

    def _name(self, task: TaskRecord) -> None:
        if not task.branch:
            task.base = self.queue.tip
            number = len(task.older) + 1
            name = task.task.id if number == 1 else f"{task.task.id}--{number}"
            task.branch = f"ralph/task/{self.record.run}/{name}"
        task.tree = os.path.join(self.record.trees, task.branch.rpartition("/")[2])

    def _order(self, task: TaskRecord, folder: Path) -> Order:
        tree = Path(task.tree)
        options = dict(self.record.options)
        write, further = self.project.instructions(task.task, options.get("prompt"), task.told)
        options |= {"setup": self.project.kind} | further
        if "words" in further:
            options.pop("prompt", None)
        for name in ("max_cost", "max_tokens", "price_in", "price_out"):
            if options.get(name) is None and getattr(self.caps, name) is not None:
                options[name] = getattr(self.caps, name)
        me = identify()
        first = _FIRST_PORT + zlib.crc32(self.record.run.encode()) % _BLOCKS * 200
        return Order(
            run_folder=os.fspath(self.folder),
            folder=os.fspath(folder),
            task=task.task.id,
            attempt=task.attempt,
            source=os.fspath(self.project.folder),
            top=os.fspath(self.project.top),
            kind=self.project.kind,
            home=self.project.home,
            tree=task.tree,
            project=os.fspath(tree / self.project.prefix).rstrip("/"),
            branch=task.branch,
            base=task.base,
            kept=task.branch.replace("ralph/task/", "ralph/kept/", 1),
            lock=os.fspath(self.lock),
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
                NOTIFY: "",  # the swarm tells, once
            },
            timeout=self.record.task_seconds,
            host=(me.pid, me.started, me.boot),
            run=self.record.run,
        )

    def _take_in(self) -> Generator[LoopEvent, None, None]:
        for task in list(self.at_work.values()):
            yield from self._told(task)
        for future in [each for each in self.at_work if each.done()]:
            task = self.at_work.pop(future)
            yield from self._told(task)
            yield from self._result(task, future)
            self.stirred = True
        if self.merging is not None and self.merging[0].done():
            (merge, task), self.merging = self.merging, None
            self.stirred = True
            yield from self._merged(task, merge.result())

    def _told(self, task: TaskRecord) -> Generator[LoopEvent, None, None]:
        tail = self.tails.get(task.task.id)
        for event in tail.read() if tail is not None else ():
            kind, turn = str(event.get("event")), event.get("turn") or 0
            if kind == "turn-ended":
                self._count(task, event)
                self.write(task)
            if kind in _PROGRESS:
                words = [str(event.get(name) or "") for name in ("reason", "until")]
                yield TaskProgress(task, kind, turn, str(event.get("text") or event.get("error") or ""), *words)

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
            if not tokens:
                self.unreported.add("tokens")
            if cost is None:
                self.unreported.add("cost")

    def _result(self, task: TaskRecord, future: Future[Result]) -> Generator[LoopEvent, None, None]:
        if future.cancelled():
            yield from self._lost(task, "the executor cancelled it")
        elif (error := future.exception()) is not None:
            if isinstance(error, BrokenExecutor) and not self.broken:
                self.broken = True
                yield Notice(f"the executor takes no more tasks: {words(error)}")
            yield from self._lost(task, f"the executor lost it: {words(error)}")
        elif future.result().reason in UNSEEN:
            yield from self._lost(task, future.result().detail)
        else:
            yield from self._ended(task, future.result())

    def _ended(self, task: TaskRecord, result: Result) -> Generator[LoopEvent, None, None]:
        """An attempt is over, and its work is saved."""
        self.tails.pop(task.task.id, None)
        task.ended = time.time()
        task.reason, task.detail = result.reason, result.detail
        task.copied = {**task.copied, **result.copied}
        task.commit = result.saved.commit or task.commit
        task.kept += [each for each in result.saved.refs if each not in task.kept]
        task.unsaved = result.saved.unsaved
        task.tree = result.where or task.tree
        if result.verdict == "complete" and task.commit:
            task.step = "saved"
            self.write(task)
            yield TaskSaved(task)
        else:
            task.step, task.outcome = "done", result.verdict if result.verdict != "complete" else "failed"
            self.write(task)
            yield TaskEnded(task)
            self._look_for_unfit()

    def _look_for_unfit(self) -> None:
        """Begin no further tasks when as many as work at once couldn't even begin, and none has come further; or
        when the last ones, as many, couldn't use the CLI."""
        over = [each for each in self.record.tasks if each.outcome not in ("", "skipped")]
        over.sort(key=lambda each: each.ended or 0.0)
        locked_out = all(each.reason in PERMANENT for each in over[-self.record.jobs :])
        if not self.why and len(over) >= self.record.jobs and (locked_out or all(map(unfit, over))):
            how = "go on" if locked_out else "begin"
            self.why = f"no loop can {how}: {over[-1].detail.splitlines()[0]}"

    # -- merging ---------------------------------------------------------------------------------------

    def _merge_next(self) -> None:
        if self.merging is None and not self.ending:
            task = next((each for each in self.record.tasks if each.step == "saved"), None)
            if task is not None:
                log = task_folder(self.folder, task.task.id) / "check.log"
                task.merge_began, task.merge_ended = time.time(), None
                self.merging = self.merger.submit(self._merge, task, log), task

    def _merge(self, task: TaskRecord, log: Path) -> Merged:
        merged = self.queue.merge(task, log)
        if self.record.tidy and merged.outcome in MERGED:
            with suppress(BridgeError, OSError):  # `swarm clean` says why it stays
                remove_merged(self.project, self.folder, self.record, task)
        return merged

    def _merged(self, task: TaskRecord, merged: Merged) -> Generator[LoopEvent, None, None]:
        if not merged.outcome:
            return  # it was ended in the middle, and is still to be merged
        task.step, task.outcome, task.merge = "done", merged.outcome, merged.commit
        task.merge_ended = time.time()
        task.reason = "merge" if not task.merged else task.reason
        task.detail = merged.detail or task.detail
        task.unticked = [*merged.unticked] if task.merged else []
        self.write(task)
        yield TaskEnded(task)
        if merged.outcome == "conflict" and self.record.redo_conflicts and not task.redone and not self.why:
            task.redone = True
            self._anew(task)
            self.write(task)
            yield Notice(f"{task.task.id} begins anew from what is merged by now")

    # -- the end ---------------------------------------------------------------------------------------

    def _over(self) -> Generator[LoopEvent, None, SwarmEnded]:
        record = self.record
        if record.into and any(each.outcome == "merged" for each in record.tasks):
            record.landed = land(self.project, record.branch, record.into)
        unticked = [box for each in record.tasks for box in each.unticked]
        left = [box for box in unticked if not self._tick_own(box)]
        if ticked := len(unticked) - len(left):
            yield Notice(f"{ticked} of the boxes in {self.project.plan} are ticked now: no branch has that file")
        if left:
            yield Notice(f"not ticked, as the plan that is committed lacks them: {'; '.join(left)}")
        for each in record.tasks:
            each.unticked = []
        record.ended = time.time()
        record.end = self.why or ("all merged" if record.all_merged else "not all merged")
        self.write()
        return SwarmEnded(record, record.end, record.landed)

    def _tick_own(self, box: str) -> bool:
        """Tick a box in the user's own plan, where git doesn't have it, so that no merge could."""
        plan = self.project.plan
        if plan is None or self.project.repository().run("ls-files", "--error-unmatch", "--", plan).ok:
            return False
        text = self.project.plan_text()
        ticked, left = self.project.format.done(text or "", [box])
        if text is None or left:
            return False
        write_atomic(self.project.folder / plan, ticked)
        return True

    def _leave(self, why: str) -> None:
        """End all workers in order, and put down what came of them; a second signal leaves out the graces."""
        self.ending = True
        hard = False
        with suppress(BridgeError):
            ask_to_stop(self.folder, "now")
        while True:
            try:
                self._drain()
                break
            except (KeyboardInterrupt, SystemExit):
                if not hard:
                    hard = True
                    with suppress(BridgeError):
                        ask_to_stop(self.folder, "kill")
        self.record.end, self.record.ended = why, time.time()
        with suppress(BridgeError):
            self.write()

    def _drain(self) -> None:
        for future, task in list(self.at_work.items()):
            # Some engines call a task cancelled that runs: one that has begun ends by itself.
            if not begun(self.folder / "tasks" / task.task.id, task.attempt) and future.cancel():
                del self.at_work[future]
                task.step, task.outcome, task.reason = "done", "interrupted", "stopped"
        while self.at_work or self.merging is not None:
            pending: set[Future[Any]] = {*self.at_work, *([self.merging[0]] if self.merging else [])}
            wait(pending, _TICK, FIRST_COMPLETED)
            for _ in self._take_in():
                pass
