"""Work trees: made one at a time, with the files that work needs; everything in them saved; taken away.

Saving asks no hook and doesn't use the work tree's own index, so that neither a refusing hook nor a lock nor a
merge that is under way is in the way.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from bridge.base.files import copy_file, delete_folder, keep_private, make_folder, open_file, usable
from bridge.base.git.repository import ALL_WORK, Repository
from bridge.base.git.tree import TreeState
from bridge.base.json_files import read_text
from bridge.base.resources import state_folder
from bridge.errors import ProjectUnusable
from bridge.loop.swarm.folder import locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import FileIO

    from bridge.base.git.repository import Files
    from bridge.base.process.ask import Ran

LOCK = "trees.lock"
_NESTED = "refs/ralph/kept"

# -- git ---------------------------------------------------------------------------------------------


class PatientRepository(Repository):
    """One whose commands may take an hour, as checking out a large tree does."""

    _patience = 3600.0


def clean_environment() -> dict[str, str]:
    """The environment without what would lead git to another repository, as a hook of git has it set."""
    gone = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
    return {name: value for name, value in os.environ.items() if name not in gone}


def repository(folder: Path, files: Files = ALL_WORK, **env: str) -> Repository:
    return PatientRepository(folder, files, env=clean_environment() | env)


def resolve(git: Repository, name: str) -> str:
    return git.run("rev-parse", "--verify", "--quiet", name).text


def common_folder(git: Repository) -> Path:
    return Path(git.run("rev-parse", "--path-format=absolute", "--git-common-dir").text)


def is_within(git: Repository, commit: str, ref: str) -> bool:
    return git.run("merge-base", "--is-ancestor", commit, ref).ok


def names(done: Ran) -> list[str]:
    return [name for name in done.out.decode("utf-8", "surrogateescape").split("\0") if name]


def complaints(text: str) -> list[str]:
    """What git says of a failure: its errors, or all lines where it names none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [line for line in lines if line.startswith(("fatal:", "error:"))] or lines


def why(done: Ran) -> str:
    return (complaints(done.err) or [f"git ended with {done.status}"])[-1]


# -- a tree ------------------------------------------------------------------------------------------


def trees_folder(given: str | os.PathLike[str] | None, project: str) -> Path:
    return (Path(os.path.abspath(given)) if given else state_folder() / "swarm") / project


def add_tree(git: Repository, path: Path, *, branch: str, base: str, lock: Path) -> None:
    """Make a work tree; one that is there already stays.

    ``git worktree add`` writes into the repository's configuration, and several at once get into each other's way:
    so they are made one at a time, and no upstream is configured.

    Args:
        git: any work tree of the repository.
        branch: to check out; made at `base` when there is none of that name.
        lock: the file that all swarms of the repository lock meanwhile.
    """
    with usable(path):
        new = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
        make_folder(path.parent)
        private = not stat.S_IMODE(git.project.stat().st_mode) & 0o077
        for each in new if private else ():  # others may not read the project, so not its copies
            keep_private(each)
    with locked(lock):
        if is_tree(git, path):
            return
        for again in (False, True):
            if again:
                git.run("worktree", "prune")  # what a killed one has left half made
            known = resolve(git, f"refs/heads/{branch}")
            words = [str(path), branch] if known else ["--no-track", "-b", branch, str(path), base]
            done = git.run("worktree", "add", "--quiet", *words)
            if done.ok or is_tree(git, path):
                break
        if private and path.is_dir():
            keep_private(path)
        # A hook behind the checkout may fail; the work tree is there.
        if not done.ok and not (is_tree(git, path) and git.run("-C", str(path), "rev-parse", "HEAD").text):
            raise ProjectUnusable(f"no work tree at {path}: {why(done)}\n  next: see what git says, and the disk")


def is_tree(git: Repository, path: Path) -> bool:
    if not (path / ".git").is_file():
        return False
    there = git.run("-C", str(path), "rev-parse", "--path-format=absolute", "--git-common-dir")
    return there.ok and Path(there.text) == common_folder(git)


def lost_folder(git: Repository, path: Path) -> str:
    """The git folder of a work tree whose ``.git`` isn't any more what git has made there; '' where it is."""
    for folder in sorted((common_folder(git) / "worktrees").glob("*")):
        named = (read_text(folder / "gitdir") or "").strip()
        if named and os.path.realpath(folder / os.path.dirname(named)) == os.path.realpath(path):
            pointer = path / ".git"
            plain = pointer.is_file() and not pointer.is_symlink()
            leads = (read_text(pointer) or "").strip().removeprefix("gitdir: ") if plain else ""
            intact = leads and os.path.realpath(path / leads) == os.path.realpath(folder)
            return "" if intact else os.fspath(folder)
    return ""


def remove_tree(git: Repository, path: Path, *, lock: Path) -> str:
    """Take a work tree away, whatever is in it; why that failed, or ''."""
    with locked(lock):
        if path.exists():
            done = git.run("worktree", "remove", "--force", "--force", str(path))
            if not done.ok and path.exists():
                return why(done)
        git.run("worktree", "prune")
    with suppress(OSError):
        delete_folder(path.parent)
    return ""


def copy_files(source: Path, target: Path, paths: Iterable[str]) -> dict[str, str]:
    """Copy files that a work tree lacks, and give each one that wasn't there with the digest of what is in it.

    Args:
        source, target: the tops of both work trees.
        paths: from there.
    """
    copied = {}
    for name in paths:
        old, new = source / name, target / name
        if os.path.lexists(new):
            continue
        with usable(new):
            make_folder(new.parent)
            with suppress(FileNotFoundError):
                copy_file(old, new)
                copied[name] = digest(new)
    return copied


def digest(path: Path) -> str:
    """Tell a file's contents from others'; '' when it can't be read."""
    with suppress(OSError):
        if path.is_symlink():
            return "l" + os.readlink(path)
        with open_file(path, buffering=0) as file:
            return hashlib.file_digest(cast("FileIO", file), "sha256").hexdigest()
    return ""


def untouched(top: Path, copied: Mapping[str, str]) -> list[str]:
    return [name for name, was in copied.items() if was == digest(top / name)]


# -- saving -------------------------------------------------------------------------------------------


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


def commit_left(git: Repository, branch: str, message: str, without: Iterable[str]) -> str:
    """Commit to the branch that is checked out what lies there uncommitted; why that failed, or ''.

    Args:
        without: paths from the top that stay as HEAD has them.
    """
    head, found = git.head(), git.capture(message, without=[*without])
    if not found.commit:
        return _last(found.left) or "git could not commit it"
    if found.tree != git.run("rev-parse", f"{head}^{{tree}}").text:
        _forward(git, f"refs/heads/{branch}", head, found.commit)
        return "" if git.head() == found.commit else "a merge or a rebase is under way"
    return ""


def _forward(git: Repository, ref: str, head: str, commit: str) -> None:
    """Move the task's branch to what was saved, where it is what is checked out and nothing is under way."""
    on_it = commit != head and git.run("symbolic-ref", "--quiet", "HEAD").text == ref
    if not on_it or git.busy(TreeState()):
        return
    if git.run("update-ref", "-m", "ralph-bridge swarm: saved", ref, commit, head).ok:
        git.run("reset", "--quiet")  # the index follows; the files are what they are


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
    listed = names(git.run("ls-tree", "-r", "-z", commit))
    links = {entry.partition("\t")[2] for entry in listed if entry.startswith("160000 ")}
    others = names(git.run("-C", str(git.top), "ls-files", "--others", "--exclude-standard", "--directory", "-z"))
    links |= {name.rstrip("/") for name in others if name.endswith("/")}
    return [path for name in sorted(links) if os.path.lexists((path := git.top / name) / ".git")]


def _keep_nested(git: Repository, path: Path, kept: str, message: str) -> tuple[str, str]:
    """Bring the work of a repository inside into this one, as a branch; give its name, and what is wrong."""
    inner = repository(path)
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
    return (complaints(text) or [""])[-1]
