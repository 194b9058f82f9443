"""A turn that takes the plan or the branch away: its line, the report and the notice say so, in every kind."""

from __future__ import annotations

import json
import subprocess
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


def test_commits_that_a_turn_took_back(night: Project) -> None:
    commit = "touched; git add work.txt; git -c user.name=t -c user.email=t@x commit -qm turn work.txt; say ok"
    amend = commit.replace("commit", "commit --amend")
    night.turns(commit, commit, amend, "git reset -q --hard HEAD~2; say ok", otherwise=commit)
    loop = night.start("--max-iterations", "5", "--notify", f"cat >> {night.kept}/told")
    loop.finished()
    _told(night, "turn 4 took 2 commits back: main was at ")
    assert "turn 3 took 1" not in loop.said + night.logged()


def test_a_push_of_the_agents_that_is_refused_once_others_went_through(night: Project) -> None:
    remote = night.kept / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    hook = remote / "hooks/pre-receive"
    hook.write_text('#!/bin/sh\n[ ! -e refuse ] || { echo "GH013: not by you" >&2; exit 1; }\n')
    hook.chmod(0o755)
    night.git("remote", "add", "origin", str(remote))
    night.git("push", "-q", "origin", "main")
    commits = "touched; git add work.txt; git -c user.name=t -c user.email=t@x commit -qm turn work.txt"
    pushes = f"{commits}; git push -q origin HEAD 2> /dev/null; say pushed"
    night.turns(f"sleep 1; {pushes}", f"touch {remote}/refuse; {pushes}", otherwise=pushes)
    loop = night.start("--max-iterations", "3", "--notify", f"cat >> {night.kept}/told")
    loop.finished()
    _told(night, "2 commits of this run stay here: no remote has taken them")
    night.turns(otherwise=f"{commits}; say committed")  # by a loop that pushes nothing, nothing is missed
    loop = night.start("--max-iterations", "8" if night.example.counts_on else "1")
    loop.finished()
    assert "no remote has taken" not in loop.said, loop.said


def test_the_folder_of_git_is_gone(night: Project) -> None:
    said = _run(night, "rm -rf .git")
    _told(night, "git's folder is gone since turn 2")
    if night.example.name != "frankbria":
        assert any("git's folder is gone" in line and "turn 2" not in line for line in said.splitlines()), said


def test_open_tasks_that_a_turn_took_out_of_the_plan(night: Project) -> None:
    plan = PLANS.get(night.example.name)
    if plan is None or night.example.name in ("bmalph", "ralphy", "frankbria", "snarktank"):  # the same stage
        return
    night.write(plan, "- [x] one\n- [ ] two\n- [ ] three\n- [ ] four\n")
    _run(night, f"printf -- '- [x] one\\n- [x] two\\n- [ ] four\\n' > {plan}")
    _told(night, "turn 2 took 1 open task out of the plan")


def test_a_plan_that_lost_more_open_tasks_than_were_done_completes_nothing(night: Project) -> None:
    plan = PLANS.get(night.example.name)
    if plan is None or night.example.name in ("ralphy", "snarktank"):  # the same stage
        return
    night.write(plan, "- [x] one\n- [ ] two\n- [ ] three\n- [ ] four\n- [ ] five\n")
    said = _run(night, f"printf -- '- [x] one\\n' > {plan}")
    _told(night, "turn 2 took 4 open tasks out of the plan")
    if night.example.name not in (*OWN_SCREEN, "playbook", "pocock"):
        assert not any(line.startswith("complete") for line in said.splitlines()), said


def test_a_plan_that_was_emptied(night: Project) -> None:
    if (plan := PLANS.get(night.example.name)) is None or night.example.name == "ralphy":
        return
    said = _run(night, f": > {plan}")
    counted = night.example.name in ("bmalph", "frankbria")  # to the others it is as if there was none
    _told(night, f"the fix plan {'has no tasks' if counted else 'is gone'} since turn 2")
    assert night.example.controllers or not any(line.startswith("complete") for line in said.splitlines()), said
