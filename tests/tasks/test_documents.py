"""Plans of ralphex, spec-kit and OpenSpec, as they are written there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.tasks import open_source
from bridge.loop.tasks.task import Asked, NothingOpen

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.tasks.task import Source, Task

PLAN = """\
# Names

## Overview
- [ ] no task: it stands in no task's section

## Validation Commands
- `make test`

### Task 1: Read names
- [x] write the reader
- [x] add tests

### Task 2: Write names
From a list.

- [x] write the writer
  - [ ] with a newline at the end
- [ ] add tests
- [ ] the format is `- [ ] name`

```markdown
### Task 9: an example
- [ ] of a plan
```

#### Files
- [ ] update the list of files

### Iteration 2a: Sort them
- [ ] add tests

### Task 3: nothing to tick

## Success criteria
- [ ] no task either
"""
FEATURE = """\
# Tasks: names

**Format**: `[ID] [P?] [Story] Description`

## Phase 1: Setup

- [x] T001 Create the project
- [ ] T002 Add the linter
- [ ] T003 [P] Add the formatter
- [ ] T004 [P] Add the hooks

## Phase 2: User Story 1 (P1)

### Tests

- [ ] T005 [P] [US1] Test reading in tests/test_read.py

### Implementation

- [ ] **T006** [P] [US1] Read names in src/read.py
  - and skip empty lines
- [ ] T007 [US1] Print them

## Done when
- [ ] all tasks are done
"""
CHANGE = """\
## 1. Reading

- [x] 1.1 Add the reader
- [ ] 1.2 Add its tests
  - [ ] 1.2.1 with empty lines
  - [x] 1.2.2 with none

## 2. Docs
* [ ] Say how\r
"""


def source(project: Path, text: str, *, by_heading: bool = False) -> Source:
    return open_source(text, Asked(project=project, by_heading=by_heading))


def shape(tasks: list[Task]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.id, each.title, each.needs) for each in tasks]


def write(project: Path, name: str, text: str) -> Path:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_open_sections_of_a_ralphex_plan_are_tasks_one_after_the_other(tmp_path: Path) -> None:
    write(tmp_path, "docs/plans/names.md", PLAN)
    found = source(tmp_path, "ralphex:docs/plans/names.md").tasks()
    assert shape(found) == [
        ("Task-2-write-names", "Write names", ()),
        ("Iteration-2a-sort-them", "Sort them", ("Task-2-write-names",)),
    ]
    assert found[0].ref == "docs/plans/names.md: Task 2"
    assert found[0].prompt.startswith("Write names\n\nFrom a list.\n\n- [x] write the writer\n")
    assert "### Task 9" in found[0].prompt
    assert found[0].prompt.endswith(
        "This is Task 2 of docs/plans/names.md. Its overview and its validation commands stand there."
    )


def test_a_section_that_is_done_is_ticked_and_the_last_one_moves_the_plan(tmp_path: Path) -> None:
    path = write(tmp_path, "docs/plans/names.md", PLAN)
    opened = source(tmp_path, "ralphex:")
    write_them, sort_them = opened.tasks()
    opened.done(write_them, "", close=False)
    assert path.read_text() == PLAN
    opened.done(write_them, "", close=True)
    ticked = PLAN
    for box in ("  - [ ] with", "- [ ] add tests\n- [ ] the", "- [ ] update the list"):
        ticked = ticked.replace(box, box.replace("[ ]", "[x]", 1))
    assert path.read_text() == ticked
    assert [(each.ref, each.needs) for each in opened.tasks()] == [(sort_them.ref, ())]
    opened.done(sort_them, "", close=True)
    opened.done(sort_them, "", close=True)  # after kill -9, once more
    assert not path.exists()
    moved = (path.parent / "completed" / "names.md").read_text()
    assert moved == ticked.replace("2a: Sort them\n- [ ]", "2a: Sort them\n- [x]")
    for name in ("ralphex:", "ralphex:docs/plans/names.md"):
        with pytest.raises(NothingOpen, match="what was there is completed"):
            source(tmp_path, name).tasks()


def test_a_plan_stays_where_its_setting_says_so_and_lies_where_one_says(tmp_path: Path) -> None:
    write(tmp_path, ".ralphex/config", "# ours\nplans_dir = todo\n  move_plan_on_completion = false\n")
    first = write(tmp_path, "todo/a.md", "### Task 1: one\n- [ ] do it\n")
    write(tmp_path, "todo/b.md", "### Task 1: one\n- [ ] do it\n")
    write(tmp_path, "todo/completed/c.md", "### Task 1: an old one\n- [ ] not done\n")
    opened = source(tmp_path, "ralphex:")
    assert shape(opened.tasks()) == [("01-one", "one", ()), ("02-one", "one", ())]
    opened.done(opened.tasks()[0], "", close=True)
    assert first.read_text() == "### Task 1: one\n- [x] do it\n"


def test_tasks_of_a_feature_wait_for_what_stands_before_unless_they_may_be_done_aside(tmp_path: Path) -> None:
    path = write(tmp_path, "specs/001-names/tasks.md", FEATURE)
    write(tmp_path, "specs/001-names/plan.md", "# Plan\n")
    opened = source(tmp_path, "speckit:specs/001-names")
    found = opened.tasks()
    assert [(each.ref.rpartition(" ")[2], [need[:4] for need in each.needs]) for each in found] == [
        ("T002", []),
        ("T003", ["T002"]),
        ("T004", ["T002"]),
        ("T005", ["T003", "T004"]),
        ("T006", ["T003", "T004"]),
        ("T007", ["T005", "T006"]),
    ]
    read = found[4]
    assert (read.id, read.title, read.labels) == (
        "T006-read-names-in-src-read-py",
        "Read names in src/read.py",
        ("US1",),
    )
    assert read.prompt == (
        "Read names in src/read.py\n\n  - and skip empty lines\n\n"
        "This is T006 of specs/001-names/tasks.md, Phase 2: User Story 1 (P1). What is meant stands beside it, in"
        " plan.md."
    )
    opened.done(read, "", close=True)
    assert path.read_text() == FEATURE.replace("- [ ] **T006**", "- [x] **T006**")


def test_the_current_feature_counts_where_none_is_named(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in ("001-a", "002-b"):
        write(project, f"specs/{name}/tasks.md", f"- [ ] T001 Do {name}\n")
    with pytest.raises(ConfigurationError, match=r"2 features have tasks.*\n.*specs/001-a, specs/002-b"):
        source(project, "speckit:").tasks()
    current = write(project, ".specify/feature.json", '{"feature_directory": "specs/002-b"}\n')
    assert [each.title for each in source(project, "speckit:").tasks()] == ["Do 002-b"]
    current.write_text('{"feature_directory": "../outside"}\n')
    write(project, "../outside/tasks.md", "- [ ] T001 Do what an agent likes\n")
    with pytest.raises(ConfigurationError, match="2 features have tasks"):
        source(project, "speckit:").tasks()


def test_tasks_of_a_change_come_one_after_the_other_and_changes_wait_for_none(tmp_path: Path) -> None:
    path = write(tmp_path, "openspec/changes/read-names/tasks.md", CHANGE)
    write(tmp_path, "openspec/changes/archive/2026-01-01-old/tasks.md", "- [ ] 1.1 Never done\n")
    opened = source(tmp_path, "openspec:read-names")
    tests, docs = opened.tasks()
    assert shape([tests, docs]) == [
        ("1.2-add-its-tests", "Add its tests", ()),
        ("say-how", "Say how", ("1.2-add-its-tests",)),
    ]
    assert "- [ ] 1.2.1 with empty lines" in tests.prompt
    opened.done(docs, "", close=True)
    opened.done(tests, "", close=True)
    assert path.read_bytes().decode() == CHANGE.replace("[ ]", "[x]")
    with pytest.raises(NothingOpen):
        opened.tasks()
    path.write_text("- [ ] 1.1 one\n- [ ] 1.2 two\n")
    write(tmp_path, "openspec/changes/write-names/tasks.md", "- [ ] 1.1 one\n")
    assert shape(source(tmp_path, "openspec:").tasks()) == [
        ("01-one", "one", ()),
        ("02-two", "two", ("01-one",)),
        ("03-one", "one", ()),
    ]


@pytest.mark.parametrize(
    "name", ["openspec:openspec/changes/a", "openspec:openspec/changes", "openspec:a", "openspec:"]
)
def test_a_change_is_found_by_its_name_and_by_its_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path, "openspec/changes/a/tasks.md", CHANGE)
    assert len(source(tmp_path, name).tasks()) == 2


def test_a_phase_is_one_task_by_heading(tmp_path: Path) -> None:
    path = write(tmp_path, "specs/001-names/tasks.md", FEATURE)
    opened = source(tmp_path, "speckit:", by_heading=True)
    setup, story = opened.tasks()
    assert shape([setup, story]) == [
        ("phase-1-setup", "Phase 1: Setup", ()),
        ("phase-2-user-story-1-p1", "Phase 2: User Story 1 (P1)", ("phase-1-setup",)),
    ]
    assert setup.prompt.count("- [ ] ") == 3
    opened.done(setup, "", close=True)
    assert [f"[x] T00{number}" in path.read_text() for number in (1, 2, 3, 4, 5)] == [True] * 4 + [False]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("ralphex:plans", r"plans/\*\.md: there is no such file"),
        ("ralphex:none.md", "none.md: there is no such file"),
        ("speckit:", r"specs/\*\*/tasks\.md: there is no such file"),
        ("openspec:none", r"openspec/changes/none/\*\*/tasks\.md: there is no such file"),
        ("ralphex:boxes.md", "boxes.md: no task is open .*### Task 1"),
        ("speckit:boxes.md", "boxes.md: no task is open .*T001"),
    ],
)
def test_what_has_no_task_is_refused(tmp_path: Path, name: str, wrong: str) -> None:
    (tmp_path / "plans").mkdir()
    write(tmp_path, "boxes.md", "- [ ] a plan of another kind\n")
    with pytest.raises(ConfigurationError, match=wrong):
        source(tmp_path, name).tasks()


def test_no_link_leads_out_of_the_project(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside.md", "- [ ] T001 Do it\n")
    project = tmp_path / "project"
    (project / "specs" / "001-a").mkdir(parents=True)
    os.symlink(outside, project / "specs" / "001-a" / "tasks.md")
    with pytest.raises(BridgeError, match="leads out"):
        source(project, "speckit:").tasks()
    assert [each.title for each in source(project, "speckit:../outside.md").tasks()] == ["Do it"]


def test_a_line_of_a_million_blanks_holds_nobody_up(tmp_path: Path) -> None:
    gap = " " * 1_000_000
    write(tmp_path, "a.md", f"### Task 1: a{gap}b\n- [ ] [{gap}\n- [ ] c\n- [ ] T001 [P]{gap}[US1]{gap}d{gap}e\n")
    for kind, titles in {
        "ralphex": ["a b"],
        "speckit": ["d e"],
        "openspec": ["[", "c", "T001 [P] [US1] d e"],
    }.items():
        assert [each.title for each in source(tmp_path, f"{kind}:a.md").tasks()] == titles
