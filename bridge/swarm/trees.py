"""Work trees: made one at a time, with the files that work needs; taken away when all of them is kept elsewhere."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bridge.errors import ProjectUnusable
from bridge.files import copy_file, delete_folder, make_folder, open_file, usable
from bridge.git.repository import Repository
from bridge.records import read_text
from bridge.resources import state_folder
from bridge.swarm.project import clean_environment
from bridge.swarm.record import locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import FileIO

    from bridge.git.repository import Files
    from bridge.process.ask import Ran

LOCK = "trees.lock"


class PatientRepository(Repository):
    """One whose commands may take an hour, as checking out a large tree does."""

    _patience = 3600.0


def repository(folder: Path, files: Files) -> Repository:
    """Give the repository of a work tree, whatever the environment says of another one."""
    return PatientRepository(folder, files, env=clean_environment())


def trees_folder(given: str | None, project: str) -> Path:
    """Give the folder for a project's work trees.

    Args:
        given: the one that was asked for, or None.
        project: the project's name in folders.
    """
    if given:
        return Path(os.path.abspath(given)) / project
    return state_folder() / "swarm" / project


def add_tree(git: Repository, path: Path, *, branch: str, base: str, lock: Path) -> None:
    """Make a work tree; one that is there already stays.

    ``git worktree add`` writes into the repository's configuration, and several at once get into each other's way:
    so they are made one at a time, and no upstream is configured.

    Args:
        git: any work tree of the repository.
        path: where.
        branch: to check out; made when there is none of that name.
        base: the commit that a new branch begins with.
        lock: the file that all swarms of the repository lock meanwhile.

    Raises:
        ProjectUnusable: git refuses, in its own words.
    """
    with usable(path):
        make_folder(path.parent)
    with locked(lock):
        if is_tree(git, path):
            return
        for again in (False, True):
            if again:
                git.run("worktree", "prune")  # what a killed one has left half made
            known = git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").ok
            words = [str(path), branch] if known else ["--no-track", "-b", branch, str(path), base]
            done = git.run("worktree", "add", "--quiet", *words)
            if done.ok or is_tree(git, path):
                break
        # A hook behind the checkout may fail; the work tree is there.
        if not done.ok and not (is_tree(git, path) and git.run("-C", str(path), "rev-parse", "HEAD").text):
            raise ProjectUnusable(f"no work tree at {path}: {why(done)}\n  next: see what git says, and the disk")


def is_tree(git: Repository, path: Path) -> bool:
    """Whether a folder is a work tree of this repository."""
    if not (path / ".git").is_file():
        return False
    common = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    there = git.run("-C", str(path), *common)
    return there.ok and there.text == git.run(*common).text


def lost_folder(git: Repository, path: Path) -> str:
    """Give the git folder of a work tree whose ``.git`` isn't any more what git has made there; '' where it is.

    Args:
        git: any work tree of the repository.
        path: the top of the work tree.
    """
    common = git.run("rev-parse", "--path-format=absolute", "--git-common-dir").text
    for folder in sorted(Path(common, "worktrees").glob("*")):
        named = (read_text(folder / "gitdir") or "").strip()
        if named and os.path.realpath(folder / os.path.dirname(named)) == os.path.realpath(path):
            pointer = path / ".git"
            plain = pointer.is_file() and not pointer.is_symlink()
            leads = (read_text(pointer) or "").strip().removeprefix("gitdir: ") if plain else ""
            intact = leads and os.path.realpath(path / leads) == os.path.realpath(folder)
            return "" if intact else os.fspath(folder)
    return ""


def remove_tree(git: Repository, path: Path, *, lock: Path) -> str:
    """Take a work tree away, whatever is in it; say why that failed, or ''."""
    with locked(lock):
        if path.exists():
            done = git.run("worktree", "remove", "--force", "--force", str(path))
            if not done.ok and path.exists():
                return why(done)
        git.run("worktree", "prune")
    with suppress(OSError):
        delete_folder(path.parent)
    return ""


def copy_files(source: Path, target: Path, names: Iterable[str]) -> dict[str, str]:
    """Copy files that a work tree lacks; what is there already stays.

    Args:
        source, target: the tops of both work trees.
        names: paths from there.

    Returns:
        Each path that was copied, with the digest of what is in it.

    Raises:
        ProjectUnusable: the system refuses to write.
    """
    copied = {}
    for name in names:
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
    """Name the copied files that still are what they were."""
    return [name for name, was in copied.items() if was == digest(top / name)]


def why(done: Ran) -> str:
    """Say in git's own words why it failed."""
    lines = [line for line in done.err.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (told or lines or [f"git ended with {done.status}"])[-1]
