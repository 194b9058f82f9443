"""Swarms on the plans of others: what waits for what, and what is done in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.swarm.projects import Project

ONE, TWO = "one: echo 1 > one.txt", "two: cat one.txt one.txt > two.txt"
MASTER = {"master": {"tasks": [{"id": 1, "title": ONE}, {"id": 2, "title": TWO, "dependencies": [1]}]}}


@pytest.mark.parametrize(
    ("source", "name", "text", "done"),
    [
        (
            "ralphex:",
            "docs/plans/a.md",
            f"### Task 1: {ONE}\n- [ ] a\n### Task 2: {TWO}\n- [ ] b\n",
            "completed/a.md",
        ),
        ("speckit:", "specs/001-a/tasks.md", f"- [ ] T001 {ONE}\n- [ ] T002 {TWO}\n", "tasks.md"),
        ("openspec:a", "openspec/changes/a/tasks.md", f"- [ ] 1.1 {ONE}\n- [ ] 1.2 {TWO}\n", "tasks.md"),
        ("taskmaster:", ".taskmaster/tasks/tasks.json", json.dumps(MASTER), "tasks.json"),
    ],
    ids=["ralphex", "speckit", "openspec", "taskmaster"],
)
def test_one_task_builds_on_the_other_and_both_are_done(
    project: Project, source: str, name: str, text: str, done: str
) -> None:
    path = project.write(name, text)
    project.commit("plan")
    assert project.swarm("run", "--from", source, "-j", "2", "--write-back", "close").returncode == 0
    assert project.result("two.txt") == "1\n1"
    after = (path.parent / done).read_text()
    assert after == (
        text.replace("[ ]", "[x]") if "[ ]" in text else text.replace('{"id"', '{"status": "done", "id"')
    )
    assert project.swarm("run", "--from", source).returncode == 2
