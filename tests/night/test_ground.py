"""A turn that takes the plan or the branch away: its line, the report and the notice say so, in every kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.examples import Project

PLANS = {
    "bmalph": ".ralph/@fix_plan.md",
    "frankbria": ".ralph/fix_plan.md",
    "wiggum-driver": "fix_plan.md",
    "wiggum-agent": "fix_plan.md",
    "playbook": "IMPLEMENTATION_PLAN.md",
    "pocock": "PRD.md",
    "ralphy": "PRD.md",
    "snarktank": "scripts/ralph/prd.json",
}
"""The plans that the examples have."""
OWN_SCREEN = ("frankbria", "ralph-loop")
"""Kinds that have a line of their controller's for each turn."""


def _told(night: Project, words: str) -> None:
    """The end, `status`, `report` and the notice have these words."""
    assert words in " ".join((night.kept / "output.0").read_text().splitlines()[-12:])
    assert words in night.status()["ended"]["detail"]
    assert words in " ".join(night.run("report").stdout.split())
    notices = [json.loads(line) for line in (night.kept / "told").read_text().splitlines() if line]
    assert words in notices[-1]["detail"]


def _run(night: Project, step: str) -> str:
    night.turns("work", f"{step}; touched; say ok", otherwise="work")
    words = ("--max-iterations", "3", "--retry-delay", "0", "--notify", f"cat >> {night.kept}/told")
    loop = night.start(*words)
    loop.finished()
    return loop.said


@pytest.mark.parametrize(
    "step", ["rm {}", "mkdir -p docs; git mv {} docs/old.md 2> /dev/null || mv {} docs/old.md"]
)
def test_the_plan_is_gone(night: Project, step: str) -> None:
    if (plan := PLANS.get(night.example.name)) is None:
        return
    said = _run(night, step.replace("{}", plan))
    if night.example.name == "ralphy":  # which is told its tasks one by one
        _told(night, "PRD.md is gone since turn 2")
        return
    _told(night, "the fix plan is gone since turn 2")
    if night.example.name not in OWN_SCREEN:
        assert any("[2/3]" in line and "the plan is gone" in line for line in said.splitlines()), said
    if not night.example.controllers:
        assert not any(line.startswith("complete") for line in said.splitlines()), said


@pytest.mark.parametrize(
    ("step", "now", "last"),
    [
        ("git checkout -qb other", "other", "branch other is checked out since turn 2, and not main"),
        ("git checkout -q --detach", "none", "no branch (detached HEAD) is checked out since turn 2, and not main"),
    ],
)
def test_another_branch(night: Project, step: str, now: str, last: str) -> None:
    said = _run(night, step)
    _told(night, last)
    if night.example.name != "frankbria":
        line = next(each for each in said.splitlines() if f"branch main → {now}" in each)
        assert "file changed" in line
    assert f"turn 2 went from branch main to {now}" in said + night.logged()


def test_in_the_last_turn_too_and_not_where_it_went_back(night: Project) -> None:
    night.turns("git checkout -qb other; work", "git checkout -q main; work", "git checkout -qb last; work")
    loop = night.start("--max-iterations", "2")
    loop.finished()
    assert "is checked out since" not in loop.said
    loop = night.start("--max-iterations", "3" if night.example.counts_on else "1")
    loop.finished()
    assert "branch last is checked out since turn" in loop.said, loop.said
