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
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import append_durably, delete, make_folder, read_bytes, write_atomic
from bridge.base.git import immune, unfinished
from bridge.base.git.tree import FileStat, TreeState, changed_paths, diff_summary, parse_numstat, parse_tree
from bridge.base.process.ask import Ran, ask
from bridge.errors import BridgeError, ConfigurationError, ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    Within = Callable[
        [Sequence[str], Mapping[str, str]], AbstractContextManager[tuple[Sequence[str], Mapping[str, str]]]
    ]

_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")  # name the outer one
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all")
_LOCKED = 20
_NOTHING = hashlib.sha256().hexdigest()
"""Fingerprint of a working tree in which nothing differs from HEAD."""
_MOST_OF_GIT = 64 * 1024 * 1024
_HASHED_WHOLE = 16 * 1024 * 1024
_LARGE = 64 * 1024 * 1024


def check_argument(text: str, what: str) -> str:
    """Return `text` if git takes it for the name of something: of a branch, of a repository.

    Raises:
        ConfigurationError: git would take it for an option, or for a command that it is to run (``ext::``).
    """
    wrong = ""
    if text.startswith("-"):
        wrong = "it begins with -, so that git would take it for an option"
    elif not text or any(ord(each) < 32 or ord(each) == 127 for each in text):
        wrong = "it is empty, or has control characters in it"
    elif re.match(r"[A-Za-z0-9][A-Za-z0-9+.-]*::", text):
        wrong = "NAME:: has git run a program of that name"
    if wrong:
        raise ConfigurationError(f"{what} {text!r}: {wrong}\n  next: give a path, an address or a name")
    return text


def _never(_path: str) -> bool:
    return False


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


class Repository:
    """The repository that a project lies in. Nothing here raises because of git: it answers with None or ''.

    Args:
        project: the project's folder.
        files: which of its files are no work.
        env: the environment for git; None for this process's own.
    """

    within: Within | None = None
    """What commits run in, and additions that have filters: these run programs of the project, and with them what
    an agent has written."""
    _patience = 120.0
    """Seconds that one command may take, with the hooks that it calls."""

    def __init__(self, project: Path, files: Files = ALL_WORK, *, env: Mapping[str, str] | None = None) -> None:
        self.project = project
        self.files = files
        self._given = os.environ if env is None else env
        self._env = {
            **self._given,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_EDITOR": "true",
            # What an agent can plant, too: other contents and parents for commits than those that are pushed.
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": f"{os.devnull}/none",  # of one that is there, though empty, git says that it is old
        }
        if (project / ".git").exists():  # when a tool deletes it, no other repository takes its place
            above = os.path.dirname(os.path.realpath(project))
            ceilings = (above, self._env.get("GIT_CEILING_DIRECTORIES", ""))
            self._env["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(filter(None, ceilings))
        self._elsewhere = False
        """A repository inside has its git folder elsewhere: then git looks into none of them."""
        self._seen: dict[bytes, tuple[tuple[int, ...], str]] = {}

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, data: bytes = b"") -> Ran:
        """Run git in the project's folder; it asks nothing of anybody.

        Raises:
            ProjectUnusable: git waits for a FIFO, which it would do for ever.
        """
        command = immune.command_of(arguments)
        self._refuse_strange()
        boxed = self.within is not None or immune.distrusted(self.project)
        may = immune.may_run(command, immune.program(self._env, self.project), boxed=boxed)
        may = may and not (self.within is not None and command in immune.RUNNING_HOOKS)
        off = self.filters_off(looks=immune.looks(command), boxed=boxed) if may else {}
        if self._elsewhere and command in ("status", "diff"):
            at = arguments.index(command) + 1
            arguments = (*arguments[:at], "--ignore-submodules=dirty", *arguments[at:])
        return self._ask("-c", "core.quotePath=false", *arguments, env=env, data=data, off=off)

    def looking(self, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Give the command line and the environment of a git command that only looks, as somebody else wrote it."""
        env = immune.environment(self._given, more=self.filters_off())
        return [immune.program(env, self.project), *immune.harmless(arguments)], env

    def _ask(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        data: bytes = b"",
        off: Mapping[str, str] = MappingProxyType({}),
    ) -> Ran:
        command = immune.command_of(words)
        filters = command == "add" and any(name.startswith("filter.") for name in off)
        boxed = self.within is not None and (filters or command in immune.RUNNING_HOOKS)
        env = immune.environment({**self._env, **(env or {})}, command, {} if boxed else off)
        argv: Sequence[str] = [immune.program(env, self.project), *words]
        if self.within is None or not boxed:
            return self._run(argv, env, data)
        with self.within(argv, env) as (argv, env):
            return self._run(argv, env, data)

    def _run(self, argv: Sequence[str], env: Mapping[str, str], data: bytes) -> Ran:
        return ask(
            argv,
            cwd=self.project,
            env=env,
            stdin=data,
            patience=self._patience,
            leave=True,  # what a hook of the project starts is the project's matter
            look=self._look_for_fifos,
        )

    def filters_off(self, *, looks: bool = True, boxed: bool | None = None) -> dict[str, str]:
        """Settings against filters that an agent may have named, here or in a repository inside; see there."""
        listed = [self._ask(*immune.LISTED).out]
        folders = [os.path.realpath(self.project)]
        for folder in folders:  # it grows
            for inner in set(self._inside(folder)) - set(folders):
                listed.append(self._ask("-C", inner, *immune.LISTED).out)
                folders.append(inner)
        boxed = immune.distrusted(self.project) if boxed is None else boxed
        return immune.overrides(listed[0], listed[1:], looks=looks, boxed=boxed)

    def _inside(self, folder: str) -> list[str]:
        """The repositories in a work tree that its index knows of."""
        here = not any(name in self._env for name in _REPOSITORY)
        if here and not _may_name_repositories(os.path.join(folder, ".git")):
            return []
        found = self._ask("-C", folder, "ls-files", "-s", "-z", "--full-name", ":/").out
        if b"160000 " not in found:
            return []
        top = self._ask("-C", folder, "rev-parse", "--show-toplevel").text
        names = (each.partition(b"\t")[2] for each in found.split(b"\0") if each.startswith(b"160000 "))
        paths = (os.path.join(top, os.fsdecode(each)) for each in names)
        found_in = [each for each in paths if os.path.lexists(os.path.join(each, ".git"))]
        inside = [each for each in found_in if self._is_here(os.path.join(each, ".git"))]
        self._elsewhere = self._elsewhere or len(inside) < len(found_in)
        return inside

    def _is_here(self, path: str) -> bool:
        """Whether the git folder of a repository inside lies in the project, or in the git folder of this one."""
        leads = os.path.realpath(path)
        if os.path.isfile(leads):
            with suppress(OSError, BridgeError):
                named = os.fsdecode(read_bytes(leads, 4096, root=os.path.dirname(leads)).strip())
                leads = os.path.realpath(os.path.join(os.path.dirname(path), named.removeprefix("gitdir: ")))
        return any(f"{leads}/".startswith(f"{each}/") for each in self._own)

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """The project, the top of its work tree, and the git folder that all its work trees share."""
        asked = (("--show-toplevel",), ("--path-format=absolute", "--git-common-dir"))
        told = (self._ask("rev-parse", *words).text for words in asked)
        return tuple(os.path.realpath(each) for each in (os.fspath(self.project), *told))

    def _refuse_strange(self) -> None:
        """Look at what git reads, or writes to, of its own folder: an agent may have put a link or a giant there.

        Raises:
            ProjectUnusable: names it.
        """
        folder = os.path.join(self.project, ".git")
        for name in ("index", "logs/HEAD"):
            if os.path.islink(os.path.join(folder, name)):
                raise ProjectUnusable(
                    f"{folder}/{name} is a symbolic link, and git would write to where it leads\n  next: delete it"
                )
        for name in ("info/exclude", "info/attributes", "info/sparse-checkout", "shallow", "packed-refs"):
            path = os.path.join(folder, name)
            found = _stat(path)
            if found is not None and (found.st_size > _MOST_OF_GIT or not stat.S_ISREG(found.st_mode)):
                most = f"{_MOST_OF_GIT >> 20} MiB"
                raise ProjectUnusable(
                    f"{path} is no file, or one of more than {most}, all of which git would read\n  next: delete it"
                )

    def _look_for_fifos(self) -> None:
        """Look for a FIFO where git reads a file: an agent can put it there, and git waits for ever."""
        for folder, _, names in os.walk(self.project):
            within = ".git" in folder.split(os.sep)
            for path in (os.path.join(folder, name) for name in names if within or name.startswith(".git")):
                found = _stat(path)
                if found is not None and stat.S_ISFIFO(found.st_mode):
                    raise ProjectUnusable(f"{path} is a FIFO, and git waits for it\n  next: delete it")

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

    def is_refused(self) -> bool:
        """Whether git works with nothing here, because the files are another user's."""
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
        under_way = next((name for name in _BUSY if (self.folder / name).exists()), "")
        under_way = under_way or unfinished.under_way(str(self.folder), self._env)
        return under_way or ("unmerged files" if any(mark.kind == "u" for mark in tree.marks.values()) else "")

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
            f":({magic}{'glob' if '*' in path else 'literal'}){self.prefix}{path}" for path in self.files.own
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
            wanted = [f"/{self.prefix}{pattern}" for pattern in patterns]
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
        env = {name: value for name, value in self._env.items() if name not in _REPOSITORY}
        look = Repository(Path(os.fsdecode(path)), env=env).fingerprint()
        return f"r{look.head} {look.tree}"


_DIFF = ("--no-renames", *immune.NO_DIFFS)


def _may_name_repositories(folder: str) -> bool:
    """Whether git has to be asked for the repositories that the index in a folder of git's names.

    The mode of such an entry are these four bytes in each version of the format, unless the entry is in another
    file (``link``) or in a folder that is one entry as a whole (``sdir``).
    """
    if not os.path.isdir(folder):
        return True
    with suppress(FileNotFoundError):
        try:
            found = read_bytes(os.path.join(folder, "index"), -1, root=folder)
        except BridgeError:
            return True
        return any(each in found for each in (b"\0\0\xe0\0", b"link", b"sdir"))
    return False


def _stat(path: str) -> os.stat_result | None:
    with suppress(OSError):
        return os.stat(path)
    return None


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
