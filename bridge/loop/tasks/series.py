"""One task after the other, each by a loop of the project's own, in the project itself."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bridge.base.files import delete, delete_folder, make_folder, usable, write_atomic
from bridge.base.git.repository import find_repository
from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError, ProgramNotFound
from bridge.loop.engine.absence import Search
from bridge.loop.engine.caps import REASONS
from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopEvent, Notice, TasksStand
from bridge.loop.engine.handler import WallClock
from bridge.loop.engine.inbox import STOPPED
from bridge.loop.engine.lock import FILE as LOCK
from bridge.loop.engine.lock import Lent, lent
from bridge.loop.engine.loop_settings import night, read_caps
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.run_record import read_run
from bridge.loop.engine.set_aside import Aside
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.store import Store
from bridge.loop.engine.turn_records import NO_TURNS, Spent
from bridge.loop.setups.projects import project_lock
from bridge.loop.tasks.single_task import ITERATIONS, Mismatch, is_done, place_of
from bridge.loop.tasks.source_updates import Account, tell
from bridge.loop.tasks.task import NothingOpen, Task
from bridge.loop.tasks.task_order import ordered
from bridge.loop.tasks.tasks_record import Became, TasksRecord, keys, read_tasks
from bridge.loop.turn.tool import first_line, mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Opened, Setup, SetupKind
    from bridge.loop.tasks.source_updates import How, Word
    from bridge.loop.tasks.task import Source
    from bridge.loop.turn.tool import Event

_OVER = (*REASONS, STOPPED, "max_minutes", "cancelled")
"""Reasons for which no further task is begun: what counts for all is used up, or somebody has stopped it."""
_MOST_TOLD = 6


@dataclass(frozen=True, slots=True)
class TaskLoopStarted(LoopEvent):
    """The loop of a task begins, `number` of `of`; `title`: the task for people."""

    number: int
    of: int
    task: Task
    title: str


@dataclass(frozen=True, slots=True)
class TaskLoopEnded(LoopEvent):
    """Its loop has ended so; `done`: with it, the task is done."""

    number: int
    of: int
    task: Task
    title: str
    done: bool
    end: LoopEnded


@dataclass(kw_only=True)
class Series:
    """Loops over the tasks of a source, one after the other.

    Each task is its loop's only one: while it works, the setup's plan holds that task alone, and the user's own
    plan and session are aside (:mod:`bridge.loop.engine.set_aside`). Limits of iterations are per task, caps of
    money, tokens and minutes for all. Where they stand is kept in the folder of the loop's state: after a kill, who
    asks for the same source again goes on there; what is done isn't done again.

    Attributes:
        kind, setup, project: of the loops.
        options: of each loop.
        source, name: where the tasks come from, and how it is called.
        how: what the source is told of them.
        stop_on_failure: begin no further task behind one that isn't done.
        opened: the loop that is at work; None: none is.
    """

    kind: SetupKind
    setup: Setup | None
    project: Path
    options: RunOptions
    source: Source
    name: str
    how: How = "none"
    stop_on_failure: bool = False
    opened: Opened | None = None

    def __post_init__(self) -> None:
        self.place = place_of(self.project, self.kind.name)
        self.state = self.kind.state(self.project, self.setup)
        self.store = Store(self.state)
        self.aside = Aside(self.project, self.state)
        self.caps = self.options.caps.over(read_caps(os.environ))
        self.tasks: dict[str, Task] = {}
        self.untold: set[tuple[str, str]] = set()
        self.worked: set[str] = set()
        self.begun = ""  # the last of them whose loop has
        self.totals, self.iterations = NO_TURNS, 0
        self.began = time.monotonic()

    # -- what may be asked of it ---------------------------------------------------------------------------

    def run(self) -> Generator[LoopEvent, None, None]:
        """Run the loops. Their events, but a `TaskLoopEnded` for each `LoopEnded`; the last one is a `LoopEnded`
        that says what became of all tasks.

        Raises:
            ConfigurationError: the source can't be read, or holds no open task; a loop can't be begun like this.
            ProjectBusy: another loop is at work in the project.
            BridgeError: what a loop raises; the tasks behind it are begun when the same is asked for again.
        """
        with self._held() as renew:
            yield from map(Notice, self._load())
            yield from self._retell()
            while (key := self._next()) is not None:
                if (over := self._used_up()) is not None:
                    yield self._ended(over.reason, over.detail)
                    return
                if not (yield from self._still_open(key)):
                    continue
                end = yield from self._one(key, renew)
                yield from self._retell()
                if _ends_all(end):
                    yield self._ended(end.reason, end.detail, status=end.status, permanent=end.permanent)
                    return
                if self.stop_on_failure and self._became(key) != "done":
                    break
            yield self._ended()

    @contextmanager
    def first(self, *, opens: bool = True) -> Iterator[tuple[list[tuple[Task, str]], Opened | None]]:
        """Give the tasks that would be worked on, each with what became of it, and the loop of the first, which may
        be looked at while the block runs; None: there is nothing to do, or it isn't asked for."""
        with self._held(look=True) as renew, ExitStack() as stack:
            self._load()
            shown = [(task, self._became(key)) for key, task in self.tasks.items()]
            key = self._next()
            if key is None or not opens:
                yield shown, None
                return
            stack.callback(lambda: self.aside.give_back(done=key != self.record.under_way))
            with lent(Lent(self.state, renew, "", self.worked)):
                opened = self._open(key, stack, lambda _line: None)
            yield shown, opened

    # -- the tasks -----------------------------------------------------------------------------------------

    @contextmanager
    def _held(self, *, look: bool = False) -> Iterator[Callable[[], None]]:
        new, lock = not self.state.is_dir(), self.state / LOCK
        unlocked = not lock.exists()
        with usable("the loop's folder"):
            make_folder(self.state)
            if new and not look:  # a folder of ours alone: an agent's `git add -A` would commit it
                write_atomic(self.state / ".gitignore", "*\n")
        with project_lock(self.state, self.project) as renew:
            yield renew
            if look and unlocked:
                with usable(lock):
                    delete(lock)
        if look and new:
            with usable(self.state):
                delete_folder(self.state, contents=True)

    def _load(self) -> list[str]:
        """Read the tasks, and how far an earlier run has come with them."""
        notes = self.aside.recover()
        before = read_tasks(self.state)
        self.record = TasksRecord(source=self.name, run=f"run-{int(time.time())}")
        if before is not None and before.source == self.name:
            self.source.under_way = {each.ref for each in before.tasks.values() if not each.outcome}
        try:
            self.tasks = keys(ordered(self.source.tasks()))
        except NothingOpen:
            if before is None or before.source != self.name or before.ended:
                raise
        if before is None or before.source != self.name:
            return notes
        goes_on = not before.ended
        kept = {
            key: each
            for key, each in before.tasks.items()
            if goes_on or (each.outcome == "done" and not (each.closed and key in self.tasks))
        }
        self.record.tasks = kept
        if goes_on:
            self.record = replace(before, tasks=kept)
            notes.append(f"the run of before goes on: {self._counted()}")
        elif kept:
            notes.append(
                f"{plural(len(kept), 'task')} of this source were done by an earlier run, and are left out"
            )
        return notes

    def _next(self) -> str | None:
        """The first task that nothing has become of yet, and that waits for no other; the one under way first."""
        became = {task.id: self._became(key) for key, task in self.tasks.items()}
        free = [
            key
            for key, task in self.tasks.items()
            if not self._became(key) and all(became.get(need, "done") == "done" for need in task.needs)
        ]
        return self.record.under_way if self.record.under_way in free else next(iter(free), None)

    def _became(self, key: str) -> str:
        found = self.record.tasks.get(key)
        return found.outcome if found is not None else ""

    def _still_open(self, key: str) -> Generator[LoopEvent, None, bool]:
        """Read the source anew: a task may be closed meanwhile, or have other words."""
        if not any(each.outcome for each in self.record.tasks.values()):
            return True  # just read
        try:
            now = keys(self.source.tasks())
        except NothingOpen:
            now = {}
        except BridgeError as error:
            yield Notice(
                f"the source can't be asked whether {self._shown(key)} is still open: {one_line(str(error))}"
            )
            return True
        if key in now:  # needs are those of the list that it stood in
            self.tasks[key] = replace(now[key], id=self.tasks[key].id, needs=self.tasks[key].needs)
            return True
        known = {*self.tasks, *self.record.tasks}
        new = [task.title for other, task in now.items() if other not in known]
        more = f"; new there, and for the next run: {new[0]}" if new else ""
        yield Notice(f"{self._shown(key)} is left out: its source doesn't list it any more in these words{more}")
        del self.tasks[key]
        self.record.tasks.pop(key, None)
        return False

    # -- one of them ---------------------------------------------------------------------------------------

    def _one(self, key: str, renew: Callable[[], None]) -> Generator[LoopEvent, None, LoopEnded]:
        """Run the loop of a task. One that can't be opened, since a CLI is away that has worked, is tried again."""
        seconds = night(os.environ).absent_seconds if self.worked else 0.0
        search = Search(seconds, 0, WallClock(), lambda: True)
        while True:
            try:
                return (yield from self._opened(key, renew))
            except BridgeError as error:
                absent = any(isinstance(each, ProgramNotFound) for each in (error, error.__cause__))
                if not absent or self.begun == key:
                    raise
                if not (yield from mapped(search.again(first_line(error)), _notices)):
                    raise

    def _opened(self, key: str, renew: Callable[[], None]) -> Generator[LoopEvent, None, LoopEnded]:
        task = self.tasks[key]
        known = self._known()
        number, of = 1 + sum(bool(self._became(each)) for each in known), len(known)
        new = Became(id=task.id, title=task.title, ref=task.ref, run=self.record.run)
        found = self.record.tasks.setdefault(key, new)
        notices: list[str] = []
        with ExitStack() as stack:
            stack.callback(self._leave, notices)
            with lent(Lent(self.state, renew, f"task {number} of {of}: {self._shown(key)}", self.worked)):
                opened = self.opened = self._open(key, stack, notices.append)
                events = stack.enter_context(closing(opened.events()))
                first = next(events)
            self.record.under_way = self.begun = key
            self._save()
            yield from self._tell(key, "begun")
            yield TaskLoopStarted(number, of, task, self._shown(key))
            yield from map(Notice, notices)
            notices.clear()
            end = yield from self._through(first, events)
            if remark := opened.remark(end):
                notices.append(remark)
            self._account(found, end)
            if found.outcome:
                self.record.under_way = ""
            self._save()  # before the user's files are back: a kill between leaves nothing to be done twice
        yield from map(Notice, notices)
        yield TaskLoopEnded(number, of, task, self._shown(key), found.outcome == "done", end)
        return end

    def _open(self, key: str, stack: ExitStack, note: Callable[[str], None]) -> Opened:
        """Put the user's files aside and open the task's loop, with the lock lent."""
        files, more = self.place.instructions(self.tasks[key], self.options.prompt)
        home = self.place.home and f"{self.place.home}/"
        nothing: dict[str, str | None] = {f"{home}{name}": None for name in self.kind.carried}
        self.aside.take(key, nothing | dict(files), self.place.fits)
        # Whether work is pushed is the setup's business: here it has no branch of its own.
        more = {name: value for name, value in more.items() if name not in ("setup", "push")}
        options = replace(self.options, caps=self._left(), max_minutes=self._minutes(), **more)
        if self.kind.endless and options.max_iterations is None:
            options = replace(options, max_iterations=ITERATIONS)
        return stack.enter_context(self.kind.open(self.project, self.setup, options, note))

    def _leave(self, notices: list[str]) -> None:
        self.opened = None
        notices += self.aside.give_back(done=not self.record.under_way)

    def _through(
        self, event: LoopEvent, events: Generator[LoopEvent, None, None]
    ) -> Generator[LoopEvent, None, LoopEnded]:
        """Pass on what a loop tells, and what is thrown into it; give its end."""
        end: LoopEnded | None = None
        mismatch, totals = Mismatch(), NO_TURNS
        while True:
            came: BaseException | None = None
            if isinstance(event, LoopEnded):
                end = event
            else:
                if isinstance(event, IterationEnded) and event.turn is not None:
                    self.totals, totals = self.totals.with_turn(event.turn), totals.with_turn(event.turn)
                try:
                    yield event
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 (the loop's to handle)
                    came = error
                if came is None and isinstance(event, IterationEnded) and mismatch.after(event):
                    events.close()
                    why = mismatch.reason, mismatch.why
                    return LoopEnded(Verdict.INCOMPLETE, *why, event.iteration, totals.seconds, event.state, totals)
            try:
                event = next(events) if came is None else events.throw(came)
            except StopIteration:
                assert end is not None
                return end

    def _account(self, found: Became, end: LoopEnded) -> None:
        run = read_run(self.state)
        cost, tokens = (run.spent.cost_usd, run.spent.tokens) if run is not None else (0.0, 0.0)
        self.record.cost_usd, self.record.tokens = self.record.cost_usd + cost, self.record.tokens + tokens
        self.iterations += end.iterations
        found.turns, found.seconds, found.reason = (
            found.turns + end.totals.turns,
            found.seconds + end.seconds,
            end.reason,
        )
        if end.totals.cost_usd is not None:
            found.cost_usd = (found.cost_usd or 0) + cost
        if end.totals.tokens is not None:
            found.tokens = (found.tokens or 0) + tokens
        if is_done(end):
            found.outcome = "done"
        elif not _ends_all(end):
            found.outcome = "failed"

    # -- what goes back ------------------------------------------------------------------------------------

    def _retell(self) -> Generator[LoopEvent, None, None]:
        """Tell the source what it hasn't been told yet, of this run or an earlier one."""
        for key, found in self.record.tasks.items():
            if found.outcome:
                yield from self._tell(key, found.outcome)

    def _tell(self, key: str, word: Any) -> Generator[LoopEvent, None, None]:
        found = self.record.tasks[key]
        if self.how == "none" or word in found.told:
            return
        if why := tell(self.source, self._told(found, word), self.how):
            if (key, word) not in self.untold:
                yield Notice(f"the source can't be told that {self._shown(key)} is {word}: {why}")
            self.untold.add((key, word))
            return
        found.told.append(word)
        found.closed = word == "done" and self.how == "close"
        self._save()

    def _told(self, found: Became, word: Word) -> Account:
        git = find_repository(self.project) if word != "begun" else None
        return Account(
            run=found.run,
            task=Task(found.id, found.title, "", ref=found.ref),
            word=word,
            why=found.reason if word == "failed" else "",
            branch=(git.branch() or "") if git is not None else "",
            check=self.options.check or "" if word == "done" else "",
            turns=found.turns,
            seconds=found.seconds,
            cost_usd=found.cost_usd,
            tokens=found.tokens,
        )

    # -- where it stands -----------------------------------------------------------------------------------

    def _save(self) -> None:
        self.store.record(TasksStand(self.record.document()))

    def _left(self) -> Any:
        used: Mapping[str, float] = {"max_cost": self.record.cost_usd, "max_tokens": self.record.tokens}
        caps = {name: cap - used[name] for name in used if (cap := getattr(self.caps, name)) is not None}
        return replace(self.options.caps, **caps)

    def _minutes(self) -> float | None:
        most = self.options.max_minutes
        return None if most is None else max(most - (time.monotonic() - self.began) / 60, 1e-3)

    def _used_up(self) -> Decision | None:
        """Why no further task may begin."""
        spent = Spent(self.record.cost_usd, self.record.tokens)
        if (reached := self.caps.reached(spent, (), datetime.now().astimezone())) is not None:
            return reached
        most = self.options.max_minutes
        if most is None or (time.monotonic() - self.began) / 60 < most:
            return None
        return Decision(Verdict.INCOMPLETE, "max_minutes", f"the {most:g} minutes of all tasks are over")

    def _ended(self, reason: str = "", detail: str = "", **more: Any) -> LoopEnded:
        """Put down that it is over; without a reason: there is nothing left that can be begun."""
        self.record.ended = True
        self._save()
        known = self._known()
        left = [key for key in known if self._became(key) != "done"]
        words = "; ".join(filter(None, (self._counted(), detail)))
        verdict = Verdict.INCOMPLETE if left or reason else Verdict.COMPLETE
        reason = reason or ("tasks_left" if left else "tasks_done")
        seconds, state = time.monotonic() - self.began, LoopState(iteration=self.iterations)
        return LoopEnded(verdict, reason, words, self.iterations, seconds, state, self.totals, **more)

    def _known(self) -> list[str]:
        """Keys of the tasks that this run is about: those that are open, and those that it has seen to."""
        seen_to = (key for key, each in self.record.tasks.items() if each.outcome and each.run == self.record.run)
        return [*dict.fromkeys((*self.tasks, *seen_to))]

    def _counted(self) -> str:
        """How many are done, and what is the matter with the others."""
        known = self._known()
        keys_of = {task.id: key for key, task in self.tasks.items()}
        parts = [f"{sum(self._became(key) == 'done' for key in known)} of {plural(len(known), 'task')} done"]
        parts += [
            f"{self._shown(key)} isn't ({self.record.tasks[key].reason})"
            for key in known
            if self._became(key) == "failed"
        ]
        for key, task in self.tasks.items():
            waits = [
                keys_of[need] for need in task.needs if need in keys_of and self._became(keys_of[need]) != "done"
            ]
            if waits and not self._became(key):
                parts.append(f"{self._shown(key)} waits for {self._shown(waits[0])}")
        more = len(parts) - _MOST_TOLD
        return "; ".join([*parts[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])])

    def _shown(self, key: str) -> str:
        task = self.tasks.get(key) or self.record.tasks[key]
        short = task.ref and "\n" not in task.ref and len(task.ref) <= 20 and task.ref != task.title
        return one_line(f"{task.title} ({task.ref})" if short else task.title, 120)


def _ends_all(end: LoopEnded) -> bool:
    """Whether no further task is begun behind such an end, and its own goes on when the same is asked for again."""
    return end.reason in _OVER or end.permanent is not None


def _notices(event: Event) -> Iterable[LoopEvent]:
    """Nobody is told how long it takes: no loop is at work."""
    return [event] if isinstance(event, Notice) else []
