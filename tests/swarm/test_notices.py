"""Who isn't there is told of a swarm: once for all its tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.swarm import events as notices
from bridge.loop.swarm.events import TaskEnded, TaskProgress
from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord
from bridge.loop.tasks.task import Task
from tests.swarm.projects import HOLD, Project, until

if TYPE_CHECKING:
    from pathlib import Path

TELL = 'cat >> "$NOTES/told"; echo >> "$NOTES/told"'


def _told(project: Project) -> list[dict[str, Any]]:
    path = project.notes / "told"
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def test_the_end_and_what_isn_t_merged(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: exit 3")
    project.env["RALPH_BRIDGE_NOTIFY"] = "touch $NOTES/other"
    done = project.swarm("run", "--notify", TELL, "--max-iterations", "1")
    assert done.returncode == 1
    task, end = _told(project)
    assert (task["event"], task["task"], task["reason"]) == ("task", "02-two-exit-3", "incomplete")
    assert task["branch"].endswith("/02-two-exit-3")
    assert "--retry incomplete" in task["next"]
    expected = {
        "event": "ended",
        "verdict": "incomplete",
        "tool": "swarm",
        "tasks": 2,
        "merged": 1,
        "cost_usd": None,
    }
    assert {name: end[name] for name in expected} == expected
    assert end["project"] == str(project.path)
    assert end["run"] == project.seen()["run"]
    assert not (project.notes / "other").exists()


@pytest.mark.slow
def test_loops_of_a_swarm_tell_nothing_of_their_own(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt")
    project.env["RALPH_BRIDGE_NOTIFY"] = TELL
    assert project.swarm("run").returncode == 0
    (end,) = _told(project)
    assert (end["verdict"], end["merged"]) == ("complete", 2)


@pytest.mark.slow
def test_an_agent_that_moves_what_is_checked_out_where_the_swarm_was_started(project: Project) -> None:
    project.plan(f"one: git -C {project.path} checkout -qb elsewhere; echo 1 > one.txt", "two: echo 2 > two.txt")
    done = project.swarm("run", "--notify", TELL)
    (end,) = _told(project)
    moved = f"what is checked out in {project.path} has moved from main at "
    for text in (done.stderr, end["detail"], project.seen()["end"], project.swarm("report").stdout):
        assert moved.replace(" ", "") in "".join(text.split()), text


@pytest.mark.slow
def test_a_cap_is_told_as_one_and_only_what_was_asked_for(project: Project) -> None:
    project.plan("one: :", "two: :")
    done = project.swarm("run", "-j", "1", "--max-cost", "5", "--notify", TELL, "--notify-on", "cap")
    assert done.returncode == 1
    (end,) = _told(project)
    assert (end["event"], end["reason"]) == ("cap", "cost_unknown")


@pytest.mark.slow
def test_an_address_that_fails_is_told_and_fails_nothing(project: Project) -> None:
    project.plan("one: :")
    done = project.swarm("run", "--notify", "exit 7")
    assert done.returncode == 0
    assert "a notice (ended) could not be sent to the command exit: exit status 7" in done.stderr


@pytest.mark.slow
def test_a_signal(project: Project) -> None:
    project.plan(f"one: {HOLD}")
    host = project.start("run", "--notify", TELL)
    until(lambda: (project.notes / "holding").exists())
    host.terminate()
    assert host.wait(60) == 143
    (end,) = _told(project)
    assert (end["event"], end["verdict"], end["reason"]) == ("ended", "interrupted", "SIGTERM")


@pytest.mark.parametrize(
    ("progress", "told"),
    [
        (("limit", 3, "it resets at 03:00", "api_limit", "2026-11-23T03:00:00"), ("limit", "api_limit")),
        (("refused", 3, "Bash(npm install)"), ("refused", "permission_denied")),
        (("line", 3, "at work"), None),
    ],
)
def test_limits_and_refused_tools(progress: tuple[Any, ...], told: tuple[str, str] | None, tmp_path: Path) -> None:
    task = TaskRecord(Task("one", "one", "Do it."))
    record = SwarmRecord(run="run", project="/p", kind="plain", base="", branch="b", tasks=[task])
    kind, facts = notices.notice_of(TaskProgress(task, *progress), record, tmp_path)
    assert ((kind, facts["reason"]) if kind else None) == told
    assert not kind or facts["detail"].startswith("one: ")


def test_a_conflict_that_is_redone_is_no_news(tmp_path: Path) -> None:
    task = TaskRecord(Task("one", "one", "Do it."), step="done", outcome="conflict")
    record = SwarmRecord(
        run="run", project="/p", kind="plain", base="", branch="b", tasks=[task], redo_conflicts=True
    )
    assert notices.notice_of(TaskEnded(task), record, tmp_path) == ("", {})
    task.redone = True
    assert notices.notice_of(TaskEnded(task), record, tmp_path)[0] == "task"
