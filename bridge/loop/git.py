"""What git knows of a run: which files it changed, and whether it made commits.

Two or three short processes per run (section 4.11 takes a dozen, trap T15). The measure is what changed
between two looks, so what was dirty before the run doesn't count as its work, and new files and commits do
(drift D18, pain F-1). git is asked without its optional locks: it must not be in the agent's way.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Change", "Changes", "Repository", "Tree", "parse_numstat", "parse_status"]

_TIMEOUT = 60
_MOST_LINES = 1024 * 1024  # of an untracked file, in bytes: what is larger is not worth counting


class Change(NamedTuple):
    """One changed file: its path from the top of the repository, lines added and removed."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Tree:
    """One look at a repository.

    Attributes:
        head: the commit that HEAD is at; ``""`` without one, or when git could not be asked.
        dirty: what differs from HEAD or is untracked, by path; the value changes when the file does.
        known: False when git could not be asked: nothing can be said about progress then.
    """

    head: str = ""
    dirty: Mapping[str, object] | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened between two looks.

    Attributes:
        files: the changed files; binary ones with no lines.
        committed: HEAD moved.
        known: False when git could not be asked.
    """

    files: tuple[Change, ...] = ()
    committed: bool = False
    known: bool = False


class Repository:
    """The git repository of a project.

    Args:
        project: a folder in it.
        env: the environment for git; None for this process's own.
        ours: says of a path (from the project) whether it is a file of the loop's own.
    """

    def __init__(
        self, project: Path, *, env: Mapping[str, str] | None = None, ours: Callable[[str], bool] = lambda _path: False
    ) -> None:
        self._project = project
        self._env = {**(os.environ if env is None else env), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        self._ours = ours
        self._top: Path | None = project if (project / ".git").exists() else None

    def look(self) -> Tree:
        """Look at HEAD and at everything that differs from it. Never raises: without git nothing is known."""
        output = self._git("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
        if output is None:
            return Tree()
        if self._top is None:
            top = self._git("rev-parse", "--show-toplevel")
            self._top = Path(os.fsdecode(top).rstrip("\n")) if top else self._project
        head, paths = parse_status(output)
        return Tree(head, {path: _mark(self._top / path) for path in paths if not self._is_ours(path)}, known=True)

    def changes(self, before: Tree) -> Changes:
        """Look again, and compare with an earlier look."""
        after = self.look()
        if not (before.known and after.known):
            return Changes()
        old, new = before.dirty or {}, after.dirty or {}
        differing = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        moved = after.head != before.head
        if not differing and not moved:
            return Changes(known=True)
        counted = self._numstat(before.head if moved else after.head)
        found = {path: change for path, change in counted.items() if moved or path in differing}
        if moved:  # what was dirty before and still is, as it was
            found = {path: each for path, each in found.items() if path not in old.keys() & new.keys() - differing}
        for path in differing - found.keys():
            if path in new:
                found[path] = Change(path, self._lines(path), 0)
            elif not moved:
                found[path] = Change(path, 0, 0)
        return Changes(tuple(found[path] for path in sorted(found)), committed=moved, known=True)

    def stat(self, since: str, *, lines: int) -> str:
        """Return ``git diff --stat`` since a commit (``""``: the uncommitted), at most so many lines of it."""
        output = self._git("diff", "--stat", *([since] if since else []), "--") or b""
        return "\n".join(output.decode("utf-8", "replace").splitlines()[:lines])

    def _numstat(self, since: str) -> dict[str, Change]:
        output = self._git("diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", since or _EMPTY_TREE, "--")
        return {each.path: each for each in parse_numstat(output or b"") if not self._is_ours(each.path)}

    def _is_ours(self, path: str) -> bool:
        top = self._top or self._project
        return self._ours(os.path.relpath(top / path, self._project) if top != self._project else path)

    def _lines(self, path: str) -> int:
        try:
            with open((self._top or self._project) / path, "rb") as file:
                data = file.read(_MOST_LINES)
        except OSError:
            return 0
        return 0 if b"\0" in data else data.count(b"\n") + (not data.endswith(b"\n") and bool(data))

    def _git(self, *arguments: str) -> bytes | None:
        try:
            done = subprocess.run(
                ["git", "-c", "core.quotePath=false", *arguments],
                cwd=self._project,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None


_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def _mark(path: Path) -> object:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_mode, seen.st_ino


def parse_status(output: bytes) -> tuple[str, list[str]]:
    """Read ``git status --porcelain=v2 --branch -z``: the commit (``""`` before the first), and the paths."""
    head, paths = "", []
    records = iter(output.split(b"\0"))
    for record in records:
        fields = record.split(b" ")
        match fields[0]:
            case b"#" if fields[1:2] == [b"branch.oid"]:
                head = "" if fields[2] == b"(initial)" else fields[2].decode("ascii", "replace")
            case b"?":
                paths.append(os.fsdecode(record[2:]))
            case b"1":
                paths.append(os.fsdecode(b" ".join(fields[8:])))
            case b"2":
                paths.append(os.fsdecode(b" ".join(fields[9:])))
                next(records, None)  # where it was before
            case b"u":
                paths.append(os.fsdecode(b" ".join(fields[10:])))
    return head, paths


def parse_numstat(output: bytes) -> list[Change]:
    """Read ``git diff --numstat -z --no-renames``; a binary file has no lines."""
    found = []
    for record in output.split(b"\0"):
        added, _, rest = record.partition(b"\t")
        removed, tab, path = rest.partition(b"\t")
        if tab:
            numbers = (int(number) if number.isdigit() else 0 for number in (added, removed))
            found.append(Change(os.fsdecode(path), *numbers))
    return found
