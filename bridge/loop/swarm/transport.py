"""How commits get from one repository to another that shares no files with it: by a bare repository.

What comes back from elsewhere is checked in a repository of its own before anything is fetched from it.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from bridge.base.files import make_folder, write_atomic
from bridge.base.git.command import check_argument
from bridge.base.json_files import to_json
from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.swarm.work_trees import common_folder, complaints, is_within, keep, repository, resolve, why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.base.git.repository import Repository
    from bridge.base.process.ask import Ran
    from bridge.loop.swarm.work_order import Order

QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
FETCH = (*QUIET, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
_CHECKED = ("-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true", "-c", "protocol.file.allow=always")
_INCOMING = "refs/ralph/incoming"
_PAUSES = (0.5, 2.0, 0.0)
"""Seconds between two attempts at a push: a server may be busy, or a ref locked for a moment."""


def bare(path: Path, *, objects: Path | None = None) -> Repository:
    """Make a bare repository, or find the one that is there; `objects` of another one are not to be had twice."""
    make_folder(path)
    git = repository(path, GIT_DIR=os.fspath(path))
    if not (path / "HEAD").exists():
        done = git.run("init", "--bare", "--quiet", "--template=", os.fspath(path))
        if not done.ok:
            raise ProjectUnusable(f"no repository at {path}: {why(done)}")
        git.run("config", "gc.auto", "0")
    if objects is not None:
        make_folder(path / "objects/info")
        write_atomic(path / "objects/info/alternates", os.fsencode(objects) + b"\n")
    return git


def receive(git: Repository, source: str, refs: Mapping[str, str], *, base: str = "") -> str:
    """Fetch commits that came from elsewhere; why that can't be, or ''.

    They come into a repository of their own first, where git looks at each object (fsck) and at whether all are
    there; only what has passed is fetched from that one.

    Args:
        git: is to have them; they lie loose in it, and get their names from who called.
        source: the URL of a repository.
        refs: names there, with the commit that each is to be; '' for whatever it is.
        base: a commit that both have.
    """
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-received-", ignore_cleanup_errors=True) as folder:
        named = {name: f"{_INCOMING}/{number}" for number, name in enumerate(refs)}
        apart = bare(Path(folder) / "checked", objects=common_folder(git) / "objects")
        if base:
            apart.run("update-ref", "refs/ralph/base", base)  # git wants it to be reachable
        done = apart.run(*_CHECKED, *FETCH, "--", source, *(f"+{name}:{at}" for name, at in named.items()))
        if not done.ok:
            return _words(done)
        for name, commit in refs.items():
            found = apart.run("rev-parse", f"{named[name]}^{{commit}}").text
            if commit and found != commit:
                return f"{name} is {found or 'no commit'}, and not {commit}"
        done = git.run("-c", "protocol.file.allow=always", *FETCH, "--", os.fspath(apart.project), *named.values())
        return "" if done.ok else _words(done)


def _words(done: Ran) -> str:
    """What git says of objects that aren't sound: the first lines name them."""
    return "; ".join(complaints(done.err)[:3]) or why(done)


class Hub:
    """A bare repository that host and workers reach, and what they tell each other by its refs.

    Attributes:
        notes, work: patterns for the refs of all notes, and of all branches that attempts have pushed.
    """

    def __init__(self, url: str, run: str) -> None:
        self.url = url
        self.run = run
        self._refs = f"refs/ralph/{run}"
        self.notes = f"{self._refs}/*"
        self.work = f"refs/heads/ralph/attempt/{run}/*"

    def look(self, git: Repository, *patterns: str) -> dict[str, str] | None:
        """Refs and their commits; None when it can't be reached."""
        done = git.run("ls-remote", "--quiet", "--", self.url, *patterns)
        if not done.ok:
            return None
        pairs = [line.split("\t") for line in done.text.splitlines()]
        return {name: commit for commit, name in pairs}

    def push(self, git: Repository, *refspecs: str, options: tuple[str, ...] = ()) -> str:
        """Why that failed, or ''."""
        for pause in _PAUSES:
            done = git.run(*QUIET, "push", "--quiet", "--no-verify", *options, "--", self.url, *refspecs)
            if done.ok:
                return ""
            if "[rejected]" in done.err:  # by git here, which has seen what is there
                break
            time.sleep(pause)
        return why(done)

    def forget(self, git: Repository, refs: Mapping[str, str]) -> str:
        """Delete refs that still are what they were; why that failed, or ''."""
        leases = tuple(f"--force-with-lease={name}:{commit}" for name, commit in refs.items())
        return self.push(git, *(f":{name}" for name in refs), options=leases)

    def offer(self, git: Repository, commit: str) -> str:
        """Have a commit there for workers to fetch, under :meth:`base`."""
        return self.push(git, f"+{commit}:{self.base(commit)}")

    def base(self, commit: str) -> str:
        return f"{self._refs}/base/{commit}"

    def note(self, git: Repository, ref: str, value: object) -> str:
        """Put JSON under a ref; why that failed, or ''."""
        return self.push(git, f"+{self._note(git, to_json(value, compact=True))}:{ref}")

    def read(self, git: Repository, ref: str) -> str:
        """The text under a ref; '' when there is none."""
        done = git.run(*_CHECKED, *FETCH, "--", self.url, f"+{ref}:{ref}")
        text = git.run("log", "-1", "--format=%B", ref, "--").text if done.ok else ""
        git.run("update-ref", "-d", ref)
        return text

    def _note(self, git: Repository, text: str) -> str:
        tree = git.run("mktree").text
        return git.run("commit-tree", tree, env=git.identity(), data=text.encode()).text

    def ask(self, git: Repository, how: str) -> str:
        """Ask all workers to end, see :func:`bridge.loop.swarm.folder.ask_to_stop`; '' takes that back."""
        refs = self.look(git, f"{self._refs}/stop/*") or {}
        gone = [f":{name}" for name in refs]
        new = [f"+{self._note(git, how)}:{self._refs}/stop/{how}"] if how else []
        return self.push(git, *gone, *new) if gone or new else ""

    def beat(self, git: Repository) -> str:
        return self.push(git, f"+{self._note(git, uuid4().hex)}:{self._refs}/host")

    def asked(self, git: Repository) -> tuple[str, str] | None:
        """What is asked, and what changes with each sign of the host; None when it can't be reached."""
        refs = self.look(git, f"{self._refs}/stop/*", f"{self._refs}/host")
        if refs is None:
            return None
        asked = next((how for how in ("kill", "now", "soon") if f"{self._refs}/stop/{how}" in refs), "")
        return asked, refs.get(f"{self._refs}/host", "")


class AttemptHub(Hub):
    """The same for one attempt: how its branches are called there, and who has taken it.

    Attributes:
        branches: the folder of its refs there.
        end: the ref that says how it has ended.
    """

    def __init__(self, order: Order) -> None:
        super().__init__(order.hub, order.run)
        self._branch, self._kept = order.branch, order.kept
        self._lease = f"{self._refs}/lease/{order.task}/{order.attempt}"
        self.branches = f"refs/heads/ralph/attempt/{order.run}/{order.task}/{order.attempt}"
        self.end = f"{self._refs}/done/{order.task}/{order.attempt}"

    def claim(self, git: Repository, who: str) -> bool:
        """Take the attempt, once and for all; False when somebody has.

        The push makes the ref and fails where it exists: that is atomic on every git server. What is pushed is a
        commit of its own, as git takes a push of what is there already for a success.

        Raises:
            ProjectUnusable: the hub can't be reached.
        """
        mine = self._note(git, f"{who} {uuid4().hex}")
        failed = self.push(git, f"{mine}:{self._lease}", options=(f"--force-with-lease={self._lease}:",))
        there = self.look(git, self._lease)
        if there is None or (failed and self._lease not in there):
            raise ProjectUnusable(f"the hub gives no lease: {failed or 'it can not be reached'}")
        return there.get(self._lease) == mine

    def there(self, name: str) -> str:
        return f"{self.branches}/{'task' if name == self._branch else 'kept' + name.removeprefix(self._kept)}"

    def here(self, ref: str) -> str:
        name = ref.removeprefix(f"{self.branches}/")
        return self._branch if name == "task" else self._kept + name.removeprefix("kept")


def check_hub(url: str, git: Repository) -> str:
    """The URL of a hub as everybody may be told it.

    Raises:
        ConfigurationError: it can't be reached, has a password in it, or is none.
    """
    check_argument(url, "--hub")
    scheme, colon, rest = url.partition("://")
    user = rest.split("/")[0].rpartition("@")[0] if colon else ""
    if ":" in user:
        raise ConfigurationError(
            f"--hub {scheme}://{user.split(':')[0]}:...: it has a password, which would travel to every worker\n"
            "  next: leave it out; git asks its credential helper, on each machine"
        )
    if not colon and os.path.isdir(url):
        url = os.path.abspath(url)
    done = git.run("ls-remote", "--quiet", "--", url, "refs/ralph/none")
    if not done.ok:
        raise ConfigurationError(
            f"--hub {url}: {why(done)}\n  next: a bare repository that host and workers reach: git init --bare"
        )
    return url


def name_work(git: Repository, commit: str, *, branch: str, kept: str) -> str:
    """Give a commit that was received its branch, forward where that can be, else another; '' when git refuses."""
    ref = f"refs/heads/{branch}"
    old = resolve(git, ref)
    forward = not old or is_within(git, old, commit)
    if forward and git.run("update-ref", "-m", "ralph-bridge swarm: received", ref, commit, old or "0" * 40).ok:
        return branch
    return keep(git, kept, commit)
