"""Swarms in setups whose controller gives a prompt to a CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.swarm.families import snarktank, story

if TYPE_CHECKING:
    from tests.swarm.projects import Project

PRD, PROGRESS = "scripts/ralph/prd.json", "scripts/ralph/progress.txt"


def test_stories_are_tasks_and_two_at_once_do_not_conflict(project: Project) -> None:
    both = 'until [ "$(wc -l < "$NOTES/started")" -ge 2 ]; do sleep 0.02; done'
    text = snarktank(
        project,
        story(1, f"{both}; echo 1 > one.txt"),
        story(2, "cat one.txt > two.txt", dependsOn=["US-1"]),
        story(3, f"{both}; echo 3 > three.txt"),
        story(4, "cat two.txt three.txt > four.txt", dependsOn=["US-2", "US-3"]),
    )
    before = project.git("rev-parse", "HEAD"), project.git("for-each-ref", "refs/heads/ralph")
    done = project.swarm("run", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.outcomes() == {f"US-{number} Story {number}": "merged" for number in (1, 2, 3, 4)}
    assert project.result("four.txt") == "1\n3"
    branch = project.seen()["branch"]
    assert project.git("cat-file", "blob", f"{branch}:{PRD}") == text.replace('"passes": false', '"passes": true')
    log = project.result(PROGRESS).splitlines()
    assert log[:2] == ["# Log", "---"]
    assert sorted(line for line in log if line.startswith("##")) == [f"## US-{number}" for number in (1, 2, 3, 4)]
    names = project.git("diff", "--name-only", before[0], branch).splitlines()
    assert names == ["four.txt", "one.txt", PRD, PROGRESS, "three.txt", "two.txt"]
    assert (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")) == (before[0], "")
    assert "ralph/feature" not in project.git("for-each-ref", "--format=%(refname)", "refs/heads")
    assert len(project.started()) == 4, "each had one turn"
