"""What became of tasks, as the loop's folder keeps it; and what somebody else may have written there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.engine.events import TasksStand
from bridge.loop.engine.store import TASKS, Store
from bridge.loop.tasks.task import Task
from bridge.loop.tasks.tasks_record import Became, TasksRecord, keys, read_tasks

if TYPE_CHECKING:
    from pathlib import Path

BECAME: dict[str, Any] = {
    "id": "a",
    "title": "A",
    "ref": "#1",
    "run": "run-1",
    "outcome": "done",
    "told": ["begun"],
}
WHOLE: dict[str, Any] = {"source": "prd:prd.json", "run": "run-1", "under_way": "", "tasks": {"k": BECAME}}


def written(folder: Path, document: object) -> TasksRecord | None:
    (folder / TASKS).write_text(document if isinstance(document, str) else json.dumps(document))
    return read_tasks(folder)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    became = Became(id="a", title="A", ref="#1", run="run-1", outcome="done", reason="x", turns=2, seconds=1.5)
    became.cost_usd, became.tokens, became.told, became.closed = 0.25, 7, ["begun", "done"], True
    record = TasksRecord(source="prd:prd.json", run="run-1", ended=True, under_way="k", cost_usd=0.25, tokens=7)
    record.tasks["k"] = became
    Store(tmp_path).record(TasksStand(record.document()))
    assert read_tasks(tmp_path) == record


@pytest.mark.parametrize(
    "document",
    ["", "{", "[]", "null", {}, WHOLE | {"source": 7}, WHOLE | {"run": None}, WHOLE | {"under_way": []}],
    ids=str,
)
def test_what_is_no_record_counts_as_none(document: object, tmp_path: Path) -> None:
    assert written(tmp_path, document) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, {}),
        ({"k": 7, "l": []}, {}),
        ({"k": BECAME | {"outcome": "merged"}}, {"k": ""}),
        ({"k": BECAME | {"turns": -1, "seconds": 1e309, "cost_usd": "x", "told": {"a": 1}}}, {"k": "done"}),
    ],
    ids=str,
)
def test_what_no_task_can_have_become_is_left_out(value: object, expected: dict[str, str], tmp_path: Path) -> None:
    found = written(tmp_path, WHOLE | {"tasks": value})
    assert found is not None
    assert {key: each.outcome for key, each in found.tasks.items()} == expected
    for each in found.tasks.values():
        assert (each.turns, each.seconds, each.cost_usd, each.told) in [(0, 0, None, ["begun"]), (0, 0, None, [])]


def test_a_task_keeps_its_key_when_its_words_change_and_its_source_has_a_name_for_it() -> None:
    first, second = Task("1", "A", "do", ref="#1"), Task("1", "B", "do more", ref="#1")
    assert [*keys([first])] == [*keys([second])]
    assert [*keys([Task("1", "A", "do")])] != [*keys([Task("1", "A", "do more")])]
    same = Task("1", "A", "do"), Task("2", "A", "do")
    assert len(keys(same)) == 2, "two that are alike are two"
    assert [*keys(same)][:1] == [*keys(same[1:])]
