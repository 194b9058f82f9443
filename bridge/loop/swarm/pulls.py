"""Pull requests: a task's branch is pushed to where the user's ``origin`` was when the swarm began, and proposed by
``gh``.

git pushes out of a repository of its own that only borrows the objects: what an agent has written into the
configuration of the user's (other addresses, programs, hooks) is not read. Whatever is done is looked for first, so
that a host that was killed between two steps repeats none of them.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bridge.base.amounts import whole
from bridge.base.git.command import check_argument
from bridge.base.git.repository import Repository
from bridge.base.json_files import as_array
from bridge.base.wording import closing_nothing, one_line, tame
from bridge.errors import BridgeError, ConfigurationError, ProjectUnusable
from bridge.loop.swarm.source_reports import account_of
from bridge.loop.swarm.transport import QUIET, bare, receive
from bridge.loop.swarm.work_trees import clean_environment, common_folder, is_within, why
from bridge.loop.tasks.github import GH
from bridge.loop.tasks.source_updates import code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.base.process.ask import Ran
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord

TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
"""Variables with which ``gh`` is logged in."""
OPEN = "OPEN"
_FIELDS = "number,url,state,isDraft,headRefOid,isCrossRepository"
_LONGEST_TASK = 20_000


class NotProposed(BridgeError):
    """A branch wasn't pushed, or no pull request opened."""


class _Apart(Repository):
    _patience = 600.0


class PullRequests:
    """The pull requests of one swarm.

    Args:
        git: any work tree of the repository.
        record: its `remote`, `repository`, `into` say to where.
    """

    def __init__(self, git: Repository, record: SwarmRecord) -> None:
        self._git = git
        self._record = record

    def check(self) -> None:
        """
        Raises:
            SourceUnavailable: there is no ``gh``; it isn't logged in, or knows no such repository.
        """
        GH.ask_json(self._git.top, ("repo", "view", "--json=nameWithOwner", "--", self._record.repository))

    def base(self) -> str:
        """As `tip`, where that has what was begun with.

        Raises:
            ConfigurationError: it hasn't, so that each pull request would propose what is in between, too.
        """
        tip = self.tip()
        if not is_within(self._git, self._record.base, tip):
            into = self._record.into
            raise ConfigurationError(
                f"{into} at origin lacks commits of yours: each pull request would have them, too\n"
                f"  next: push them, git push origin HEAD:{into}, or check out what origin has"
            )
        return tip

    def tip(self) -> str:
        """The commit that the branch to merge into is at there; it is fetched.

        Raises:
            ConfigurationError: there is no such branch.
            ProjectUnusable: it can't be reached.
        """
        record, git = self._record, self._git
        ref = f"refs/heads/{record.into}"
        tip = self._look(ref).get(ref, "")
        if not tip:
            raise ConfigurationError(
                f"origin has no branch {record.into}\n"
                f"  next: git push origin {record.into}, or another --into BRANCH"
            )
        if not git.run("cat-file", "-e", f"{tip}^{{commit}}").ok:
            failed = receive(git, record.remote, {ref: tip}, base=record.base)
            if failed:
                raise ProjectUnusable(f"{record.into} can't be fetched from origin: {failed}\n  next: git fetch")
        return tip

    def there(self, branch: str) -> str:
        """The commit that a branch is at there; ''.

        Raises:
            ProjectUnusable: it can't be reached.
        """
        ref = f"refs/heads/{branch}"
        return self._look(ref).get(ref, "")

    def open(self, task: TaskRecord, commit: str) -> dict[str, Any]:
        """Push a commit as the task's branch and open its pull request, unless there is one in whatever state.

        Nothing of others is replaced: there is no such branch, or it is at this commit, or at what we have pushed.

        Raises:
            BridgeError: the push was refused, or the pull request; the first line says why.
        """
        branch, ref = task.pull_branch, f"refs/heads/{task.pull_branch}"
        onto = f"refs/heads/{task.onto}"
        there = self._look(*((ref, onto) if task.onto else (ref,)))
        tip = there.get(ref, "")
        if tip not in ("", commit, task.pushed):
            raise NotProposed(f"origin has a branch {branch} already, of somebody else's")
        found = self.find(branch)
        if found is not None and found["state"] != OPEN and not task.pull and found["head"] not in ("", commit):
            found = None  # an earlier one, of what was on a branch of that name then
        if tip != commit and (found is None or (found["state"] == OPEN and tip)):
            self._push(commit, ref, tip)
        return found or self._create(task, branch, task.onto if onto in there else self._record.into)

    def find(self, branch: str) -> dict[str, Any] | None:
        """The pull request of a branch: number, url, state, draft, head; the open one of several, else the last.

        Raises:
            SourceUnavailable: it can't be asked.
        """
        repository = f"--repo={self._record.repository}"
        words = ("pr", "list", repository, f"--head={branch}", "--state=all", "--limit=30", f"--json={_FIELDS}")
        listed = GH.ask_json(self._git.top, words)
        found = [each for each in map(pull_of, as_array(listed)) if each is not None]
        return max(found, key=lambda each: (each["state"] == OPEN, each["number"]), default=None)

    # -- git -------------------------------------------------------------------------------------------

    @contextmanager
    def _apart(self) -> Iterator[Repository]:
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-push-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "apart"
            bare(path, objects=common_folder(self._git) / "objects")
            yield _Apart(path, env=clean_environment() | {"GIT_DIR": os.fspath(path)})

    def _look(self, *refs: str) -> dict[str, str]:
        with self._apart() as git:
            done = git.run("ls-remote", "--quiet", "--", self._record.remote, *refs)
        if not done.ok:
            raise ProjectUnusable(f"origin can't be reached: {self._without_url(why(done))}\n  next: git ls-remote")
        pairs = (line.partition("\t") for line in done.text.splitlines())
        return {name: commit for commit, _, name in pairs}

    def _push(self, commit: str, ref: str, tip: str) -> None:
        """Push what goes on from `tip`, which has to be there still; '': nothing may be."""
        if tip and not is_within(self._git, tip, commit):
            raise NotProposed(f"{commit[:10]} doesn't go on from what is pushed")
        lease = f"--force-with-lease={ref}:{tip}"
        with self._apart() as git:
            words = ("push", "--quiet", "--no-verify", "--no-follow-tags", "--no-recurse-submodules", lease)
            done = git.run(*QUIET, *words, "--", self._record.remote, f"{commit}:{ref}")
        if not done.ok:
            raise NotProposed(f"git push: {self._without_url(_refusal(done))}")

    def _without_url(self, text: str) -> str:
        """The URL may have a password in it."""
        return text.replace(self._record.remote, "origin")

    # -- gh --------------------------------------------------------------------------------------------

    def _create(self, task: TaskRecord, branch: str, base: str) -> dict[str, Any]:
        record = self._record
        words = ["pr", "create", f"--repo={record.repository}", f"--head={branch}", f"--base={base}"]
        words += [
            f"--title={closing_nothing(one_line(task.task.title, 200))}",
            "--body-file=-",
            *["--draft"] * record.draft,
        ]
        done = GH.run(self._git.top, words, body(record, task, base), apart=True)
        # Also where it failed: the answer may have been lost, and the pull request be there.
        if (found := self.find(branch)) is not None:
            return found
        if not done.ok:
            raise GH.failed(words, done)
        url = next((line for line in reversed(done.text.splitlines()) if re.match(r"https?://\S+/\d+$", line)), "")
        if not url:
            raise NotProposed("gh pr create has given no address")
        return {"number": int(url.rpartition("/")[2]), "url": url, "state": OPEN, "draft": record.draft, "head": ""}


def stacked_on(git: Repository, record: SwarmRecord, task: TaskRecord, tip: str) -> Sequence[TaskRecord]:
    """The needed tasks whose pull requests are open, each of which holds none of the others."""
    needed = [record.task(each) for each in task.task.needs]
    waiting = [each for each in needed if each.pull.get("state") == OPEN and not is_within(git, each.merge, tip)]
    return [
        each
        for each in waiting
        if not any(other is not each and is_within(git, each.merge, other.merge) for other in waiting)
    ]


def body(record: SwarmRecord, task: TaskRecord, base: str) -> str:
    """What a pull request says, in Markdown."""
    account = account_of(record, task, "done")
    fence = "`" * (1 + max(map(len, re.findall("`{2,}", task.task.prompt)), default=2))
    facts = "".join(f"- {name}: {value}\n" for name, value in account.facts())
    needs = f"Merge {code(base)} first: this one is on top of it.\n\n" if base != record.into else ""
    closing = f"{task.closing}\n\n" if task.closing else ""
    text = tame(task.task.prompt[:_LONGEST_TASK], keep="\n\t")
    shown = f"<details><summary>The task</summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>\n\n" * bool(text)
    return f"<!-- ralph-bridge {record.run} {task.task.id} pull -->\n{closing}{needs}{shown}{facts}"


def destination(git: Repository, into: str | None, option: str = "--pull-requests") -> tuple[str, str, str]:
    """Where pull requests go to by what the user's repository says now: URL, repository as ``gh`` names it, branch.

    Raises:
        ConfigurationError: there is no ``origin``, or no branch that they could be merged into.
    """
    url = git.run("remote", "get-url", "--push", "origin").text
    if not url:
        raise ConfigurationError(f"{option}: there is no remote `origin`\n  next: git remote add origin URL")
    if "://" not in url and os.path.isdir(git.top / url):
        url = os.path.abspath(git.top / url)
    check_argument(url, "the URL of origin")
    branch = into or git.branch()
    if not branch:
        raise ConfigurationError(f"{option}: no branch is checked out\n  next: name one, --into BRANCH")
    return url, os.environ.get("GH_REPO") or _repository(url), branch


def _repository(url: str) -> str:
    """``[HOST/]OWNER/REPO``.

    >>> _repository("git@github.com:me/app.git"), _repository("https://x:t@git.example.org:8443/me/app")
    ('me/app', 'git.example.org/me/app')
    >>> _repository("/srv/git/me/app.git")
    'me/app'
    """
    if "://" in url:
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path
    elif (found := re.match(r"(?:[^/@]*@)?([^/:]+):(.*)", url)) is not None:
        host, path = found.groups()
    else:
        host, path = "", url
    name = "/".join(path.removesuffix("/").removesuffix(".git").split("/")[-2:])
    return name if host in ("", "github.com", "ssh.github.com") else f"{host}/{name}"


def pull_of(found: Any) -> dict[str, Any] | None:
    """What is to be known of a pull request; None for that of a fork's branch of that name, and for no sane one."""
    if not isinstance(found, dict) or found.get("isCrossRepository") is True:
        return None
    number, url, state = whole(found.get("number")), found.get("url"), found.get("state")
    if not number or not isinstance(url, str) or not re.fullmatch(r"https?://[!-~]{1,300}", url):
        return None
    if state not in (OPEN, "CLOSED", "MERGED"):
        return None
    head = str(found.get("headRefOid") or "")
    return {"number": number, "url": url, "state": state, "draft": found.get("isDraft") is True, "head": head}


def _refusal(done: Ran) -> str:
    """What the other side says of a push, whose own lines begin with ``remote:``."""
    lines = [line.strip() for line in done.err.splitlines() if line.strip()]
    told = [line.removeprefix("remote: ") for line in lines if line.startswith("remote: error")]
    refused = [line for line in lines if line.startswith("!")]
    return one_line("; ".join([*refused[:1], *told[:1]]) or why(done), 300)
