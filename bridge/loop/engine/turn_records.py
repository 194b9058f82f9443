"""What is recorded of each turn and each run, in the same shape in every setup: ``logs/turns.jsonl`` and
``logs/runs.jsonl`` (docs/turn-records.md). Pure."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from bridge.base import timestamps
from bridge.base.json_ready import members
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

TURNS, RUNS = "turns.jsonl", "runs.jsonl"
MOST_BYTES = 8 * 1024 * 1024
KEPT = 2
SESSIONS = 8
"""Sessions that are counted side by side: of a loop's own tool, those that stand in for it, a reviewer."""

Result = Literal["success", "failed", "timeout", "limit", "interrupted"]
RESULTS: tuple[str, ...] = get_args(Result)


@dataclass(frozen=True, slots=True, kw_only=True)
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
        context_tokens: of the session behind it: what the model's last call was given, and made; None: unknown.
        context_window: how many the model's context holds; None: unknown.
        rotated: the next turn begins a fresh session, because this one's context was full to its bound.
        tool: which one, of a loop that has several; '': the run's.
        kind: ``review`` of one that has reviewed what others did, and is no iteration's; else ''.
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
    context_tokens: float | None = None
    context_window: float | None = None
    rotated: bool = False
    tool: str = ""
    kind: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give it ready for JSON, with the names that a line of ``turns.jsonl`` has."""
        return members(self) | _times(self)

    @property
    def failed(self) -> bool:
        """Whether it brought nothing: one that ran out of time with work done has no error."""
        return self.result == "failed" or (self.result == "timeout" and self.error is not None)


def begun(turn: int, began: float, log: Path, project: Path) -> TurnRecord:
    shown = os.path.relpath(log, project)
    return TurnRecord(turn=turn, began=began, seconds=0.0, result="interrupted", log=shown)


def interrupted(record: TurnRecord, why: str, now: float) -> TurnRecord:
    return replace(record, seconds=max(now - record.began, 0.0), error=why)


class Spent(NamedTuple):
    """What a run has used so far, the runs that it goes on with included.

    Attributes:
        cost_usd, tokens: in and out; of turns that reported any.
        hour: the clock hour that was counted last, as ``2026112219``; '' before the first turn.
        hour_tokens: used in it.
        sessions: of tools whose counts grow over a whole session: its id, and tokens in, out and cached so far; of
            the last few, the newest at the end.
    """

    cost_usd: float = 0.0
    tokens: float = 0.0
    hour: str = ""
    hour_tokens: float = 0.0
    sessions: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def with_session(self, session: str, counts: tuple[float, ...]) -> Spent:
        others = tuple(each for each in self.sessions if each[0] != session)
        return self._replace(sessions=(*others, (session, counts))[-SESSIONS:])

    def with_turn(self, record: TurnRecord, now: datetime) -> Spent:
        tokens, hour = (record.input_tokens or 0) + (record.output_tokens or 0), timestamps.hour(now.timestamp())
        return self._replace(
            cost_usd=self.cost_usd + (record.cost_usd or 0.0),
            tokens=self.tokens + tokens,
            hour=hour,
            hour_tokens=tokens + (self.hour_tokens if hour == self.hour else 0.0),
        )

    def anew(self) -> Spent:
        """What the next run begins with that doesn't go on with this one: hour and sessions are the same."""
        return self._replace(cost_usd=0.0, tokens=0.0)


NOTHING = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What the turns of one run came to together.

    Attributes:
        turns: how many there were, limits that were waited out aside.
        failures: how many of them failed.
        seconds: of all turns.
        commits: how many turns moved HEAD; None: nobody looked.
        tokens, cost_usd: None: no turn reported any.
    """

    turns: int = 0
    failures: int = 0
    seconds: float = 0.0
    commits: int | None = None
    tokens: float | None = None
    cost_usd: float | None = None

    def with_turn(self, record: TurnRecord) -> Totals:
        counts = [each for each in (record.input_tokens, record.output_tokens) if each is not None]
        return Totals(
            turns=self.turns + (record.result != "limit" and not record.kind),
            failures=self.failures + (record.failed and not record.kind),
            seconds=self.seconds + record.seconds,
            commits=self.commits if record.committed is None else (self.commits or 0) + record.committed,
            tokens=(self.tokens or 0) + sum(counts) if counts else self.tokens,
            cost_usd=self.cost_usd if record.cost_usd is None else (self.cost_usd or 0.0) + record.cost_usd,
        )


NO_TURNS = Totals()


def totals_of(turns: Iterable[TurnRecord]) -> Totals:
    return reduce(Totals.with_turn, turns, NO_TURNS)


def facts(record: TurnRecord) -> dict[str, Any]:
    found = asdict(record)
    if record.permanent is None:
        del found["permanent"]
    for name in ("tool", "kind", "rotated"):
        if not found[name]:
            del found[name]
    return found


def turn_line(record: TurnRecord, run: str, tool: str) -> dict[str, Any]:
    return {"schema": 1, "run": run, "tool": tool, **facts(record), **_times(record)}


def _times(record: TurnRecord) -> dict[str, Any]:
    return {"began": timestamps.iso_precise(record.began), "seconds": round(record.seconds, 3)}
