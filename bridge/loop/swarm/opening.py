"""`Swarm`: what may be asked for, and the way to begin or to go on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from bridge.base.git.command import check_argument
from bridge.base.options import check_options, in_units
from bridge.base.resources import os_text
from bridge.errors import ConfigurationError
from bridge.loop.engine.caps import Caps
from bridge.loop.engine.event_stream import EventStream
from bridge.loop.engine.loop_settings import read_caps
from bridge.loop.loops import LoopOptions
from bridge.loop.setups.box_options import OPTIONS as SANDBOX
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.options import OPTIONS, RunOptions
from bridge.loop.swarm.earlier_swarms import refuse_again
from bridge.loop.swarm.events import SwarmEnded
from bridge.loop.swarm.folder import ask_to_stop, find_run, new_run
from bridge.loop.swarm.host import Host
from bridge.loop.swarm.project import open_project
from bridge.loop.swarm.pulls import destination
from bridge.loop.swarm.swarm_record import FILE, RETRIED, SwarmRecord, TaskRecord, read_swarm
from bridge.loop.swarm.work_trees import trees_folder
from bridge.loop.tasks import open_source
from bridge.loop.tasks.single_task import ITERATIONS
from bridge.loop.tasks.source_updates import WRITE_BACK
from bridge.loop.tasks.task import Asked, Task, check
from bridge.loop.telemetry import observers

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence
    from concurrent.futures import Executor
    from datetime import timedelta

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.tasks.source_updates import How


class Swarm(EventStream[SwarmEnded]):
    """Many loops side by side: iterate over what happens; the last event is a `SwarmEnded`.

    Each task gets a work tree, a branch and a folder of state of its own, and runs the project's own loop there;
    what is complete is merged, one after the other, into ``ralph/swarm/RUN``. The user's work tree is not touched.

    Leaving early (:meth:`close`, the end of a ``with`` block) ends all workers in order; their work is saved.

    Args:
        project: its folder, or one below it.
        tasks: what is to be done; None: the open boxes of the project's fix plan.
        executor: any :class:`concurrent.futures.Executor` whose workers see the same files; None: threads.
        jobs: how many tasks at once.
        setup: see `Loop.open`.
        check: a command of the shell that has to succeed before a merge is committed.
        check_minutes: that it may take.
        into: a branch that is moved forward to the result at the end.
        tidy: the work tree of a task is taken away once it is proven to be merged; its branch stays.
        redo_conflicts: a task that conflicts begins once more from the new base, and is told what conflicted.
        again: tasks that an earlier swarm has, and that aren't merged yet, are begun anew.
        trees: another folder for the work trees.
        task_minutes: that a task may take; None: any number.
        max_cost, max_tokens, price_in, price_out: for all tasks together, as in `Loop.open`.
        source: where the tasks come from, as ``--from`` names it: ``prd:prd.json``.
        write_back: what goes back there of each task: ``none``, ``comment`` or ``close``.
        pull_requests: nothing is merged here: each branch is pushed to ``origin``, and a pull request opened by
            ``gh``, to be merged into `into`, by default the branch that is checked out. draft: as drafts.
        watch: what becomes of each pull request is waited for, and what fails is given to a turn of its task.
        watch_minutes: that is waited after each push. fix_rounds: how many such turns a task gets.
        reviews: what people's reviews ask for is given to one, too. merge: what may be merged is. Both watch.
        options: of each loop, as in `Loop.open`.

    Attributes:
        folder: where the swarm's state is put down.
        record: where it stands.
        ended: the last event, once it was there; else None.

    Raises:
        ConfigurationError: an option or a task that can't be used; no git repository; an earlier swarm has these
            tasks.
        ProjectUnusable: git or the system refuses.
    """

    _last = SwarmEnded

    def __init__(
        self,
        project: str | os.PathLike[str] = ".",
        tasks: Sequence[Task] | None = None,
        *,
        executor: Executor | None = None,
        jobs: int = 2,
        setup: str | None = None,
        check: str | None = None,
        check_minutes: float | timedelta = 60.0,
        into: str | None = None,
        redo_conflicts: bool = True,
        again: bool = False,
        tidy: bool = False,
        trees: str | os.PathLike[str] | None = None,
        task_minutes: float | timedelta | None = None,
        max_cost: float | None = None,
        max_tokens: float | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        source: str | None = None,
        write_back: str = "none",
        pull_requests: bool = False,
        draft: bool = False,
        watch: bool = False,
        watch_minutes: float | timedelta = 60.0,
        fix_rounds: int = 2,
        reviews: bool = False,
        merge: bool = False,
        options: dict[str, Any] | None = None,
        **unknown: Never,
    ) -> None:
        given_here = {name: value for name, value in locals().items() if name not in ("self", "unknown")}
        known = {name: each for name, each in Swarm.__init__.__annotations__.items() if name in given_here}
        check_options("Swarm", given_here | unknown, known)
        minutes: float = in_units(check_minutes, "minutes")
        most: float | None = in_units(task_minutes, "minutes")
        patience: float = in_units(watch_minutes, "minutes")
        given = _loop_options(options or {}, setup)
        opened = _open(os.path.abspath(project), given)
        if opened.own.endless:
            given.setdefault("max_iterations", ITERATIONS)
        if given.get("max_iterations") == 0:
            del given["max_iterations"]
        box_of(opened.folder, RunOptions.of({name: each for name, each in given.items() if name in SANDBOX}))
        observers(given.get("telemetry"), content=bool(given.get("telemetry_content")))
        chosen = _check_tasks(opened, tasks)
        _check_options(jobs, minutes, most)
        how, closing, source = _check_source(opened, source, write_back, chosen)
        asked = Caps(max_cost=max_cost, max_tokens=max_tokens, price_in=price_in, price_out=price_out)
        caps = asked.over(read_caps(os.environ))  # what the environment caps is all of it, too
        caps.check(Path(given.get("driver") or given.get("agent") or "").stem)
        now = time.time()
        git = opened.repository()
        if draft and not pull_requests:
            raise ConfigurationError("--draft: there are no pull requests\n  next: add --pull-requests")
        watches = watch or reviews or merge
        remote, repository, into = destination(git, into) if pull_requests else ("", "", into)
        _check_names(opened, into)
        if not again:
            refuse_again(opened, chosen, source, into)
        record = SwarmRecord(
            run="",
            project=os.fspath(opened.folder),
            kind=opened.kind,
            base=git.head(),
            branch="",
            tasks=[TaskRecord(task, closing=closing.get(task.id, "")) for task in chosen],
            options=given,
            jobs=jobs,
            check=check or "",
            check_seconds=minutes * 60,
            into=into or "",
            redo_conflicts=redo_conflicts,
            tidy=tidy,
            task_seconds=None if most is None else most * 60,
            max_cost=caps.max_cost,
            max_tokens=caps.max_tokens,
            price_in=caps.price_in,
            price_out=caps.price_out,
            began=now,
            source=source,
            write_back=how,
            pull_requests=pull_requests,
            draft=draft,
            watch=watches,
            watch_seconds=patience * 60,
            fix_rounds=fix_rounds,
            reviews=reviews,
            merge=merge,
            remote=remote,
            repository=repository,
        )
        _check_watch(record)
        folder = new_run(opened.swarms, now)
        record.run, record.branch = folder.name, f"ralph/swarm/{folder.name}"
        record.trees = os.path.realpath(trees_folder(trees, opened.name) / folder.name)
        self.begin(Host(opened, folder, record, executor, (), resumed=False))

    @classmethod
    def resume(
        cls,
        project: str | os.PathLike[str] = ".",
        run: str | None = None,
        *,
        retry: Collection[str] = (),
        executor: Executor | None = None,
        jobs: int | None = None,
        max_cost: float | None = None,
        max_tokens: float | None = None,
        watch: bool | None = None,
        watch_minutes: float | timedelta | None = None,
        fix_rounds: int | None = None,
        reviews: bool | None = None,
        merge: bool | None = None,
        **unknown: Never,
    ) -> Swarm:
        """Go on with a swarm that has ended, or was killed: what is done isn't done again.

        Args:
            project: its folder, or one below it.
            run: which; None: the last one.
            retry: outcomes of tasks that are to run again, such as ``lost``.
            executor, jobs: as above; None: as many as before.
            max_cost, max_tokens: other caps than before; None: the same.
            watch, watch_minutes, fix_rounds, reviews, merge: what is done about its pull requests; None: as before.

        Raises:
            ConfigurationError: there is no such swarm, no such outcome, or an option that can't be used.
            ProjectBusy: it is at work; says where.
        """
        given = {name: value for name, value in locals().items() if name not in ("cls", "unknown")}
        known_options = {name: each for name, each in Swarm.resume.__annotations__.items() if name in given}
        check_options("Swarm.resume", given | unknown, known_options)
        for outcome in retry:
            if outcome not in RETRIED:
                raise ConfigurationError(f"--retry {outcome!r}: expected some of {', '.join(RETRIED)}")
        opened = open_project(os.path.abspath(project))
        folder = find_run(opened.swarms, run)
        known = read_swarm(folder)
        if known is None:
            raise ConfigurationError(f"{folder / FILE} is not to be understood")
        opened = _open(known.project, known.options)
        swarm = cls.__new__(cls)
        known.jobs = known.jobs if jobs is None else jobs
        known.max_cost = known.max_cost if max_cost is None else max_cost
        known.max_tokens = known.max_tokens if max_tokens is None else max_tokens
        _check_options(known.jobs, 1, None)
        minutes = in_units(watch_minutes, "minutes")
        asked = {"watch": watch, "reviews": reviews, "merge": merge, "fix_rounds": fix_rounds}
        asked["watch_seconds"] = None if minutes is None else minutes * 60
        for name, value in asked.items():
            if value is not None:
                setattr(known, name, value)
        known.watch = known.watch or known.reviews or known.merge
        _check_watch(known)
        swarm.begin(Host(opened, folder, known, executor, retry, resumed=True))
        return swarm

    def stop(self) -> None:
        """Ask for the end, from any thread, as ``ralph-bridge swarm stop --now`` does: the work is saved."""
        ask_to_stop(self.folder, "now")

    def begin(self, host: Host) -> None:
        """Take the lock and begin; what both ways to make one have in common."""
        self.folder = host.folder
        self.record = host.record
        self._begin(host.run())

    def events(self) -> Generator[LoopEvent, None, None]:
        """The same as a generator, into which signals may be thrown."""
        first, self._first = self._first, None
        if first is not None:
            yield first
        yield from self._events

    def __repr__(self) -> str:
        return f"<Swarm {self.record.run}, {self.record.project}{', ended' if self.ended else ''}>"


# -- what may be asked for ---------------------------------------------------------------------------


def _open(project: str, options: dict[str, Any]) -> SwarmProject:
    script = options.get("driver") or options.get("agent")
    setup, settings, tasks = (options.get(name) for name in ("setup", "settings", "tasks"))
    return open_project(project, setup, script=script, settings=settings, tasks=tasks)


def _loop_options(options: dict[str, Any], setup: str | None) -> dict[str, Any]:
    """Give them as they can be put down: paths of scripts absolute, as every loop has another folder.

    Raises:
        ConfigurationError: one that `Loop.open` doesn't take, or that a swarm sets itself.
    """
    known = {name: each for name, each in LoopOptions.__annotations__.items() if name not in ("task", "words")}
    check_options("a swarm's loop", {name: each for name, each in options.items() if each is not None}, known)
    given = {name: OPTIONS[name].number(value) for name, value in options.items() if value is not None}
    for name in ("driver", "agent"):
        if (value := given.get(name)) is not None:
            text = os_text(os.fspath(value))
            given[name] = os.path.abspath(text) if "/" in text or os.path.isfile(text) else text
    for name in ("prompt", "tasks"):
        if name in given:
            given[name] = os_text(os.fspath(given[name]))
    if "settings" in given:
        given["settings"] = {name: os_text(value) for name, value in given["settings"].items()}
    for name in ("sandbox_write", "sandbox_env"):
        if name in given:
            given[name] = [os_text(each) for each in given[name]]
    return given if setup is None else {**given, "setup": setup}


def _check_tasks(project: SwarmProject, tasks: Iterable[Task] | None) -> list[Task]:
    if tasks is not None:
        chosen = list(tasks)
        if not chosen:
            raise ConfigurationError("there is no task\n  next: give some")
        return check(chosen)
    text = project.plan_text()
    if text is None:
        raise ConfigurationError(
            f"{project.folder}: there is no plan\n"
            "  next: name a file with a task per line, or a YAML file with tasks"
        )
    return project.format.tasks(text, project.plan or "the plan")


def _check_options(jobs: int, check_minutes: float, task_minutes: float | None) -> None:
    if jobs < 1:
        raise ConfigurationError(f"jobs is {jobs!r}, expected a number from 1")
    for name, value in (("check_minutes", check_minutes), ("task_minutes", task_minutes)):
        if value is not None and not value > 0:
            raise ConfigurationError(f"{name} is {value!r}, expected a number of minutes above 0")


def _check_watch(record: SwarmRecord) -> None:
    if record.watch and not record.pull_requests:
        raise ConfigurationError(
            "--watch, --reviews, --merge: there are no pull requests\n  next: add --pull-requests"
        )
    if record.draft and record.merge:
        raise ConfigurationError("--draft and --merge exclude each other: GitHub merges no draft")
    if not record.watch_seconds > 0:
        minutes = record.watch_seconds / 60
        raise ConfigurationError(f"watch_minutes is {minutes:g}, expected a number of minutes above 0")
    if record.fix_rounds < 0:
        raise ConfigurationError(f"fix_rounds is {record.fix_rounds}, expected a number from 0")


def _check_source(
    project: SwarmProject, source: str | None, write_back: str, tasks: Iterable[Task]
) -> tuple[How, dict[str, str], str]:
    """What goes back, by which words a pull request closes each task, and what opens the source again.

    Raises:
        ConfigurationError: there is no such way, or no such source.
    """
    how = next((each for each in WRITE_BACK if each == write_back), None)
    if how is None:
        raise ConfigurationError(f"--write-back {write_back!r}: expected one of {', '.join(WRITE_BACK)}")
    if source is not None:
        opened = open_source(source, Asked(project=project.folder, plan=project.own.plan))
        return how, {each.id: opened.closing(each) for each in tasks}, opened.lasting(source)
    if how != "none":
        raise ConfigurationError(f"--write-back {how}: to where?\n  next: name the source of the tasks by --from")
    return how, {}, ""


def _check_names(project: SwarmProject, into: str | None) -> None:
    git = project.repository()
    for name in ("ralph", "ralph/swarm", "ralph/task", "ralph/kept", "ralph/pull"):
        if git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{name}").ok:
            raise ConfigurationError(
                f"a branch is called {name}: no branch can lie below it\n  next: git branch -m {name} another-name"
            )
    if into is not None:
        check_argument(into, "--into")
    if into is not None and not git.run("check-ref-format", "--branch", into).ok:
        raise ConfigurationError(f"--into {into!r}: no name of a branch")
