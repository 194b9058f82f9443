"""The real ``gh``, against a GitHub of ours behind a Unix socket: what the source of tasks asks of it, it takes."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import threading
import zipfile
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.git.repository import Repository
from bridge.loop.swarm.checks import OnGitHub
from bridge.loop.swarm.pulls import PullRequests
from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord
from bridge.loop.tasks import open_source
from bridge.loop.tasks.source_updates import Account
from bridge.loop.tasks.task import Asked, Filters, Task
from tests.tasks.stand_ins.gh import FIELDS, FLAGS, NEWER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("gh") is None, reason="no gh on this machine (apt-get install gh)"),
]
# Of 2.103; Debian 12 has 2.23.
LATER = "attach create-if-none delete-last yes duplicate-of dry-run editor fill-first fill-verbose template type"
LATER += " attempt fail-fast"
LATER += " allow-escape-sequences slurp verbose active jq json"

HEAD = "1" * 40
TIME = "2026-01-02T03:04:05.1234567Z"


class _GitHub(BaseHTTPRequestHandler):
    """Answers the queries of gh out of `issues`: two open ones, of which one needs the other."""

    issues: dict[int, dict[str, Any]]
    pulls: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    merges: list[dict[str, Any]]
    asked: list[str]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "query" in asked:
            query, given = asked["query"], asked.get("variables") or {}
            self.asked.append(query)
            body = json.dumps({"data": self._answer(query, given)}).encode()
        else:
            self.asked.append(f"POST {self.path} {json.dumps(asked)}")
            body = b"{}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """The REST of it: jobs, runs, their logs, comments on lines."""
        path = self.path.partition("?")[0]
        self.asked.append(f"GET {self.path}")
        kind, body = "application/json", b""
        if path.endswith("/logs"):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr("build/1_Set up.txt", f"{TIME} nothing\n")
                archive.writestr("build/2_Run tests.txt", f"{TIME} one\n{TIME} \x1b[31mE  two\x1b[0m\n")
            kind, body = "application/zip", packed.getvalue()
        else:
            body = json.dumps(self._rest(path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _rest(self, path: str) -> Any:
        steps = [
            {"name": "Set up", "status": "completed", "conclusion": "success", "number": 1},
            {"name": "Run tests", "status": "completed", "conclusion": "failure", "number": 2},
        ]
        job = {
            "id": 700,
            "run_id": 70,
            "name": "build",
            "status": "completed",
            "conclusion": "failure",
            "steps": steps,
        }
        if "/jobs" in path:
            return {"jobs": [job]} if path.endswith("/jobs") else job
        if "/actions/runs/" in path:
            return {"id": 70, "status": "completed", "conclusion": "failure", "name": "CI", "workflow_id": 1}
        user = {"login": "alice", "type": "User"}
        more = {"author_association": "MEMBER", "path": "a.py", "line": 3, "body": "Rename it."}
        return [{"id": 5, "user": user, **more}] if path.endswith("/comments") else {}

    def _answer(self, query: str, given: dict[str, Any]) -> dict[str, Any]:
        if numbers := re.findall(r"(\w+):issueOrPullRequest\(number:(\d+)\)", query):
            return {"repository": {name: {"state": "CLOSED"} for name, _ in numbers}}
        if kinds := re.findall(r'(\w+): __type\(name: "\w+"\)', query):
            what = "enumValues" if "enumValues" in query else "fields"
            return {kind: {what: [{"name": "stateReason"}, {"name": "ISSUE"}]} for kind in kinds}
        if (found := self._proposed(query, given)) is not None:
            return found
        if "mutation" in query:
            values = given["input"]
            issue = next(each for each in self.issues.values() if each["id"] in values.values())
            if "closeIssue" in query:
                issue["state"] = "CLOSED"
                return {"closeIssue": {"issue": {"id": issue["id"]}}}
            comment = {"id": "C", "author": {"login": "me"}, "body": values["body"], "viewerDidAuthor": True}
            issue["comments"]["nodes"].append(comment)
            return {"addComment": {"commentEdge": {"node": {"url": f"{issue['url']}#issuecomment-1"}}}}
        if (number := given.get("issue_number") or given.get("number")) is not None:
            return {"repository": {"hasIssuesEnabled": True, "issue": self.issues[number]}}
        if "node(id:" in query:
            issue = next(each for each in self.issues.values() if each["id"] == given["id"])
            return {"node": {"comments": issue["comments"]}}
        nodes = [each for each in self.issues.values() if each["state"] == "OPEN"]
        begin = int(given.get("endCursor") or 0)
        end = {"hasNextPage": begin + 100 < len(nodes), "endCursor": str(begin + 100)}
        nodes = nodes[begin : begin + 100]
        if "search(" in query:
            found = {"issueCount": len(nodes), "nodes": nodes, "pageInfo": end}
            return {"search": found, "repository": {"hasIssuesEnabled": True}}
        listed = {"totalCount": len(nodes), "nodes": nodes, "pageInfo": end}
        return {"repository": {"hasIssuesEnabled": True, "issues": listed}}

    def _proposed(self, query: str, given: dict[str, Any]) -> dict[str, Any] | None:
        """What it answers about pull requests, and about the repository that they are for."""
        if "mergePullRequest" in query:
            self.merges.append(given["input"])
            self.pulls[0]["state"] = "MERGED"
            return {"mergePullRequest": {"clientMutationId": ""}}
        if "statusCheckRollup" in query and "node(id:" in query:
            contexts = {"nodes": self.checks, "pageInfo": {"hasNextPage": False, "endCursor": ""}}
            commit = {"oid": "", "statusCheckRollup": {"contexts": contexts}}
            return {"node": {"statusCheckRollup": {"nodes": [{"commit": commit}]}}}
        if "pullRequest(number:" in query or ("node(id:" in query and "reviews" in query):
            pull = self._pull()
            return {"node": pull} if "node(id:" in query else {"repository": {"pullRequest": pull}}
        if "squashMergeAllowed" in query:
            return {
                "repository": {"squashMergeAllowed": False, "mergeCommitAllowed": True, "rebaseMergeAllowed": True}
            }
        if "createPullRequest" in query:
            pull = {"id": "PR_7", "number": 7, "url": "https://github.com/acme/app/pull/7", "state": "OPEN"}
            self.pulls.append({**pull, "given": given["input"], "isDraft": given["input"]["draft"]})
            return {"createPullRequest": {"pullRequest": pull}}
        if "pullRequests(" in query:
            more = {"headRefOid": "", "isCrossRepository": False}
            nodes = [each | more for each in self.pulls if given["headBranch"] == each["given"]["headRefName"]]
            listed = {"totalCount": len(nodes), "nodes": nodes, "pageInfo": {"hasNextPage": False, "endCursor": ""}}
            return {"repository": {"pullRequests": listed, "defaultBranchRef": {"name": "main"}}}
        if "RepositoryInfo" in query:
            known = {
                "id": "R",
                "name": "app",
                "nameWithOwner": "acme/app",
                "owner": {"login": "acme"},
                "parent": None,
            }
            return {"repository": {**known, "viewerPermission": "WRITE", "defaultBranchRef": {"name": "main"}}}
        return None

    def _pull(self) -> dict[str, Any]:
        end = {"hasNextPage": False, "endCursor": ""}
        review = {"id": "PRR_1", "author": {"login": "alice"}, "authorAssociation": "MEMBER", "body": "Mend it."}
        review |= {"state": "CHANGES_REQUESTED", "submittedAt": "2026-01-02T03:04:05Z", "commit": {"oid": ""}}
        requested = {"requestedReviewer": {"__typename": "User", "login": "bob"}}
        return {
            **self.pulls[0],
            "title": "T",
            "headRefName": "b",
            "headRefOid": HEAD,
            "baseRefName": "main",
            "headRepositoryOwner": {"id": "O", "login": "acme"},
            "mergeable": "MERGEABLE",
            "mergeStateStatus": "CLEAN",
            "reviewDecision": "CHANGES_REQUESTED",
            "isInMergeQueue": False,
            "isMergeQueueEnabled": False,
            "commits": {"nodes": [{"commit": {"oid": HEAD}}], "totalCount": 1},
            "reviews": {"nodes": [review], "pageInfo": end, "totalCount": 1},
            "reviewRequests": {"nodes": [requested], "totalCount": 1},
        }

    def log_message(self, *_: object) -> None:
        """Nothing of it on stderr."""


class _Server(ThreadingUnixStreamServer):
    daemon_threads = True

    def get_request(self) -> tuple[Any, Any]:
        return super().get_request()[0], ("gh", 0)


def an_issue(number: int, title: str, body: str) -> dict[str, Any]:
    end = {"hasNextPage": False, "endCursor": ""}
    return {
        "__typename": "Issue",
        "id": f"I_{number}",
        "number": number,
        "title": title,
        "body": body,
        "state": "OPEN",
        "url": f"https://github.com/acme/app/issues/{number}",
        "labels": {"nodes": [{"id": "L", "name": "P1", "description": "", "color": "ff0000"}], "totalCount": 1},
        "blockedBy": {"nodes": [], "totalCount": 0},
        "comments": {"nodes": [], "totalCount": 0, "pageInfo": end},
    }


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_GitHub]]:
    issues = {1: an_issue(1, "One", "first"), 2: an_issue(2, "Two", "Depends on #1, #7")}
    answering = type(
        "Answering", (_GitHub,), {"issues": issues, "pulls": [], "checks": [], "merges": [], "asked": []}
    )
    socket = tmp_path / "s"
    (tmp_path / "config.yml").write_text(f"http_unix_socket: {socket}\n")
    for name, value in {"GH_CONFIG_DIR": str(tmp_path), "GH_TOKEN": "t", "GH_TELEMETRY": "0"}.items():
        monkeypatch.setenv(name, value)
    with _Server(str(socket), answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield answering
        server.shutdown()


def test_issues_are_read_commented_and_closed(github: type[_GitHub], tmp_path: Path) -> None:
    told: list[str] = []
    source = open_source("github:acme/app", Asked(project=tmp_path / "..", tell=told.append))
    one, two = source.tasks()
    assert (one.title, one.priority, two.needs, told) == ("One", 1, (one.id,), [])
    account = Account(run="r", task=one, word="done").comment()
    for _ in range(2):
        source.done(one, account, close=True)
    assert [each["body"] for each in github.issues[1]["comments"]["nodes"]] == [account]
    assert (github.issues[1]["state"], github.issues[2]["state"]) == ("CLOSED", "OPEN")
    assert source.again("#2").id == two.id


def test_a_pull_request_is_opened_and_found_again(github: type[_GitHub], tmp_path: Path) -> None:
    origin, folder = tmp_path / "acme" / "app.git", tmp_path / "work"
    git("init", "-q", "--bare", str(origin))
    git("init", "-q", "-b", "main", str(folder))
    git(
        "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@e", "commit", "-q", "--allow-empty", "-m", "one"
    )
    git("-C", str(folder), "push", "-q", str(origin), "main")
    git("-C", str(folder), "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")  # gh asks git for the status
    repository = Repository(folder)
    task = TaskRecord(Task("07-x", "--web $(id)", "Do it."), branch="ralph/task/r/07-x", merge=repository.head())
    record = SwarmRecord(
        run="r",
        project=str(folder),
        kind="plain",
        base=task.merge,
        branch="ralph/swarm/r",
        tasks=[task],
        into="main",
        remote=str(origin),
        repository="acme/app",
        draft=True,
    )
    pulls = PullRequests(repository, record)
    pulls.check()
    assert (pulls.base(), pulls.find(task.pull_branch)) == (task.merge, None)
    opened = [pulls.open(task, task.merge) for _ in range(2)]
    assert (opened[0]["number"], opened[0]["draft"], opened[1]) == (7, True, opened[0])
    (given,) = (each["given"] for each in github.pulls)
    assert (given["title"], given["baseRefName"], given["headRefName"]) == (
        task.task.title,
        "main",
        task.pull_branch,
    )
    assert not (tmp_path / "ran").exists()
    assert git("-C", str(origin), "rev-parse", f"refs/heads/{task.pull_branch}") == task.merge


def a_check(name: str, conclusion: str | None, *, required: bool) -> dict[str, Any]:
    return {
        "__typename": "CheckRun",
        "name": name,
        "status": "COMPLETED" if conclusion else "IN_PROGRESS",
        "conclusion": conclusion or "",
        "startedAt": "2026-01-02T03:04:05Z",
        "completedAt": "2026-01-02T03:05:05Z",
        "detailsUrl": "https://github.com/acme/app/actions/runs/70/job/700",
        "isRequired": required,
        "checkSuite": {"workflowRun": {"event": "pull_request", "workflow": {"name": "CI"}}},
    }


def test_checks_reviews_logs_and_a_merge(github: type[_GitHub], tmp_path: Path) -> None:
    github.pulls.append({"id": "PR_7", "number": 7, "url": "https://github.com/acme/app/pull/7", "state": "OPEN"})
    hub = OnGitHub(tmp_path, "acme/app")
    assert hub.look(7, reviews=False).checks == ()
    github.checks += [a_check("lint", "SUCCESS", required=False), a_check("e2e", None, required=False)]
    seen = hub.look(7, reviews=True)
    assert {(each.name, each.bucket) for each in seen.checks} == {("lint", "pass"), ("e2e", "pending")}
    assert (seen.pull["head"], seen.mergeable, seen.status) == (HEAD, "MERGEABLE", "CLEAN")
    assert (seen.decision, seen.requested) == ("CHANGES_REQUESTED", frozenset({"bob"}))
    assert [(each.login, each.text) for each in seen.reviews] == [
        ("alice", "Mend it."),
        ("alice", "a.py:3\nRename it."),
    ]
    github.checks.append(a_check("build", "FAILURE", required=True))
    (check,) = hub.look(7, reviews=False).checks
    assert (check.name, check.bucket) == ("build", "fail")
    told = hub.failures([check])
    assert "one\nE  two\n" in told
    assert "nothing" not in told, "only failing steps"
    assert hub.ask_again(7, ["alice"]) == ""
    assert github.asked[-1] == 'POST /repos/acme/app/pulls/7/requested_reviewers {"reviewers": ["alice"]}'
    assert hub.merge(7, HEAD) == ""
    assert (github.merges[0]["mergeMethod"], github.merges[0]["expectedHeadOid"]) == ("MERGE", HEAD)
    assert hub.look(7, reviews=False).pull["state"] == "MERGED"


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def test_many_issues_come_by_the_page(github: type[_GitHub], tmp_path: Path) -> None:
    github.issues.update((number, an_issue(number, "T", "")) for number in range(3, 251))
    assert len(open_source("github:acme/app", Asked(project=tmp_path / "..")).tasks()) == 250
    assert sum("query IssueList" in each for each in github.asked) == 3


def test_filters_go_to_its_search(github: type[_GitHub], tmp_path: Path) -> None:
    filters = Filters(label=("a b", "--web"), milestone="v1", assignee="me", search="words", limit=5)
    assert len(open_source("github:acme/app", Asked(project=tmp_path / "..", filters=filters)).tasks()) == 2
    assert any("search(" in each for each in github.asked)


def told(*words: str) -> str:
    done = subprocess.run(["gh", *words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_stand_in_has_its_flags_and_fields() -> None:
    for command, flags in FLAGS.items():
        if command.startswith("api"):
            command = "api"
        listed = re.findall(r"^ +(?:-(\w), )?--([\w-]+)", told(*command.split(), "--help"), re.MULTILINE)
        for flag in flags.split():
            *short, long = flag.rstrip("={}[]").split("/")
            if long.strip("-") not in LATER.split():
                assert ((short[0].strip("-") if short else ""), long.strip("-")) in listed, (command, flag)
    for noun, command in {"issue": "issue list", "pr": "pr list", "repo": "repo view"}.items():
        known = re.findall(r"^  (\w+)$", told(*command.split(), "--json"), re.MULTILINE)
        later = NEWER | {"autoMergeRequest", "baseRefOid", "closingIssuesReferences", "fullDatabaseId"}
        assert {*FIELDS[noun].split()} - later <= {*known}, noun
