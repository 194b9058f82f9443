"""The process that hosts a swarm: who works on what, what came of it, and what is merged next."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.process.secrets import shown_words
from bridge.errors import BridgeError
from bridge.loop.engine import run_record
from bridge.loop.engine.caps import Caps
from bridge.loop.engine.events import LoopEvent, Notice, interruption
from bridge.loop.engine.lock import one_loop
from bridge.loop.engine.notify import Notifier
from bridge.loop.engine.observers import RunFacts
from bridge.loop.engine.turn_records import Spent
from bridge.loop.swarm.attempts import Attempts
from bridge.loop.swarm.cleaning import remove_merged
from bridge.loop.swarm.events import (
    STEPS,
    SwarmEnded,
    SwarmStarted,
    TaskEnded,
    TaskSaved,
    TaskWatched,
    notice_of,
    totals,
)
from bridge.loop.swarm.folder import ask_to_stop, asked_to_stop, forget_stop, task_folder
from bridge.loop.swarm.merging import Merged, MergeQueue, land
from bridge.loop.swarm.project import uncommitted
from bridge.loop.swarm.pulls import OPEN, stacked_on
from bridge.loop.swarm.source_reports import Telling
from bridge.loop.swarm.status import PERMANENT, unfit
from bridge.loop.swarm.swarm_record import (
    MERGED,
    NOT_PUSHED,
    PULLED,
    RecordWriter,
    SwarmRecord,
    TaskRecord,
)
from bridge.loop.swarm.watch import Watch, begin_watching, follow, look_again, unchanged
from bridge.loop.swarm.work_trees import LOCK
from bridge.loop.telemetry import observers

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence
    from concurrent.futures import Executor

    from bridge.loop.engine.observers import Observer
    from bridge.loop.engine.run_record import RunRecord
    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.watch import Looked

_TICK = 0.1
_SHOWN = 5


class Host:
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
        self.merging: tuple[Future[Merged], TaskRecord] | None = None
        self.ending = False
        self.needs = any(each.task.needs for each in record.tasks)
        self.stirred = True  # something has ended, so that another task may begin
        self.why = self.moved = ""
        self.queue = MergeQueue(project, record, lock=project.swarms / LOCK, stopped=lambda: self.ending)
        self.caps = Caps(
            max_cost=record.max_cost,
            max_tokens=record.max_tokens,
            price_in=record.price_in,
            price_out=record.price_out,
        )
        facts = {"project": record.project, "tool": "swarm", "run": record.run}
        self.notifier = Notifier(facts, os.environ)
        asked = record.options
        content = bool(asked.get("telemetry_content"))
        self.observing = observers(asked.get("telemetry"), content=content, steps=STEPS)
        self.observers: list[Observer] = []
        self.active: RunRecord
        self.attempts = Attempts(project, folder, record, self.writer, self.caps)
        self.telling = Telling(project, record, stopped=lambda: self.ending)
        folder, refresh = project.repository().top, self.queue.refresh
        self.watch = Watch(folder, record, refresh=refresh, stopped=lambda: self.ending or bool(self.why))

    def run(self) -> Generator[LoopEvent, None, None]:
        try:
            last = yield from self._locked()
        except BaseException as error:
            action, reason = interruption(error)
            detail = "" if action == "interrupted" else str(error)
            end = {"verdict": "interrupted", "reason": reason, "detail": detail}
            self.notifier.tell("ended", end | totals(self.record))
            self.notifier.close()
            self._close_observers()
            raise
        self.notifier.tell(*notice_of(last, self.record, self.folder))
        self._observe(last)
        self.notifier.close()
        self._close_observers()
        yield from map(Notice, self._problems())
        yield last

    def _observed(self) -> None:
        before = run_record.read_run(self.folder)
        facts = RunFacts(
            run_id=self.record.run,
            project=Path(self.record.project),
            tool="swarm",
            before=before.trace if before is not None and before.cut_off else "",
            traced=self._traced,
        )
        self.observers = [observe(facts) for observe in self.observing]

    def _traced(self, trace: str) -> None:
        self.active = run_record.write_run(self.folder, self.active, now=time.time(), trace=trace)

    def _observe(self, event: LoopEvent) -> None:
        for observer in self.observers:
            observer.take(event)
            self.attempts.variables = observer.variables()

    def _close_observers(self) -> None:
        for observer in self.observers:
            observer.close()

    def _problems(self) -> Iterable[str]:
        return (line for each in (self.notifier, *self.observers) for line in each.problems())

    def _locked(self) -> Generator[LoopEvent, None, SwarmEnded]:
        with ExitStack() as held:
            held.enter_context(one_loop(self.folder, self.folder))
            self._observed()
            self.active = run_record.begin_run(
                self.folder, command=shown_words(sys.argv), now=time.time(), tool="swarm"
            )
            end = ""
            try:
                self.queue.open()
                if self.executor is None:
                    self.executor = held.enter_context(ThreadPoolExecutor(max(self.record.jobs, 1)))
                self.merger = held.enter_context(ThreadPoolExecutor(1))
                held.callback(self.telling.close)
                held.callback(self.watch.close)
                self.writer.write()
                try:
                    for event in self._events():
                        kind, facts = notice_of(event, self.record, self.folder)
                        if kind:
                            self.notifier.tell(kind, facts)
                        self._observe(event)
                        yield from map(Notice, self._problems())
                        yield event
                except BaseException as error:
                    end = interruption(error)[1]
                    self._leave(end)
                    raise
                end = self.record.end or ""
            finally:
                with suppress(BridgeError):
                    run_record.write_run(self.folder, self.active, now=time.time(), end=end or "error:")
        return SwarmEnded(self.record, end, self.record.landed)

    def _events(self) -> Generator[LoopEvent, None, None]:
        forget_stop(self.folder)
        yield SwarmStarted(self.record, self.folder, self.resumed)
        yield from self._notices()
        self.head = self._main_head()
        yield from self._recovered()
        yield from self._work()
        yield from self._over()

    # -- before ----------------------------------------------------------------------------------------

    def _notices(self) -> Generator[LoopEvent, None, None]:
        setup, wanted = self.attempts.to_copy
        if changed := uncommitted(self.project, [*setup, *wanted]):
            plan = "" if self.project.plan is None else self.project.prefix + self.project.plan
            shown = ", ".join(changed[:_SHOWN]) + (f" and {len(changed) - _SHOWN} more" * (len(changed) > _SHOWN))
            read = "" if plan not in changed else "; the boxes of the plan are read from it as it is"
            yield Notice(f"the work trees begin with the last commit, without your changes in {shown}{read}")
        if (self.project.top / ".gitmodules").is_file():
            yield Notice(
                "submodules are not checked out in the work trees; what an agent does in one is kept apart"
            )

    def _recovered(self) -> Generator[LoopEvent, None, None]:
        left = (task for task in self.record.tasks if task.step == "running")
        yield from self._noted(self.attempts.lost(task, "the host of the swarm was killed") for task in left)
        if self.resumed:
            self.record.paused += max(time.time() - self.record.last_sign, 0.0)
        yield from map(Notice, look_again(self.record, self.queue.pulls, self.retry))
        for task in self.record.tasks:
            again = task.outcome in ("interrupted", "skipped") or task.outcome in self.retry
            if task.step == "done" and again:
                self.attempts.anew(task)
        self._push_again()
        self.record.end, self.record.ended, self.record.landed = None, None, ""
        self.writer.write()

    def _push_again(self) -> bool:
        """Have what couldn't be pushed pushed again; whether there is any."""
        left = [each for each in self.record.tasks if each.outcome == NOT_PUSHED]
        for task in left:
            task.step, task.outcome, task.reason, task.detail = "saved", "", "", ""
        return bool(left)

    # -- the work --------------------------------------------------------------------------------------

    def _work(self) -> Generator[LoopEvent, None, None]:
        pushed_again = False
        while True:
            yield from self._take_in()
            self._look_for_stop()
            yield from self._start_ready()
            self._merge_next()
            self.telling.begin()
            watched = not self.why and self.watch.begin()
            if not self._wait(also=watched):
                if self.why or pushed_again or not self._push_again():
                    return
                pushed_again = True

    def _wait(self, *, also: bool = False) -> bool:
        """Wait a moment for what is under way; False when nothing is. `also`: something else is waited for."""
        pending: set[Future[Any]] = {*self.attempts.at_work, *([self.merging[0]] if self.merging else [])}
        pending |= {each[0] for each in (self.telling.under_way, self.watch.under_way) if each}
        if also and not pending:
            time.sleep(_TICK)
        wait(pending, _TICK, FIRST_COMPLETED)
        return also or bool(pending)

    def _look_for_stop(self) -> None:
        if not self.why and (asked := asked_to_stop(self.folder)):
            self.why = f"stopped ({asked})"
        if not self.why and self.caps.max_cost is None and self.caps.max_tokens is None:
            return
        if not self.why:
            spent = Spent(self.record.cost_usd or 0.0, self.record.tokens or 0.0)
            reached = self.caps.reached(spent, self.attempts.unreported, datetime.now().astimezone())
            if reached is not None:
                self.why = f"{reached.reason}: {reached.detail}"
                ask_to_stop(self.folder, "soon")

    def _start_ready(self) -> Generator[LoopEvent, None, None]:
        if not self.stirred:
            return  # of thousands of tasks none is looked at in vain
        alone = self.record.jobs == 1 and not self.record.pull_requests
        if alone and any(each.step == "saved" for each in self.record.tasks):
            return  # the next one begins with what this one is merged to
        self.stirred = False
        if self.needs:
            yield from self._skip()
        done = {each.task.id for each in self.record.tasks if self.needs and each.merged}
        for task in self.record.tasks:
            if self.why or self.attempts.broken or len(self.attempts.at_work) >= self.record.jobs:
                return
            if task.step == "waiting" and done.issuperset(task.task.needs):
                below = self._below(task)
                if len(below) > 1:
                    both = " and ".join(each.task.id for each in below)
                    yield self._skipped(task, f"it needs {both}, whose pull requests are to be merged first")
                    continue
                self._name(task, below)
                assert self.executor is not None
                yield from self.attempts.start(task, self.executor)

    def _skip(self) -> Generator[LoopEvent, None, None]:
        over = True
        while over:
            over = False
            unmerged = {each.task.id: each for each in self.record.tasks if each.step == "done" and not each.merged}
            for task in self.record.tasks:
                missing = [need for need in task.task.needs if need in unmerged]
                if task.step == "waiting" and missing:
                    over = True
                    yield self._skipped(task, f"it needs {missing[0]}, which is not merged")

    def _skipped(self, task: TaskRecord, why: str) -> TaskEnded:
        task.step, task.outcome, task.reason, task.detail = "done", "skipped", "needs", why
        self.writer.write_task(task)
        self.stirred = True
        return TaskEnded(task)

    def _below(self, task: TaskRecord) -> Sequence[TaskRecord]:
        """The needed tasks that are in no branch together: each has an open pull request of its own."""
        pulls = self.record.pull_requests and bool(task.task.needs) and not task.branch
        return stacked_on(self.project.repository(), self.record, task, self.queue.tip) if pulls else ()

    def _name(self, task: TaskRecord, below: Sequence[TaskRecord]) -> None:
        if not task.branch:
            task.base = below[0].merge if below else self.queue.tip
            task.onto = below[0].pull_branch if below else ""
            number = len(task.older) + 1
            name = task.task.id if number == 1 else f"{task.task.id}--{number}"
            task.branch = f"ralph/task/{self.record.run}/{name}"
        task.tree = os.path.join(self.record.trees, task.branch.rpartition("/")[2])

    def _take_in(self) -> Generator[LoopEvent, None, None]:
        yield from self._noted(self.attempts.take_in())
        if self.merging is not None and self.merging[0].done():
            (merge, task), self.merging = self.merging, None
            self.stirred = True
            yield from self._merged(task, merge.result())
        if (looked := self.watch.take_in()) is not None:
            self.stirred = True
            yield from self._looked(*looked)
        if (told := self.telling.take_in()) is not None:
            self.writer.write_task(told)
            if told.untold:
                yield Notice(f"{self.record.source} isn't told of {told.task.id}: {told.untold}")

    def _noted(self, events: Iterable[LoopEvent]) -> Generator[LoopEvent, None, None]:
        for event in events:
            yield event
            self.stirred = self.stirred or isinstance(event, TaskEnded | TaskSaved)
            if isinstance(event, TaskEnded | TaskSaved):
                yield from self._look_at_head(event.task)
            if isinstance(event, TaskEnded):
                self._look_for_unfit()

    def _main_head(self) -> tuple[str, str]:
        """What is checked out where the swarm was started: branch and commit; no worker has business there."""
        git = self.project.repository()
        return git.branch(), git.head()

    def _look_at_head(self, task: TaskRecord) -> Generator[LoopEvent, None, None]:
        before, self.head = self.head, self._main_head()
        if before == self.head:
            return
        was, now = (f"{branch or 'no branch'} at {head[:10] or 'none'}" for branch, head in (before, self.head))
        moved = f"what is checked out in {self.project.top} has moved from {was} to {now}"
        self.moved = f"{moved} while {task.task.id} ran"
        yield Notice(self.moved)

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
                if not task.merge:
                    task.merge_began, task.merge_ended = time.time(), None
                self.merging = self.merger.submit(self._merge, task, log), task

    def _merge(self, task: TaskRecord, log: Path) -> Merged:
        proposed = self.record.pull_requests and task.merge
        merged = self.queue.propose(task) if proposed else self.queue.merge(task, log)
        if merged.outcome in MERGED and not self.record.watch:
            self._tidy(task, merged=True)
        return merged

    def _tidy(self, task: TaskRecord, *, merged: bool = False) -> None:
        if self.record.tidy and (merged or task.merged):
            with suppress(BridgeError, OSError):  # `swarm clean` says why it stays
                remove_merged(self.project, self.folder, self.record, task)

    def _merged(self, task: TaskRecord, merged: Merged) -> Generator[LoopEvent, None, None]:
        if not merged.outcome:
            return  # it was ended in the middle, and is still to be merged
        if merged.outcome == "checked":  # what may be pushed stands in the record, where no agent can put it
            task.merge = merged.commit
            self.writer.write_task(task)
            return
        if task.pushed and merged.outcome == "nothing to merge":  # a turn that was to mend it
            task.merge_ended = time.time()
            yield from self._told(task, unchanged(task))
            return
        task.step, task.outcome, task.merge = "done", merged.outcome, merged.commit
        task.merge_ended = time.time()
        task.reason = "merge" if not task.merged else task.reason
        task.detail = merged.detail or task.detail
        task.unticked = [*merged.unticked] if task.merged else []
        task.pull = {**(merged.pull or task.pull)}
        if self.record.watch and task.outcome == PULLED and task.pull["state"] == OPEN:
            begin_watching(task)
            yield from self._told(task, "is open")
            return
        self.writer.write_task(task)
        yield TaskEnded(task)
        if merged.outcome == "conflict" and self.record.redo_conflicts and not task.redone and not self.why:
            task.redone = True
            self.attempts.anew(task)
            self.writer.write_task(task)
            yield Notice(f"{task.task.id} begins anew from what is merged by now")

    # -- pull requests that are watched ---------------------------------------------------------------

    def _looked(self, task: TaskRecord, looked: Looked) -> Generator[LoopEvent, None, None]:
        """Put down what a look has brought and what follows from it, in one piece."""
        said = follow(task, looked, self.record)
        if task.step == "waiting":
            self.attempts.open_box(task)
        yield from self._told(task, said)

    def _told(self, task: TaskRecord, said: str) -> Generator[LoopEvent, None, None]:
        if said:
            self.writer.write_task(task)
            if task.step == "done":
                self._tidy(task)
            yield TaskEnded(task) if task.step == "done" else TaskWatched(task, said)

    # -- the end ---------------------------------------------------------------------------------------

    def _over(self) -> Generator[LoopEvent, None, None]:
        record = self.record
        if record.into and any(each.outcome == "merged" for each in record.tasks):
            record.landed = land(self.project, record.branch, record.into)
        self.telling.once_more()
        while self.telling.begin(over=True):
            self._wait()
            yield from self._take_in()
        unticked = [box for each in record.tasks for box in each.unticked]
        left = [box for box in unticked if not self.project.tick(box)]
        if ticked := len(unticked) - len(left):
            yield Notice(f"{ticked} of the boxes in {self.project.plan} are ticked now: no branch has that file")
        if left:
            lacks = "no pull request does" if record.pull_requests else "as the plan that is committed lacks them"
            yield Notice(f"not ticked, {lacks}: {'; '.join(left)}")
        for each in record.tasks:
            each.unticked = []
        record.ended = time.time()
        what = "proposed" if record.pull_requests else "merged"
        record.end = self.why or (f"all {what}" if record.all_merged else f"not all {what}")
        if self.moved:
            record.end += ("; " if ": " in record.end else ": ") + self.moved
        self.writer.write()

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
            self.writer.write()

    def _drain(self) -> None:
        self.attempts.cancel()
        while self._wait():
            for _ in self._take_in():
                pass
