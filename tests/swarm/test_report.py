"""``swarm report``, on records made by hand: what was put down is told alike in every format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from bridge.base.git.fresh import begin_repository
from bridge.loop.swarm import report_formats
from bridge.loop.swarm.project import open_project
from bridge.loop.swarm.report import SwarmReport, read_swarm_report
from bridge.loop.swarm.swarm_record import RecordWriter, SwarmRecord, TaskRecord
from bridge.loop.tasks.task import Task
from tests.report.test_html import _Page

if TYPE_CHECKING:
    from bridge.loop.swarm.project import SwarmProject

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "swarm-report.schema.json").read_text())
EVIL = "<img src=x onerror=alert(1)>"
BEGAN = 1_795_300_000.0
FORMATS = (report_formats.text, report_formats.markdown, report_formats.json, report_formats.html)


@pytest.fixture
def opened(tmp_path: Path) -> SwarmProject:
    folder = tmp_path / "project"
    (folder / ".ralph").mkdir(parents=True)
    (folder / ".ralph/@fix_plan.md").write_text("- [ ] one\n")
    who = {"user.name": "t", "user.email": "t@example.org"}
    begin_repository(folder, os.environ, "first", who)
    return open_project(folder)


def _event(kind: str, at: float, attempt: int = 1, **facts: Any) -> dict[str, Any]:
    return {"event": kind, "at": BEGAN + at, "attempt": attempt, **facts}


def _turn(number: int, at: float, seconds: float, **facts: Any) -> dict[str, Any]:
    told = {"turn": number, "result": "success", "seconds": seconds, "input_tokens": 100, "output_tokens": 20}
    return _event("turn-ended", at, **{**told, "cost_usd": 0.5, "error": None, **facts})


EVENTS: dict[str, list[dict[str, Any]]] = {
    "one": [
        _event("started", 2, worker=0),
        _turn(1, 60, 50),
        _turn(2, 100, 40, result="failed", error=EVIL, cost_usd=None),
        _event("ended", 101, verdict="complete"),
    ],
    "two": [
        _event("started", 3, worker=1),
        _turn(1, 30, 20),
        _event("ended", 31, verdict="complete"),
        _event("started", 104, 2, worker=0),
        _turn(1, 117, 10, attempt=2),
        _event("ended", 118, 2, verdict="complete"),
    ],
    "three": [_event("started", 35, worker=1)],
}


def _task(name: str, began: float, ended: float, **facts: Any) -> TaskRecord:
    facts = {"step": "done", "worker": 0, "attempt": 1, "turns": 1, "branch": f"ralph/task/r/{name}", **facts}
    return TaskRecord(Task(name, f"{name} {EVIL}", "Do it."), began=BEGAN + began, ended=BEGAN + ended, **facts)


@pytest.fixture
def report(opened: SwarmProject) -> SwarmReport:
    """One is merged; two conflicts twice; three's worker was killed; four was never begun."""
    head = opened.repository().head()
    record = SwarmRecord(
        run="r",
        project=str(opened.folder),
        kind="plain",
        base=head,
        branch="ralph/swarm/r",
        tasks=[
            _task("one", 1, 102, outcome="merged", turns=2, merge_began=BEGAN + 103, merge_ended=BEGAN + 105),
            _task("two", 103, 119, outcome="conflict", attempt=2, detail=EVIL, older=["ralph/old"]),
            _task("three", 34, 120, outcome="lost", worker=1, turns=0, unsaved="a full disk", tree="/tree"),
            TaskRecord(Task("four", "four", "Do it.")),
        ],
        jobs=2,
        began=BEGAN,
        ended=BEGAN + 121,
        end="not all merged",
    )
    folder = opened.swarms / "r"
    for name, events in EVENTS.items():
        (folder / "tasks" / name).mkdir(parents=True)
        lines = "".join(json.dumps(each) + "\n" for each in events)
        (folder / "tasks" / name / "events.jsonl").write_text(f"{lines}not json\n[]\n" + '{"event": "torn')
    RecordWriter(folder, record).write()
    return read_swarm_report(opened, record, folder, BEGAN + 500)


def test_what_the_workers_told_is_added_up(report: SwarmReport) -> None:
    document = report_formats.document(report)
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    expected = {"turn_count": 4, "failures": 1, "tokens": 480, "cost_usd": 1.5, "seconds": 121.0, "merged": 1}
    assert {name: document[name] for name in expected} == expected
    assert document["outcomes"] == {"merged": 1, "conflict": 1, "lost": 1, "waiting": 1}
    attempts = [(each.task, each.number, each.worker, each.seconds, each.outcome) for each in report.attempts]
    assert attempts == [
        ("one", 1, 0, 101.0, "merged"),
        ("two", 1, 1, 28.0, "begun anew"),
        ("three", 1, 1, 86.0, "lost"),
        ("two", 2, 0, 16.0, "conflict"),
    ]
    assert report.seconds_merging == 2.0


def test_a_lane_for_each_worker_and_one_for_the_merges(report: SwarmReport) -> None:
    lanes = {name: [span.number for span in spans] for name, spans in report.lanes().items()}
    assert lanes == {"worker 0": [0, 3], "worker 1": [1, 2], "merges": [4]}
    page = report_formats.html(report)
    pieces = [attributes["title"] for tag, attributes in _Page(page).tags if tag == "a" and "style" in attributes]
    assert [(each or "").partition(",")[0] for each in pieces] == ["one", "two", "two", "three", "merge of one"]
    shown = report_formats.text(report)
    assert f"worker 1  .|{'x' * 16}.|xxx" in shown
    assert shown.count("merges    ") == 1


def test_what_can_be_done_stands_in_every_format(report: SwarmReport) -> None:
    for render in FORMATS:
        shown = render(report).replace("\\", "").replace("&#39;", "'")
        for words in ("ralph/task/r/two", "ralph/old", "swarm resume r --retry lost", "full disk"):
            assert words in shown, (render, words)


def test_what_an_agent_wrote_is_text(report: SwarmReport) -> None:
    page = _Page(report_formats.html(report))
    assert not [tag for tag, _ in page.tags if tag in ("img", "script")]
    assert page.words.count(EVIL) >= 4
    assert "<img" not in report_formats.markdown(report)
    assert EVIL in report_formats.text(report)


def test_a_swarm_of_which_nothing_is_known_yet(opened: SwarmProject) -> None:
    tasks = [TaskRecord(Task("one", "one", "Do it."))]
    record = SwarmRecord(
        run="r",
        project=str(opened.folder),
        kind="plain",
        base="",
        branch="ralph/swarm/r",
        tasks=tasks,
        began=BEGAN,
    )
    report = read_swarm_report(opened, record, opened.swarms / "r", BEGAN + 5)
    jsonschema.validate(report_formats.document(report), SCHEMA)
    for render in FORMATS:
        assert "killed" in render(report)
