"""All of a tree in one pass, by descriptors, without a link being followed: what is guarded in it, and odd bits."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.ask import ask
from bridge.base.records import dataclass
from bridge.base.wording import one_line
from bridge.errors import ProjectUnusable
from bridge.loop.sandbox.trusted_names import found_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from bridge.loop.sandbox.trusted_names import Node

_DEEPEST = 200
"""Folders in folders, each an open descriptor."""
_TRIES = 5
_PATIENCE = 600.0
_BITS = stat.S_ISUID | stat.S_ISGID
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OF_REPOSITORY = ("HEAD", "config", "config.worktree", "commondir", "hooks")
_READ_BY_GIT, _MOST_READ_BY_GIT = frozenset((".gitignore", ".gitattributes", ".gitmodules", ".mailmap")), 1 << 28
"""Files of a tree that git reads whole, and bytes of them: one with holes may have any size."""
_Identity = tuple[int, int]


def walked(
    top: str, passed_over: Callable[[os.DirEntry[str]], bool] = lambda _: False
) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Give each folder below one, that itself first, with what lies in it; what can't be read is left out.

    However deep they are: `os.walk` and `shutil.rmtree` recurse, which a turn could make too deep for Python.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        with suppress(OSError), os.scandir(folder) as found:
            entries = list(found)
            yield folder, entries
            inner = (each for each in entries if each.is_dir(follow_symlinks=False) and not passed_over(each))
            waiting += [each.path for each in inner]


def remove(folder: str | os.PathLike[str]) -> None:
    """Remove a folder with all that a turn has left in it: however deep it is, and what is closed to its owner."""
    if not os.path.lexists(folder):
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for words in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            ask([*words, "--", os.fspath(folder)], cwd="/", env={"PATH": os.defpath}, patience=_PATIENCE)


class Item(NamedTuple):
    """A guarded path.

    whole: its contents count, and not only that it is there.
    name: the part of the path that is guarded; folder: the one that this begins in.
    """

    whole: bool
    folder: _Identity
    name: str


@dataclass(slots=True)
class Listing:
    """What was found.

    Attributes:
        guarded: by path.
        bits: files with a setuid or setgid bit: identity and mode by path.
        shared: files with several names, by identity: how many there are of them, the last change of its state in
            nanoseconds, and those names that were met.
    """

    guarded: dict[str, Item] = field(default_factory=dict)
    bits: dict[str, tuple[_Identity, int]] = field(default_factory=dict)
    shared: dict[_Identity, tuple[int, int, list[str]]] = field(default_factory=dict)


class _Moved(Exception):
    """A folder went away while it was looked at."""


def listed(
    tops: Iterable[str],
    names: Node | None,
    *,
    passed_over: Collection[str] = (),
    outside: Sequence[str] = (),
    repositories: bool = True,
    into: Listing | None = None,
) -> Listing:
    """Look at all that lies in some folders.

    Args:
        names: what is guarded, in whichever folder; None: nothing is.
        passed_over: folders that aren't looked into.
        outside: folders that no link may lead into, since nobody looks there for guarded names.
        repositories: whether settings and hooks of repositories are guarded.
        into: to be added to.

    Raises:
        ProjectUnusable: not all of it can be looked at; says where and why.
    """
    for top in tops:
        for left in reversed(range(_TRIES)):
            walk = _Walk(frozenset(passed_over), tuple(f"{each}/" for each in outside), repositories, Listing())
            try:
                walk.folder(os.open(top, _OPEN), top, [] if names is None else [names], ())
                break
            except (FileNotFoundError, NotADirectoryError):
                break
            except _Moved as error:
                if not left:
                    raise _unjudged(str(error), "it changes all the time") from None
        into = _joined(into, walk.found)
    return into or Listing()


def _joined(old: Listing | None, new: Listing) -> Listing:
    if old is None:
        return new
    for identity, (count, changed, paths) in new.shared.items():
        before = old.shared.get(identity)
        old.shared[identity] = (count, changed, [*(before[2] if before else ()), *paths])
    return Listing(old.guarded | new.guarded, old.bits | new.bits, old.shared)


def _unjudged(path: str, why: str) -> ProjectUnusable:
    return ProjectUnusable(
        f"{one_line(path, 300)} can't be looked at behind a turn in a box: {why}\n"
        "  next: see what is in it, make it readable or remove it, and run again"
    )


class _Folder(NamedTuple):
    """A folder that is being looked at; above: it, behind those around it; git: it is a repository's own."""

    opened: int
    path: str
    nodes: Sequence[Node]
    above: tuple[_Identity, ...]
    git: bool

    def item(self, path: str, parts: int, *, whole: bool = True) -> Item:
        """Give the guarded path whose last parts are the name."""
        return Item(whole, self.above[-parts], "/".join(path.split("/")[-parts:]))


@dataclass(slots=True)
class _Walk:
    passed_over: frozenset[str]
    outside: tuple[str, ...]
    repositories: bool
    found: Listing

    def folder(self, opened: int, path: str, nodes: Sequence[Node], above: tuple[_Identity, ...]) -> None:
        """Look at an open folder, and close it."""
        try:
            status = os.fstat(opened)
            with os.scandir(opened) as entries:
                listing = list(entries)
            there = {entry.name for entry in listing} if nodes else set()
            git = self.repositories and _is_repository(there)
            folder = _Folder(opened, path, nodes, (*above, (status.st_dev, status.st_ino)), git)
            for entry in listing:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                met = found_behind(nodes, entry.name) if nodes else []
                usual = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and not status.st_mode & _BITS
                if met or git or not usual or status.st_size > _MOST_READ_BY_GIT:
                    self._entry(entry.name, status, met, folder)
        finally:
            os.close(opened)

    def _entry(self, name: str, status: os.stat_result, met: list[Node], folder: _Folder) -> None:
        path, mode = f"{folder.path}/{name}", status.st_mode
        guarded = self._guarded(name, path, status, met, folder)
        if guarded is not None and path not in self.passed_over:
            self.found.guarded[path] = guarded
        if stat.S_ISDIR(mode):
            if path not in self.passed_over and not path.endswith("/.git/objects"):
                nodes = [folder.nodes[0], *met] if folder.nodes and not (guarded and guarded.whole) else []
                self._into(name, path, status, nodes, folder)
        elif stat.S_ISREG(mode):
            identity = (status.st_dev, status.st_ino)
            if mode & _BITS:
                self.found.bits[path] = identity, mode
            if status.st_nlink > 1:
                _, _, paths = self.found.shared.get(identity, (0, 0, []))
                self.found.shared[identity] = status.st_nlink, status.st_ctime_ns, [*paths, path]

    def _guarded(
        self, name: str, path: str, status: os.stat_result, met: list[Node], folder: _Folder
    ) -> Item | None:
        mode, size = status.st_mode, status.st_size
        odd = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
        if (odd and (name.startswith(".git") or "/.git/" in path)) or (folder.nodes and stat.S_ISFIFO(mode)):
            return folder.item(path, 1, whole=False)  # a program that reads it, such as git, would wait for ever
        if name in _READ_BY_GIT and stat.S_ISREG(mode) and size > _MOST_READ_BY_GIT:
            return folder.item(path, 1, whole=False)
        if end := next((each for each in met if each.ends), None):
            return folder.item(path, end.parts, whole=not end.repository or not stat.S_ISDIR(mode))
        if folder.git and name in _OF_REPOSITORY:
            return folder.item(path, 1, whole=name != "HEAD")
        if folder.nodes and stat.S_ISLNK(mode) and (met or self._leads_out(path)):
            return folder.item(path, met[0].parts if met else 1)  # the link is what is guarded
        return None

    def _into(self, name: str, path: str, status: os.stat_result, nodes: Sequence[Node], folder: _Folder) -> None:
        opened, above = folder.opened, folder.above
        if len(above) > _DEEPEST:
            raise _unjudged(path, f"it lies in more than {_DEEPEST} folders")
        mode = stat.S_IMODE(status.st_mode)
        try:
            inner = os.open(name, _OPEN, dir_fd=opened)
            if not mode & stat.S_IXUSR and status.st_uid == os.geteuid() and os.geteuid():
                os.close(inner)
                raise PermissionError
        except (FileNotFoundError, NotADirectoryError):
            raise _Moved(path) from None
        except PermissionError:
            if status.st_uid != os.geteuid():
                # Somebody else's, closed to its user: closed to a turn, too, which has no more rights.
                if os.access(name, os.W_OK | os.X_OK, dir_fd=opened):
                    raise _unjudged(path, "it can be written to and not be read") from None
                return
            try:
                os.chmod(name, mode | stat.S_IRWXU, dir_fd=opened)
                self.folder(os.open(name, _OPEN, dir_fd=opened), path, nodes, above)
            except OSError as error:
                raise _unjudged(path, str(error.strerror)) from None
            return
        except OSError as error:
            raise _unjudged(path, str(error.strerror)) from None
        self.folder(inner, path, nodes, above)

    def _leads_out(self, path: str) -> bool:
        try:
            return f"{os.path.realpath(path)}/".startswith(self.outside)
        except OSError:
            return False


def _is_repository(names: Collection[str]) -> bool:
    """Whether git takes a folder with these names for a repository, whatever the folder is called."""
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= {*names})
