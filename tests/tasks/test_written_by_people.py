"""Files and issues as people write them: words that come twice, examples, what is put off, other encodings."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import plan_items
from bridge.loop.setups import kinds
from bridge.loop.setups.prompted.task_lists import plan_in
from bridge.loop.setups.ralph_loop.plan import parse
from bridge.loop.tasks import open_source
from bridge.loop.tasks.checkboxes import PlanFormat, from_plan
from bridge.loop.tasks.task import Asked, Source, Task
from tests import command
from tests.tasks.stand_ins.trackers import Beads, Gh

if TYPE_CHECKING:
    from pathlib import Path

TWICE = "# Plan\n- [x] run the tests\n- [ ] write it\n- [ ] run the tests\n- [ ] run the tests\n"
EXAMPLES = """\
- [ ] write the parser
  It takes:
  ```md
  - [ ] an example
  ~~~
  - [ ] of two
  ```
  <!-- - [ ] hidden -->
  <!--
- [ ] hidden, too
  -->
  - [ ] with tests

  ```
  - [ ] never closed
- [ ] write the printer
"""


def opened(name: str, project: Path, told: list[str] | None = None) -> Source:
    return open_source(name, Asked(project=project, tell=(lambda _: None) if told is None else told.append))


def listed(project: Path, *words: str) -> tuple[int, list[str], str]:
    done = command.run(["tasks", "list", *words, "--json"], cwd=project, env=os.environ)
    found = json.loads(done.stdout)["tasks"] if done.stdout else []
    return done.returncode, [each["title"] for each in found], done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder beside the stand-ins: no program of a tracker is looked for in a project."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


# -- plans ---------------------------------------------------------------------------------------------


def test_boxes_with_the_same_words_are_different_tasks(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text(TWICE)
    source = opened("plan:plan.md", tmp_path)
    tasks = source.tasks()
    assert [each.title for each in tasks] == ["write it", "run the tests", "run the tests"]
    assert len({each.ref for each in tasks}) == 3
    source.done(tasks[2], "", close=True)
    assert path.read_text() == f"{TWICE.rstrip().removesuffix('- [ ] run the tests')}- [x] run the tests\n"
    assert source.tasks() == tasks[:2], "the others are what they were"


def test_a_swarm_s_work_tree_has_one_of_the_boxes_with_the_same_words(tmp_path: Path) -> None:
    plan = PlanFormat(kinds()["plain"].plan, tmp_path)
    _, first, second = plan.tasks(TWICE, "plan")
    assert plan.only(TWICE, first, "") == plan.only(TWICE, second, "") == "# Plan\n- [ ] run the tests\n"
    ticked, left = plan.done(TWICE, second.boxes)
    assert (ticked.splitlines()[3:], left) == (["- [ ] run the tests", "- [x] run the tests"], [])
    assert plan.done(ticked, [*first.boxes, *second.boxes])[0].count("[x]") == 3


def test_a_box_is_found_where_one_of_the_same_words_was_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("- [ ] a\n- [ ] a\n")
    source = opened("plan:plan.md", tmp_path)
    second = source.tasks()[1]
    path.write_text("- [ ] a\n")
    source.done(second, "", close=True)
    assert path.read_text() == "- [x] a\n"


@pytest.mark.parametrize("wide", [False, True])
def test_examples_in_a_task_are_no_boxes_and_are_not_ticked(tmp_path: Path, wide: bool) -> None:
    one, two = plan_items(EXAMPLES, wide=wide)
    assert (one.boxes, two.boxes) == (("write the parser", "with tests"), ("write the printer",))
    assert "never closed" in one.text
    assert "hidden, too" in one.text
    path = tmp_path / "plan.md"
    path.write_text(EXAMPLES)
    source = opened("plan:plan.md", tmp_path)
    source.done(source.tasks()[0], "", close=True)
    ticked = path.read_text()
    assert [line.strip() for line in ticked.splitlines() if "[x]" in line] == [
        "- [x] write the parser",
        "- [x] with tests",
    ]


def test_examples_in_a_document_of_others_are_not_ticked(tmp_path: Path) -> None:
    path = tmp_path / "openspec/changes/a/tasks.md"
    path.parent.mkdir(parents=True)
    text = "## 1. Parser\n- [ ] 1.1 Parse\n  ```\n  - [ ] example\n  ```\n- [ ] 1.2 Print\n"
    path.write_text(text)
    source = opened("openspec:a", tmp_path)
    source.done(source.tasks()[0], "", close=True)
    assert path.read_text() == text.replace("[ ] 1.1", "[x] 1.1")


def test_the_tasks_of_a_heading_are_ticked_by_who_opens_the_source_anew(tmp_path: Path) -> None:
    path = tmp_path / "specs/001-a/tasks.md"
    path.parent.mkdir(parents=True)
    path.write_text("## Phase 1\n- [ ] T001 one\n- [ ] T002 two\n## Phase 2\n- [ ] T003 three\n")
    first, _ = open_source("speckit:", Asked(project=tmp_path, by_heading=True)).tasks()
    opened("speckit:", tmp_path).done(first, "", close=True)
    assert path.read_text().count("[x]") == 2


def test_a_title_may_begin_as_a_heading_does(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("- [ ] #12 fix it\n- [ ] # of retries\n")
    made = command.run(["tasks", "import", "plan:plan.md", "--to", "plan"], cwd=tmp_path, env=os.environ).stdout
    assert made == "# Plan\n\n- [ ] #12 fix it\n- [ ] # of retries\n"
    (tmp_path / "prd.json").write_text('[{"title": "# of retries", "passes": false}]')
    plan = PlanFormat(kinds()["snarktank"].plan, tmp_path)
    assert [each.title for each in plan.tasks((tmp_path / "prd.json").read_text(), "prd.json")] == ["# of retries"]


def test_a_box_that_is_gone_or_reworded_is_told_and_one_that_is_ticked_is_not(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("- [ ] one\n")
    source = opened("plan:plan.md", tmp_path)
    (one,) = source.tasks()
    path.write_text("- [x] one\n")
    source.done(one, "", close=True)
    path.write_text("- [ ] one, and more\n")
    with pytest.raises(ConfigurationError, match=r"plan\.md: one: it isn't there any more, or in other words"):
        source.done(one, "", close=True)
    document = tmp_path / "tasks.md"
    document.write_text("- [ ] T001 one\n")
    source = opened("speckit:tasks.md", tmp_path)
    (one,) = source.tasks()
    document.write_text("- [ ] T009 other\n")
    with pytest.raises(ConfigurationError, match="T001: it isn't there any more"):
        source.done(one, "", close=True)


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_a_plan_in_another_encoding_is_read_and_stays_in_it(tmp_path: Path, codec: str) -> None:
    for name, text in {
        "plan:plan.md": "- [ ] größer\r\n- [ ] zwei\r\n",
        "speckit:tasks.md": "- [ ] T001 größer\n- [ ] T002 zwei\n",
    }.items():
        path = tmp_path / name.partition(":")[2]
        path.write_bytes(text.encode(codec))
        source = opened(name, tmp_path)
        one, two = source.tasks()
        assert (one.title, two.title) == ("größer", "zwei")
        source.done(one, "", close=True)
        assert path.read_bytes() == text.replace("[ ]", "[x]", 1).encode(codec), name
    (tmp_path / "prd.json").write_bytes('[{"title": "größer"}]'.encode(codec))
    assert [each.title for each in opened("prd:", tmp_path).tasks()] == ["größer"]


# -- lists ---------------------------------------------------------------------------------------------


def test_what_is_put_off_is_not_open_and_what_needs_it_is_left_out(tmp_path: Path) -> None:
    words = ["cancelled", "Canceled", "wontfix", "Won't fix", "blocked", "skipped", "on hold"]
    stories: list[dict[str, object]] = [
        {"id": f"S-{number}", "title": word, "status": word} for number, word in enumerate(words)
    ]
    stories[4]["passes"] = False
    stories += [{"id": "A", "title": "a"}, {"id": "B", "title": "b", "dependsOn": ["S-4"]}]
    stories += [{"id": "C", "title": "c", "dependsOn": ["B"]}]
    (tmp_path / "prd.json").write_text(json.dumps(stories))
    code, titles, said = listed(tmp_path, "prd:")
    assert (code, titles) == (0, ["a"])
    assert "B b waits for what is put off" in said
    assert "C c waits" in said
    plan = plan_in(json.dumps([*stories[:7], {"id": "A", "title": "a", "passes": True}]), "prd.json")
    assert plan is not None
    assert plan.complete


def test_needs_that_name_nothing_are_told_with_the_line(tmp_path: Path) -> None:
    text = '[{"id": "US-1", "title": "One"},\n {"id": "US-2", "title": "Two", "dependsOn": ["US-11"]}]'
    (tmp_path / "prd.json").write_text(text)
    code, _, said = listed(tmp_path, "prd:")
    assert code == 2
    assert "prd.json:2: US-2 Two needs 'US-11', which is no task. Did you mean US-1?" in said
    (tmp_path / "prd.json").write_text(text.replace("US-11", "us-1").replace('"One"', '"One", "dependsOn": "none"'))
    assert listed(tmp_path, "prd:")[:2] == (0, ["One", "Two"])
    (tmp_path / "prd.json").write_text(text.replace("US-11", "one"))
    assert [len(each.needs) for each in opened("prd:", tmp_path).tasks()] == [0, 1]


def test_ids_that_are_numbers_with_a_dot(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(
        '{"tasks": [{"id": 3.1, "title": "a", "subtasks": [{"id": "3.1.1", "title": "s"}]},\n'
        ' {"id": 3.10, "title": "b", "dependencies": [3.1]},\n'
        ' {"id": "4", "title": "c", "dependencies": [3.10, "3.1.1"]}]}'
    )
    source = opened("taskmaster:tasks.json", tmp_path)
    a, b, c = source.tasks()
    assert (a.ref, b.ref, c.ref) == ("3.1", "3.10", "4")
    assert (b.needs, {*c.needs}) == ((a.id,), {a.id, b.id})
    source.done(b, "", close=True)
    assert path.read_text().count('"done"') == 1
    assert [each.ref for each in source.tasks()] == ["3.1", "4"]


@pytest.mark.parametrize("line", ["**Depends on:** Task 1", "**Depends on**: Task 1", "- Depends on: Task 1"])
def test_needs_of_an_implementation_plan_in_bold(line: str) -> None:
    plan = parse(f"## A\n### Task 1: a\n### Task 2: b\n{line}\n")
    assert plan.tasks[1].needs == ["1"]


@pytest.mark.parametrize("where", ["no/such/t.yaml", "plan.md/t.yaml", "."])
def test_a_file_that_can_not_be_made_is_a_usage_error(tmp_path: Path, where: str) -> None:
    (tmp_path / "plan.md").write_text("- [ ] one\n")
    words = ["tasks", "import", "plan:plan.md", "--to", "yaml", "-o", where]
    done = command.run(words, cwd=tmp_path, env=os.environ)
    assert done.returncode == 2, done.stderr
    assert where.partition("/")[0] in done.stderr
    assert "next:" in done.stderr


# -- trackers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "**Depends on:** #1",
        "**Depends on** #1",
        "__Blocked by__: #1",
        "_Requires_ **#1**",
        "Depends on: [#1](https://github.com/acme/app/issues/1)",
        "**Depends on:**\n\n- **#1** first\n",
        "### **Blocked by**\n1. [#1](https://github.com/acme/app/issues/1)",
    ],
)
def test_needs_of_an_issue_in_bold(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    gh = Gh(tmp_path)
    monkeypatch.setenv("PATH", gh.env()["PATH"])
    gh.add("One")
    gh.add("Two", body=body)
    one, two = opened("github:acme/app", project).tasks()
    assert two.needs == (one.id,), body


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/acme/app",
        "https://www.github.com/acme/app/",
        "https://github.com/acme/app.git",
        "https://github.com/acme/app/issues?q=is%3Aopen",
        "git@github.com:acme/app.git",
        "ssh://git@github.com/acme/app.git",
    ],
)
def test_a_repository_by_its_address(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    gh = Gh(tmp_path)
    monkeypatch.setenv("PATH", gh.env()["PATH"])
    gh.add("One")
    source = opened(f"github:{address}", project)
    assert [each.title for each in source.tasks()] == ["One"]
    assert source.lasting(f"github:{address}") == "github:acme/app"


def test_an_issue_of_beads_that_this_run_has_begun_is_open(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bd = Beads(tmp_path)
    monkeypatch.setenv("PATH", bd.env()["PATH"])
    bd.add("bd-1", "Ours", status="in_progress")
    bd.add("bd-2", "Of somebody else", status="in_progress")
    source = opened("beads:", project)
    source.under_way = {"bd-1"}
    assert [each.ref for each in source.tasks()] == ["bd-1"]


def test_each_task_of_a_plan_has_a_name(tmp_path: Path) -> None:
    assert from_plan("- [ ] a\n- [ ] a\n", "plan") == [
        Task("01-a", "a", "- [ ] a", boxes=("a",)),
        Task("02-a", "a", "- [ ] a", boxes=("a (2)",)),
    ]
