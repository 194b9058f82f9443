"""Tasks that an earlier swarm has; and what the next task of a swarm begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.swarm.projects import Project


def test_tasks_of_a_swarm_that_is_not_merged_are_refused_with_both_next_steps(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: exit 3")
    assert project.swarm("run", "--", "--max-failures", "1").returncode == 1
    name, branch = (str(project.seen()[each]) for each in ("run", "branch"))
    begun = len(project.started())
    refused = project.swarm("run")
    assert refused.returncode == 2
    assert f"swarm {name} has 2 of these tasks, and isn't merged:" in refused.stderr
    assert f"ralph-bridge swarm resume {name} --retry 'incomplete'" in refused.stderr
    assert "`ralph-bridge swarm run --again`" in refused.stderr
    assert len(project.started()) == begun, "nothing was begun"
    project.git("merge", "-q", branch)
    still = project.swarm("run")
    assert (still.returncode, "has 1 of these tasks" in still.stderr) == (2, True), "what is left is open there"
    assert project.swarm("run", "--again", "--", "--max-failures", "1").returncode == 1
    assert len(project.started()) > begun


@pytest.mark.slow
def test_tasks_of_a_list_are_free_when_the_swarm_is_merged(project: Project) -> None:
    project.write("tasks.txt", "one: :\n")
    project.commit("a list")
    assert project.swarm("run", "tasks.txt").returncode == 0
    branch = project.seen()["branch"]
    refused = project.swarm("run", "tasks.txt")
    assert refused.returncode == 2
    assert f"git merge {branch}" in refused.stderr
    project.git("merge", "-q", str(branch))
    assert project.swarm("run", "tasks.txt").returncode == 0


@pytest.mark.slow
def test_with_one_worker_the_next_task_begins_from_what_is_merged(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: cat one.txt one.txt > two.txt")
    assert project.swarm("run", "-j", "1", "--check", "sleep 0.5").returncode == 0
    assert project.result("two.txt") == "1\n1"
