"""Pull requests instead of merges: each once, whatever is refused, and whoever is killed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.swarm.projects import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.swarm.hosting import Hosted


def test_each_task_is_proposed_and_nothing_merged(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt", "bad: echo 3 > bad.txt", "none: true")
    main = hosted.project.git("rev-parse", "main")
    done = hosted.run("--check", "test ! -e bad.txt", "--draft")
    assert done.returncode == 1, done.stderr
    assert hosted.project.outcomes() == {
        "one": "pull request",
        "two": "pull request",
        "bad": "check failed",
        "none": "nothing to merge",
    }
    pulls = hosted.pulls()
    assert {*pulls} == {"one", "two"}
    assert all(each["isDraft"] and each["baseRefName"] == "main" for each in pulls.values())
    assert "`test ! -e bad.txt` succeeded" in pulls["one"]["body"]
    branch = pulls["one"]["headRefName"]
    changed = hosted.project.git("diff", "--name-only", f"main...{branch}", cwd=hosted.origin)
    assert changed == "one.txt"
    assert hosted.branches() == {"main", *(each["headRefName"] for each in pulls.values())}
    assert hosted.project.git("rev-parse", "main", hosted.project.seen()["branch"]) == f"{main}\n{main}"
    url = f"https://github.com/acme/app/pull/{pulls['one']['number']}"
    assert hosted.proposed("one")["pull_request"] == {
        "number": pulls["one"]["number"],
        "url": url,
        "state": "OPEN",
        "draft": True,
    }
    assert url in done.stdout
    assert url in hosted.project.swarm("report").stdout


def test_a_push_that_is_refused_leaves_all_of_it_here_until_resume(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt")
    hook = hosted.hook("pre-receive", "echo error: GH006: Protected branch update failed >&2; exit 1")
    done = hosted.run()
    assert done.returncode == 1
    seen = hosted.proposed("one")
    branch = seen["branch"].replace("ralph/task", "ralph/pull")
    assert (seen["outcome"], hosted.gh.pulls(), hosted.branches()) == ("not pushed", [], {"main"})
    assert "pre-receive hook declined" in seen["detail"]
    assert "GH006" in seen["detail"]
    assert f"git push origin {branch}" in seen["next"]
    assert hosted.project.git("show", f"{branch}:one.txt") == "1"
    hook.unlink()
    assert hosted.project.swarm("resume").returncode == 0
    assert [each["headRefName"] for each in hosted.gh.pulls()] == [branch]
    assert hosted.project.started() == [seen["id"]]


@pytest.mark.parametrize(
    ("how", "when", "after", "pulls"),
    [
        ("kill", "pr create", False, 0),  # between push and pull request
        ("kill", "pr create", True, 1),  # between pull request and record
        ("kill", "pr list", False, 0),  # between check and push
        ("network", "pr create", True, 1),  # the answer is lost
        ("rate", "pr create", False, 1),
        ("garbage", "pr list", False, 1),
    ],
)
def test_whatever_happens_on_the_way_it_is_proposed_once(
    hosted: Hosted, how: str, when: str, after: bool, pulls: int
) -> None:
    hosted.plan("one: echo 1 > one.txt")
    hosted.gh.fail(how, when, after=after)
    assert hosted.run().returncode == (-9 if how == "kill" else 0)
    assert len(hosted.gh.pulls()) == pulls
    until(lambda: hosted.project.processes() == [])
    assert hosted.project.swarm("resume").returncode == 0
    assert [each["title"] for each in hosted.gh.pulls()] == ["one: echo 1 > one.txt"]
    assert hosted.project.started() == [hosted.proposed("one")["id"]]
    assert hosted.proposed("one")["pull_request"]["number"] == 1


def test_a_pull_request_that_somebody_closed_stays_closed_until_its_task_is_done_anew(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt")
    assert hosted.run().returncode == 0
    one, two = (hosted.pulls()[name]["number"] for name in ("one", "two"))
    hosted.gh.set_pull(one, state="CLOSED")
    hosted.gh.set_pull(two, state="MERGED")
    done = hosted.project.swarm("resume")
    assert done.returncode == 1
    assert hosted.project.outcomes() == {"one": "closed", "two": "pull request"}
    assert f"pull request #{two}, merged" in done.stdout
    assert len(hosted.gh.pulls()) == 2
    assert hosted.project.swarm("resume", "--retry", "closed").returncode == 0
    states = {each["number"]: each["state"] for each in hosted.gh.pulls()}
    assert states == {one: "CLOSED", two: "MERGED", 3: "OPEN"}
    assert hosted.gh.pulls()[2]["headRefName"].endswith("--2")


def test_a_branch_of_somebody_else_is_not_touched(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt")
    hosted.hook("pre-receive", "exit 1")
    hosted.run()
    branch = hosted.proposed("one")["branch"].replace("ralph/task", "ralph/pull")
    (hosted.origin / "hooks/pre-receive").unlink()
    hosted.project.git("update-ref", f"refs/heads/{branch}", "main", cwd=hosted.origin)
    assert hosted.project.swarm("resume").returncode == 1
    assert "somebody else's" in hosted.proposed("one")["detail"]
    tips = hosted.project.git("rev-parse", "main", branch, cwd=hosted.origin).split()
    assert tips[0] == tips[1]
    assert hosted.gh.pulls() == []


def test_a_pull_request_from_a_fork_with_a_branch_of_that_name_is_not_ours(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt")
    hook = hosted.hook("pre-receive", "exit 1")
    hosted.run()
    hook.unlink()
    theirs = {"headRefName": hosted.proposed("one")["branch"].replace("ralph/task", "ralph/pull"), "state": "OPEN"}
    hosted.gh.add("theirs", number=50)
    repository = hosted.gh.repository
    entry = {**repository["issues"].pop("50"), **theirs, "baseRefName": "old", "isCrossRepository": True}
    hosted.gh.change(repositories={hosted.gh.name: {**repository, "pulls": {"50": entry}}})
    assert hosted.project.swarm("resume").returncode == 0
    assert hosted.proposed("one")["pull_request"]["number"] == 51
    assert len(hosted.branches()) == 2


PLANTED = """
git config url.$NOTES/evil.git.insteadOf $ORIGIN
git remote set-url origin $NOTES/evil.git
git config core.hooksPath $NOTES/hooks
git config core.sshCommand "touch $NOTES/ran;"
git config remote.origin.receivepack "touch $NOTES/ran;"
git config credential.helper "!touch $NOTES/ran;"
mkdir -p $NOTES/hooks
printf '#!/bin/sh\ntouch $NOTES/ran\n' > $NOTES/hooks/pre-push
chmod +x $NOTES/hooks/pre-push
git init -q --bare $NOTES/evil.git
echo "[$GH_TOKEN]" > $NOTES/token
"""


def test_what_an_agent_writes_into_the_configuration_is_not_what_a_push_goes_by(hosted: Hosted) -> None:
    (hosted.project.notes / "plant").write_text(PLANTED)
    hosted.project.env |= {"ORIGIN": str(hosted.origin), "GH_TOKEN": "secret"}
    hosted.plan('one: . "$NOTES/plant"; echo 1 > one.txt')
    assert hosted.run().returncode == 0
    assert not (hosted.project.notes / "ran").exists()
    assert len(hosted.branches()) == 2
    assert (hosted.project.notes / "token").read_text() == "[]\n"


def test_a_task_is_proposed_on_top_of_the_one_that_it_needs(hosted: Hosted) -> None:
    hosted.project.write(
        "../tasks.yaml",
        """
- {id: a, prompt: "a: echo a > a.txt"}
- {id: b, prompt: "b: cat a.txt > b.txt", needs: [a]}
- {id: c, prompt: "c: cat b.txt > c.txt", needs: [a, b]}
- {id: x, prompt: "x: echo x > x.txt"}
- {id: d, prompt: "d: cat c.txt x.txt > d.txt", needs: [c, x]}
""",
    )
    done = hosted.run("../tasks.yaml")
    assert done.returncode == 1
    pulls = hosted.pulls()
    assert {name: each["baseRefName"].rpartition("/")[2] for name, each in pulls.items()} == {
        "a": "main",
        "b": "a",
        "c": "b",
        "x": "main",
    }
    assert "pull requests are to be merged first" in hosted.proposed("d")["detail"]
    # GitHub merges b's into a's branch, or into main once a's is merged.
    for name in ("a", "b", "c", "x"):
        hosted.project.git("fetch", "-q", "origin")
        hosted.project.git("merge", "-q", "--no-edit", f"origin/{pulls[name]['headRefName']}")
        hosted.gh.set_pull(pulls[name]["number"], state="MERGED")
    hosted.project.git("push", "-q", "origin", "main")
    assert hosted.project.swarm("resume").returncode == 0
    assert hosted.pulls()["d"]["baseRefName"] == "main"
    assert hosted.project.git("show", f"{hosted.pulls()['d']['headRefName']}:d.txt", cwd=hosted.origin) == "a\nx"


def test_cleaning_removes_what_was_merged_there_and_nothing_else(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt")
    assert hosted.run("--tidy").returncode == 0
    hosted.gh.set_pull(hosted.pulls()["one"]["number"], state="MERGED")  # squashed: no commit of it is anywhere
    done = hosted.project.swarm("clean")
    assert done.returncode == 1
    left = hosted.project.git("branch", "--list", "ralph/task/*", "ralph/pull/*").splitlines()
    assert [each.rpartition("/")[2][:6] for each in left] == ["02-two", "02-two"]
    hosted.gh.set_pull(hosted.pulls()["two"]["number"], state="MERGED")
    assert hosted.project.swarm("clean").returncode == 0
    assert hosted.project.git("branch", "--list", "ralph/*") == ""


def test_what_cannot_go_well_is_refused_before_anything_is_begun(hosted: Hosted, tmp_path: Path) -> None:
    hosted.project.plan("one: true")
    done = hosted.run()
    assert (done.returncode, "lacks commits of yours" in done.stderr) == (2, True)
    hosted.project.git("push", "-q", "origin", "main")
    done = hosted.run("--into", "other")
    assert (done.returncode, "has no branch other" in done.stderr) == (2, True)
    hosted.gh.change(login="")
    done = hosted.run()
    assert (done.returncode, "gh auth login" in done.stderr) == (4, True)
    few = tmp_path / "few"
    few.mkdir()
    for name in ("git", "bash", "sh"):
        (few / name).symlink_to(shutil.which(name) or "")
    path, hosted.project.env["PATH"] = hosted.project.env["PATH"], str(few)
    done = hosted.run()
    hosted.project.env["PATH"] = path
    assert (done.returncode, "isn't on PATH" in done.stderr) == (4, True)
    hosted.project.git("remote", "remove", "origin")
    done = hosted.run()
    assert (done.returncode, "no remote `origin`" in done.stderr) == (2, True)
    done = hosted.project.swarm("run", "--draft")
    assert (done.returncode, "--pull-requests" in done.stderr) == (2, True)
    assert hosted.project.started() == []


def test_a_shallow_clone_proposes_too(hosted: Hosted) -> None:
    hosted.plan("one: echo 1 > one.txt")
    git = hosted.project.git
    git("fetch", "-q", "--depth=1", f"file://{hosted.origin}", "main")
    git("reflog", "expire", "--expire=now", "--all")
    git("gc", "-q", "--prune=now")
    assert git("rev-list", "--count", "main") == "1"
    assert hosted.run().returncode == 0
    assert len(hosted.gh.pulls()) == 1
    assert git("rev-list", "--count", "main", cwd=hosted.origin) == "2"
