"""The folder of one swarm, in the git folder that all work trees share: ``ralph-bridge/swarm/RUN/``.

``swarm.json`` says where everything stood when it was written, ``changes.jsonl`` which tasks have changed since;
only the host writes them. Each task has a folder: what its worker tells (``events.jsonl``), what it printed beside
(``worker.log``), the output of the check. ``stop`` asks the workers to end; they look at it themselves, wherever
they run.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from bridge import errors
from bridge.amounts import amount, whole
from bridge.errors import ConfigurationError
from bridge.files import append_durably, descriptor, lenient, make_folder, open_file, read_bytes, usable
from bridge.loop.lock import standing
from bridge.records import delete, to_json, write_text
from bridge.resources import likely
from bridge.stream.analysis import PermanentReason
from bridge.swarm.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FILE, CHANGES = "swarm.json", "changes.jsonl"
STOP = "stop"
_SHORT = 256 * 1024
"""Bytes of changes that are not worth writing the record anew."""
Step = Literal["waiting", "running", "saved", "done"]
MERGED = ("merged", "nothing to merge")
RETRIED = ("lost", "failed", "incomplete", "timeout", "conflict", "check failed")
"""Outcomes of tasks that run again only when somebody asks for it; ``interrupted`` ones go on by themselves."""

NEXT_STEPS = {
    "conflict": "merge {branch} by hand, or `ralph-bridge swarm resume {run} --retry conflict`",
    "check failed": "look at {log}; mend {branch}, or `ralph-bridge swarm resume {run} --retry 'check failed'`",
    "incomplete": "look at {branch}, then `ralph-bridge swarm resume {run} --retry incomplete`",
    "timeout": "look at {branch}, then `ralph-bridge swarm resume {run} --retry timeout`",
    "failed": "look at {log}, then `ralph-bridge swarm resume {run} --retry failed`",
    "lost": "look at {branch}, then `ralph-bridge swarm resume {run} --retry lost`",
    "interrupted": "`ralph-bridge swarm resume {run}` goes on",
    "skipped": "see to what it needs, then `ralph-bridge swarm resume {run}`",
    "": "`ralph-bridge swarm resume {run}` starts it",
}
"""What can be done about a task that isn't merged."""


@dataclass(slots=True)
class TaskRecord:
    """Where one task stands.

    Attributes:
        step: ``saved``: its loop is complete, and it waits for its merge.
        outcome: once it is over: one of `MERGED`, one of `RETRIED`, ``interrupted`` or ``skipped``; else ''.
        reason: a word that says why, such as the loop's own. detail: a sentence for people.
        attempt: how often it was begun.
        worker: who works on it, from 0; -1: nobody yet.
        branch: of the last attempt; older: of earlier ones.
        base: the commit that the attempt began with. commit: what was saved of it; ''.
        kept: further refs that hold work of it. unsaved: what could not be saved, and why; ''.
        copied: files that were copied into its work tree, from the top, with the digest of each.
        told: what the next attempt is told of the one before.
        redone: it was begun anew by itself after a conflict.
        began, ended: seconds since the epoch.
        turns: that have ended, of all attempts. cost_usd, tokens: of those; None: the tool doesn't say.
        merge: the commit that merged it.
        merge_began, merge_ended: of the last merge that was tried, its check included.
        unticked: boxes that the branch's plan doesn't have, to be ticked when the swarm ends.
    """

    task: Task
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
    turns: int = 0
    cost_usd: float | None = None
    tokens: float | None = None
    merge: str = ""
    merge_began: float | None = None
    merge_ended: float | None = None
    unticked: list[str] = field(default_factory=list)

    @property
    def merged(self) -> bool:
        return self.outcome in MERGED

    @property
    def seconds(self) -> float | None:
        """How long the last attempt took, or has been at work."""
        if self.began is None:
            return None
        return max((time.time() if self.ended is None else self.ended) - self.began, 0.0)


@dataclass(slots=True)
class SwarmRecord:
    """What a swarm is, and where it stands.

    Attributes:
        run: its name.
        kind: of its loop. options: of each loop, as `Loop.open` takes them.
        base: the commit that it began with. branch: into which the tasks are merged.
        jobs: how many work at once.
        trees: the folder of the work trees.
        check, check_seconds, into, redo_conflicts, tidy, task_seconds: as `Swarm` takes them.
        max_cost, max_tokens, price_in, price_out: see :class:`~bridge.loop.caps.Caps`, for all tasks together.
        began, ended: seconds since the epoch.
        end: why it ended; None: it hasn't, or not in order.
        landed: what became of `into`.
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
    end: str | None = None
    landed: str = ""

    def task(self, task_id: str) -> TaskRecord:
        """Give the record of a task (KeyError: there is none)."""
        found = next((each for each in self.tasks if each.task.id == task_id), None)
        if found is None:
            raise KeyError(task_id)
        return found

    @property
    def all_merged(self) -> bool:
        return all(each.merged for each in self.tasks)

    @property
    def cost_usd(self) -> float | None:
        return _sum(each.cost_usd for each in self.tasks)

    @property
    def tokens(self) -> float | None:
        return _sum(each.tokens for each in self.tasks)


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [each for each in amounts if each is not None]
    return sum(known) if known else None


PERMANENT = frozenset(PermanentReason)
"""Why a task ends whose CLI can't be used as it is: no other task will get further."""


def unfit(task: TaskRecord) -> int:
    """The exit code (2, 4) of what kept a task's loop from beginning, or from using its CLI, as it will
    others; else 0."""
    if task.outcome == "incomplete" and task.reason in PERMANENT:
        return 4
    if task.outcome != "failed" or task.turns:
        return 0
    code = getattr(getattr(errors, task.reason, None), "exit_code", 0)
    return code if code in (2, 4) else 0


def next_step(record: SwarmRecord, task: TaskRecord, folder: Path) -> str:
    """What can be done about a task that isn't merged."""
    log = folder / "tasks" / task.task.id / ("check.log" if task.outcome == "check failed" else "worker.log")
    step = NEXT_STEPS.get(task.outcome if task.step == "done" else "", NEXT_STEPS[""])
    return step.format(branch=task.branch, run=record.run, log=log)


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


def _task(found: dict[str, Any]) -> TaskRecord:
    values = _sane(TaskRecord, found)
    given = dict(values.pop("task"))
    given["needs"], given["boxes"] = tuple(given.get("needs", ())), tuple(given.get("boxes", ()))
    return TaskRecord(Task(**given), **values)


def task_folder(folder: Path, task_id: str) -> Path:
    """The folder of a task, which is made if need be.

    Raises:
        ProjectUnusable: the system refuses.
    """
    path = folder / "tasks" / task_id
    with usable(path):
        make_folder(path)
    return path


def new_run(swarms: Path, now: float) -> Path:
    """Make the folder of a new swarm; its name is the time.

    Raises:
        ProjectUnusable: the system refuses.
    """
    name = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    with usable(swarms):
        make_folder(swarms)
        for number in range(1, 1000):
            folder = swarms / (name if number == 1 else f"{name}-{number}")
            with suppress(FileExistsError):
                make_folder(folder, new=True)
                return folder
    raise ConfigurationError(f"{swarms}: a thousand swarms in one second")


def runs(swarms: Path) -> list[Path]:
    """The folders of all swarms, the oldest first."""
    with suppress(OSError):
        found = [each for each in swarms.iterdir() if (each / FILE).is_file()]
        return sorted(found, key=lambda each: (each.name[:15], len(each.name), each.name))
    return []


def find_run(swarms: Path, name: str | None) -> Path:
    """The folder of a swarm, by its name or a beginning that no other has; None: the one at work, else the last.

    Raises:
        ConfigurationError: there is none, or several begin so.
    """
    known = runs(swarms)
    if not known:
        raise ConfigurationError("no swarm has run here yet\n  next: ralph-bridge swarm run")
    if name is None:
        return next((each for each in reversed(known) if standing(each).running), known[-1])
    found = [each for each in known if each.name == name] or [each for each in known if each.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    names = [each.name for each in known]
    if found:
        raise ConfigurationError(f"{name}: several swarms begin so: {', '.join(each.name for each in found)}")
    raise ConfigurationError(
        f"{name}: there is no such swarm.{likely(name, names)}\n  next: ralph-bridge swarm list"
    )


# -- what is asked of a swarm ------------------------------------------------------------------------


def ask_to_stop(folder: Path, how: Literal["soon", "now", "kill"]) -> None:
    """Ask all workers to end: behind the turn that is under way, at once, or without any grace."""
    write_text(folder / STOP, f"{how}\n")


def asked_to_stop(folder: Path) -> str:
    """What is asked: ``soon``, ``now``, ``kill``; ''."""
    with suppress(OSError):
        return read_bytes(folder / STOP).decode("ascii", "replace").strip()
    return ""


def forget_stop(folder: Path) -> None:
    delete(folder / STOP)


# -- what workers report -----------------------------------------------------------------------------


_AMOUNTS = {
    **dict.fromkeys(("turn", "attempt", "worker"), whole),
    **dict.fromkeys(("seconds", "at", "input_tokens", "output_tokens", "cost_usd"), amount),
}
"""The numbers of an event."""


def read_events(path: Path) -> list[dict[str, Any]]:
    """All events in an ``events.jsonl``."""
    return EventsTail(path).read()


class EventsTail:
    """Gives the events that a worker has reported since the last look at its ``events.jsonl``."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._offset = offset

    def read(self) -> list[dict[str, Any]]:
        """What is new; a line that is no event is passed over."""
        found: list[dict[str, Any]] = []
        with suppress(OSError), open_file(self._path) as file:
            file.seek(self._offset)
            data = file.read()
            whole = data.rpartition(b"\n")[0]
            self._offset += len(whole) + 1 if whole or data.startswith(b"\n") else 0
            for line in whole.split(b"\n"):
                with suppress(ValueError, RecursionError):
                    if isinstance(event := json.loads(line), dict):
                        numbers = {name: read(event[name]) for name, read in _AMOUNTS.items() if name in event}
                        found.append(event | numbers)
        return found


def tail_size(path: Path) -> int:
    """How long a file is; 0: there is none."""
    with suppress(OSError):
        return path.stat().st_size
    return 0


# -- locks -------------------------------------------------------------------------------------------


@contextmanager
def locked(path: Path, *, patience: float | None = None) -> Iterator[int | None]:
    """Hold a lock on a file, which is made, while the block runs; gives its descriptor, or None when it wasn't to
    be had within so many seconds (None: it takes as long as it takes).

    Raises:
        ProjectUnusable: the system refuses.
    """
    with usable(path):
        make_folder(path.parent)
        held = descriptor(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield held if _taken(held, patience) else None
    finally:
        os.close(held)


def _taken(held: int, patience: float | None) -> bool:
    end = None if patience is None else time.monotonic() + patience
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if end is not None and time.monotonic() >= end:
            return False
        time.sleep(0.02)
