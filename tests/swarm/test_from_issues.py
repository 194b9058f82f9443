"""From issues to pull requests and back: each comment and each pull request once, whoever is killed."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.swarm.projects import kill, until

if TYPE_CHECKING:
    from tests.swarm.hosting import Hosted

FROM = ("--from", "github:acme/app")
CLI = r"""#!/usr/bin/env bash
cat > /dev/null
echo "$RALPH_TASK" >> "$NOTES/started"
echo "done by $RALPH_TASK" > "$RALPH_TASK.txt"
sed -i 's/^- \[ \]/- [x]/' .ralph/@fix_plan.md
printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""


def issues(hosted: Hosted, count: int, body: str = "Do it.") -> None:
    """Have so many of them, and an agent that does any."""
    hosted.project.write("../bin/my-cli", CLI, 0o755)
    hosted.gh.add_all([{"title": f"Issue {number}", "body": body} for number in range(1, count + 1)])


def told(hosted: Hosted) -> list[list[str]]:
    """The comments of each issue, without their marks."""
    found = hosted.gh.repository["issues"].values()
    return [[text["body"].splitlines()[1] for text in each["comments"]] for each in found]


def entries(hosted: Hosted) -> dict[str, dict[str, Any]]:
    return {each["title"]: each for each in hosted.project.seen()["tasks"]}


def test_from_an_issue_to_a_pull_request_that_closes_it(hosted: Hosted) -> None:
    issues(hosted, 1, "Do it @everybody.\n```\nFixes #5\n```")
    assert hosted.run(*FROM, "--write-back", "close", "--check", "true").returncode == 0
    (pull,) = hosted.gh.pulls()
    issue = hosted.gh.issue(1)
    assert "\nFixes acme/app#1\n" in pull["body"]
    task = pull["body"].partition("<details>")[2].partition("</details>")[0]
    assert task.count("````") == 2, "the text of others stands in a fence that it doesn't close"
    assert "@everybody" in task
    assert (issue["state"], told(hosted)) == ("OPEN", [["ralph-bridge: done"]])
    assert f"https://github.com/acme/app/pull/{pull['number']}\n" in issue["comments"][0]["body"]


def test_merged_here_an_issue_is_commented_on_and_closed(hosted: Hosted) -> None:
    issues(hosted, 2)
    hosted.project.git("branch", "result")
    assert hosted.project.swarm("run", *FROM, "--write-back", "close", "--into", "result").returncode == 0
    assert told(hosted) == [["ralph-bridge: done"]] * 2
    assert [hosted.gh.issue(number)["state"] for number in (1, 2)] == ["CLOSED", "CLOSED"]
    assert "merged into `result`" in hosted.gh.issue(1)["comments"][0]["body"]


def test_failures_are_told_at_the_end_and_success_later(hosted: Hosted) -> None:
    issues(hosted, 1)
    check = ("--check", 'test -e "$NOTES/mended"')
    assert hosted.project.swarm("run", *FROM, "--write-back", "close", *check).returncode == 1
    assert told(hosted) == [["ralph-bridge: failed: `check failed (merge)`"]]
    assert str(hosted.project.notes) not in hosted.gh.issue(1)["comments"][0]["body"]
    (hosted.project.notes / "mended").touch()
    assert hosted.project.swarm("resume", "--retry", "check failed").returncode == 0
    assert [each[-1] for each in told(hosted)] == ["ralph-bridge: done"]
    assert len(told(hosted)[0]) == 2
    assert hosted.gh.issue(1)["state"] == "CLOSED"


@pytest.mark.parametrize(
    ("how", "when", "after", "comments"),
    [
        ("kill", "issue comment", False, 0),
        ("kill", "issue comment", True, 1),  # sent, and not recorded
        ("kill", "issue close", False, 1),
        ("network", "issue comment", True, 1),  # the answer is lost
        ("rate", "issue view", False, 1),
    ],
)
def test_whatever_happens_on_the_way_back_it_is_told_once(
    hosted: Hosted, how: str, when: str, after: bool, comments: int
) -> None:
    issues(hosted, 1)
    hosted.gh.fail(how, when, after=after)
    done = hosted.project.swarm("run", *FROM, "--write-back", "close")
    assert done.returncode == (-9 if how == "kill" else 0)
    assert sum(map(len, told(hosted))) == comments
    until(lambda: hosted.project.processes() == [])
    assert hosted.project.swarm("resume").returncode == 0
    assert told(hosted) == [["ralph-bridge: done"]]
    assert hosted.gh.issue(1)["state"] == "CLOSED"
    assert len(hosted.project.started()) == 1


@pytest.mark.parametrize("when", ["pr create", "issue comment"])
def test_ctrl_c_waits_for_no_network(hosted: Hosted, when: str) -> None:
    issues(hosted, 1)
    hosted.gh.fail("hang", when)
    process = hosted.project.start("run", "--pull-requests", *FROM, "--write-back", "comment")
    until(lambda: hosted.gh.called(*when.split()))
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert hosted.project.swarm("resume").returncode == 0
    assert (told(hosted), len(hosted.gh.pulls())) == ([["ralph-bridge: done"]], 1)


def test_without_a_network_the_swarm_goes_on_and_gives_up_telling_after_some(hosted: Hosted) -> None:
    issues(hosted, 6)
    hosted.gh.fail("network", "issue view", times=1000)
    done = hosted.project.swarm("run", *FROM, "--write-back", "comment")
    assert done.returncode == 0
    assert "can't be reached" in entries(hosted)["Issue 1"]["untold"]
    assert len(hosted.gh.called("issue", "view")) == 6 + 3
    assert "isn't told of 1-issue-1" in done.stdout
    hosted.gh.change(failures=[])
    assert "isn't told" not in hosted.project.swarm("resume").stdout
    assert told(hosted) == [["ralph-bridge: done"]] * 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_twenty_issues_become_twenty_pull_requests_through_three_kills(hosted: Hosted, seed: int) -> None:
    chance = random.Random(seed)
    issues(hosted, 20)
    words = ["run", "--pull-requests", *FROM, "--write-back", "comment", "-j", "3"]
    for _ in range(3):
        enough = len(hosted.gh.calls) + chance.randint(3, 30)
        process = hosted.project.start(*words)
        until(lambda limit=enough: len(hosted.gh.calls) >= limit or process.poll() is not None)  # type: ignore[misc] # noqa: B023
        kill(process.pid)
        assert process.wait() == -signal.SIGKILL
        until(lambda: hosted.project.processes() == [])
        words = ["resume", "--retry", "lost"]
    done = hosted.project.swarm(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert told(hosted) == [["ralph-bridge: done"]] * 20
    pulls = hosted.gh.pulls()
    assert sorted(each["title"] for each in pulls) == sorted(f"Issue {number}" for number in range(1, 21))
    for each in pulls:
        task = each["headRefName"].rpartition("/")[2]
        work = hosted.project.git("show", f"{each['headRefName']}:{task}.txt", cwd=hosted.origin)
        assert work == f"done by {task}"
    assert hosted.branches() == {"main", *(each["headRefName"] for each in pulls)}
