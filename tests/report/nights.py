"""Runs that never were: so many turns, with failures, limits and waits among them, always the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.git.tree import FileStat
from bridge.loop.engine.turn_records import TurnRecord
from bridge.loop.report.run_report import Commit, Report, Run, Wait

if TYPE_CHECKING:
    from bridge.loop.engine.turn_records import Result

_BEGAN = 1_795_300_000.0
_ERRORS: dict[Result, str] = {
    "failed": "claude exited with 1: API Error: Overloaded",
    "timeout": "it was ended after 10 min",
    "limit": "usage limit reached, resets 3am",
}


class Night(Report):
    """A report of one run."""

    @property
    def run(self) -> Run:
        """That run."""
        return self.runs[0]


def night(turns: int) -> Night:
    """Make up a run of so many turns."""
    rng = random.Random(turns)
    now, done, total = _BEGAN, 3, 24
    records: list[TurnRecord] = []
    waits: list[Wait] = []
    for number in range(1, turns + 1):
        seconds = rng.uniform(40, 600)
        result: Result = rng.choices(("success", "failed", "timeout", "limit"), (86, 7, 4, 3))[0]
        done = min(done + (result == "success" and rng.random() < 0.5), total)
        records.append(
            TurnRecord(
                turn=number,
                began=now,
                seconds=seconds,
                result=result,
                status=0 if result == "success" else 1,
                error=_ERRORS.get(result),
                session="01a1f914",
                files_changed=rng.randint(0, 6),
                committed=True,
                log=f".ralph/logs/driver_output_{number}_2026-11-22_23-38-11.log",
                input_tokens=rng.randint(1000, 40000),
                output_tokens=rng.randint(200, 4000),
                cached_tokens=rng.randint(0, 90000),
                cost_usd=rng.uniform(0.02, 0.5),
                refused=("Bash(npm install left-pad)",) if rng.random() < 0.05 else (),
                plan=(done, total),
            )
        )
        now += seconds + 1
        if result != "success":
            limit = result == "limit"
            reason, detail = ("api_limit", "it resets at 03:00") if limit else ("retry", "after a failure")
            waits.append(Wait(reason, detail, now, 3000.0 if limit else 5.0))
            now += waits[-1].seconds
    commits = tuple(Commit(f"{rng.getrandbits(28):07x}", f"Tests for the parser, {part}") for part in range(turns))
    files = tuple(FileStat(f"src/part_{part}/parser.py", rng.randint(1, 400), part) for part in range(turns // 2))
    run = Run(
        id=f"{_BEGAN:.0f}-ab12cd34",
        tool="driver claude-code",
        began=_BEGAN,
        ended=now,
        state="incomplete",
        reason="max_iterations",
        detail=f"all {turns} iterations are used up",
        turns=tuple(records),
        waits=tuple(waits),
        branch="main",
        heads=("a", "b"),
        plans=((3, total), (done, total)),
        commits=commits,
        files=files,
    )
    return Night(Path("/home/me/my-project"), "bmalph", (run,), Path("/home/me/my-project/.ralph/logs"))
