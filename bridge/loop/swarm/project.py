"""A project as a swarm sees it: the kind of its loop, its plan, and its files that git doesn't have."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, read_bytes, usable, write_atomic
from bridge.base.git.repository import Files, find_repository
from bridge.errors import ConfigurationError
from bridge.loop.loops import kind_of
from bridge.loop.sandbox.admitted import OF_SWARMS
from bridge.loop.setups import kinds
from bridge.loop.setups.setup_kind import IN_WORK_TREES
from bridge.loop.setups.standin import kept
from bridge.loop.swarm.work_trees import common_folder, names, repository
from bridge.loop.tasks.single_task import Place, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bridge.base.git.repository import Repository

INCLUDE = ".worktreeinclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmProject(Place):
    """A project that a swarm works on.

    Attributes:
        top: the top of its repository's working tree.
        prefix: the project's folder from there: '' or ``sub/folder/``.
        common: the git folder that all work trees share.
        files: which files are the loop's own, and so never committed nor merged.
    """

    top: Path
    prefix: str
    common: Path
    files: Files

    @property
    def swarms(self) -> Path:
        """The folder of the records of all its swarms."""
        return self.common / OF_SWARMS / "swarm"

    @property
    def name(self) -> str:
        return folder_name(self.folder)

    def repository(self) -> Repository:
        return repository(self.folder, self.files)

    def tick(self, box: str) -> bool:
        """Tick a box in the user's own plan, where git doesn't have it, so that no merge could."""
        if self.plan is None or self.repository().run("ls-files", "--error-unmatch", "--", self.plan).ok:
            return False
        return not self.tick_in(self.folder / self.plan, [box], root=ANYWHERE)

    def tick_in(self, path: Path, boxes: Sequence[str], *, root: str | None = None) -> Sequence[str]:
        """Tick boxes in a plan, every other byte of which stays; give those that it doesn't have."""
        with suppress(ConfigurationError), usable(path), suppress(FileNotFoundError):  # half written, or not there
            text = read_bytes(path, root=root).decode("utf-8", "surrogateescape")
            ticked, left = self.format.done(text, boxes)
            if ticked != text:
                write_atomic(path, ticked)
            return left
        return boxes

    def is_own(self, path: str) -> bool:
        return path.startswith(self.prefix) and self.files.is_own(path.removeprefix(self.prefix))

    def is_of_task(self, path: str) -> bool:
        """Whether it is one that each task has of its own, so that no merge brings it along."""
        if not path.startswith(self.prefix):
            return False
        inside = path.removeprefix(self.prefix)
        return inside == self.plan or self.files.is_own(inside) or self._names(inside, self.own.own_per_task)

    def is_appended(self, path: str) -> bool:
        """Whether it is one that tasks append to, so that a merge keeps what all of them wrote."""
        return path.startswith(self.prefix) and self._names(path.removeprefix(self.prefix), self.own.appended)

    def _names(self, inside: str, names: Iterable[str]) -> bool:
        """Whether a file is one of those of the setup's folder, or lies below one with a ``/`` at its end."""
        paths = [os.path.join(self.home, name) for name in names]
        return any(inside.startswith(each) if each.endswith("/") else inside == each for each in paths)

    # -- what goes into a work tree ------------------------------------------------------------------

    def to_copy(self) -> tuple[list[str], list[str]]:
        """Name files that a work tree lacks, from the top: those of the setup that git doesn't have, and the
        ignored ones that ``.worktreeinclude`` names."""
        git = self.repository()
        own = (each for name in self.own.copied for each in (name, str(kept(Path(name)))))
        copied = (os.path.join(self.home, name) for name in own)
        there = [name for name in (*IN_WORK_TREES, INCLUDE, *copied) if os.path.lexists(self.folder / name)]
        there += [f":(glob){name}/*.sh" for name in ("drivers", "agents") if (self.folder / name).is_dir()]
        setup = _names(git, "--others", "--", *there) if there else []
        setup = [name for name in setup if not self.is_own(self.prefix + name)]
        wanted: list[str] = []
        if (self.folder / INCLUDE).is_file():
            named = _names(git, "--others", "--ignored", f"--exclude-from={self.folder / INCLUDE}")
            ignored = {*_names(git, "--others", "--ignored", "--exclude-standard")}
            wanted = [name for name in named if name in ignored and not self.is_own(self.prefix + name)]
        return (
            [self.prefix + name for name in setup if name not in wanted],
            [self.prefix + name for name in wanted],
        )


def open_project(
    project: str | os.PathLike[str],
    setup: str | None = None,
    *,
    script: str | None = None,
    settings: Mapping[str, str] | None = None,
    tasks: str | None = None,
) -> SwarmProject:
    """Look at the project that a folder belongs to; the rest as for :func:`bridge.loop.loops.kind_of`.

    Args:
        tasks: the plan, relative to the project, where its loops would be told which it is.

    Raises:
        ConfigurationError: there is no such folder or setup; it lies in no git repository, or in one without a
            commit; RALPH_DIR leads all workers to one folder of state; the plan lies outside.
    """
    folder, kind = kind_of(project, setup, script=script, settings=settings)
    place = place_of(folder, kind, tasks)
    git = find_repository(folder)
    if git is None:
        raise ConfigurationError(
            f"{folder} lies in no git repository: a swarm works on branches\n  next: git init, and a first commit"
        )
    git = repository(folder)
    if not git.head():
        raise ConfigurationError(
            f"{folder}: the repository has no commit yet\n  next: git add -A && git commit -m first"
        )
    return SwarmProject(
        **{each.name: getattr(place, each.name) for each in fields(place)},
        top=git.top,
        prefix=git.prefix,
        common=common_folder(git),
        files=files_of(kind, folder, place.home),
    )


def folder_name(folder: Path) -> str:
    """A project's name in folders: readable, and unlike that of others."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:8]
    return f"{folder.name or 'project'}-{digest}"


def files_of(kind: str, folder: Path, home: str) -> Files:
    """Which files of a project, or of a work tree of it, are the loop's own."""
    project = folder.resolve()
    return kinds()[kind].own_files(project, project / home)


def _names(git: Repository, *arguments: str) -> list[str]:
    """What ``git ls-files`` lists, as paths from the project's folder; nested repositories are none."""
    return [name for name in names(git.run("ls-files", "-z", *arguments)) if not name.endswith("/")]


def uncommitted(project: SwarmProject, copied: Sequence[str]) -> list[str]:
    """The user's changes that no work tree will have: from the top, those that are copied aside."""
    git = project.repository()
    tree = git.look()
    return [] if tree is None else sorted(git.work(tree) - {*copied})
