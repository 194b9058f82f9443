"""Scripts as ``diff`` is given them: a path or a name, a version in git (``REV:PATH``), a process substitution."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.resources import is_name, os_text, split_kind
from bridge.errors import ConfigurationError
from bridge.shell.script import MOST_BYTES

if TYPE_CHECKING:
    from bridge.base.git.repository import Repository

_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


def version(given: str, folder: Path, other: str) -> Path:
    """The file of a script; one that isn't on disk is written to `folder`, which must be empty.

    Args:
        folder: for what has to be written.
        other: the version that it is compared with; a process substitution, which has no name, gets that one's.

    Raises:
        ScriptNotFound, UnknownDriver, UnknownAgent: no path, no name.
        ConfigurationError: git has no such file, or it can't be read.
    """
    given = os_text(given)
    if given.startswith(_DESCRIPTORS):
        name = os.path.basename(other)
        return _read(given, folder / (name if name.endswith(".sh") else "script.sh"))
    if ":" in given and not os.path.lexists(given) and not (is_name(given) and split_kind(given)[0]):
        return _of_git(given, folder)
    from bridge.cli._call import find

    return find(given)


def _read(given: str, path: Path) -> Path:
    try:
        with open(given, "rb") as stream:
            text = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(
            f"{given} can't be read: {error.strerror}\n  next: give the script's path"
        ) from None
    if not text.strip():
        raise ConfigurationError(f"{given} is empty\n  next: look at what the command in <(...) prints")
    path.write_bytes(text)
    return path


def _of_git(given: str, folder: Path) -> Path:
    """A script as it is in a commit, with what lies in its folder there, which it may source."""
    from bridge.base.git.command import check_argument
    from bridge.base.git.repository import find_repository

    rev, _, name = check_argument(given, "the version").partition(":")
    repository = find_repository(Path.cwd())
    if repository is None:
        raise ConfigurationError(
            f"{given} does not exist, and here is no git repository that could have it\n"
            "  next: give a path, a name, or REV:PATH within a repository"
        )
    found = repository.run("rev-parse", "--verify", given)
    if not found.ok:  # relative to the repository's top as git has it, else to the working folder
        here = repository.run("rev-parse", "--verify", f"{rev}:./{name}")
        if not here.ok:
            why = found.err.strip().partition("\n")[0].removeprefix("fatal: ")
            raise ConfigurationError(
                f"git has no {given}: {why}\n  next: git ls-tree -r --name-only {rev or 'HEAD'}"
            )
        found, name = here, f"./{name}"
    parent, base = os.path.split(name)
    if rev:
        _beside(repository, f"{rev}:{parent}", folder)
    return _written(repository, found.text, folder / base, given)


def _beside(repository: Repository, tree: str, folder: Path) -> None:
    """The regular files of a folder in a commit, in all depths."""
    for entry in filter(None, repository.run("ls-tree", "-r", "-z", "--full-tree", tree).out.split(b"\0")):
        about, _, name = entry.partition(b"\t")
        mode, kind, blob = about.decode().split()
        path = folder / os.fsdecode(name)
        if kind == "blob" and mode != "120000":
            path.parent.mkdir(parents=True, exist_ok=True)
            _written(repository, blob, path, os.fsdecode(name))


def _written(repository: Repository, blob: str, path: Path, given: str) -> Path:
    shown = repository.run("cat-file", "blob", blob)
    if not shown.ok:
        why = shown.err.strip().partition("\n")[0].removeprefix("fatal: ")
        raise ConfigurationError(f"{given} is no file in git: {why}\n  next: give the path of a script")
    path.write_bytes(shown.out)
    return path
