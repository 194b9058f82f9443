"""Asking git about a project: two or three short processes per run (the original takes a dozen, trap T15).

git is asked without its optional locks, so that it is never in the agent's way. What its answers mean is
:mod:`bridge.loop.progress`'s matter.
"""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.loop.progress import changed_paths, diff_summary, is_own_state, parse_numstat, parse_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.progress import TreeState

__all__ = ["Changes", "Repository"]

_TIMEOUT = 60
_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")  # name the outer one
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run changed.

    Attributes:
        paths: the files, from the top of the repository.
        committed: HEAD moved.
        summary: the line for the next loop's context, or ''.
        head: the commit that is checked out now, or ''.
        dirty: there is something to commit, the loop's own state aside.
    """

    paths: frozenset[str] = frozenset()
    committed: bool = False
    summary: str = ""
    head: str = ""
    dirty: bool = False

    @property
    def count(self) -> int:
        """How many files count as the run's work. A commit of the loop's own state alone is none."""
        return len(self.paths)


class Repository:
    """The git repository of a project.

    Args:
        project: a folder in it.
        env: the environment for git; None for this process's own.
        state: the folder of the loop's own files; they don't count.
    """

    def __init__(self, project: Path, *, env: Mapping[str, str] | None = None, state: Path | None = None) -> None:
        self._project = project
        self._env = {**(os.environ if env is None else env), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        self._state = state or project / ".ralph"
        self._top: Path | None = project if (project / ".git").exists() else None

    def look(self) -> TreeState | None:
        """Look at HEAD and at all that differs from it; None when git can't be asked. Never raises."""
        output = self._git("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
        if output is None:
            return None
        if self._top is None:
            top = self._git("rev-parse", "--show-toplevel")
            self._top = Path(os.fsdecode(top.rstrip(b"\n"))) if top else self._project
        return parse_tree(output, self._stamp)

    def changes(self, before: TreeState | None) -> Changes | None:
        """Look again and compare with an earlier look; None when git can't be asked, then or now."""
        after = self.look()
        if before is None or after is None:
            return None
        state = self._state_dir()
        moved = before.head != after.head
        dirty = any(not is_own_state(path, state) for path in after.marks)
        touched = changed_paths(before, after, state_dir=state)
        if not moved and not touched:
            return Changes(head=after.head, dirty=dirty)
        stats = parse_numstat(self._numstat(before.head if moved else after.head))
        # What was dirty before and is still, in the same way, also differs from the older commit.
        untouched = {path for path, mark in after.marks.items() if before.marks.get(path) == mark}
        stats = tuple(stat for stat in stats if stat.path not in untouched and (moved or stat.path in touched))
        paths = changed_paths(before, after, [stat.path for stat in stats], state_dir=state)
        new = sorted(paths - {stat.path for stat in stats} & after.marks.keys())
        summary = diff_summary(stats, [path for path in new if path in after.marks], state_dir=state)
        return Changes(paths, moved, summary, after.head, dirty)

    def stat(self, *commits: str, lines: int) -> str:
        """Return ``git diff --stat`` since a commit (none: the uncommitted), at most so many lines of it."""
        output = self._git("diff", "--stat", "--no-ext-diff", *commits, "--") or b""
        return "\n".join(output.decode("utf-8", "replace").splitlines()[:lines])

    def _numstat(self, since: str) -> bytes:
        return (
            self._git("diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", since or _EMPTY_TREE, "--") or b""
        )

    def _state_dir(self) -> str:
        return os.path.relpath(self._state, self._top or self._project)

    def _stamp(self, path: str) -> str:
        full = os.path.join(os.fsencode(self._top or self._project), os.fsencode(path))
        try:
            seen = os.lstat(full)
        except OSError:
            return ""
        # A submodule, or a repository of its own: what is in it tells. (A folder in the place of a file is neither,
        # and git would answer for this repository again.)
        if stat.S_ISDIR(seen.st_mode) and os.path.lexists(os.path.join(full, b".git")):
            env = {name: value for name, value in self._env.items() if name not in _REPOSITORY}
            inner = Repository(Path(os.fsdecode(full)), env=env).look()
            return "" if inner is None else repr((inner.head, sorted(inner.marks.items())))
        return f"{seen.st_mtime_ns} {seen.st_size} {seen.st_mode} {seen.st_ino}"

    def _git(self, *arguments: str) -> bytes | None:
        try:
            done = subprocess.run(
                ["git", *arguments],
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
