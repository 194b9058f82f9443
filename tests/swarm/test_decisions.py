"""What is decided about a pull request, by what is seen of it: each row as little as it takes."""

from __future__ import annotations

from typing import Any

from bridge.loop.swarm.checks import Check, Review, Seen, last_lines
from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord
from bridge.loop.swarm.watch import Decision, Looked, Standing, decide, follow
from bridge.loop.tasks.task import Task

PULL = {"number": 7, "url": "https://github.com/acme/app/pull/7", "state": "OPEN", "draft": False, "head": "new"}
PASSES, FAILS, WAITS, CANCELLED = (Check(each, each) for each in ("pass", "fail", "pending", "cancel"))
ALICE = Review("R1", "alice", "Rename it.")


def decision(*checks: Check, **more: Any) -> Decision:
    pull, task, refused = more.pop("pull", {}), more.pop("task", {}), more.pop("refused", "")
    waited = more.pop("waited", 100.0)
    of_seen = {name: more.pop(name) for name in ("decision", "mergeable", "status", "reviews") if name in more}
    known = TaskRecord(Task("t", "T", "Do it."), merge="new", pushed="old", pull=PULL, **task)
    record = SwarmRecord(
        run="r", project="", kind="plain", base="", branch="", tasks=[known], into="main", watch=True, **more
    )
    seen = Seen(pull={**PULL, **pull}, checks=checks, **of_seen)
    return decide(Standing(seen, known, record, waited, 60.0, refused))


def test_what_is_decided() -> None:
    late: dict[str, Any] = {"waited": 3600.0}
    merge: dict[str, Any] = {"merge": True}
    rows: list[tuple[Decision, str, str]] = [
        (decision(PASSES), "done", ""),
        (decision(), "done", ""),
        (decision(waited=59), "wait", "checks"),
        (decision(PASSES, waited=59, status="BLOCKED"), "wait", "checks"),
        (decision(PASSES, waited=59, status="BLOCKED", decision="REVIEW_REQUIRED"), "done", ""),
        (decision(PASSES, WAITS, FAILS), "wait", "checks"),
        (decision(PASSES, WAITS, FAILS, **late), "mend", "checks"),
        (decision(WAITS, **late), "over", "checks"),
        (decision(FAILS), "mend", "checks"),
        (decision(FAILS, task={"rounds": 2}), "over", "checks"),
        (decision(FAILS, fix_rounds=0), "over", "checks"),
        (decision(FAILS, task={"rounds": 1, "reason": "unchanged"}), "over", "checks"),
        (decision(PASSES, mergeable="UNKNOWN", waited=59), "wait", "conflict"),
        (decision(PASSES, mergeable="UNKNOWN"), "done", ""),
        (decision(CANCELLED), "over", "checks"),
        (decision(FAILS, pull={"state": "MERGED"}), "done", ""),
        (decision(pull={"state": "CLOSED"}), "done", "closed"),
        (decision(pull={"head": "old"}), "wait", "checks"),
        (decision(pull={"head": "old"}, **late), "over", "checks"),
        (decision(FAILS, pull={"head": "theirs"}), "over", "foreign"),
        (decision(FAILS, mergeable="CONFLICTING"), "mend", "conflict"),
        (decision(mergeable="CONFLICTING", task={"onto": "b"}), "over", "conflict"),
        (decision(PASSES, reviews=(ALICE,)), "mend", "review"),
        (decision(FAILS, reviews=(ALICE,)), "mend", "checks"),
        (decision(WAITS, reviews=(ALICE,)), "wait", "checks"),
        (decision(PASSES, reviews=(ALICE,), task={"answered": ["R1"]}), "done", ""),
        (decision(PASSES, decision="CHANGES_REQUESTED", **merge), "wait", "review"),
        (decision(PASSES, decision="REVIEW_REQUIRED", **merge, **late), "over", "review"),
        (decision(PASSES, decision="APPROVED", **merge), "merge", ""),
        (decision(PASSES, **merge), "merge", ""),
        (decision(PASSES, status="BEHIND", **merge), "update", "merge"),
        (decision(PASSES, status="BEHIND"), "done", ""),
        (decision(PASSES, task={"onto": "b"}, **merge), "done", ""),
        (decision(PASSES, refused="no", **merge), "wait", "merge"),
        (decision(PASSES, refused="no", **merge, **late), "over", "merge"),
    ]  # fmt: skip
    for number, (found, kind, about) in enumerate(rows):
        assert (found.kind, found.about) == (kind, about), (number, found)


def test_a_round_is_counted_with_what_it_answers_in_one_piece() -> None:
    task = TaskRecord(Task("t", "T", ""), step="watched", merge="one", pull=PULL)
    record = SwarmRecord(run="r", project="", kind="plain", base="", branch="", tasks=[task])
    looked = Looked(Decision("mend", "review", "alice asked", reviews=(ALICE,)), PULL, "passed", "Rename it.")
    assert follow(task, looked, record) == "alice asked; turn 1 of 2 to mend it begins"
    assert (task.step, task.pushed, task.merge, task.rounds, task.answered) == ("waiting", "one", "", 1, ["R1"])


def test_of_a_log_the_end_is_kept_within_bounds() -> None:
    line = b"build\tRun\t2026-01-02T03:04:05.1234567Z "
    log = b"".join(line + b"%d\n" % number for number in range(100_000))
    assert last_lines(log).splitlines() == [str(number) for number in range(99_850, 100_000)]
    assert len(last_lines(b"\xff" * 10**7, 5_000).encode()) <= 5_000
    assert last_lines(b"") == last_lines(line + b"\x1b[0m\n") == ""
