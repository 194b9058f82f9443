"""Backups before each run (``--backup``), and the way back (``--rollback``).

A backup is a commit of the work tree as it is, untracked files included and ignored ones not, on a branch of its
own. Nothing else is touched: neither HEAD nor the index, neither the stash nor a file; no hook runs (trap F23).
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.base.files import delete, make_folder, read_bytes, write_atomic
from bridge.base.git.command import check_argument
from bridge.base.git.repository import Repository
from bridge.errors import ConfigurationError
from bridge.loop.setups.dot_ralph.folder import own_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.base.process.ask import Ran
    from bridge.loop.engine.logs import Level
    from bridge.loop.setups.dot_ralph.folder import Folder

_PREFIX = "ralph-backup-loop-"
_NUMBERS = re.compile(rf"{_PREFIX}(\d+)-(\d+)")


class Backups:
    def __init__(self, folder: Folder, env: Mapping[str, str]) -> None:
        self._git = Repository(folder.project, own_files(folder), env=env)

    def keep(self, loop: int, now: float) -> tuple[Level, str]:
        """Make the backup before a loop; return a line for the log, with its level."""
        if not self._git.run("rev-parse", "--git-dir").ok:
            return "WARN", "No backup: the project is no git repository"
        commit = self._git.snapshot(f"Ralph backup before loop #{loop}")
        branch = f"{_PREFIX}{loop}-{int(now)}"
        if not commit or not self._git.keep(f"refs/heads/{branch}", commit):
            return "WARN", "No backup: git made no commit of the work tree"
        return "INFO", f"Backup before loop #{loop}: branch {branch}"

    def names(self) -> list[str]:
        """Name the branches, the newest first: of commits of one second by the numbers in their names."""
        form = "--format=%(committerdate:unix) %(refname:lstrip=2)"
        listed = self._git.run("for-each-ref", form, f"refs/heads/{_PREFIX}*")
        found = [line.partition(" ") for line in listed.text.splitlines()] if listed.ok else []
        return [name for _, _, name in sorted(found, key=lambda each: (int(each[0]), _made(each[2])), reverse=True)]

    def back_to(self, branch: str) -> str:
        """Check a backup out, and return what to say.

        Uncommitted work is no obstacle where it is as the backup has it.

        Raises:
            ConfigurationError: there is no such branch, or it would overwrite work that is nowhere else.
        """
        git = self._git
        check_argument(branch, "--rollback")
        if not git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}").ok:
            known = ", ".join(self.names()[:5]) or "none"
            raise ConfigurationError(f"--rollback {branch}: there is no such branch\n  backups: {known}")
        with self._own_aside(branch):
            done = self._check_out(branch)
        if not done.ok:
            raise ConfigurationError(
                f"--rollback {branch}: {done.err.strip()}\n  next: keep that work (`git stash -u`), then once more"
            )
        return f"on branch {branch} now"

    def _check_out(self, branch: str) -> Ran:
        git, alike = self._git, self._alike(branch)
        names = b"\0".join(os.fsencode(path) for path in alike)
        top = ("-C", str(git.top), "--literal-pathspecs")
        given = ("--pathspec-from-file=-", "--pathspec-file-nul")
        if alike:  # git takes what is in the index as the branch has it for no change
            git.run(*top, "add", "-A", *given, data=names)
        done = git.run("checkout", "--quiet", branch)
        if alike and not done.ok:
            git.run(*top, "reset", "--quiet", *given, data=names)
        return done

    @contextmanager
    def _own_aside(self, branch: str) -> Iterator[None]:
        """Have the loop's state files, which no backup is about, out of git's way while the block runs."""
        git = self._git
        tracked = list(filter(self._is_own, self._differing("HEAD")))
        there = {*tracked, *filter(self._is_own, self._differing("HEAD", branch))}
        kept = {
            path: read_bytes(path)
            for path in (git.top / name for name in there)
            if path.is_file() and not path.is_symlink()
        }
        for path in kept:
            delete(path, missing=False)
        for name in tracked:
            git.run("-C", str(git.top), "--literal-pathspecs", "checkout", "--quiet", "HEAD", "--", name)
        try:
            yield
        finally:
            for path, data in kept.items():
                make_folder(path.parent)
                write_atomic(path, data)

    def _is_own(self, name: str) -> bool:
        git = self._git
        return name.startswith(git.prefix) and git.files.is_own(name.removeprefix(git.prefix))

    def _alike(self, branch: str) -> list[str]:
        """Name what is not committed, and is as the branch has it."""
        now = self._git.snapshot("what is there now")
        if not now:
            return []
        differs = self._differing(now, branch)
        return [path for path in self._differing("HEAD", now) if path not in differs]

    def _differing(self, *commits: str) -> list[str]:
        listed = self._git.run("diff", "--name-only", "-z", "--no-renames", *commits, "--")
        return [path for path in os.fsdecode(listed.out).split("\0") if path]


def _made(branch: str) -> tuple[int, int, str]:
    """When a backup was made, by its name: the second, and the loop."""
    numbers = _NUMBERS.fullmatch(branch)
    return (int(numbers[2]), int(numbers[1]), branch) if numbers else (0, 0, branch)
