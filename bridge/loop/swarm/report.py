"""What a swarm was: the facts of its report. Read once from its record, its workers' events and git."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.records import dataclass
from bridge.base.wording import duration, one_line, plural
from bridge.loop.engine.turn_records import totals_of
from bridge.loop.report.run_facts import UNKNOWN, money, tokens
from bridge.loop.report.run_report import read_turn, work_between
from bridge.loop.report.time_line import Span
from bridge.loop.swarm.folder import EventsTail
from bridge.loop.swarm.status import outcome_of as in_words
from bridge.loop.swarm.status import shown
from bridge.loop.swarm.swarm_record import MERGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bridge.base.git.tree import FileStat
    from bridge.loop.engine.turn_records import Totals, TurnRecord
    from bridge.loop.report.run_report import Commit
    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord


class TaskAttempt(NamedTuple):
    """One attempt at a task: by whom (None: nobody knows), from when, how long, and what came of it."""

    task: str
    number: int
    worker: int | None
    began: float
    seconds: float
    outcome: str
    turns: tuple[TurnRecord, ...]

    @property
    def words(self) -> str:
        again = f", attempt {self.number}" if self.number > 1 else ""
        return f"{self.task}{again}, {timestamps.clock(self.began)}, {duration(self.seconds)}: {self.outcome}"


class TaskMerge(NamedTuple):
    """A merge that was tried, its check included."""

    task: str
    began: float
    seconds: float
    outcome: str

    @property
    def words(self) -> str:
        return f"merge of {self.task}, {timestamps.clock(self.began)}, {duration(self.seconds)}: {self.outcome}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmReport:
    """
    Attributes:
        seen: where it stands, as ``swarm status --json`` says it.
        setup: the kind of its loops.
        folder: of its record.
        began, ended: seconds since the epoch; while it is at work `ended` is now.
        paused: seconds between, in which no host was at work.
        state: ``complete``, ``incomplete``, ``interrupted``, ``killed`` or ``running``.
        attempts: in the order of their beginnings.
        merges: likewise.
        commits: what its branch has of work that its base hadn't, merges aside; None: git doesn't know.
        files: what that changed, or None.
    """

    seen: dict[str, Any]
    setup: str
    folder: Path
    began: float
    ended: float
    paused: float
    state: str
    attempts: tuple[TaskAttempt, ...]
    merges: tuple[TaskMerge, ...]
    commits: tuple[Commit, ...] | None
    files: tuple[FileStat, ...] | None

    @property
    def seconds(self) -> float:
        return max(self.ended - self.began - self.paused, 0.0)

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """Those of all attempts, in the order of their ends."""
        return tuple(
            sorted(
                (turn for each in self.attempts for turn in each.turns), key=lambda turn: turn.began + turn.seconds
            )
        )

    @property
    def totals(self) -> Totals:
        return totals_of(self.turns)

    @property
    def seconds_at_work(self) -> float:
        """Of all workers together."""
        return sum(each.seconds for each in self.attempts)

    @property
    def seconds_merging(self) -> float:
        """Of all merges together."""
        return sum(each.seconds for each in self.merges)

    @property
    def attempts_and_merges(self) -> tuple[TaskAttempt | TaskMerge, ...]:
        return (*self.attempts, *self.merges)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many tasks there are of each outcome, or step where they have none."""
        return dict(Counter(outcome_of(each) for each in self.seen["tasks"]))

    def lanes(self) -> dict[str, list[Span]]:
        """The time line: a lane for each worker, and one for the merges; a span's number is that in
        `attempts_and_merges`.
        """
        found: dict[str, list[Span]] = {}
        for worker in sorted({each.worker for each in self.attempts}, key=lambda number: (number is None, number)):
            name = "unknown" if worker is None else f"worker {worker}"
            found[name] = [
                Span(index, each.began, each.seconds)
                for index, each in enumerate(self.attempts)
                if each.worker == worker
            ]
        if self.merges:
            first = len(self.attempts)
            found["merges"] = [Span(first + n, each.began, each.seconds) for n, each in enumerate(self.merges)]
        return found


def read_swarm_report(project: SwarmProject, record: SwarmRecord, folder: Path, now: float) -> SwarmReport:
    seen = shown(record, folder)
    running = seen["state"] in ("starting", "running", "waiting")
    attempts = sorted(
        (each for task in record.tasks for each in _attempts(task, folder, now)), key=lambda each: each.began
    )
    merges = [
        TaskMerge(
            each.task.id,
            each.merge_began,
            (each.merge_ended or (now if running else each.merge_began)) - each.merge_began,
            each.outcome or each.step,
        )
        for each in record.tasks
        if each.merge_began is not None
    ]
    last = max((record.began, *(each.began + each.seconds for each in attempts)))
    ended = now if running else record.ended or last
    repository = project.repository()
    tip = repository.run("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}").text
    commits, files = work_between(repository, record.base, tip, "--no-merges") if tip else (None, None)
    return SwarmReport(
        seen=seen,
        setup=record.kind,
        folder=folder,
        began=record.began,
        ended=ended,
        paused=record.paused,
        state=_state(record, seen["state"]),
        attempts=tuple(attempts),
        merges=tuple(sorted(merges, key=lambda each: each.began)),
        commits=commits,
        files=files,
    )


def _state(record: SwarmRecord, word: str) -> str:
    if word in ("starting", "running", "waiting"):
        return "running"
    if record.end is None:
        return "killed"
    if record.end.startswith("SIG") or record.end == "closed":
        return "interrupted"
    return "complete" if record.all_merged and not record.landed else "incomplete"


def _attempts(task: TaskRecord, folder: Path, now: float) -> Iterator[TaskAttempt]:
    """Read the attempts at a task from what its worker has told."""
    numbered: dict[int, list[dict[str, Any]]] = {}
    for event in EventsTail(folder / "tasks" / task.task.id / "events.jsonl").read():
        if isinstance(event.get("at"), int | float) and isinstance(number := event.get("attempt"), int):
            numbered.setdefault(number, []).append(event)
    for number, events in numbered.items():
        last = number == task.attempt
        began, ended = events[0]["at"], events[-1]["at"]
        if last and task.began is not None:  # with the time that the work tree and the worker take
            began = min(began, task.began)
            ended = now if task.step == "running" else max(ended, task.ended or 0.0)
        final = next((each for each in events if each.get("event") == "ended"), {})
        worker = next((each["worker"] for each in events if isinstance(each.get("worker"), int)), None)
        outcome = (task.outcome or task.step) if last else str(final.get("verdict") or "lost")
        yield TaskAttempt(
            task.task.id,
            number,
            (task.worker if last and worker is None else worker),
            began,
            ended - began,
            outcome if last or outcome != "complete" else "begun anew",
            tuple(_turns(events)),
        )


def _turns(events: Iterable[dict[str, Any]]) -> Iterator[TurnRecord]:
    for event in events:
        if event.get("event") == "turn-ended" and (turn := read_turn(event)) is not None:
            yield replace(turn, began=event["at"] - turn.seconds)


# -- words, the same in every format -----------------------------------------------------------------


TASK_COLUMNS = ("task", "worker", "turns", "took", "tokens", "cost", "outcome")
_SIGNS = {**dict.fromkeys(MERGED, "#"), **dict.fromkeys(("running", "saved", "watched"), ">")}
_LEGEND = "| begins, # merged, > under way, x not, . idle"


def outcome_of(task: dict[str, Any]) -> str:
    """What became of a task, as :func:`bridge.loop.swarm.status.shown` gives it."""
    return str(task["outcome"] or task["step"])


def swarm_rows(report: SwarmReport) -> Iterator[tuple[str, str]]:
    seen, totals = report.seen, report.totals
    yield "outcome", one_line(f"{report.state}: {seen['end']}" if seen["end"] else report.state)
    yield "branch", one_line(seen["branch"])
    if where := seen["pull_requests"]:
        yield "pull requests", one_line(f"into {seen['into']} of {where['repository']}")
    elif seen["into"]:
        landed = f"not moved: {seen['landed']}" if seen["landed"] else "not moved yet"
        moved = "moved" if report.state == "complete" else landed
        yield "into", one_line(f"{seen['into']}, {moved}")
    yield "began", timestamps.local(report.began)
    yield "ended", "not yet" if report.state == "running" else timestamps.local(report.ended)
    yield "duration", duration(report.seconds)
    busy = report.seconds_at_work / report.seconds if report.seconds else 0.0
    workers = plural(seen["jobs"], "worker")
    yield "at work", f"{duration(report.seconds_at_work)}: {busy:.1f} of {workers} busy on average"
    yield "merging", duration(report.seconds_merging)
    counted = ", ".join(f"{count} {name}" for name, count in report.outcomes.items())
    yield "tasks", f"{len(seen['tasks'])}: {counted}"
    yield "turns", f"{totals.turns}"
    yield "failures", str(totals.failures) if totals.failures else "none"
    yield "tokens", tokens(totals.tokens)
    yield "cost", money(totals.cost_usd)
    yield "commits", UNKNOWN if report.commits is None else str(len(report.commits))
    yield "files changed", UNKNOWN if report.files is None else str(len(report.files))


def task_row(task: dict[str, Any]) -> tuple[str, ...]:
    """The cells of a task, as `TASK_COLUMNS` names them."""
    return (
        task["id"],
        "none" if task["worker"] is None else str(task["worker"]),
        str(task["turns"]),
        "not begun" if task["seconds"] is None else duration(task["seconds"]),
        tokens(task["tokens"]) if task["turns"] else "0",
        money(task["cost_usd"]) if task["turns"] else money(0.0),
        in_words(task),
    )


def pulls(report: SwarmReport) -> list[tuple[str, str]]:
    """The pull request of each task that has one: its id, the URL."""
    return [(each["id"], each["pull_request"]["url"]) for each in report.seen["tasks"] if each["pull_request"]]


def to_do(report: SwarmReport) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """For each task that isn't merged or has left more: its id, why, its branches, the next step."""
    for each in report.seen["tasks"]:
        branches = tuple(map(one_line, filter(None, (each["branch"], *each["kept"]))))
        if each["outcome"] in MERGED and not each["unsaved"] and not each["kept"]:
            continue
        unsaved = f"not saved: {each['unsaved']}; it is in {each['tree']}" if each["unsaved"] else ""
        detail = f": {each['detail']}" if each["detail"] else ""
        why = f"{outcome_of(each)}{detail}{'; ' * bool(unsaved)}{unsaved}"
        yield each["id"], one_line(why), branches, one_line(each["next"] or "")


def strips(report: SwarmReport, width: int) -> tuple[list[tuple[str, str]], str]:
    """The time line in signs: a name and `width` signs for each lane, and what a sign stands for."""
    step = max(report.seconds, 1.0) / width
    outcomes = [each.outcome for each in report.attempts_and_merges]
    lines = []
    for name, spans in report.lanes().items():
        signs = ["."] * width
        for span in spans:
            first = min(max(int((span.began - report.began) / step), 0), width - 1)
            last = min(max(int((span.ended - report.began) / step), first), width - 1)
            sign = _SIGNS.get(outcomes[span.number], "x")
            signs[first : last + 1] = ["|", *sign * (last - first)] if last > first else [sign]
        lines.append((name, "".join(signs)))
    began, ended = timestamps.clock(report.began), timestamps.clock(report.ended)
    each = duration(step) if step >= 1 else f"{step:.2f} s"
    return lines, f"{began} to {ended}, a sign is {each}: {_LEGEND}"
