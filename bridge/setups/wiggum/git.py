"""git for wiggum mode: has the work moved on, and checkpoints of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.loop.progress import TreeState, parse_tree
from bridge.setups.wiggum.git_process import Ran, run_git
from bridge.setups.wiggum.layout import OWN, is_own

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Git", "Look", "find_git"]

_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
_LOCKED = 20
_NOTHING = hashlib.sha256().hexdigest()
"""Fingerprint of a working tree in which nothing differs from HEAD."""
_HASHED_WHOLE = 16 * 1024 * 1024


class Look(NamedTuple):
    """A working tree at one moment: the commit that is checked out ('' without one), and what else there is."""

    head: str
    tree: str | None


def find_git(project: Path) -> Git | None:
    """Give the repository that `project` lies in; None when there is none, or no git."""
    if shutil.which("git") is None:
        return None
    asked = Git(project, project, project).run("rev-parse", "--show-toplevel", "--absolute-git-dir")
    lines = asked.text.splitlines()
    return Git(project, Path(lines[0]), Path(lines[1])) if asked.status == 0 and len(lines) == 2 else None


class Git:
    """One repository.

    Args:
        project: the project's folder.
        top: the top of the working tree.
        folder: its git folder.
    """

    _patience = 120.0
    """Seconds that one command may take, with the hooks that it calls."""

    def __init__(self, project: Path, top: Path, folder: Path) -> None:
        self.project = project
        self.top = top
        self.folder = folder
        inside = os.path.relpath(os.path.realpath(project), os.path.realpath(top))
        self.prefix = "" if inside == "." else f"{inside}/"

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, data: bytes | None = None) -> Ran:
        """Run git in the project's folder; never raises, never asks anything of anybody."""
        return run_git(self.project, arguments, env=env or {}, data=data or b"", patience=self._patience)

    def own(self, magic: str) -> tuple[str, ...]:
        """Path patterns for the loop's own files; `magic` says what about them: ``exclude``, or nothing."""
        magic = f"top,{magic}," if magic else "top,"
        literal = [f":({magic}literal){self.prefix}{path}" for path in OWN if not path.endswith("-")]
        return (*literal, f":({magic}glob){self.prefix}.claude/.ralph-*")

    def head(self) -> str:
        """Give the commit that is checked out; '' before the first."""
        return self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").text

    def status(self) -> TreeState | None:
        """Give the commit that is checked out and what differs from it, in one call; None when git can't tell."""
        done = self.run(
            "--no-optional-locks",
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--no-renames",
            "--untracked-files=all",
        )
        return parse_tree(done.out) if done.status == 0 else None

    def dirty(self, tree: TreeState, *, control: bool = False) -> dict[str, str]:
        """Give what differs from HEAD or is untracked, path to git's mark, the loop's own files aside.

        Args:
            tree: as `status` gives it.
            control: also leave out what is only about the work, as progress.txt.
        """
        return {path: mark for path, mark in tree.marks.items() if not self._own(path, control=control)}

    def look(self) -> Look:
        """Look at the working tree: what is in files counts, not when they were written."""
        tree = self.status()
        if tree is None:
            return Look(self.head(), None)
        digest = hashlib.sha256()
        for path in sorted(self.dirty(tree, control=True)):
            name = path.encode("utf-8", "surrogateescape")
            full = os.path.join(os.fsencode(self.top), name)
            digest.update(name + b"\0" + (_nested(full) or _contents(full)) + b"\0")
        return Look(tree.head, digest.hexdigest())

    def moved(self, before: Look, after: Look) -> bool | None:
        """Say whether there was work between two looks; None when nobody can tell."""
        if before.tree is None or after.tree is None:
            return None
        if before.head == after.head:
            return before.tree != after.tree
        # What was only committed has been work of an earlier turn's, but a commit of it is work, too.
        names = self.run("diff", "--name-only", "-z", "--no-renames", before.head or self._empty_tree(), after.head)
        paths = os.fsdecode(names.out).split("\0")
        committed = names.status != 0 or any(path and not self._own(path, control=True) for path in paths)
        return committed or before.tree != after.tree != _NOTHING

    def busy(self, tree: TreeState) -> str:
        """Name what is under way here that a commit would disturb; '' when nothing is."""
        under_way = next((name for name in _BUSY if (self.folder / name).exists()), "")
        return under_way or ("unmerged files" if any(mark.startswith("u ") for mark in tree.marks.values()) else "")

    def commit(self, message: str, *, no_verify: bool, allow_empty: bool) -> tuple[Ran, str]:
        """Commit all of the working tree; when that is refused, the index is left as it was.

        Returns:
            How the last command ended, and what git said about files that it couldn't add, or ''.
        """
        index = self.folder / "index"
        kept = index.read_bytes() if index.is_file() else None
        done = self._add()
        for _ in range(_LOCKED):  # by a git that a killed loop has left behind, or by an editor
            if done.status == 0 or "index.lock" not in done.err:
                break
            time.sleep(0.1)
            done = self._add()
        if done.status:
            return done, ""
        left = done.err
        options = ["--no-verify"] * no_verify + ["--allow-empty"] * allow_empty
        done = self.run("commit", "--quiet", "-m", message, *options)
        if done.status and (identity := self._identity()):
            done = self.run("commit", "--quiet", "-m", message, *options, env=identity)
        if done.status and kept is not None:
            with suppress(OSError):
                temporary = index.with_name("index.ralph")
                temporary.write_bytes(kept)
                os.replace(temporary, index)
        elif done.status:
            index.unlink(missing_ok=True)
        return done, left

    def snapshot(self, message: str, also: Sequence[str] = ()) -> str:
        """Keep all of the working tree in a commit that is on no branch; '' if that fails.

        Args:
            message: of the commit.
            also: which of the ignored files, too; paths from the top.
        """
        with self._own_index() as env:
            head = self.head()
            if head:
                self.run("read-tree", head, env=env)
            if self._add(env).status:
                return ""
            if also:
                names = b"\0".join(path.encode("utf-8", "surrogateescape") for path in also)
                given = ("--pathspec-from-file=-", "--pathspec-file-nul")
                top = ("-C", str(self.top), "--literal-pathspecs")
                if self.run(*top, "add", "--force", *given, env=env, data=names).status:
                    return ""
            tree = self.run("write-tree", env=env)
            if tree.status:
                return ""
            parents = ("-p", head) if head else ()
            return self.run("commit-tree", tree.text, *parents, "-m", message, env=env | self._identity()).text

    def keep(self, ref: str, commit: str) -> bool:
        """Give a commit a name that keeps it alive."""
        return self.run("update-ref", "--create-reflog", ref, commit).status == 0

    def exclude(self, *patterns: str) -> None:
        """Have git pass over paths, here and on this machine only: ``.git/info/exclude``."""
        path = Path(self.run("rev-parse", "--git-path", "info/exclude").text)
        path = path if path.is_absolute() else self.project / path
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text("utf-8", "surrogateescape") if path.is_file() else ""
            wanted = [f"/{self.prefix}{pattern}" for pattern in patterns]
            missing = [line for line in wanted if line not in text.splitlines()]
            if missing:
                gap = "" if not text or text.endswith("\n") else "\n"
                with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(gap + "".join(f"{line}\n" for line in missing))

    def _add(self, env: Mapping[str, str] | None = None) -> Ran:
        """Put all of the working tree into the index, but for the loop's own files.

        git refuses to add patterns that exclude what is ignored anyway, so these are taken out again. What can't be
        added (a file that may not be read, a repository inside without a commit) doesn't keep out the rest: then
        the status is 0, and what git said stays in `Ran.err`.
        """
        added = self.run("add", "-A", "--", ":/", env=env)
        if added.status and "index.lock" not in added.err:
            added = self.run("add", "-A", "--ignore-errors", "--", ":/", env=env)
            added = Ran(0, added.out, added.err or "some files were not added")
        if added.status:
            return added
        taken = self.run("reset", "--quiet", "--", *self.own(""), env=env)
        return taken if taken.status else Ran(0, b"", added.err)

    def _own(self, path: str, *, control: bool) -> bool:
        inside = path.removeprefix(self.prefix)
        return path.startswith(self.prefix) and is_own(inside, control=control)

    def _empty_tree(self) -> str:
        return self.run("hash-object", "-t", "tree", "--stdin", data=b"").text

    def _identity(self) -> dict[str, str]:
        """A name for the commits of those who have told git none; git refuses to commit without."""
        if self.run("var", "GIT_COMMITTER_IDENT").status == 0:
            return {}
        return {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "ralph-bridge"), ("EMAIL", "ralph-bridge@localhost"))
        }

    @contextmanager
    def _own_index(self) -> Iterator[dict[str, str]]:
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-index-") as folder:
            yield {"GIT_INDEX_FILE": os.path.join(folder, "index")}


def _nested(path: bytes) -> bytes:
    """Tell the work in a repository inside of this one (a submodule, or one of its own); b"" for anything else."""
    if os.path.islink(path) or not os.path.isdir(path):
        return b""
    folder = Path(os.fsdecode(path))
    git = find_git(folder)
    if git is None or os.path.realpath(git.top) != os.path.realpath(folder):
        return b""
    look = git.look()
    return f"r{look.head} {look.tree}".encode()


def _contents(path: bytes) -> bytes:
    """Tell a file's contents from others'; of a very large one, its size and time."""
    try:
        seen = os.lstat(path)
        if stat.S_ISLNK(seen.st_mode):
            return b"l" + os.readlink(path)
        if not stat.S_ISREG(seen.st_mode):
            return b"d"
        if seen.st_size > _HASHED_WHOLE:
            return f"f{seen.st_mode & 0o111:o} {seen.st_size} {seen.st_mtime_ns}".encode()
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
        return f"f{seen.st_mode & 0o111:o} ".encode() + digest
    except OSError:
        return b"-"
