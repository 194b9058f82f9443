"""One loop's branch, to a pull request and to its end: in the project itself, with the parts that a swarm's have.

Where it stands is put down for each branch; who asks for the same again goes on there.
"""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from dataclasses import field, replace
from threading import Event
from typing import TYPE_CHECKING, Any

from bridge.base.amounts import known_sum
from bridge.base.files import make_folder, usable
from bridge.base.json_files import delete
from bridge.base.records import dataclass
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ConfigurationError, ProjectBusy
from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopEvent
from bridge.loop.engine.inbox import Inbox
from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.turn_records import NO_TURNS, Totals
from bridge.loop.setups import SCRIPT
from bridge.loop.setups.overview import the_loop
from bridge.loop.swarm.folder import locked
from bridge.loop.swarm.project import uncommitted
from bridge.loop.swarm.pulls import OPEN, TOKENS, PullRequests, destination
from bridge.loop.swarm.status import outcome_of, pull_folder
from bridge.loop.swarm.swarm_record import (
    CHECKS_FAILED,
    CLOSED,
    FILE,
    NOT_PUSHED,
    PULLED,
    UNFINISHED,
    RecordWriter,
    SwarmRecord,
    TaskRecord,
    read_swarm,
)
from bridge.loop.swarm.watch import Watch, begin_watching, follow, unchanged
from bridge.loop.swarm.work_trees import commit_left, is_within
from bridge.loop.tasks.github import default_branch
from bridge.loop.tasks.series import Series
from bridge.loop.tasks.single_task import is_done
from bridge.loop.tasks.task import Source, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Opened, Setup, SetupKind
    from bridge.loop.swarm.project import SwarmProject

_TICK = 0.1
_SHOWN = 5
_ID = "branch"
_LEFT = "What was not committed"


@dataclass(frozen=True, slots=True)
class WorkEnded(LoopEvent):
    """The loop whose branch is proposed has ended so; `done`: with it, the work is done."""

    done: bool
    end: LoopEnded


@dataclass(frozen=True, slots=True)
class PullRequestSeen(LoopEvent):
    """What is known of the pull request, and what follows from that.

    Attributes:
        checks: ``none``, ``pending``, ``failed``, ``passed``; ''.
        rounds: turns that what came back from GitHub has taken.
    """

    text: str
    number: int
    url: str
    state: str
    checks: str
    rounds: int


class _Round(Source):
    """What came back from GitHub, as the only task of a loop."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def tasks(self) -> list[Task]:
        return [self._task]


@dataclass(kw_only=True)
class PullRun:
    """A loop, its branch's pull request, and what becomes of that.

    Attributes:
        kind, setup: of the loop. options: of it, and of those that mend.
        project: as a swarm sees it.
        asked: fields of :class:`~bridge.loop.swarm.swarm_record.SwarmRecord`: ``into`` ('': the default branch),
            ``draft``, ``watch``, ``watch_seconds``, ``fix_rounds``, ``reviews``, ``merge``.
        note: is told what a loop notes as it begins.
        opened: the loop that is at work; None: none is.
    """

    kind: SetupKind
    setup: Setup | None
    project: SwarmProject
    options: RunOptions
    asked: dict[str, Any]
    note: Callable[[str], None]
    opened: Opened | None = None
    totals: Totals = NO_TURNS
    iterations: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.git = self.project.repository()
        self.branch = self.git.branch()
        if not self.branch:
            raise ConfigurationError("--pull-request: no branch is checked out\n  next: git switch -c NAME")

    @property
    def folder(self) -> Path:
        """Of the branch's record."""
        return pull_folder(self.project.common, self.branch)

    def run(self) -> Generator[LoopEvent, None, None]:
        """Run it: the events of its loops, of which the last one says what became of the pull request.

        Raises:
            ConfigurationError: there is nowhere to propose it; there are changes that nobody has committed.
            ProjectBusy: another process is at this branch.
            BridgeError: what a loop raises, or git and ``gh`` at the beginning.
        """
        with usable(self.folder):
            make_folder(self.folder)
        with locked(self.folder / "lock", patience=0) as held:
            if held is None:
                raise ProjectBusy(
                    f"another `run --pull-request` is at {self.branch}\n  next: wait, or end that one"
                )
            self._begin()
            task = self.task
            while task.step != "done":
                if task.step == "running":
                    end = yield from self._work()
                    if not is_done(end):
                        yield end
                        return
                elif task.step == "waiting":
                    yield from self._mend()
                elif task.step == "saved":
                    yield from self._propose()
                else:
                    yield from self._watch()
            yield self._ended()

    # -- before --------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        before = read_swarm(self.folder)
        again = before is not None and (before.tasks[0].step != "done" or before.tasks[0].outcome in _AGAIN)
        record = before if again and before is not None else self._new()
        for name, value in self.asked.items():
            if value or name != "into":
                setattr(record, name, value)
        self.record, self.task = record, record.tasks[0]
        self.writer, self.pulls = RecordWriter(self.folder, record), PullRequests(self.git, record)
        if again:
            self._again()
        self.writer.write()

    def _new(self) -> SwarmRecord:
        setup, wanted = self.project.to_copy()
        if changed := uncommitted(self.project, [*setup, *wanted]):
            more = f" and {len(changed) - _SHOWN} more" * (len(changed) > _SHOWN)
            raise ConfigurationError(
                f"--pull-request: nobody has committed {', '.join(changed[:_SHOWN])}{more}: it would be proposed\n"
                "  next: git commit, or git stash"
            )
        url, repository, _ = destination(self.git, self.branch, "--pull-request")
        into = self.asked.get("into") or default_branch(self.git.top, repository)
        if into == self.branch:
            raise ConfigurationError(
                f"--pull-request: {into} is checked out, which it would go into\n  next: git switch -c NAME"
            )
        record = SwarmRecord(
            run=time.strftime("%Y%m%d-%H%M%S"),
            project=os.fspath(self.project.folder),
            kind=self.kind.name,
            base=self.git.head(),
            branch=self.branch,
            tasks=[TaskRecord(Task(_ID, self.branch, ""), step="running", branch=self.branch, began=time.time())],
            into=into,
            check=self.options.check or "",
            pull_requests=True,
            remote=url,
            repository=repository,
        )
        base = self.git.run("merge-base", record.base, PullRequests(self.git, record).tip()).text
        if not base:
            raise ConfigurationError(f"{self.branch} and {into} of origin have no commit in common")
        record.base = base
        return record

    def _again(self) -> None:
        """Go on: with what was under way; where that has ended, what stands open is looked at anew."""
        task = self.task
        if task.step == "done":
            task.rounds = 0
            task.step = "saved" if task.outcome == NOT_PUSHED or self.git.head() != task.merge else "watched"
        if task.step == "watched":
            begin_watching(task)
        if task.step == "watched" and not self.record.watch:
            task.step, task.outcome = "done", PULLED

    # -- the work ------------------------------------------------------------------------------------------

    def _work(self) -> Generator[LoopEvent, None, LoopEnded]:
        end = yield from self._loop()
        if is_done(end):
            self._follow_branch()
            self.task.step = "saved"
            self.writer.write()
            yield WorkEnded(True, end)
        return end

    def _loop(self) -> Generator[LoopEvent, None, LoopEnded]:
        with (
            _kept(TOKENS),
            self.kind.open(self.project.folder, self.setup, self.options, self.note) as self.opened,
            closing(self.opened.events()) as events,
        ):
            end = yield from self._through(events)
        self.opened = None
        return end

    def _follow_branch(self) -> None:
        """Some agents make a branch of their own (snarktank's ``branchName``): then that one is proposed."""
        branch, old = self.git.branch(), self.folder
        if branch in ("", self.branch, self.record.into):
            return
        self.branch = self.record.branch = self.task.branch = branch
        with usable(self.folder):
            make_folder(self.folder)
        self.writer = RecordWriter(self.folder, self.record)
        self.writer.write()
        delete(old / FILE)

    def _mend(self) -> Generator[LoopEvent, None, None]:
        """Have a loop do what came back from GitHub: as its only task; of a script that is run as it is, whose
        prompts are its own, the first turn gets it as a message."""
        task = self.task
        if self.kind.name == SCRIPT:
            inbox = Inbox(the_loop(self.project.folder, SCRIPT, self.setup).logs)
            if task.told not in (each.text for each in inbox.messages()):
                inbox.send(task.told)
            end = yield from self._loop()
        else:
            end = yield from self._as_task()
        if is_done(end):
            task.step = "saved"
        else:
            task.step, task.outcome, task.reason = "done", UNFINISHED, end.reason
            task.detail = f"the turn that was to mend it has not: {end.detail or end.reason}"
        self.writer.write()

    def _as_task(self) -> Generator[LoopEvent, None, LoopEnded]:
        task, round_ = self.task, f"{self.record.run}.{self.task.rounds}"
        title = f"pull request #{task.pull['number']}: turn {task.rounds} of {self.record.fix_rounds}"
        source = _Round(Task(f"pull-{task.pull['number']}-{task.rounds}", title, task.told, ref=round_))
        options = replace(self.options, words=(), tasks=None, mode=None)
        series = Series(
            kind=self.kind,
            setup=self.setup,
            project=self.project.folder,
            options=options,
            source=source,
            name=f"pull:{round_}",
        )
        with _kept(TOKENS), closing(series.run()) as events:
            return (yield from self._through(events))

    def _through(self, events: Generator[LoopEvent, None, None]) -> Generator[LoopEvent, None, LoopEnded]:
        """Pass on what a loop reports but its end, and what is thrown into it."""
        event, task = next(events), self.task
        while not isinstance(event, LoopEnded):
            came: BaseException | None = None
            if isinstance(event, IterationEnded) and event.turn is not None:
                self.totals = self.totals.with_turn(event.turn)
            try:
                yield event
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 (the loop's to handle)
                came = error
            event = next(events) if came is None else events.throw(came)
        self.iterations += event.iterations
        task.turns += event.totals.turns
        for name in ("cost_usd", "tokens"):
            setattr(task, name, known_sum((getattr(task, name), getattr(event.totals, name))))
        task.ended = time.time()
        return event

    # -- the pull request ----------------------------------------------------------------------------------

    def _propose(self) -> Generator[LoopEvent, None, None]:
        task, git = self.task, self.git
        try:
            if self.branch != git.branch():
                raise ConfigurationError(
                    f"{git.branch() or 'no branch'} is checked out by now, and not {self.branch}"
                )
            if wrong := commit_left(git, self.branch, _LEFT, [*self.project.to_copy()[0]]):
                raise ConfigurationError(f"what is left can't be committed: {wrong}")
            head = git.head()
            if task.pushed == head:
                said = unchanged(task)
            elif is_within(git, head, self.pulls.tip()):
                task.step, task.outcome, said = "done", "nothing to merge", f"{self.record.into} has all of it"
            else:
                said = self._opened(head)
        except BridgeError as error:
            task.step, task.outcome, task.detail = "done", NOT_PUSHED, str(error).partition("\n  next:")[0]
            said = task.detail
        self.writer.write()
        yield from self._seen(said)

    def _opened(self, head: str) -> str:
        task, git = self.task, self.git
        there = self.pulls.there(self.branch)
        if there not in ("", head) and is_within(git, there, head):  # the user's own, or ours
            task.pushed = there
        task.merge = task.commit = head
        subjects = git.run("log", "--format=%s", f"{self.record.base}..{head}", "--").text.splitlines()
        named = self.branch.rpartition("/")[2].replace("-", " ").capitalize()
        title = subjects[0] if len(subjects) == 1 and subjects[0] != _LEFT else named
        task.task = Task(_ID, one_line(title, 200), "")
        self.writer.write()  # so that what is pushed is known as ours
        task.pull = self.pulls.open(task, head)
        if task.pull["state"] == "CLOSED":
            task.step, task.outcome = "done", CLOSED
            return "was closed, and not merged"
        if self.record.watch and task.pull["state"] == OPEN:
            begin_watching(task)
        else:
            task.step, task.outcome = "done", PULLED
        return "is open" if task.pull["state"] == OPEN else "is merged"

    def _watch(self) -> Generator[LoopEvent, None, None]:
        task = self.task
        left = Event()
        watch = Watch(self.git.top, self.record, refresh=self.pulls.base, stopped=left.is_set)
        try:
            while task.step == "watched":
                watch.begin()
                if (found := watch.take_in()) is None:
                    time.sleep(_TICK)
                elif said := follow(*found, self.record):
                    self._take_in()
                    self.writer.write()
                    yield from self._seen(said)
        finally:
            left.set()
            watch.close()

    def _take_in(self) -> None:
        """Where the branch that it goes into has gone on, and nothing else is to be done, merge that."""
        task, git = self.task, self.git
        if task.step != "saved" or not task.since:
            return
        if not git.run("merge", "--no-edit", "--quiet", task.since, env=git.identity()).ok:
            git.run("merge", "--abort")
            task.step, task.outcome, task.merge = "done", UNFINISHED, task.pushed
            task.detail = f"{self.record.into} has gone on, and can't be merged here without a conflict"

    def _seen(self, text: str) -> Generator[LoopEvent, None, None]:
        if pull := self.task.pull:
            known = (pull["number"], pull["url"], pull["state"])
            yield PullRequestSeen(text, *known, self.task.checks, self.task.rounds)

    # -- the end -------------------------------------------------------------------------------------------

    def _ended(self) -> LoopEnded:
        task = self.task
        pull = {**task.pull} if task.pull else None
        what = outcome_of({"pull_request": pull, "step": task.step, "outcome": task.outcome, "checks": task.checks})
        over = pull is not None and pull["state"] != OPEN
        more = "`run --pull-request` goes on there" if task.outcome in _AGAIN else ""
        return LoopEnded(
            Verdict.COMPLETE if task.merged else Verdict.INCOMPLETE,
            task.outcome.replace(" ", "_"),
            "; ".join(filter(None, (what, "" if over else task.detail, task.pull.get("url", ""), more))),
            self.iterations,
            time.monotonic() - self.began,
            LoopState(iteration=self.iterations),
            self.totals,
        )


_AGAIN = (CHECKS_FAILED, UNFINISHED, NOT_PUSHED)
"""Outcomes behind which who asks again wants the pull request to be gone on with, and no further loop."""


@contextmanager
def _kept(names: tuple[str, ...]) -> Iterator[None]:
    """Keep variables from the programs that a loop starts: no agent pushes or comments in its user's name."""
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
