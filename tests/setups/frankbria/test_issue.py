"""The life cycle of an issue: comments while a loop lasts, and behind it; closed once; or nothing starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded
from bridge.loop.engine.policy import Verdict
from bridge.loop.setups.frankbria import rc
from bridge.loop.setups.frankbria.layout import folder_of
from bridge.loop.setups.frankbria.settings import resolve
from bridge.loop.tasks.ralph_issue import Issue
from tests.tasks.stand_ins.trackers import Gh

if TYPE_CHECKING:
    from tests.setups.frankbria.conftest import Project


@pytest.fixture
def gh(project: Project, monkeypatch: pytest.MonkeyPatch) -> Gh:
    """The issues of the project's repository: number 1 is open."""
    made = Gh(project.home.path)
    project.git("remote", "add", "origin", "https://github.com/acme/app.git")
    made.add("Do it", "Build it.")
    project.home.env["PATH"] = f"{made.bin}:{project.home.environment()['PATH']}"
    monkeypatch.setenv("PATH", project.home.env["PATH"])
    return made


def issue(project: Project, reference: str, warned: list[str], *lines: str) -> Issue:
    project.settings(f"GITHUB_ISSUE='{reference}'", *lines)
    settings = resolve(folder_of(project.path), env={}, rc=rc.read(project.path, {}))
    return Issue(folder_of(project.path), settings, warned.append, lambda: 60.0)


def test_a_loop_comments_and_closes_its_issue(project: Project, gh: Gh) -> None:
    project.claude("completes", otherwise="completes")
    words = ("--github-issue", "#1", "--comment-progress", "--comment-interval", "2", "--auto-close")
    done = project.run(*words)
    assert done.returncode == 0, done.stderr
    progress, end = (each["body"] for each in gh.issue(1)["comments"])
    assert progress.splitlines()[1] == "ralph-bridge: loop 2: 0 of 2 boxes of the plan are ticked"
    assert ("ralph-bridge: done" in end, "- turns: 2" in end) == (True, True)
    assert gh.issue(1)["state"] == "CLOSED"
    state = project.json(".github_lifecycle_state")
    assert state["issue"] == {"number": 1, "repo": "", "title": "Do it"}
    lifecycle = state["lifecycle"]
    assert (lifecycle["progress_comments_posted"], lifecycle["issue_closed"]) == (1, True)
    assert lifecycle["start_sha"] == project.git("rev-parse", "HEAD").strip()
    assert lifecycle["last_progress_comment"] <= lifecycle["completion_detected_at"]


def ended(loop: Issue, project: Project, verdict: Verdict) -> None:
    """Have it hear of a loop of two runs that ends so."""
    project.claude(otherwise="completes")
    events = project.loop("--set", "GITHUB_ISSUE=").events
    for event in events:
        if isinstance(event, LoopEnded):
            event = LoopEnded(verdict, event.reason, event.detail, 2, 1.0, event.state)
        if isinstance(event, IterationStarted | IterationEnded | LoopEnded):
            loop.take(event)


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["1", "#1", "acme/app#1", "https://github.com/acme/app/issues/1"])
def test_ways_to_name_an_issue(project: Project, gh: Gh, reference: str) -> None:
    ended(issue(project, reference, [], "CLOSE_SUMMARY=true"), project, Verdict.COMPLETE)
    assert (len(gh.issue(1)["comments"]), gh.issue(1)["state"]) == (1, "OPEN")


@pytest.mark.parametrize(
    "reference", ["soon", "-R evil/app 1", "acme/app#1 --web", "https://evil.example/a/b/issues/1"]
)
def test_what_is_no_issue_starts_nothing(project: Project, gh: Gh, reference: str) -> None:
    with pytest.raises(ConfigurationError, match="is no issue"):
        issue(project, reference, [])
    assert gh.calls == []


@pytest.mark.slow
def test_without_a_switch_nothing_is_said_and_a_loop_that_halts_closes_nothing(project: Project, gh: Gh) -> None:
    ended(issue(project, "1", []), project, Verdict.COMPLETE)
    ended(issue(project, "1", [], "AUTO_CLOSE=true", "CLOSE_SUMMARY=true"), project, Verdict.INCOMPLETE)
    assert (gh.issue(1)["comments"], gh.issue(1)["state"]) == ([], "OPEN")


def test_what_can_not_be_said_costs_a_warning_and_no_loop(project: Project, gh: Gh) -> None:
    warned: list[str] = []
    loop = issue(project, "1", warned, "AUTO_CLOSE=true", "COMMENT_PROGRESS=true", "COMMENT_INTERVAL=1")
    gh.fail("network", times=50)
    ended(loop, project, Verdict.COMPLETE)
    assert [each.partition(":")[0] for each in warned] == [
        *["issue #1 isn't told"] * 2,
        "issue #1 isn't told of the end",
    ]
    assert project.json(".github_lifecycle_state")["lifecycle"]["issue_closed"] is False


def test_an_issue_that_is_not_there_starts_nothing(project: Project, gh: Gh) -> None:
    done = project.run("--github-issue", "7")
    assert (done.returncode, "#7 is no issue of acme/app" in done.stderr, project.calls) == (1, True, []), (
        done.stderr
    )
    assert not (project.ralph / ".github_lifecycle_state").exists()
    assert gh.issue(1)["comments"] == []
