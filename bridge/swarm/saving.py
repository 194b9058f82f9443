"""Everything in a work tree that git doesn't ignore, reachable from a named ref: before anybody is told of an end.

No hook is asked and the work tree's own index isn't used, so that neither a refusing hook nor a lock nor a merge
that is under way is in the way.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from bridge.git.repository import Repository
from bridge.git.tree import TreeState
from bridge.swarm.project import clean_environment
from bridge.swarm.trees import untouched

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NESTED = "refs/ralph/kept"


class Saved(NamedTuple):
    """What became of a work tree's contents.

    Attributes:
        commit: holds all of it; '' when that failed.
        refs: branches made for what the task's own branch doesn't hold.
        unsaved: what could not be saved, and why; ''.
    """

    commit: str = ""
    refs: tuple[str, ...] = ()
    unsaved: str = ""


def save(git: Repository, *, branch: str, kept: str, message: str, copied: Mapping[str, str]) -> Saved:
    """Save a work tree. May be repeated: what is saved already makes no further commit.

    Args:
        git: the work tree; its `files` say which are the loop's own, and those stay out.
        branch: of the task; moved forward to the commit where HEAD is on it and nothing is under way.
        kept: name for further branches, as for what lies beside the task's own.
        message: of the commit.
        copied: files that were put there, which count only once they have changed.
    """
    if not git.run("rev-parse", "--is-inside-work-tree").ok:
        return Saved(unsaved=f"{git.project} is no work tree any more")
    head = git.head()
    found = git.capture(message, without=untouched(git.top, copied))
    commit = found.commit
    if not commit:
        return Saved(unsaved=_last(found.left) or "git could not commit it")
    if head and found.tree == git.run("rev-parse", f"{head}^{{tree}}").text:
        commit = head
    ref = f"refs/heads/{branch}"
    _forward(git, ref, head, commit)
    refs, wrong = [], [_last(found.left)] if "error:" in found.left or "fatal:" in found.left else []
    if not is_within(git, commit, ref):
        if not (name := keep(git, kept, commit)):
            return Saved(unsaved="git could not name the commit that holds it")
        refs.append(name)
    for path in _nested(git, commit):
        name, why = _keep_nested(git, path, kept, message)
        refs += [name] if name else []
        wrong += [why] if why else []
    return Saved(commit, tuple(refs), "; ".join(wrong))


def _forward(git: Repository, ref: str, head: str, commit: str) -> None:
    """Move the task's branch to what was saved, where it is what is checked out and nothing is under way."""
    on_it = commit != head and git.run("symbolic-ref", "--quiet", "HEAD").text == ref
    if not on_it or git.busy(TreeState()):
        return
    if git.run("update-ref", "-m", "ralph-bridge swarm: saved", ref, commit, head).ok:
        git.run("reset", "--quiet")  # the index follows; the files are what they are


def is_within(git: Repository, commit: str, ref: str) -> bool:
    """Whether a ref leads to a commit."""
    return git.run("merge-base", "--is-ancestor", commit, ref).ok


def keep(git: Repository, name: str, commit: str) -> str:
    """Give a commit a branch; one that is there and leads to it will do."""
    for number in range(1, 100):
        branch = name if number == 1 else f"{name}-{number}"
        ref = f"refs/heads/{branch}"
        if is_within(git, commit, ref) or _shape(git, ref) == _shape(git, commit):
            return branch
        if git.run("update-ref", "-m", "ralph-bridge swarm: kept", ref, commit, "0" * 40).ok:
            return branch
    return ""


def _shape(git: Repository, commit: str) -> str:
    """Tell a commit by what is in it and what it follows, and not by when it was made."""
    return git.run("log", "-1", "--format=%T %P", commit, "--").text


# -- repositories inside of the work tree: their commits are in object stores of their own -----------


def _nested(git: Repository, commit: str) -> list[Path]:
    """Give the repositories in a work tree, submodules that were checked out among them."""
    listed = git.run("ls-tree", "-r", "-z", commit).out.decode("utf-8", "surrogateescape").split("\0")
    links = {entry.partition("\t")[2] for entry in listed if entry.startswith("160000 ")}
    others = git.run("-C", str(git.top), "ls-files", "--others", "--exclude-standard", "--directory", "-z").out
    links |= {
        name.rstrip("/") for name in others.decode("utf-8", "surrogateescape").split("\0") if name.endswith("/")
    }
    return [path for name in sorted(links) if os.path.lexists((path := git.top / name) / ".git")]


def _keep_nested(git: Repository, path: Path, kept: str, message: str) -> tuple[str, str]:
    """Bring the work of a repository inside into this one, as a branch; give its name, and what is wrong."""
    inner = Repository(path, env=clean_environment())
    inside = os.path.relpath(path, git.top)
    found = inner.capture(message)
    if not found.commit:
        return "", f"{inside}: a repository inside, which can't be saved ({_last(found.left)})"
    head = inner.head()
    commit = head if head and found.tree == inner.run("rev-parse", f"{head}^{{tree}}").text else found.commit
    if not inner.keep(_NESTED, commit):
        return "", f"{inside}: a repository inside, which can't be written to"
    name = f"{kept}.{''.join(each if each.isalnum() else '-' for each in inside).strip('-') or 'inside'}"
    fetched = git.run(
        "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", str(path), f"+{_NESTED}:{_NESTED}"
    )
    done = fetched.ok and bool(name := keep(git, name, commit))
    git.run("update-ref", "-d", _NESTED)
    return (name, "") if done else ("", f"{inside}: a repository inside: {_last(fetched.err)}")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("error:", "fatal:"))]
    return (told or lines or [""])[-1]
