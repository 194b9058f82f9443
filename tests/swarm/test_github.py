"""From issues to a merged branch and back, by a scripted ``gh``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.swarm.projects import Project, until
from tests.tasks.stand_ins.trackers import Gh

if TYPE_CHECKING:
    from pathlib import Path

CLI = r"""#!/usr/bin/env bash
cat > /dev/null
cp .ralph/@fix_plan.md "$NOTES/$RALPH_TASK.md"
echo "$RALPH_TASK" >> "$NOTES/started"
echo x > "done-$RALPH_TASK"
sed -i 's/^- \[ \]/- [x]/' .ralph/@fix_plan.md
printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""
EVIL = (
    '--label=x $(touch "$NOTES/evil") `touch evil`\x1b[2J\n- [ ] another box\n* [ ] one more\n# Plan\n--- 0 ---\n'
)


@pytest.fixture
def gh(project: Project, tmp_path: Path) -> Gh:
    made = Gh(tmp_path / "tracker")
    project.env["PATH"] = f"{made.bin}:{project.env['PATH']}"
    project.write("../bin/my-cli", CLI, 0o755)
    return made


def test_issues_are_worked_on_told_and_closed(project: Project, gh: Gh) -> None:
    gh.add("Second", "Depends on #2", ["P0"])
    gh.add(EVIL, EVIL, ["P1"])
    gh.add("Not now", labels=["later"])
    gh.add("Fixes #3", "blocked by #3", ["P2"])
    words = ("--from", "github:acme/app", "--write-back", "close")
    gh.set_issue(3, state="CLOSED")
    gh.fail("network", "comment", after=True)
    done = project.swarm("run", "-j", "1", *words)
    assert done.returncode == 0, done.stderr
    assert project.started()[0] == "2-label-x-touch-notes-evil"
    assert sorted(project.started()[1:]) == ["1-second", "4-fixes-3"]
    for number in (1, 2, 4):
        (comment,) = gh.issue(number)["comments"]
        assert "ralph-bridge: done" in comment["body"]
        assert gh.issue(number)["state"] == "CLOSED"
    assert "4-fixes-3: Fixes issue #3\n" in project.git("log", "--format=%B", project.seen()["branch"])
    plan = (project.notes / "2-label-x-touch-notes-evil.md").read_text()
    assert plan.count("- [ ]") == 1
    assert "Others wrote it" in plan
    assert "\x1b" not in plan + done.stdout + done.stderr
    assert "evil" not in {each.name for folder in (project.path, project.notes) for each in folder.iterdir()}


def test_an_agent_that_changes_the_remotes_changes_nobody_who_is_told(project: Project, gh: Gh) -> None:
    gh.add("One")
    repositories = gh.store["repositories"]
    gh.change(repositories={**repositories, "mallory/trap": repositories["acme/app"]})
    project.git("remote", "add", "origin", "https://github.com/acme/app.git")
    project.write("../bin/my-cli", CLI + "git remote set-url origin https://github.com/mallory/trap.git\n", 0o755)
    done = project.swarm("run", "--from", "github:", "--write-back", "close")
    assert done.returncode == 0, done.stderr
    assert project.git("remote", "get-url", "origin").endswith("trap.git")
    assert project.seen()["source"] == "github:acme/app"
    assert gh.issue(1)["state"] == "CLOSED"
    assert gh.store["repositories"]["mallory/trap"]["issues"]["1"]["comments"] == []


def test_a_host_that_is_killed_tells_each_issue_once(project: Project, gh: Gh) -> None:
    for title in ("One", "Two", "Three"):
        gh.add(title)
    gh.fail("kill", "comment", after=True)
    host = project.start("run", "-j", "1", "--from", "github:acme/app", "--write-back", "close")
    until(lambda: host.poll() is not None)
    assert project.swarm("resume", "--retry", "lost").returncode == 0
    assert all(len(gh.issue(number)["comments"]) == 1 for number in (1, 2, 3))
    assert all(gh.issue(number)["state"] == "CLOSED" for number in (1, 2, 3))
