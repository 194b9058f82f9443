"""What a run was: the facts of a report. Read once; nothing is written."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.amounts import amount, whole
from bridge.base.files import open_file, read_lines
from bridge.base.git.repository import find_repository
from bridge.base.git.tree import parse_numstat
from bridge.base.json_files import usable
from bridge.base.records import dataclass
from bridge.loop.engine import turn_records as loop_records
from bridge.loop.engine.lock import standing
from bridge.loop.engine.turn_records import RESULTS, Totals, TurnRecord, totals_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from bridge.base.git.repository import Repository
    from bridge.base.git.tree import FileStat
    from bridge.loop.setups.overview import LoopPlace

_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})?")
_FIELDS = tuple(each.name for each in fields(TurnRecord))
_AMOUNTS = (
    "files_changed",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cost_usd",
    "context_tokens",
    "context_window",
)


class Wait(NamedTuple):
    """The loop waited: why, in words, from when (seconds since the epoch), how long."""

    reason: str
    detail: str
    began: float
    seconds: float


class CheckRun(NamedTuple):
    """The check was run: behind which turn, 0: before the first; why it failed, '': it passed; when, how long."""

    turn: int
    why: str
    ended: float
    seconds: float
    log: str


class ToolChange(NamedTuple):
    """Another tool took over: which, from which, why in words, and when."""

    tool: str
    before: str
    why: str
    at: float


class Commit(NamedTuple):
    """A commit of the run: short id and subject."""

    id: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    Attributes:
        id: of the run.
        tool: what it ran, such as ``driver codex``.
        task: which of several tasks it was about; ''.
        began, ended: seconds since the epoch; `ended` is None while it is at work, and the last sign of life of one
            that was killed.
        state: ``complete``, ``incomplete``, ``interrupted``, ``killed``, ``running``, or ``unknown``.
        reason, detail: why it ended, a word and a sentence; ''.
        turns: in their order.
        waits, checks, changes: likewise.
        branch: that it began on; None: not known, '': none.
        heads: commits at which it began and ended; None: not known, '': there was none.
        plans: tasks done and tasks in all, at its beginning and at its end; None: no plan, or not known.
        commits: what was committed meanwhile, or None.
        files: what those commits changed, or None.
        pull_request: of its branch, with number, url, state, draft, checks, step, outcome, detail and rounds, if it
            has one that isn't younger than the run; else None.
    """

    id: str
    tool: str = ""
    task: str = ""
    began: float = 0.0
    ended: float | None = None
    state: str = "unknown"
    reason: str = ""
    detail: str = ""
    turns: tuple[TurnRecord, ...] = ()
    waits: tuple[Wait, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    changes: tuple[ToolChange, ...] = ()
    branch: str | None = None
    heads: tuple[str | None, str | None] = (None, None)
    plans: tuple[tuple[int, int] | None, tuple[int, int] | None] = (None, None)
    commits: tuple[Commit, ...] | None = None
    files: tuple[FileStat, ...] | None = None
    pull_request: Mapping[str, Any] | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took in all; None while it is at work."""
        return None if self.ended is None else max(self.ended - self.began, 0.0)

    @property
    def waited(self) -> dict[str, float]:
        """Seconds that it waited, by reason."""
        sums: Counter[str] = Counter()
        for wait in self.waits:
            sums[wait.reason] += wait.seconds  # type: ignore[assignment]
        return dict(sums)

    @property
    def totals(self) -> Totals:
        return totals_of(self.turns)

    @property
    def by_tool(self) -> dict[str, Totals]:
        """What the turns of each tool came to, of a run that had several."""
        tools = dict.fromkeys(turn.tool for turn in self.turns if turn.tool)
        return {tool: totals_of(turn for turn in self.turns if turn.tool == tool) for tool in tools}

    @property
    def failures(self) -> dict[str, int]:
        """Of turns, by kind."""
        counted: Counter[str] = Counter(
            turn.result for turn in self.turns if turn.failed or turn.result in ("limit", "interrupted")
        )
        return {kind: counted[kind] for kind in ("failed", "timeout", "limit", "interrupted") if counted[kind]}

    @property
    def refused(self) -> tuple[str, ...]:
        """Tools that were refused, each once."""
        return tuple(dict.fromkeys(tool for turn in self.turns for tool in turn.refused))


@dataclass(frozen=True, slots=True)
class Report:
    """
    Attributes:
        setup: the kind of the loop.
        runs: the oldest first.
        logs: the folder that the turns' logs lie in.
        skipped: lines of their records that are too long to be ours: how many, by file.
        together: the sum over `runs`, where the last one went on from others that were killed; else None.
    """

    project: Path
    setup: str
    runs: tuple[Run, ...]
    logs: Path
    skipped: Mapping[Path, int] = field(default_factory=dict)
    together: Run | None = None


def read_report(loop: LoopPlace, *, run: str | None = None, every: bool = False) -> Report:
    """
    Args:
        run: the id of one run, or how it begins; None: the last one, with those that were killed before it; one
            that has had no turn doesn't take the place of the one before.
        every: all of them.

    Raises:
        LookupError: there is no such run, or several ids begin like that.
        bridge.errors.ProjectUnusable: a file can't be read.
    """
    logs = loop.logs
    skipped: Counter[Path] = Counter()
    runs = _runs(logs, skipped)
    if run is not None:
        found = [each for each in runs if each.id.startswith(run)]
        if len(found) != 1:
            known = ", ".join(each.id for each in (found or runs)[-5:])
            raise LookupError(
                f"{'several runs begin' if found else 'no run begins'} with {run!r}: {known or 'none yet'}"
            )
        runs = found
    elif not every:
        runs = _latest(runs, loop.state)
    if not runs:
        if loop.last_active:
            raise LookupError("no run is recorded here: the loop is a session's, or another program's")
        raise LookupError("no loop has run here yet")
    ended = [_standing(each, loop.state) for each in runs]
    parts = run is None and not every and any(each.state == "killed" for each in ended[:-1])
    together = _with_git(_together(ended), loop) if parts else None
    told = tuple(_with_git(each, loop) for each in ended)
    return Report(loop.project, loop.kind, told, logs, skipped, together)


def with_pull_requests(report: Report, pull_of: Callable[[str, float], Mapping[str, Any] | None]) -> Report:
    """The report with each run's pull request.

    Args:
        pull_of: gives that of a branch, for a run that began then (seconds since the epoch).
    """

    def known(run: Run) -> Run:
        return replace(run, pull_request=pull_of(run.branch, run.began)) if run.branch else run

    together = None if report.together is None else known(report.together)
    return replace(report, runs=tuple(map(known, report.runs)), together=together)


def _latest(runs: list[Run], state: Path) -> list[Run]:
    """The last run, and what goes with it: see `read_report`."""
    found = runs[-1:]
    for before in reversed(runs[:-1]):
        first = found[0]
        if _standing(before, state).state == "killed" and before.task == first.task:
            found.insert(0, before)
        elif any(each.turns for each in found) or _standing(found[-1], state).state == "running":
            break
        elif before.turns:
            found.insert(0, before)
    return found


def _together(parts: list[Run]) -> Run:
    first, last = parts[0], parts[-1]
    return replace(
        last,
        id=" + ".join(each.id for each in parts),
        began=first.began,
        turns=tuple(turn for each in parts for turn in each.turns),
        waits=tuple(wait for each in parts for wait in each.waits),
        checks=tuple(check for each in parts for check in each.checks),
        changes=tuple(change for each in parts for change in each.changes),
        branch=first.branch,
        heads=(first.heads[0], last.heads[1]),
        plans=(first.plans[0], last.plans[1]),
    )


def _runs(logs: Path, skipped: Counter[Path]) -> list[Run]:
    found: dict[str, Run] = {}
    waits: dict[str, list[Wait]] = {}
    checks: dict[str, list[CheckRun]] = {}
    changes: dict[str, list[ToolChange]] = {}
    for line in _lines(logs / loop_records.RUNS, skipped):
        run_id, at = str(line.get("run")), timestamps.parse_iso(line.get("at")) or 0.0
        if line.get("event") == "waited":
            wait = Wait(str(line.get("reason")), str(line.get("detail")), at, amount(line.get("seconds")) or 0.0)
            waits.setdefault(run_id, []).append(wait)
        elif line.get("event") == "checked":
            took = amount(line.get("seconds")) or 0.0
            why, log = (str(line.get(name) or "") for name in ("why", "log"))
            checks.setdefault(run_id, []).append(CheckRun(whole(line.get("turn")) or 0, why, at, took, log))
        elif line.get("event") == "tool":
            tool, before, why = (str(line.get(name) or "") for name in ("tool", "before", "why"))
            changes.setdefault(run_id, []).append(ToolChange(tool, before, why, at))
        elif line.get("event") in ("began", "ended"):
            found[run_id] = _with_event(found.get(run_id) or Run(id=run_id), line, at)
    turns: dict[str, list[TurnRecord]] = {}
    for line in _lines(logs / loop_records.TURNS, skipped):
        run_id = str(line.get("run"))
        turn = read_turn(line)
        if turn is None:
            continue  # a line that isn't ours
        turns.setdefault(run_id, []).append(turn)
        if run_id not in found:  # of a release that kept no history
            found[run_id] = Run(id=run_id, tool=str(line.get("tool") or ""), began=turn.began)
    runs = [
        replace(
            run,
            began=run.began or _first_sign(run, turns.get(run.id, ())),
            turns=tuple(turns.get(run.id, ())),
            waits=tuple(waits.get(run.id, ())),
            checks=tuple(checks.get(run.id, ())),
            changes=tuple(changes.get(run.id, ())),
        )
        for run in found.values()
    ]
    return sorted(runs, key=lambda run: run.began)


def _first_sign(run: Run, turns: Iterable[TurnRecord]) -> float:
    """When a run began at the latest, where a turn has taken the line away that says so."""
    return min((turn.began for turn in turns), default=run.ended or 0.0)


def _with_event(run: Run, line: dict[str, Any], at: float) -> Run:
    head = commit_id(line.get("head"))
    counts = _counts(line.get("plan"))
    if line.get("event") == "began":
        branch = line.get("branch") if isinstance(line.get("branch"), str) else None
        tool = str(line.get("tool"))
        run = replace(run, task=str(line.get("task") or ""))
        return replace(run, tool=tool, began=at, branch=branch, heads=(head, None), plans=(counts, None))
    return replace(
        run,
        ended=at,
        state=str(line.get("verdict")),
        reason=str(line.get("reason")),
        detail=str(line.get("detail")),
        heads=(run.heads[0], head),
        plans=(run.plans[0], counts),
    )


def read_turn(line: dict[str, Any]) -> TurnRecord | None:
    """Read a turn leniently; None: it isn't one. The agent may have written to the file, too."""
    record: dict[str, Any] = {name: line.get(name) for name in _FIELDS}
    if whole(record["turn"]) is None or record["result"] not in RESULTS:
        return None
    refused = record["refused"] if isinstance(record["refused"], list) else ()
    return TurnRecord(
        **record
        | {name: amount(record[name]) for name in _AMOUNTS}
        | {name: str(record[name]) for name in ("error", "session", "permanent") if record[name] is not None}
        | {"tool": str(record["tool"] or ""), "rotated": record["rotated"] is True}
        | {
            "head": commit_id(record["head"]),
            "began": timestamps.parse_iso(record["began"]) or 0.0,
            "seconds": amount(record["seconds"]) or 0.0,
            "status": record["status"] if isinstance(record["status"], int) else None,
            "committed": record["committed"] if isinstance(record["committed"], bool) else None,
            "refused": tuple(map(str, refused)),
            "plan": _counts(record["plan"]),
            "log": str(record["log"] or ""),
            "kind": "review" if record["kind"] == "review" else "",
        }
    )


def commit_id(value: object) -> str | None:
    """The id of a commit as we write it, '' for none yet; None for all else: git might take it for an option."""
    return value if isinstance(value, str) and _COMMIT.fullmatch(value) else None


def _counts(plan: object) -> tuple[int, int] | None:
    done, count = map(whole, plan) if isinstance(plan, list) and len(plan) == 2 else (None, None)
    return None if done is None or count is None else (done, count)


def _lines(path: Path, skipped: Counter[Path]) -> Iterator[dict[str, Any]]:
    """The lines of a file and of what was put aside of it, the oldest first, without those that are no object."""
    for name in (*(f"{path.name}.{number}" for number in range(loop_records.KEPT, 0, -1)), path.name):
        each = path.with_name(name)
        if not each.is_file():
            continue
        with usable(each), open_file(each) as file:
            for line in read_lines(file):
                if line is None:
                    skipped[each] += 1
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield value


def _standing(run: Run, state: Path) -> Run:
    """A run without an end is at work, or was killed."""
    if run.ended is not None:
        return run
    last = max((run.began, *(turn.began + turn.seconds for turn in run.turns)))
    where = standing(state)
    if where.run is None or where.run.run_id != run.id:
        return replace(run, ended=last, state="killed" if run.tool and run.heads != (None, None) else "unknown")
    if where.running:
        return replace(run, state="running")
    if where.run.end is not None:
        return replace(run, ended=where.run.changed, reason=where.run.end)
    return replace(run, ended=max(last, where.run.changed), state="killed")


def _with_git(run: Run, loop: LoopPlace) -> Run:
    before, after = run.heads
    repository = None if before is None else find_repository(loop.project, loop.files)
    if before is None or repository is None:
        return run
    commits, files = work_between(repository, before, repository.head() if after is None else after)
    return replace(run, commits=commits, files=files)


def work_between(
    repository: Repository, before: str, after: str, *words: str
) -> tuple[tuple[Commit, ...] | None, tuple[FileStat, ...] | None]:
    """Ask git what was committed, and what files that changed; None: it doesn't know.

    Args:
        repository: its `files` says which are a loop's own: those, where git has them, are no work.
        before, after: commits; '' for none.
        words: further ones for ``git log``.
    """
    if after in ("", before):
        return (), ()
    span = [f"{before}..{after}"] if before else [after]
    log = repository.run("log", "-z", "--reverse", "--format=%h%x09%s", *words, *span, "--")
    changed = repository.run(
        "diff", "--numstat", "-z", "--no-ext-diff", before or repository.empty_tree(), after, "--"
    )
    if not (log.ok and changed.ok):
        return None, None
    texts = filter(None, log.out.decode("utf-8", "replace").split("\0"))
    commits = tuple(Commit(*text.partition("\t")[::2]) for text in texts)
    files = tuple(each for each in parse_numstat(changed.out) if repository.is_work(each.path))
    return commits, files
