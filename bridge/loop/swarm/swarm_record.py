"""What a swarm is, and where it stands: ``swarm.json``, and in ``changes.jsonl`` which tasks have changed since.

Only the host writes them.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import KW_ONLY, asdict, field, fields
from typing import TYPE_CHECKING, Any, Literal

from bridge.base.amounts import amount, known_sum, whole
from bridge.base.files import append_durably, lenient, read_bytes, usable
from bridge.base.json_files import delete, to_json, write_text
from bridge.base.records import dataclass
from bridge.loop.tasks.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.tasks.source_updates import How

FILE, CHANGES = "swarm.json", "changes.jsonl"
_SHORT = 256 * 1024
"""Bytes of changes that are not worth writing the record anew."""
Step = Literal["waiting", "running", "saved", "watched", "done"]
PULLED, NOT_PUSHED, CLOSED = "pull request", "not pushed", "closed"
CHECKS_FAILED, UNFINISHED = "checks failed", "unfinished"
MERGED = ("merged", "nothing to merge", PULLED)
RETRIED = ("lost", "failed", "incomplete", "timeout", "conflict", "check failed", CLOSED, CHECKS_FAILED, UNFINISHED)
"""Outcomes of tasks that run again only when somebody asks for it; ``interrupted`` ones go on by themselves."""


@dataclass(slots=True)
class TaskRecord:
    """Where one task stands.

    Attributes:
        step: ``saved``: its loop is complete, and it waits for its merge; ``watched``: for what becomes of its pull
            request.
        outcome: once it is over: one of `MERGED`, of `RETRIED`, or ``not pushed``, ``interrupted``, ``skipped``;
            else ''.
        reason: a word that says why, such as the loop's own. detail: a sentence for people.
        attempt: how often it was begun.
        worker: who works on it, from 0; -1: nobody yet.
        branch: of the last attempt; older: of earlier ones.
        base: the commit that the attempt began with. commit: what was saved of it; ''.
        kept: further refs that hold work of it. unsaved: what could not be saved, and why; ''.
        copied: files that were copied into its work tree, from the top, with the digest of each.
        told: what the next attempt is told of the one before.
        redone: it was begun anew by itself after a conflict.
        began, ended: of the last attempt, in seconds since the epoch. before: seconds that earlier ones took.
        turns: that have ended, of all attempts. cost_usd, tokens: of those; None: the tool doesn't say.
        merge: the commit that merged it, or that is to be pushed.
        onto: the branch of the task that it needs, which its pull request is on top of; ''.
        pull: its pull request: number, url, state (OPEN, CLOSED, MERGED), draft, head. closing: words that
            close it.
        pushed: the commit on the pull request's branch that a further one goes on from; ''.
        rounds: how often what came back from GitHub was given to a turn. round: what the last one was about, as
            :class:`~bridge.loop.swarm.watch.Decision` has it. answered: ids of reviews that were given to one.
        checks: what is known of them: ``none``, ``pending``, ``failed``, ``passed``; ''.
        watched: since when it is waited for, in seconds since the epoch.
        since: a commit of the branch to merge into that is to be taken in; ''.
        merge_began, merge_ended: of the last merge that was tried, its check included.
        unticked: boxes that the branch's plan doesn't have, to be ticked when the swarm ends.
        said: what its source was told last. untold: why it couldn't be told more; ''.
    """

    task: Task
    _: KW_ONLY
    step: Step = "waiting"
    outcome: str = ""
    reason: str = ""
    detail: str = ""
    attempt: int = 0
    worker: int = -1
    branch: str = ""
    older: list[str] = field(default_factory=list)
    base: str = ""
    commit: str = ""
    kept: list[str] = field(default_factory=list)
    unsaved: str = ""
    tree: str = ""
    copied: dict[str, str] = field(default_factory=dict)
    told: str = ""
    redone: bool = False
    began: float | None = None
    ended: float | None = None
    before: float = 0.0
    turns: int = 0
    cost_usd: float | None = None
    tokens: float | None = None
    merge: str = ""
    merge_began: float | None = None
    merge_ended: float | None = None
    onto: str = ""
    pull: dict[str, Any] = field(default_factory=dict)
    closing: str = ""
    pushed: str = ""
    rounds: int = 0
    round: str = ""
    answered: list[str] = field(default_factory=list)
    checks: str = ""
    watched: float | None = None
    since: str = ""
    unticked: list[str] = field(default_factory=list)
    said: str = ""
    untold: str = ""

    @property
    def merged(self) -> bool:
        return self.outcome in MERGED

    @property
    def pull_branch(self) -> str:
        """The branch that is pushed: it has what a merge would have, and not what is the loop's own."""
        return self.branch.replace("ralph/task/", "ralph/pull/", 1)

    @property
    def seconds(self) -> float | None:
        return self.seconds_by(time.time())

    def seconds_by(self, now: float) -> float | None:
        """How long was worked on it until then; None: it wasn't begun."""
        if self.began is None:
            return self.before or None
        return self.before + max((now if self.ended is None else self.ended) - self.began, 0.0)


@dataclass(slots=True, kw_only=True)
class SwarmRecord:
    """What a swarm is, and where it stands.

    Attributes:
        run: its name.
        kind: of its loop. options: of each loop, as `Loop.open` takes them.
        base: the commit that it began with. branch: into which the tasks are merged.
        jobs: how many work at once.
        trees: the folder of the work trees.
        check, check_seconds, into, redo_conflicts, tidy, task_seconds: as `Swarm` takes them.
        max_cost, max_tokens, price_in, price_out: see :class:`~bridge.loop.engine.caps.Caps`, for all together.
        began, ended: seconds since the epoch. paused: seconds between, in which no host was at work.
        end: why it ended; None: it hasn't, or not in order.
        landed: what became of `into`.
        source: where the tasks come from, as ``--from`` names it; ''. write_back: what goes back there.
        pull_requests: each branch is proposed, and none merged here; `into` is what they are to be merged into.
        watch: what becomes of each pull request is waited for, `watch_seconds` after each push.
        fix_rounds: how often what came back goes to a turn. reviews: so do people's reviews.
        merge: it is merged once that is allowed.
        draft: as drafts. remote: the URL that is pushed to. repository: as ``gh`` names it.
    """

    run: str
    project: str
    kind: str
    base: str
    branch: str
    tasks: list[TaskRecord]
    options: dict[str, Any] = field(default_factory=dict)
    jobs: int = 2
    trees: str = ""
    check: str = ""
    check_seconds: float = 3600.0
    into: str = ""
    redo_conflicts: bool = False
    tidy: bool = False
    task_seconds: float | None = None
    max_cost: float | None = None
    max_tokens: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    began: float = 0.0
    ended: float | None = None
    paused: float = 0.0
    end: str | None = None
    landed: str = ""
    source: str = ""
    write_back: How = "none"
    pull_requests: bool = False
    watch: bool = False
    watch_seconds: float = 3600.0
    fix_rounds: int = 2
    reviews: bool = False
    merge: bool = False
    draft: bool = False
    remote: str = ""
    repository: str = ""

    def task(self, task_id: str) -> TaskRecord:
        """Give the record of a task (KeyError: there is none)."""
        found = next((each for each in self.tasks if each.task.id == task_id), None)
        if found is None:
            raise KeyError(task_id)
        return found

    @property
    def uses_gh(self) -> bool:
        """Whether it pushes or comments with what ``gh`` is logged in by."""
        return self.pull_requests or self.source.startswith("github:")

    @property
    def all_merged(self) -> bool:
        return all(each.merged for each in self.tasks)

    def seconds_by(self, now: float) -> float:
        """How long it was at work until then, or until its end."""
        return max((self.ended or now) - self.began - self.paused, 0.0)

    @property
    def last_sign(self) -> float:
        """When something of it was put down last, in seconds since the epoch."""
        times = (
            each for task in self.tasks for each in (task.began, task.ended, task.merge_began, task.merge_ended)
        )
        return self.ended or max((self.began, *(each for each in times if each is not None)))

    @property
    def cost_usd(self) -> float | None:
        return known_sum(each.cost_usd for each in self.tasks)

    @property
    def tokens(self) -> float | None:
        return known_sum(each.tokens for each in self.tasks)


# -- files -------------------------------------------------------------------------------------------


class RecordWriter:
    """Writes the record of one swarm, which is changed from outside.

    A change of one task is one line, so that the work of many tasks isn't the square of their number; all of it is
    written anew when the lines have become longer than that.
    """

    def __init__(self, folder: Path, record: SwarmRecord) -> None:
        self._folder = folder
        self._record = record
        self._serial = 0
        self._whole = self._lines = 0

    def write(self) -> None:
        text = to_json({"schema": 1, "serial": self._serial, **asdict(self._record)}, compact=True) + "\n"
        write_text(self._folder / FILE, text)
        delete(self._folder / CHANGES)
        self._whole, self._lines = len(text), 0

    def write_task(self, task: TaskRecord) -> None:
        self._serial += 1
        line = to_json({"serial": self._serial, **asdict(task)}, compact=True) + "\n"
        self._lines += len(line)
        if self._lines > max(self._whole, _SHORT):
            self.write()
            return
        path = self._folder / CHANGES
        with usable(path):
            append_durably(path, line.encode("utf-8", "replace"))


def read_swarm(folder: Path) -> SwarmRecord | None:
    """None when it isn't there, or isn't to be understood.

    Raises:
        bridge.errors.ProjectUnusable: a link leads out of the project, or there is no regular file.
    """
    with lenient(), suppress(TypeError, KeyError, ValueError, AttributeError, RecursionError):
        # In this order: what is in the lines is older than a file that was written meanwhile, and so passed over.
        lines = _read(folder / CHANGES)
        found = json.loads(_read(folder / FILE))
        values = _sane(SwarmRecord, found)
        tasks = {each["task"]["id"]: each for each in values["tasks"]}
        for line in lines.splitlines():
            with suppress(ValueError):  # the last one of a host that was killed
                change = json.loads(line)
                if change["serial"] > found.get("serial", 0):
                    tasks[change["task"]["id"]] = change
        values["tasks"] = [_task(each) for each in tasks.values()]
        return SwarmRecord(**values)
    return None


def _read(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return read_bytes(path)
    return b""


def _sane(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record; numbers that are no amounts are left out, and so what they are by default."""
    numbers = {each.name: whole if each.type == "int" else amount for each in fields(kind) if each.type in _NUMBERS}
    known = {each.name: found[each.name] for each in fields(kind) if each.name in found}
    return {name: each for name, each in known.items() if name not in numbers or numbers[name](each) is not None}


_NUMBERS = ("int", "float", "float | None")


_PULL = {"number", "url", "state", "draft", "head"}


def _task(found: dict[str, Any]) -> TaskRecord:
    values = _sane(TaskRecord, found)
    given = dict(values.pop("task"))
    given |= {name: tuple(given.get(name, ())) for name in ("needs", "boxes", "labels")}
    if set(values.get("pull") or ()) != _PULL:
        values["pull"] = {}
    return TaskRecord(Task(**given), **values)
