"""The stand-ins for ``gh`` and ``bd`` hold what they are given, and fail as they are told."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.tasks.stand_ins.trackers import Beads, Gh

if TYPE_CHECKING:
    from pathlib import Path


def run(tracker: Gh | Beads, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tracker.program, *words], env=tracker.env(), input=stdin, capture_output=True, text=True, check=False
    )


def answer(tracker: Gh | Beads, *words: str) -> Any:
    done = run(tracker, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_issues_are_listed_commented_and_closed(tmp_path: Path) -> None:
    gh = Gh(tmp_path)
    one = gh.add("One", labels=["bug", "P1"], milestone={"number": 3, "title": "v1"}, assignees=["octocat"])
    gh.add("Two")
    fields = "--json=number,labels,milestone,assignees"
    (found,) = answer(gh, "issue", "list", "-Racme/app", "-lbug,P1", "-m3", "-a@me", fields)
    assert (found["number"], [each["name"] for each in found["labels"]]) == (one, ["bug", "P1"])
    assert found["milestone"]["title"] == "v1"
    assert run(gh, "issue", "comment", "1", "-Racme/app", "--body-file=-", stdin="done").stdout.endswith("-1\n")
    for told in ("✓ Closed issue", "! Issue"):
        assert told in run(gh, "issue", "close", "1", "--repo=acme/app", "--reason=completed").stderr
    seen = answer(gh, "issue", "view", "1", "-Racme/app", "--json=state,comments")
    assert (seen["state"], seen["comments"][0]["body"]) == ("CLOSED", "done")
    assert [each["number"] for each in answer(gh, "issue", "list", "-Racme/app", "--json=number")] == [2]


def test_pull_requests_are_opened_once(tmp_path: Path) -> None:
    gh = Gh(tmp_path)
    words = ("pr", "create", "--repo=acme/app", "--head=b", "--base=main", "--title=T", "--body-file=-", "--draft")
    assert run(gh, *words, stdin="Fixes #1").stdout == "https://github.com/acme/app/pull/1\n"
    assert "already exists:\nhttps://github.com/acme/app/pull/1" in run(gh, *words).stderr
    (pull,) = answer(gh, "pr", "list", "-Racme/app", "--head=b", "--state=all", "--json=number,isDraft,body")
    assert pull == {"number": 1, "isDraft": True, "body": "Fixes #1"}


def test_it_fails_as_told_and_notes_its_calls(tmp_path: Path) -> None:
    gh = Gh(tmp_path)
    number = str(gh.add())
    gh.fail("network", "issue comment", skip=1, after=True)
    comment = ("issue", "comment", number, "-Racme/app", "--body=x")
    assert [run(gh, *comment).returncode for _ in range(3)] == [0, 1, 0]
    assert len(gh.issue(1)["comments"]) == 3
    assert gh.called("issue", "comment") == [[*comment]] * 3
    gh.change(login="")
    assert run(gh, "issue", "list", "-Racme/app").returncode == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("issue list --nope", "unknown flag: --nope"),
        ("issue list -Ra", 'expected the "[HOST/]OWNER/REPO" format'),
        ("issue list -Rno/such", "Could not resolve to a Repository"),
        ("issue list -Racme/app --json=nope", 'Unknown JSON field: "nope"'),
        ("issue list -Racme/app x", 'unknown argument "x"'),
        ("issue view -Racme/app 9", "Could not resolve to an issue or pull request"),
        ("issue comment -Racme/app 9", "flags required"),
    ],
)
def test_it_is_as_strict_as_gh(tmp_path: Path, words: str, told: str) -> None:
    done = run(Gh(tmp_path), *words.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(("GraphQL: ", told))
    assert told in done.stderr


def test_beads_are_listed_commented_and_closed(tmp_path: Path) -> None:
    bd = Beads(tmp_path)
    bd.add("bd-1", "One", priority=0)
    bd.add("bd-2", "Two", needs={"bd-1": "blocks"})
    assert [each["id"] for each in answer(bd, "ready", "--json")] == ["bd-1"]
    second = answer(bd, "list", "--json", "--limit=0")[1]
    assert second["dependencies"][0]["depends_on_id"] == "bd-1"
    assert "cannot close" in run(bd, "close", "bd-2").stderr
    assert run(bd, "comments", "add", "bd-1", "--", "done").returncode == 0
    assert run(bd, "close", "bd-1", "--reason=merged").returncode == 0
    assert answer(bd, "show", "bd-1", "--json")[0]["close_reason"] == "merged"
    assert answer(bd, "comments", "bd-1", "--json")[0]["text"] == "done"
    assert [each["id"] for each in answer(bd, "ready", "--json")] == ["bd-2"]
