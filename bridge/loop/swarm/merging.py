"""One task after the other into the swarm's branch, in a work tree of its own, with a check before each commit."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import delete, make_folder, usable, write_atomic
from bridge.base.process import leftovers
from bridge.base.process.ask import ended_when
from bridge.base.wording import closing_nothing
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.setups.box_options import OPTIONS as SANDBOX
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.options import RunOptions
from bridge.loop.swarm.project import files_of
from bridge.loop.swarm.pulls import PullRequests
from bridge.loop.swarm.swarm_record import CLOSED, NOT_PUSHED, PULLED
from bridge.loop.swarm.work_trees import (
    PatientRepository,
    add_tree,
    clean_environment,
    complaints,
    copy_files,
    is_within,
    names,
    repository,
    resolve,
)
from bridge.loop.turn.check import run_check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridge.base.process.ask import Ran
    from bridge.loop.sandbox.box import Box
    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord

TREE = ".merge"
_SHOWN = 5
_ATTEMPTS = 3


class _GitKilled(BridgeError):
    """A git was ended by a signal, as by the kernel when memory is short: it has refused nothing."""


class _Repository(PatientRepository):
    """One that tells a git that was ended by a signal from one that says no."""

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, data: bytes = b"") -> Ran:
        done = super().run(*arguments, env=env, data=data)
        if done.status < 0:
            raise _GitKilled(f"git {arguments[0]} was ended by signal {-done.status}")
        return done


class Merged(NamedTuple):
    """What came of a merge.

    Attributes:
        outcome: ``merged``, ``nothing to merge``, ``conflict``, ``check failed``; ``checked``: it can be pushed;
            ``pull request``, ``not pushed``; '' when it was ended before.
        detail: a sentence for people.
        commit: the merge.
        unticked: boxes that the branch's plan doesn't have.
        pull: its pull request.
    """

    outcome: str
    detail: str = ""
    commit: str = ""
    unticked: tuple[str, ...] = ()
    pull: dict[str, Any] = {}  # noqa: RUF012 - nobody writes into it


class MergeQueue:
    """The swarm's branch, and who is merged into it; with pull requests that is where origin's branch is, each task
    is merged with what it began with, and proposed.

    Args:
        lock: the file that all swarms lock to make a work tree.
        stopped: whether the host wants to end.
    """

    def __init__(
        self, project: SwarmProject, record: SwarmRecord, *, lock: Path, stopped: Callable[[], bool]
    ) -> None:
        self._project = project
        self._record = record
        self._lock = lock
        self._stopped = stopped
        self._box: Box | None = None
        self.pulls = PullRequests(project.repository(), record) if record.pull_requests else None
        self.top = Path(record.trees) / TREE
        self._folder = self.top / project.prefix
        self._git = _Repository(
            self._folder if project.prefix else self.top,
            files_of(project.kind, self._folder, project.home),
            env=clean_environment(),
        )

    def _asked_box(self) -> Box | None:
        """What checks and hooks run in, which run code that agents have written: what the tasks' turns run in."""
        asked = {name: each for name, each in self._record.options.items() if name in SANDBOX}
        return box_of(self.top, RunOptions.of(asked), env=clean_environment())

    def open(self) -> None:
        source = self._project.repository()
        self._box = self._asked_box()
        if self._box is not None:
            self._git.within = self._box.around
        tip = self._pulls_base()
        add_tree(source, self.top, branch=self._record.branch, base=self._record.base, lock=self._lock)
        with usable(self._folder):
            make_folder(self._folder)
        copy_files(self._project.top, self.top, self._project.to_copy()[1])
        if tip:
            self._clean()
            self._git.run("checkout", "--quiet", "--detach", tip)
            self._git.run("update-ref", f"refs/heads/{self._record.branch}", tip)

    def _pulls_base(self) -> str:
        """What origin's branch is at, with pull requests; ''."""
        if self.pulls is None:
            return ""
        self.pulls.check()
        return self.pulls.base()

    def refresh(self) -> str:
        """Have the swarm's branch where origin's is by now; gives that commit.

        Raises:
            BridgeError: it can't be reached.
        """
        assert self.pulls is not None
        tip = self.pulls.base()
        self._project.repository().run("update-ref", f"refs/heads/{self._record.branch}", tip)
        return tip

    @property
    def tip(self) -> str:
        return self._git.run("rev-parse", f"refs/heads/{self._record.branch}").text

    def merge(self, task: TaskRecord, log: Path) -> Merged:
        """Merge a task that is saved; `log` gets what the check prints. Whatever happens, the work tree is as the
        branch has it afterwards."""
        try:
            return self._attempts(task, log)
        except (BridgeError, OSError) as error:
            return Merged("failed", str(error).splitlines()[0])
        finally:
            with suppress(BridgeError, OSError):
                self._clean()

    def propose(self, task: TaskRecord) -> Merged:
        """Push what was checked, and open its pull request, unless that was done."""
        assert self.pulls is not None
        try:
            with ended_when(self._stopped):
                pull = self.pulls.open(task, task.merge)
        except BridgeError as error:
            return Merged(NOT_PUSHED, str(error).splitlines()[0], task.merge)
        if pull["state"] == "CLOSED":
            return Merged(CLOSED, f"{pull['url']} was closed, and not merged", task.merge, (), pull)
        return Merged(PULLED, "", task.merge, task.task.boxes, pull)

    def _attempts(self, task: TaskRecord, log: Path) -> Merged:
        """Merge it; once more from the beginning when a git was killed on the way."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(_GitKilled):
                self._clean()
                return self._merge(task, log)
        self._clean()
        return self._merge(task, log)

    def _clean(self) -> None:
        """The work tree is ours alone: what a check, or a host that was killed, has left there is nobody's work."""
        for lock in ("index.lock", "HEAD.lock"):  # of a git that was killed
            delete(self._git.folder / lock)
        self._git.run("merge", "--abort")
        for words in (("reset", "--quiet", "--hard", "HEAD"), ("clean", "--quiet", "-fd", "--", ":/")):
            done = self._git.run(*words)
            if not done.ok:
                raise ProjectUnusable(f"{self.top} can't be used: {_words(done)}")

    def _merge(self, task: TaskRecord, log: Path) -> Merged:
        git = self._git
        onto = task.pushed or task.base
        if self.pulls is not None and not (done := git.run("checkout", "--quiet", "--detach", onto)).ok:
            return Merged("conflict", f"git checkout: {_words(done)}")
        before = git.head()
        if self.pulls is None and task.commit != task.base and is_within(git, task.commit, before):
            return self._merged_before(task)  # by a host that was killed before it could write that down
        if conflict := self._begin_merge(task):
            return Merged("conflict", conflict)
        unticked = self._tick(task) if self.pulls is None else ()
        wrong = self._check(task, log)
        if wrong is None:
            return Merged("")
        if wrong:
            return Merged("check failed", wrong)
        in_merge = self.pulls is None and (git.folder / "MERGE_HEAD").exists()
        if not in_merge and git.run("diff", "--cached", "--quiet", "HEAD").ok:
            return Merged("nothing to merge", "the task changed nothing", unticked=unticked)
        title = closing_nothing(task.task.title)
        message = f"Merge task {task.task.id}: {title}\n\nSwarm {self._record.run}, branch {task.branch}."
        done = git.run("commit", "--quiet", "-m", message, env=git.identity())
        commit = git.head()
        if not done.ok or commit == before:
            return Merged("check failed", f"git commit was refused: {_words(done)}")
        if self.pulls is None:
            return Merged("merged", commit=commit, unticked=unticked)
        git.run("update-ref", "-m", "ralph-bridge swarm: checked", f"refs/heads/{task.pull_branch}", commit)
        return Merged("checked", commit=commit)

    def _begin_merge(self, task: TaskRecord) -> str:
        """Bring what the task did into index and work tree; what conflicts, or ''."""
        git = self._git
        # Behind a first push, with nothing new of the task: what the branch that it goes into has by now.
        new = task.since if task.since and is_within(git, task.commit, "HEAD") else task.commit
        done = git.run("merge", "--no-ff", "--no-commit", "--quiet", new, env=git.identity())
        changed = names(git.run("diff", "--name-only", "--cached", "-z", "--no-renames", "HEAD"))
        unmerged = names(git.run("diff", "--name-only", "--diff-filter=U", "-z"))
        if not done.ok and not unmerged:
            return f"git merge: {_words(done)}"
        # The plan, the loops' own files and those that were copied stay as the branch has them.
        own = (path for path in {*changed, *unmerged} if self._project.is_of_task(path) or path in task.copied)
        taken_in = task.since and is_within(git, task.since, new)
        self._restore([*own], task.since if taken_in else "HEAD")
        for path in filter(self._project.is_appended, {*unmerged} - {*task.copied}):
            self._append(path)
        if unmerged := names(git.run("diff", "--name-only", "--diff-filter=U", "-z")):
            shown = ", ".join(unmerged[:_SHOWN]) + (", …" if len(unmerged) > _SHOWN else "")
            return f"conflicts in {shown}"
        return ""

    def _merged_before(self, task: TaskRecord) -> Merged:
        found = self._git.run("rev-list", "--ancestry-path", "--merges", "--reverse", f"{task.commit}..HEAD")
        plan = self._project.plan
        ticked = plan is not None and (self._folder / plan).exists()
        return Merged(
            "merged", commit=(found.text.splitlines() or [""])[0], unticked=() if ticked else task.task.boxes
        )

    # -- what no task brings along ---------------------------------------------------------------------

    def _restore(self, paths: list[str], commit: str) -> None:
        """Have these files as they are in a commit."""
        if not paths:
            return
        there = set(names(self._git.run("-C", str(self.top), "ls-tree", "-r", "-z", "--name-only", commit)))
        top = ("-C", str(self.top), "--literal-pathspecs")
        given = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._git.run(*top, "reset", "--quiet", *given, data=_listed(paths))
        for path in paths:
            if path not in there:
                with suppress(FileNotFoundError):
                    delete(self.top / path, missing=False)
        if kept := [path for path in paths if path in there]:
            self._git.run(*top, "checkout", commit, *given, data=_listed(kept))

    def _append(self, path: str) -> None:
        """Keep what both have written into a file that tasks append to; any other conflict in it stays one."""
        git, here = self._git, ("-C", str(self.top), "--literal-pathspecs")
        found = [each.split() for each in names(git.run(*here, "ls-files", "--unmerged", "-z", "--", path))]
        blobs = {stage: blob for mode, blob, stage, *_ in found if mode.startswith("100")}
        if not {"2", "3"} <= {*blobs}:
            return
        sides = {stage: git.run("cat-file", "blob", blob).out for stage, blob in blobs.items()}
        if "1" not in sides:  # both have begun it
            lines = zip(*(sides[stage].splitlines(keepends=True) for stage in ("2", "3")), strict=False)
            sides["1"] = b"".join(ours for ours, _ in takewhile(lambda pair: pair[0] == pair[1], lines))
        with TemporaryDirectory() as folder:
            for stage, text in sides.items():
                write_atomic(Path(folder) / stage, text)
            paths = (os.path.join(folder, stage) for stage in ("2", "1", "3"))
            # In the style of diff3 an entry stays in one piece, whatever lines it shares with that of another task.
            both = git.run("merge-file", "--diff3", "--union", "--stdout", *paths)
        if both.ok:
            write_atomic(self.top / path, both.out)
            git.run(*here, "add", "--", path)

    def _tick(self, task: TaskRecord) -> tuple[str, ...]:
        """Tick the task's boxes in the branch's plan; give those that it doesn't have."""
        plan = self._project.plan
        if plan is None or not task.task.boxes:
            return ()
        left = self._project.tick_in(self._folder / plan, task.task.boxes)
        if len(left) < len(task.task.boxes):
            self._git.run("add", "--", plan)
        return tuple(left)

    # -- the check -------------------------------------------------------------------------------------

    def _check(self, task: TaskRecord, log: Path) -> str | None:
        """Run the check; '' when it succeeds or there is none, None when it was ended because the host wants to."""
        if not self._record.check:
            return ""
        env = clean_environment() | {"RALPH_TASK": task.task.id, leftovers.MARK: str(self._folder)}
        running = run_check(
            self._record.check, self._folder, log, env=env, seconds=self._record.check_seconds, box=self._box
        )
        try:
            with closing(running):
                while not self._stopped():
                    next(running)
            return None
        except StopIteration as stop:
            wrong = stop.value.why
        finally:
            leftovers.end(self._folder)
        return f"`{self._record.check}` {wrong}; {log}" if wrong else ""


def _listed(paths: Iterable[str]) -> bytes:
    return b"\0".join(path.encode("utf-8", "surrogateescape") for path in paths)


def land(project: SwarmProject, branch: str, into: str) -> str:
    """Move a branch forward to the result; why that can't be, or ''.

    Nothing but a fast-forward, and never where a work tree with changes has the branch checked out.
    """
    git = project.repository()
    ref, new = f"refs/heads/{into}", git.run("rev-parse", f"refs/heads/{branch}").text
    old = resolve(git, ref)
    if old and not is_within(git, old, new):
        return f"{into} has gone elsewhere meanwhile: git merge {branch}, on {into}"
    tree = _checked_out(names(git.run("worktree", "list", "--porcelain", "-z")), ref)
    if tree is None:
        done = git.run("update-ref", "-m", "ralph-bridge swarm: landed", ref, new, old or "0" * 40)
        return "" if done.ok else f"{into} can't be moved: {_words(done)}"
    there = repository(Path(tree), project.files)
    if there.run("status", "--porcelain", "--untracked-files=no").text:
        return f"{into} is checked out with changes in {tree}: commit them, then git merge --ff-only {branch}"
    done = there.run("merge", "--ff-only", "--quiet", branch)
    return "" if done.ok else f"{into} can't be moved: {_words(done)}"


def _checked_out(listed: Iterable[str], ref: str) -> str | None:
    tree = None
    for line in listed:
        if line.startswith("worktree "):
            tree = line.removeprefix("worktree ")
        elif line == f"branch {ref}":
            return tree
    return None


def _words(done: Ran) -> str:
    lines = complaints(f"{done.err}\n{os.fsdecode(done.out)}") or [f"git ended with {done.status}"]
    return lines[0 if lines[0].startswith(("fatal:", "error:")) else -1]
