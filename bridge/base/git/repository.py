"""One repository: asked about its working tree, compared with an earlier moment, committed.

git is asked without its optional locks, so that it is never in a tool's way: a few short processes per turn (trap
T15), which run nothing that the repository names (:mod:`.immune`), with the changes of nested repositories
(submodules, work spaces) included.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import append_durably, delete, make_folder, read_bytes, write_atomic
from bridge.base.git import immune
from bridge.base.git.command import OF_A_REPOSITORY, Git
from bridge.base.git.left_open import under_way
from bridge.base.git.tree import FileStat, TreeState, changed_paths, diff_summary, parse_numstat, parse_tree
from bridge.base.patterns import lazy
from bridge.base.process.ask import Ran
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    Within = Callable[
        [Sequence[str], Mapping[str, str]], AbstractContextManager[tuple[Sequence[str], Mapping[str, str]]]
    ]

_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all")
_LOCKED = 20
_PUSHES = 500
_WHEN = lazy(rb"@\{(\d{1,15})\}")
_NOTHING = hashlib.sha256().hexdigest()
"""Fingerprint of a working tree in which nothing differs from HEAD."""
_HASHED_WHOLE = 16 * 1024 * 1024
_LARGE = 64 * 1024 * 1024


def _never(_path: str) -> bool:
    return False


def as_pattern(path: str) -> str:
    """A path in one of git's patterns: what its name has of their signs is no sign."""
    return re.sub(r"([\\*?\[])", r"\\\1", path)


class Files(NamedTuple):
    """Which files of a project are no work; paths relative to the project.

    Attributes:
        is_own: the loop's own: never part of a checkpoint.
        is_about_work: notes, such as progress.txt: part of a checkpoint, and no work.
        own: the first as git's patterns, for those who commit; with a ``*``, a glob.
        shared: others may come to keep files in the folder of the loop's state, too.
    """

    is_own: Callable[[str], bool] = _never
    is_about_work: Callable[[str], bool] = _never
    own: tuple[str, ...] = ()
    shared: bool = False

    def is_work(self, path: str) -> bool:
        return not (self.is_own(path) or self.is_about_work(path))


ALL_WORK = Files()


@dataclass(frozen=True, slots=True)
class Changes:
    """What a turn changed.

    Attributes:
        paths: the files, from the top of the repository.
        committed: HEAD moved.
        summary: all of it in one line, or ''.
        head: the commit that is checked out now, or ''.
        dirty: there is something to commit, the loop's own state aside.
        branch: that is checked out now; '' for a detached HEAD.
    """

    paths: frozenset[str] = frozenset()
    committed: bool = False
    summary: str = ""
    head: str = ""
    dirty: bool = False
    branch: str = field(default="", compare=False)

    @property
    def count(self) -> int:
        return len(self.paths)


class Look(NamedTuple):
    """A working tree at one moment, short enough to be kept: the commit that is checked out ('' without one), and a
    fingerprint of all that differs from it (None: it can't be told)."""

    head: str
    tree: str | None


class Captured(NamedTuple):
    """A working tree in a commit: its id ('' when that failed) and that of its tree, and what git said about files
    that it couldn't add, or why it failed."""

    commit: str
    tree: str
    left: str


def find_repository(project: Path, files: Files = ALL_WORK) -> Repository | None:
    if shutil.which("git") is None:
        return None
    found = Repository(project, files)
    return found if found.run("rev-parse", "--git-dir").ok else None


class Repository(Git):
    """The repository that a project lies in. Nothing here raises because of git: it answers with None or ''.

    Args:
        project: the project's folder.
        files: which of its files are no work.
        env: the environment for git; None for this process's own.
    """

    def __init__(self, project: Path, files: Files = ALL_WORK, *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(project, env=env)
        self.files = files
        self._seen: dict[bytes, tuple[tuple[int, ...], str]] = {}

    @cached_property
    def top(self) -> Path:
        if (self.project / ".git").exists():
            return self.project
        asked = self.run("rev-parse", "--show-toplevel")
        return Path(asked.text) if asked.ok and asked.text else self.project

    @cached_property
    def folder(self) -> Path:
        return Path(self.run("rev-parse", "--absolute-git-dir").text)

    @cached_property
    def prefix(self) -> str:
        inside = os.path.relpath(os.path.realpath(self.project), os.path.realpath(self.top))
        return "" if inside == "." else f"{inside}/"

    # -- where it stands -----------------------------------------------------------------------------

    def head(self) -> str:
        return self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").text

    def branch(self) -> str:
        return self.run("symbolic-ref", "--quiet", "--short", "HEAD").text

    def checked_out(self) -> tuple[str, str]:
        """The commit, and the branch; '' where there is none."""
        asked = self.run("rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
        if not asked.ok:  # before the first commit
            return "", self.branch()
        commit, _, name = asked.text.partition("\n")
        return commit, name.removeprefix("refs/heads/") if name.startswith("refs/") else ""

    def is_refused(self) -> bool:
        """Whether git works with nothing here, because the files are another user's."""
        with suppress(OSError):  # a child less at each start: git has nothing to doubt where all is one's own
            folder = os.lstat(self.project / ".git")
            if stat.S_ISDIR(folder.st_mode) and {folder.st_uid, os.stat(self.project).st_uid} == {os.geteuid()}:
                return False
        return "safe.directory" in self._ask("rev-parse", "--git-dir").err

    def has_identity(self) -> bool:
        """Whether git knows who commits here; also where that can't be asked."""
        told = self._ask("var", "GIT_COMMITTER_IDENT").err
        return not any(each in told for each in ("auto-detect", "empty ident name"))

    def look(self) -> TreeState | None:
        """Look at HEAD and at all that differs from it; None when git can't be asked."""
        done = self.run("--no-optional-locks", *_STATUS)
        return parse_tree(done.out, self._contents) if done.ok else None

    def fingerprint(self) -> Look:
        """Look, for a comparison by another process."""
        tree = self.look()
        if tree is None:
            return Look(self.head(), None)
        digest = hashlib.sha256()
        for path in sorted(self.work(tree)):
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
            digest.update(tree.marks[path].contents.encode("utf-8", "surrogateescape") + b"\0")
        return Look(tree.head, digest.hexdigest())

    def work(self, tree: TreeState) -> set[str]:
        return {path for path in tree.marks if self.is_work(path)}

    def busy(self, tree: TreeState) -> str:
        """Name what is under way here that a commit would disturb; '' when nothing is."""
        found = next((name for name in _BUSY if (self.folder / name).exists()), "")
        found = found or under_way(str(self.folder), self._env)
        return found or ("unmerged files" if any(mark.kind == "u" for mark in tree.marks.values()) else "")

    # -- was there work? -----------------------------------------------------------------------------

    def taken_back(self, before: str, after: str) -> int:
        """Count the commits that HEAD had and no longer has, where it has gained none: ``git reset`` does that.
        An amended or rebased commit isn't one.
        """
        if not before or not after:
            return 0
        done = self.run("rev-list", "--count", "--left-right", f"{before}...{after}", "--")
        lost, _, gained = done.out.decode().strip().partition("\t") if done.ok else ("0", "", "")
        return int(lost) if gained == "0" else 0

    def kept_here(self, since: str) -> int:
        """Count the commits since one that no remote has, as far as it is known here."""
        done = self.run("rev-list", "--count", "HEAD", "--not", "--remotes", *([since] if since else []), "--")
        return int(done.out) if done.ok else 0

    def has_pushed(self, since: float) -> bool:
        """Whether a push from here has gone through since then (seconds of the epoch).

        git notes the second of each: one in the second of `since` may be of before, and doesn't count.
        """
        done = self.run("log", "-g", "--remotes", "--date=unix", "--format=%gd %gs", "-n", str(_PUSHES))
        pushes = (line for line in done.out.splitlines() if line.endswith(b" update by push")) if done.ok else ()
        return any(int(when) > since for each in pushes for when in _WHEN.findall(each))

    def changes(self, before: TreeState | None) -> Changes | None:
        """Look again and say what has changed; None when git can't be asked, then or now."""
        after = self.look()
        if before is None or after is None:
            return None
        moved = before.head != after.head
        dirty = bool(self.work(after))
        touched = changed_paths(before, after)
        if not moved and not any(map(self.is_work, touched)):
            return Changes(head=after.head, dirty=dirty, branch=after.branch)
        since = (before.head if moved else after.head) or self.empty_tree()
        large = [path for path in sorted(after.marks) if self._is_large(path)]
        others = [":(top)", *(f":(top,exclude,literal){path}" for path in large)] if large else []
        listed = self.run("diff", "--numstat", "-z", *_DIFF, since, "--", *others)
        uncounted = (FileStat(path, 0, 0) for path in large if after.marks[path].kind != "?")
        stats = [each for each in (*parse_numstat(listed.out), *uncounted) if self.is_work(each.path)]
        # What was dirty before and is still, in the same way, also differs from the older commit.
        untouched = after.marks.keys() - touched
        stats = [each for each in stats if each.path not in untouched and (moved or each.path in touched)]
        paths = {path for path in touched if self.is_work(path)} | {each.path for each in stats}
        new = sorted(paths - {each.path for each in stats} & after.marks.keys())
        summary = diff_summary(stats, [path for path in new if path in after.marks])
        return Changes(frozenset(paths), moved, summary, after.head, dirty, after.branch)

    def _is_large(self, path: str) -> bool:
        """Whether git would read a file for long to count its lines: one of terabytes is soon made, as a hole."""
        try:
            return os.lstat(self.top / path).st_size > _LARGE
        except (OSError, ValueError):
            return False

    def moved(self, before: Look, after: Look) -> bool | None:
        """Say whether there was work between two looks; None when nobody can tell."""
        if before.tree is None or after.tree is None:
            return None
        if before.head == after.head:
            return before.tree != after.tree
        # What was only committed has been work of an earlier turn's, but a commit of it is work, too.
        names = self.run("diff", "--name-only", "-z", "--no-renames", before.head or self.empty_tree(), after.head)
        committed = not names.ok or any(path and self.is_work(path) for path in os.fsdecode(names.out).split("\0"))
        return committed or before.tree != after.tree != _NOTHING

    def stat(self, *commits: str, lines: int) -> str:
        """Return ``git diff --stat`` since a commit (none: the uncommitted), at most so many lines of it."""
        output = self.run("diff", "--stat", *immune.NO_DIFFS, *commits, "--").out
        return "\n".join(output.decode("utf-8", "replace").splitlines()[:lines])

    # -- keeping it ----------------------------------------------------------------------------------

    def own(self, magic: str) -> tuple[str, ...]:
        """Path patterns for the loop's own files; `magic` says what about them: ``exclude``, or nothing."""
        magic = f"top,{magic}," if magic else "top,"
        return tuple(
            f":({magic}glob){as_pattern(self.prefix)}{path}"
            if "*" in path
            else f":({magic}literal){self.prefix}{path}"
            for path in self.files.own
        )

    def commit(self, message: str, *, no_verify: bool, allow_empty: bool) -> tuple[Ran, str]:
        """Commit all of the working tree; when that is refused, the index is left as it was.

        Returns:
            How the last command ended, and what git said about files that it couldn't add, or ''.
        """
        index = self.folder / "index"
        kept = read_bytes(index) if index.is_file() else None
        done = self._add()
        for _ in range(_LOCKED):  # by a git that a killed loop has left behind, or by an editor
            if done.ok or "index.lock" not in done.err:
                break
            time.sleep(0.1)
            done = self._add()
        if done.status:
            return done, ""
        left = done.err
        options = ["--no-verify"] * no_verify + ["--allow-empty"] * allow_empty
        done = self.run("commit", "--quiet", "-m", message, *options)
        if done.status and (identity := self.identity()):
            done = self.run("commit", "--quiet", "-m", message, *options, env=identity)
        if done.status and kept is not None:
            with suppress(OSError):
                write_atomic(index, kept)
        elif done.status:
            delete(index)
        return done, left

    def snapshot(self, message: str, also: Sequence[str] = ()) -> str:
        """Keep all of the working tree in a commit that is on no branch; '' if that fails.

        Args:
            message: of the commit.
            also: which of the ignored files, too; paths from the top.
        """
        return self.capture(message, also).commit

    def capture(self, message: str, also: Sequence[str] = (), without: Sequence[str] = ()) -> Captured:
        """Do the same, and say what is in it.

        Args:
            message: of the commit.
            also: which of the ignored files, too; paths from the top.
            without: paths from the top that stay as HEAD has them.
        """
        top = ("-C", str(self.top), "--literal-pathspecs")
        given = ("--pathspec-from-file=-", "--pathspec-file-nul")
        with self._own_index() as env:
            head = self.head()
            if head:
                self.run("read-tree", head, env=env)
            added = self._add(env)
            if added.status:
                return Captured("", "", added.err)
            for paths, command in ((also, ("add", "--force")), (without, ("reset", "--quiet"))):
                names = b"\0".join(path.encode("utf-8", "surrogateescape") for path in paths)
                if names and (done := self.run(*top, *command, *given, env=env, data=names)).status:
                    return Captured("", "", done.err)
            tree = self.run("write-tree", env=env)
            if tree.status:
                return Captured("", "", tree.err)
            parents = ("-p", head) if head else ()
            made = self.run("commit-tree", tree.text, *parents, "-m", message, env=env | self.identity())
            return Captured(made.text if made.ok else "", tree.text, added.err if made.ok else made.err)

    def keep(self, ref: str, commit: str) -> bool:
        """Give a commit a name that keeps it alive."""
        return self.run("update-ref", "--create-reflog", ref, commit).ok

    def exclude(self, *patterns: str) -> None:
        """Have git pass over paths, here and on this machine only: ``.git/info/exclude``."""
        path = Path(self.run("rev-parse", "--git-path", "info/exclude").text)
        path = path if path.is_absolute() else self.project / path
        with suppress(OSError):
            make_folder(path.parent)
            text = read_bytes(path).decode("utf-8", "surrogateescape") if path.is_file() else ""
            wanted = [f"/{as_pattern(self.prefix)}{pattern}" for pattern in patterns]
            missing = [line for line in wanted if line not in text.splitlines()]
            if missing:
                gap = "" if not text or text.endswith("\n") else "\n"
                more = gap + "".join(f"{line}\n" for line in missing)
                append_durably(path, more.encode("utf-8", "surrogateescape"))

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
        if added.status or not self.files.own:
            return added
        taken = self.run("reset", "--quiet", "--", *self.own(""), env=env)
        return taken if taken.status else Ran(0, b"", added.err)

    def empty_tree(self) -> str:
        return self.run("hash-object", "-t", "tree", "--stdin").text

    def identity(self) -> dict[str, str]:
        """A name for the commits of those who have told git none; git refuses to commit without."""
        if self.run("var", "GIT_COMMITTER_IDENT").ok:
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

    # -- files ---------------------------------------------------------------------------------------

    def is_work(self, path: str) -> bool:
        return not path.startswith(self.prefix) or self.files.is_work(path.removeprefix(self.prefix))

    def _contents(self, path: str) -> str:
        """Tell a file's contents from others'; read again only when it looks different from the last time."""
        full = os.path.join(os.fsencode(self.top), path.encode("utf-8", "surrogateescape"))
        try:
            seen = os.lstat(full)
            if stat.S_ISDIR(seen.st_mode):
                return self._nested(full)
            stamp = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_mode, seen.st_ino)
            last = self._seen.get(full)
            if last is None or last[0] != stamp:
                last = self._seen[full] = (stamp, _digest(full, seen))
            return last[1]
        except OSError:
            return "-"

    def _nested(self, path: bytes) -> str:
        """Tell the work in a repository inside of this one (a submodule, or one of its own). A folder in the place
        of a file is neither, and git would answer for this repository again."""
        if not os.path.lexists(os.path.join(path, b".git")):
            return "d"
        env = {name: value for name, value in self._env.items() if name not in OF_A_REPOSITORY}
        look = Repository(Path(os.fsdecode(path)), env=env).fingerprint()
        return f"r{look.head} {look.tree}"


_DIFF = ("--no-renames", *immune.NO_DIFFS)


def _digest(path: bytes, seen: os.stat_result) -> str:
    """Of a file's contents; of a very large one, its size and time."""
    if stat.S_ISLNK(seen.st_mode):
        return "l" + os.fsdecode(os.readlink(path))
    if not stat.S_ISREG(seen.st_mode):
        return "o"
    executable = seen.st_mode & 0o111
    if seen.st_size > _HASHED_WHOLE:
        return f"f{executable:o} {seen.st_size} {seen.st_mtime_ns}"
    return f"f{executable:o} {hashlib.sha256(read_bytes(os.fsdecode(path))).hexdigest()}"
