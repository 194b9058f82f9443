"""tasks.json of Task Master, in both shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.tasks import open_source
from bridge.loop.tasks.task import Asked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.loop.tasks.task import Source

TASKS: list[dict[str, Any]] = [
    {"id": 1, "title": "Set up", "status": "done", "dependencies": []},
    {
        "id": 2,
        "title": "Read names",
        "description": "From a file.",
        "details": "UTF-8 only.",
        "testStrategy": "An empty file.",
        "status": "in-progress",
        "priority": "low",
        "dependencies": [1],
        "subtasks": [
            {"id": 1, "title": "Open it", "status": "done", "dependencies": []},
            {"id": 2, "title": "Split it", "description": "By lines.", "status": "pending", "dependencies": [1]},
        ],
    },
    {"id": "3", "title": "Print names", "status": "pending", "priority": "high", "dependencies": ["2.2"]},
    {"id": 4, "title": "Use the open file", "priority": "medium", "dependencies": ["2.1"]},
    {"id": 5, "title": "Some day", "status": "deferred"},
    {"id": 6, "title": "Behind that", "status": "pending", "dependencies": [5]},
    {"id": 7, "title": "Behind both", "status": "pending", "dependencies": [6, 2]},
]


def source(project: Path, document: object, tell: Callable[[str], None] = lambda _: None) -> Source:
    path = project / ".taskmaster" / "tasks" / "tasks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))
    return open_source("taskmaster:", Asked(project=project, tell=tell))


@pytest.mark.parametrize("document", [{"master": {"tasks": TASKS, "metadata": {}}}, {"tasks": TASKS, "meta": {}}])
def test_both_shapes_give_what_is_open(tmp_path: Path, document: object) -> None:
    notes: list[str] = []
    found = source(tmp_path, document, notes.append).tasks()
    assert [(each.id, each.ref, each.priority, each.needs) for each in found] == [
        ("2-read-names", "2", 3.0, ()),
        ("3-print-names", "3", 1.0, ("2-read-names",)),
        ("4-use-the-open-file", "4", 2.0, ()),
    ]
    assert found[0].prompt == (
        "Read names\n\nFrom a file.\n\nUTF-8 only.\n\nHow it is tested: An empty file.\n\n"
        "- [x] 2.1 Open it\n\n- [ ] 2.2 Split it\n  By lines."
    )
    (note,) = notes
    assert note.endswith("neither open nor done: 6, 7")


def test_what_is_done_is_changed_in_place_with_its_subtasks(tmp_path: Path) -> None:
    text = json.dumps({"master": {"tasks": TASKS}}, indent="\t").replace('"id": 2', '"id" :2') + "\n"
    opened = source(tmp_path, text)
    path = tmp_path / ".taskmaster" / "tasks" / "tasks.json"
    tasks = {each.ref: each for each in opened.tasks()}
    opened.done(tasks["2"], "", close=True)
    once = text.replace('"in-progress"', '"done"').replace(
        '"By lines.",\n\t\t\t\t\t\t"status": "pending"', '"By lines.",\n\t\t\t\t\t\t"status": "done"'
    )
    assert path.read_text() in (once, once.replace("\t\t\t\t\t\t", "\t\t\t\t\t\t"))
    opened.done(tasks["2"], "", close=True)
    assert path.read_text() == once
    opened.done(tasks["4"], "", close=True)
    assert [each.get("status") for each in json.loads(path.read_text())["master"]["tasks"][:4]] == [
        "done",
        "done",
        "pending",
        "done",
    ]


def test_the_current_tag_counts(tmp_path: Path) -> None:
    document = {"next": {"tasks": [{"id": 1, "title": "Later"}]}, "master": {"tasks": [{"id": 1, "title": "Now"}]}}
    assert [each.title for each in source(tmp_path, document).tasks()] == ["Now"]
    state = tmp_path / ".taskmaster" / "state.json"
    state.write_text('{"currentTag": "next"}')
    opened = source(tmp_path, document)
    (later,) = opened.tasks()
    assert (later.title, later.ref) == ("Later", "next 1")
    opened.done(later, "", close=True)
    after = json.loads((state.parent / "tasks" / "tasks.json").read_text())
    assert [after[tag]["tasks"][0].get("status") for tag in ("next", "master")] == ["done", None]
    state.write_text('{"currentTag": "gone"}')
    with pytest.raises(ConfigurationError, match=r"no tag gone, which is the current one\n.*next, master"):
        source(tmp_path, document).tasks()


@pytest.mark.parametrize(
    ("tasks", "wrong"),
    [
        ([{"id": 1, "dependencies": [9]}], r"tasks\.json:4: 1 needs '9', which is no task"),
        ([{"id": 1, "dependencies": [2]}, {"id": 2, "dependencies": ["1"]}], "wait for each other: 1 → 2 → 1"),
        ([{"id": 1}, {"id": "1"}], r"tasks\.json:7:\d+: id 1 comes twice"),
        ([{"title": "a"}], r"tasks\.json:4:\d+: a task has no id"),
        (["a"], r"tasks\.json:4:\d+: a task is a text"),
        ([{"id": 1, "status": "done"}], "no task can be begun"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, tasks: object, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=wrong):
        source(tmp_path, {"master": {"tasks": tasks}}).tasks()


@pytest.mark.parametrize("document", ["[]", '{"a": 1}', "{"])
def test_another_file_is_refused(tmp_path: Path, document: str) -> None:
    with pytest.raises(ConfigurationError, match=r"tasks\.json:1:"):
        source(tmp_path, document).tasks()
