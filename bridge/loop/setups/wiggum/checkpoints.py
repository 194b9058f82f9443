"""Checkpoints: the work of each turn as a commit, listed and restored.

A turn's work is committed to the branch, with the repository's hooks. Every checkpoint also gets a name of its own
under ``refs/ralph/RUN/``, so that it can be found when the branch has gone elsewhere. When a commit is refused (by
a hook, in the middle of a merge), the work is kept in a commit on no branch: never is it lost, never is a hook
passed by unasked.
"""

from __future__ import annotations

import os
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from bridge.base.records import dataclass
from bridge.errors import ConfigurationError, ProjectUnusable

if TYPE_CHECKING:
    from bridge.base.git.repository import Repository
    from bridge.base.git.tree import TreeState
    from bridge.loop.setups.wiggum.state import Checkpointing

_REFS = "refs/ralph/"
Kind = Literal["commit", "agent", "snapshot"]
"""Made by the host, by the agent, or on no branch."""


@dataclass(frozen=True, slots=True)
class CheckpointResult:
    commit: str = ""  # that holds it; '' when there was nothing to keep, or it failed
    warning: str = ""  # what people should know, or ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    iteration: int  # the turn that it follows
    commit: str
    time: str  # of that commit, ISO 8601
    kind: Kind
    subject: str  # the first line
    run: str  # which run of the loop


@dataclass(frozen=True, slots=True)
class Restored:
    checkpoint: Checkpoint
    saved: str  # the commit that keeps what was there before
    changed: int  # files


def message(iteration: int, note: str = "") -> str:
    return f"ralph: checkpoint iteration {iteration}{note}"


def make(
    git: Repository | None, iteration: int, settings: Checkpointing, *, run: str, since: str, note: str = ""
) -> CheckpointResult:
    """Keep the work of a turn that began `since` a commit; `note` ends the message."""
    if git is None or not settings.enabled:
        return CheckpointResult()
    tree = git.look()
    if tree is None:
        return CheckpointResult(warning="no checkpoint: git can't be asked about the working tree")
    # progress.txt alone is no work: it goes with the next that is.
    if not git.work(tree) and not settings.allow_empty:
        if tree.head and tree.head != since:
            git.keep(_ref(run, iteration), tree.head)  # the agent has committed its work itself
            return CheckpointResult(tree.head)
        return CheckpointResult()
    if busy := git.busy(tree):
        why = f"{busy} under way"
    else:
        done, left = git.commit(
            message(iteration, note), no_verify=settings.no_verify, allow_empty=settings.allow_empty
        )
        if done.status == 0:
            commit = git.head()
            git.keep(_ref(run, iteration), commit)
            lacks = _error(left)
            return CheckpointResult(commit, f"checkpoint {iteration} lacks something: {lacks}" if lacks else "")
        reported = _error(done.err) or _last_line(done.err) or _last_line(done.text)
        why = reported or f"git commit ended with {done.status}"
        after = git.look()
        if after is not None and not git.work(after):
            return CheckpointResult()  # nothing but what hooks or attributes make equal again
    kept = git.snapshot(message(iteration, note))
    if kept and git.keep(_ref(run, iteration), kept):
        return CheckpointResult(
            kept, f"checkpoint {iteration} was not committed ({why}); it is kept beside the branch"
        )
    return CheckpointResult(warning=f"checkpoint {iteration} failed: {why}")


def listed(git: Repository | None, run: str | None = None) -> list[Checkpoint]:
    """Return the checkpoints of a run, or of all runs, oldest first."""
    if git is None:
        return []
    form = "%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(subject)"
    done = git.run("for-each-ref", f"--format={form}", _REFS + (f"{run}/" if run else ""))
    found = []
    for line in done.text.splitlines():
        ref, commit, time, subject = line.split("\0")
        name, _, number = ref.removeprefix(_REFS).rpartition("/")
        if not number.isdecimal():
            continue
        kind = _kind(git, commit, subject)
        found.append(
            Checkpoint(iteration=int(number), commit=commit, time=time, kind=kind, subject=subject, run=name)
        )
    return sorted(found, key=attrgetter("run", "iteration"))


def restore(git: Repository, wanted: Checkpoint, *, stamp: str) -> Restored:
    """Bring the files back to a checkpoint. HEAD stays where it is, the difference is left to be committed.

    What the working tree held before is kept in a commit of its own first. Untracked files that the checkpoint
    doesn't have stay, as do the loop's own files and progress.txt, whose lessons are still true.

    Raises:
        ProjectUnusable: the present state can't be kept, or git refuses; nothing was changed then.
        ConfigurationError: a merge or a rebase is under way.
    """
    tree = git.look()
    if tree is None:
        raise ProjectUnusable("git can't be asked about the working tree\n  next: git status")
    if busy := git.busy(tree):
        raise ConfigurationError(f"{busy}: nothing is restored in the middle of that\n  next: finish or abort it")
    subject = f"ralph: before restoring iteration {wanted.iteration}"
    saved = git.snapshot(subject)
    if saved and (hidden := _in_the_way(git, saved, wanted.commit)):
        saved = git.snapshot(subject, also=hidden)
    if not saved or not git.keep(f"{_REFS}{wanted.run}/before-restore-{stamp}", saved):
        raise ProjectUnusable("the present state can't be kept, so nothing was restored\n  next: git status")
    changed = _changed(git, tree, saved, wanted.commit)
    kept = (*git.own("exclude"), f":(top,exclude,literal){git.prefix}progress.txt")
    done = git.run("restore", f"--source={wanted.commit}", "--staged", "--worktree", "--", ":/", *kept)
    if done.status:
        raise ProjectUnusable(f"git restore: {_last_line(done.err)}\n  next: git status; before it: {saved}")
    return Restored(wanted, saved, changed)


def _in_the_way(git: Repository, saved: str, wanted: str) -> list[str]:
    """Name what stands, ignored, where a restore will put something: git writes over it without a word."""
    added = git.run("diff", "--name-only", "--diff-filter=A", "-z", "--no-renames", saved, wanted).out
    found = set()
    for path in filter(None, added.decode("utf-8", "surrogateescape").split("\0")):
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            here = "/".join(parts[:end])
            full = git.top / here
            if full.is_symlink() or not full.is_dir() or end == len(parts):
                if os.path.lexists(full):
                    found.add(here)
                break
    return sorted(found)


def _changed(git: Repository, tree: TreeState, saved: str, wanted: str) -> int:
    """How many files a restore changes: untracked ones that the checkpoint doesn't have aren't touched."""
    untracked = {path for path, mark in tree.marks.items() if mark.kind == "?"}
    fields = git.run("diff", "--name-status", "-z", "--no-renames", saved, wanted).out.decode(
        "utf-8", "surrogateescape"
    )
    marks, names = fields.split("\0")[::2], fields.split("\0")[1::2]
    stays = {name for mark, name in zip(marks, names, strict=False) if mark == "D" and name in untracked}
    return len(set(names) - stays - {f"{git.prefix}progress.txt"})


def _kind(git: Repository, commit: str, subject: str) -> Kind:
    if not subject.startswith("ralph: checkpoint"):
        return "agent"
    return "commit" if git.run("merge-base", "--is-ancestor", commit, "HEAD").status == 0 else "snapshot"


def _ref(run: str, iteration: int) -> str:
    return f"{_REFS}{run}/{iteration:06d}"


def _error(stderr: str) -> str:
    """Return the line of git's that names what it couldn't do; warnings and advice are none."""
    return next((line for line in stderr.splitlines() if line.startswith(("error:", "fatal:"))), "")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
