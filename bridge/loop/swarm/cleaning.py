"""Takes away what is proven merged, and nothing else: work trees, branches, records."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.files import delete_folder
from bridge.base.json_files import read_object
from bridge.base.records import dataclass
from bridge.base.wording import plural
from bridge.errors import BridgeError
from bridge.loop.engine.lock import standing
from bridge.loop.swarm.folder import locked
from bridge.loop.swarm.merging import TREE
from bridge.loop.swarm.pulls import PullRequests
from bridge.loop.swarm.supervisor import save_tree
from bridge.loop.swarm.swarm_record import read_swarm
from bridge.loop.swarm.transport import Hub
from bridge.loop.swarm.work_order import Order
from bridge.loop.swarm.work_trees import LOCK, is_within, remove_tree, repository, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord

_OURS = ("refs/heads/ralph/swarm/", "refs/heads/ralph/task/", "refs/heads/ralph/kept/", "refs/heads/ralph/pull/")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of one thing: why it stays, or '' when it is gone."""

    what: str
    stays: str = ""


def clean(project: SwarmProject, folder: Path) -> Iterator[Cleaned]:
    """Clean up behind one swarm.

    A task's work tree and branch go when every byte in them is in the swarm's branch, or in one of the user's; the
    swarm's branch when it is in one of the user's; the record when nothing else is left.
    """
    record = read_swarm(folder)
    if record is None:
        yield Cleaned(os.fspath(folder), "its record is not to be understood")
        return
    if standing(folder).running:
        yield Cleaned(f"swarm {record.run}", "it is at work")
        return
    yield from _Cleaning(project, folder, record).run()


def remove_merged(project: SwarmProject, folder: Path, record: SwarmRecord, task: TaskRecord) -> str:
    """Take away the work tree of one task when every byte in it is merged; why it stays, or ''. The swarm may be at
    work, and the branch stays."""
    cleaning = _Cleaning(project, folder, record)
    if not (task.tree and Path(task.tree).exists()):
        return ""
    return cleaning.unproven(task) or remove_tree(cleaning.git, Path(task.tree), lock=cleaning.lock)


class _Cleaning:
    def __init__(self, project: SwarmProject, folder: Path, record: SwarmRecord) -> None:
        self.project = project
        self.folder = folder
        self.record = record
        self.git = project.repository()
        self.lock = project.swarms / LOCK
        self.left = 0

    def run(self) -> Iterator[Cleaned]:
        for found in self._all():
            self.left += bool(found.stays)
            yield found
        if not self.left:
            with suppress(OSError):
                delete_folder(self.folder, contents=True)
            with suppress(OSError):
                delete_folder(self.record.trees)
            yield Cleaned(f"record {self.record.run}")

    def _all(self) -> Iterator[Cleaned]:
        for task in self.record.tasks:
            yield from self._task(task)
        yield from self._swarm()
        hubs = (str((self._order(task) or {}).get("hub", "")) for task in self.record.tasks)
        for url in dict.fromkeys(filter(None, hubs)):
            yield from self._hub(url)

    def _task(self, task: TaskRecord) -> Iterator[Cleaned]:
        if task.step in ("running", "saved", "watched"):
            yield Cleaned(f"task {task.task.id}", f"it is {task.step}: ralph-bridge swarm resume {self.record.run}")
            return
        if task.tree and Path(task.tree).exists():
            why = self.unproven(task)
            yield Cleaned(task.tree, why or remove_tree(self.git, Path(task.tree), lock=self.lock))
            if why:
                return
        pulled = [task.pull_branch] if task.merge and self.record.pull_requests else []
        there = self._merged_there(task)
        for branch in filter(None, dict.fromkeys((task.branch, *task.older, *task.kept, *pulled))):
            yield from self._branch(branch, also=self.record.branch, there=there)

    def _merged_there(self, task: TaskRecord) -> str:
        """What a task's pull request has had when it was merged, however that was done; ''."""
        with suppress(BridgeError):
            found = PullRequests(self.git, self.record).find(task.pull_branch) if task.pull else None
            if found is not None and found["state"] == "MERGED" and found["head"] == task.merge:
                return task.merge
        return ""

    def unproven(self, task: TaskRecord) -> str:
        """Why a work tree can't be proven to be merged; ''."""
        found = self._order(task)
        if found is None or found.get("tree") != task.tree:
            return "nobody knows what is in it"
        with locked(self.folder / "tasks" / task.task.id / "lock", patience=0) as held:
            if held is None:
                return "its worker is still at work"
            saved = save_tree(Order.from_json(found))
        task.kept += [each for each in saved.refs if each not in task.kept]
        if saved.unsaved:
            return f"not everything in it can be saved: {saved.unsaved}"
        if not self._is_elsewhere(saved.commit, task.pull_branch if task.pull else self.record.branch):
            return f"not merged ({task.outcome or task.step}); its work is on {task.branch}"
        return ""

    def _swarm(self) -> Iterator[Cleaned]:
        tree = Path(self.record.trees) / TREE
        if tree.exists():
            dirty = repository(tree, self.project.files).run("status", "--porcelain").text
            yield Cleaned(str(tree), "it has changes" if dirty else remove_tree(self.git, tree, lock=self.lock))
        if self.left:
            yield Cleaned(self.record.branch, "tasks of it are left")
        else:
            base = ""
            if self.record.pull_requests:  # it is where origin's branch was, which may not be fetched
                with suppress(BridgeError):
                    base = PullRequests(self.git, self.record).base()
            yield from self._branch(self.record.branch, also=None, there=base)

    def _order(self, task: TaskRecord) -> dict[str, Any] | None:
        return read_object(self.folder / "tasks" / task.task.id / "order.json")

    def _hub(self, url: str) -> Iterator[Cleaned]:
        """What attempts have pushed goes where it is proven merged, each only if it still is what was looked at."""
        hub = Hub(url, self.record.run)
        work = hub.look(self.git, hub.work)
        if work is None:
            yield Cleaned(url, "it can't be reached")
            return
        gone = {ref: commit for ref, commit in work.items() if self._is_elsewhere(commit, self.record.branch)}
        for ref in work.keys() - gone:
            yield Cleaned(f"{ref.removeprefix('refs/heads/')} on {url}", "not merged")
        notes = {} if len(gone) < len(work) or self.left else hub.look(self.git, hub.notes) or {}
        if gone or notes:
            yield Cleaned(f"{plural(len(gone), 'branch', 'branches')} on {url}", hub.forget(self.git, gone | notes))

    def _branch(self, branch: str, *, also: str | None, there: str = "") -> Iterator[Cleaned]:
        ref = f"refs/heads/{branch}"
        tip = resolve(self.git, ref)
        if not tip:
            return
        if not (there and is_within(self.git, tip, there)) and not self._is_elsewhere(tip, also):
            yield Cleaned(branch, "it is in no other branch: merge it, or delete it yourself")
            return
        # Only where it still is what was proven to be merged.
        done = self.git.run("update-ref", "-d", ref, tip)
        yield Cleaned(branch, "" if done.ok else done.err.strip())

    def _is_elsewhere(self, commit: str, branch: str | None) -> bool:
        if branch is not None and is_within(self.git, commit, f"refs/heads/{branch}"):
            return True
        refs = self.git.run(
            "for-each-ref", f"--contains={commit}", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags"
        )
        return any(line and not line.startswith(_OURS) for line in refs.text.splitlines())
