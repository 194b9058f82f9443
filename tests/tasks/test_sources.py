"""Tasks where they live: listed, copied, done."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
import yaml

from bridge.errors import ConfigurationError
from bridge.loop.tasks import open_source, source_kinds
from bridge.loop.tasks.task import Asked, Task
from bridge.loop.tasks.task_formats import written
from tests import command

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "   task      title\n1  01-one    one\n2  02-three  three\n"
PLAN = "# Plan\n- [ ] one\n  more of one\n- [x] two\n- [ ] three\n"
STORIES = {
    "userStories": [
        {"id": "US-1", "title": "A", "priority": 2, "passes": False},
        {"id": "US-2", "title": "B", "priority": 1, "passes": False, "dependsOn": ["US-1"]},
        {"id": "US-3", "title": "C", "priority": 3, "passes": True},
    ]
}


def found(name: str, project: Path) -> list[Task]:
    return open_source(name, Asked(project=project)).tasks()


def test_a_plan_and_what_is_done_in_it(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(PLAN)
    source = open_source("plan:plan.md", Asked(project=tmp_path))
    one, three = source.tasks()
    assert (one.title, one.ref, one.boxes, three.title) == ("one", "one", (), "three")
    assert source.again("three") == three
    with pytest.raises(ConfigurationError, match="two: its source has no such task"):
        source.again("two")
    source.done(one, "done", close=False)
    assert (tmp_path / "plan.md").read_text() == PLAN
    source.done(one, "done", close=True)
    assert (tmp_path / "plan.md").read_text() == PLAN.replace("[ ] one", "[x] one")


def test_stories_and_what_is_done_in_them(tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    path.write_text(json.dumps(STORIES, indent=2))
    source = open_source("prd:", Asked(project=tmp_path))
    tasks = {each.ref: each for each in source.tasks()}
    assert tasks["US-2 B"].needs == (tasks["US-1 A"].id,)
    source.done(tasks["US-1 A"], "", close=True)
    STORIES["userStories"][0]["passes"] = True
    assert json.loads(path.read_text()) == STORIES


@pytest.mark.parametrize("name", ["yaml:t.yaml", "lines:t.txt"])
def test_lists(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.yaml").write_text("- {id: a, prompt: Do a.}\n- {id: b, prompt: Do b., needs: a}\n")
    (tmp_path / "t.txt").write_text("Do a.\n# no task\nDo b.\n")
    assert [each.prompt for each in found(name, tmp_path)] == ["Do a.", "Do b."]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("github", "no such source"),
        ("pla:x", "Did you mean plan"),
        ("plan:", "a file is missing"),
        ("plan:none.md", "no such file"),
    ],
)
def test_what_is_no_source_is_refused(tmp_path: Path, name: str, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=wrong):
        found(name, tmp_path)


def test_a_copy_has_the_same_tasks_in_every_form(tmp_path: Path) -> None:
    tasks = [
        Task("a", "Do a", "Do a\n- [ ] with care\nand words: {x}"),
        Task("b", "Do b", "Do b", needs=("a",)),
    ]
    assert [each["id"] for each in yaml.safe_load(written(tasks, "yaml"))] == ["a", "b"]
    for form, name in (("plan", "plan.md"), ("prd", "prd.json"), ("yaml", "t.yaml")):
        (tmp_path / name).write_text(written(tasks, form))
        again = found(f"{form}:{name}", tmp_path)
        assert len(again) == 2, form
        assert "with care" in again[0].prompt
        assert len(again[1].needs) == (form != "plan")


def test_the_command(tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        done = command.run(["tasks", *words], cwd=tmp_path, env=os.environ)
        return done.returncode, done.stdout, done.stderr

    (tmp_path / "plan.md").write_text(PLAN)
    assert run("list", "plan:plan.md") == (0, TABLE, "2 open\n")
    copy = ("import", "plan:plan.md", "--to", "yaml", "-o", "t.yaml")
    assert run(*copy)[0] == 0
    assert "there already" in run(*copy)[2]
    assert run("list", "yaml:t.yaml")[:2] == (0, TABLE)


def test_a_filter_that_a_source_does_not_know_is_refused(tmp_path: Path) -> None:
    done = command.run(["tasks", "list", "plan:p.md", "--label", "x"], cwd=tmp_path, env=os.environ)
    assert done.returncode == 2
    assert "plan:p.md: it knows no --label\n  next: leave it out" in done.stderr


def test_every_source_says_what_it_is() -> None:
    assert all(each.name == name and each.title and each.takes for name, each in source_kinds().items())
