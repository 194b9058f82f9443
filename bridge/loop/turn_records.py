"""One record per turn, the same shape in every setup: ``logs/turns.jsonl`` (docs/turn-records.md)."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, get_args

from bridge import timestamps
from bridge.loop.caps import NOTHING
from bridge.loop.logs import append_line
from bridge.records import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from bridge.loop.caps import Caps, Spent
    from bridge.stream.events.base import Usage

FILE = "turns.jsonl"
MOST_BYTES = 8 * 1024 * 1024
KEPT = 2

Result = Literal["success", "failed", "timeout", "limit", "interrupted"]
RESULTS: tuple[str, ...] = get_args(Result)


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What a turn came to.

    Attributes:
        turn: its number; attempts that were repeated have the same one.
        began: seconds since the epoch.
        seconds: how long it took.
        result: ``limit`` is a provider's limit, which is waited out.
        status: exit status of the tool; minus the number of the signal that ended it; None: not known.
        error: why it failed, or None.
        session: the session that it left behind, or None.
        files_changed: None: nobody looked.
        refused: tools that it was refused, each ``Tool`` or ``Bash(command)``.
        plan: tasks done and tasks in all after it; None: there is no plan.
        head: the commit that was checked out after it, '' without one; None: nobody looked.
        committed: HEAD moved, be it by a checkpoint of the loop's; None: nobody looked.
        permanent: why no repetition would mend its failure, a word; or None.
        log: what it printed, relative to the project; '' where nothing is kept.
        input_tokens, output_tokens, cost_usd: of this turn alone; None: the tool doesn't say.
        cached_tokens: read from the provider's cache; whether the input's count has them in it differs from tool to
            tool.
    """

    turn: int
    began: float
    seconds: float
    result: Result
    status: int | None = None
    error: str | None = None
    session: str | None = None
    files_changed: int | None = None
    committed: bool | None = None
    log: str = ""
    input_tokens: float | None = None
    output_tokens: float | None = None
    cached_tokens: float | None = None
    cost_usd: float | None = None
    refused: tuple[str, ...] = ()
    plan: tuple[int, int] | None = None
    head: str | None = None
    permanent: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it brought nothing: one that ran out of time with work done has no error."""
        return self.result == "failed" or (self.result == "timeout" and self.error is not None)


def begun(turn: int, began: float, log: Path, project: Path) -> TurnRecord:
    """A turn that nobody has seen the end of yet, for :func:`interrupted`."""
    return TurnRecord(turn, began, 0.0, "interrupted", log=os.path.relpath(log, project))


def interrupted(record: TurnRecord, why: str, now: float) -> TurnRecord:
    """The record of a turn that ends here together with its loop."""
    return replace(record, seconds=max(now - record.began, 0.0), error=why)


@dataclass(frozen=True, slots=True)
class Totals:
    """What the turns of one run came to together.

    Attributes:
        turns: how many there were, limits that were waited out aside.
        failures: how many of them failed.
        seconds: of all turns.
        commits: how many turns moved HEAD; None: nobody looked.
        tokens, cost_usd: None: no turn told.
    """

    turns: int = 0
    failures: int = 0
    seconds: float = 0.0
    commits: int | None = None
    tokens: float | None = None
    cost_usd: float | None = None

    def with_turn(self, record: TurnRecord) -> Totals:
        """Count one more."""
        counts = [each for each in (record.input_tokens, record.output_tokens) if each is not None]
        return Totals(
            self.turns + (record.result != "limit"),
            self.failures + record.failed,
            self.seconds + record.seconds,
            self.commits if record.committed is None else (self.commits or 0) + record.committed,
            (self.tokens or 0) + sum(counts) if counts else self.tokens,
            (self.cost_usd or 0.0) + record.cost_usd if record.cost_usd is not None else self.cost_usd,
        )


NO_TURNS = Totals()


def totals_of(turns: Iterable[TurnRecord]) -> Totals:
    """What these turns came to together."""
    return reduce(Totals.with_turn, turns, NO_TURNS)


class Tally:
    """Adds up the turns of one run. Pure.

    Args:
        caps: with the prices of tokens.
        spent: what a run that this one goes on with had used.
    """

    def __init__(self, caps: Caps, spent: Spent = NOTHING) -> None:
        self._caps = caps
        self.totals = Totals()
        self.spent = spent
        self.untold: set[str] = set()

    def add(self, record: TurnRecord, usage: Usage | None, now: datetime, *, resumed: bool = False) -> TurnRecord:
        """Count a turn; return its record with what it used.

        Args:
            record: the turn's.
            usage: what the tool says; None: nothing. Of a count that grows over a whole session (codex), only what
                has been added since the session's last turn is this turn's.
            now: local time, with its zone.
            resumed: it went on with a session.
        """
        if usage is not None:
            record = self._caps.priced(self._used(record, usage, resumed=resumed))
        if record.result == "success":
            if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
                self.untold.add("tokens")
            if record.cost_usd is None:
                self.untold.add("cost")
        self.totals = self.totals.with_turn(record)
        self.spent = self.spent.with_turn(record, now)
        return record

    def _used(self, record: TurnRecord, usage: Usage, *, resumed: bool) -> TurnRecord:
        counts: tuple[float | None, ...] = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
        if usage.cumulative and record.session and None not in counts[:2]:
            before, so_far = self.spent, tuple(count or 0.0 for count in counts)
            self.spent = before._replace(session=record.session, session_counts=so_far)
            if record.session == before.session:
                pairs = zip(counts, before.session_counts, strict=True)
                counts = tuple(None if now is None else max(now - then, 0) for now, then in pairs)
            elif resumed:  # nobody has counted that session: which part is this turn's can't be known
                counts = None, None, None
        given, made, cached = counts
        return replace(
            record, input_tokens=given, output_tokens=made, cached_tokens=cached, cost_usd=usage.total_cost_usd
        )


def facts(record: TurnRecord) -> dict[str, Any]:
    """Give what a record holds, for JSON; `permanent` only where there is such a failure."""
    found = asdict(record)
    if record.permanent is None:
        del found["permanent"]
    return found


class TurnRecords:
    """Writes the records of one run.

    Args:
        folder: of the logs; made if need be.
        run_id: of the run.
        tool: what it runs, such as ``driver codex``.
    """

    def __init__(self, folder: Path, *, run_id: str, tool: str) -> None:
        self._path = folder / FILE
        self._head = {"schema": 1, "run": run_id, "tool": tool}

    def write(self, record: TurnRecord) -> None:
        """Append one record.

        Raises:
            bridge.errors.ProjectUnusable: the file can't be written.
        """
        times = {"began": timestamps.iso_precise(record.began), "seconds": round(record.seconds, 3)}
        line = {**self._head, **facts(record), **times}
        append_line(self._path, to_json(line, compact=True), max_bytes=MOST_BYTES, keep=KEPT)
