"""A project as a swarm sees it: the kind of its loop, its plan, and its files that git doesn't have."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError, ConfigurationError
from bridge.files import ANYWHERE, read_bytes, usable, write_atomic
from bridge.git.repository import Files, find_repository
from bridge.loops import kind_of
from bridge.records import read_text
from bridge.setups import kinds
from bridge.setups.model import IN_WORK_TREES
from bridge.setups.options import RunOptions
from bridge.setups.standin import kept
from bridge.swarm.trees import common_folder, names, repository
from bridge.tasks.boxes import PlanFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bridge.git.repository import Repository
    from bridge.setups.model import SetupKind
    from bridge.tasks.model import Task

INCLUDE = ".worktreeinclude"
TASK_FILE = ".ralph_bridge.task.md"
"""Where the task stands in setups whose prompt is a file; one of the loop's own files, so never committed."""

_ASKS = """\
Work on this task, and on nothing else. Commit what you do.

When it is done, close your last answer with this block, and with the words <promise>COMPLETE</promise>:

---RALPH_STATUS---
STATUS: COMPLETE
EXIT_SIGNAL: true
---END_RALPH_STATUS---
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmProject:
    """A project that a swarm works on.

    Attributes:
        top: the top of its repository's working tree.
        prefix: the project's folder from there: '' or ``sub/folder/``.
        common: the git folder that all work trees share.
        kind: of the loop, a name of :func:`bridge.setups.kinds`.
        files: which files are the loop's own, and so never committed nor merged.
        plan: the fix plan, relative to `folder`; None: there is none.
        home: the folder of the setup's own files, relative to `folder`; '': that is it.
        format: how the plan is read, and ticked.
    """

    folder: Path
    top: Path
    prefix: str
    common: Path
    kind: str
    files: Files
    plan: str | None
    home: str
    format: PlanFormat

    @property
    def own(self) -> SetupKind:
        return kinds()[self.kind]

    @property
    def swarms(self) -> Path:
        """The folder of the records of all its swarms."""
        return self.common / "ralph-bridge" / "swarm"

    @property
    def name(self) -> str:
        return folder_name(self.folder)

    def repository(self) -> Repository:
        return repository(self.folder, self.files)

    def plan_text(self) -> str | None:
        return None if self.plan is None else read_text(self.folder / self.plan, root=ANYWHERE)

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

    def instructions(
        self, task: Task, prompt: str | None, before: str = ""
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """How one task becomes the only one of a loop: files to write, by their path from the project's folder, and
        options for `Loop.open`.

        Args:
            prompt: the prompt file that was asked for, relative to the project, or None.
            before: what an earlier attempt came to, or ''.

        Raises:
            ConfigurationError: the project's prompt can't be read.
        """
        words = f"{task.prompt}\n\n{before}".strip() if before else task.prompt
        asks = self.own.plan.asks
        told = before if asks == "plan" else ""  # the others have it among their words
        plan = {} if self.plan is None else {self.plan: self.format.only(self.plan_text() or "", task, told)}
        if asks == "task":
            return plan, {"setup": self.kind, "task": words, "tasks": None}
        if asks == "words":
            path = os.path.join(self.home, TASK_FILE)
            # The original's own files are named as its controller is called: from the project's folder.
            return {path: f"{words}\n\n{_ASKS}"}, {"words": ("prompt", path)}
        path = f".ralph/{TASK_FILE}"
        if asks == "prompt":
            own = self._own_prompt(prompt)
            further: dict[str, Any] = {"prompt": path, "promise": "COMPLETE"}
            if "push" in self.own.options:
                further["push"] = False  # a task's branch leaves the machine when the user says so
            return plan | {path: f"{own}# The task\n\n{words}\n\n{_ASKS}"}, further
        if plan:
            return plan, {}
        shared = self._shared_prompt(prompt)
        return {path: f"{shared}\n\n# The task\n\n{words}\n" if shared else f"{words}\n\n{_ASKS}"}, {"prompt": path}

    def _own_prompt(self, prompt: str | None) -> str:
        """What its own loop would send, to stand in front of a task; '' where that can't be had."""
        if self.own.prompt is None:
            return ""
        try:
            found = self.own.prompt(self.folder, RunOptions(prompt=prompt, max_iterations=1))
        except BridgeError:
            if prompt:
                raise
            return ""
        return found.decode("utf-8", "replace").rstrip() + "\n\n"

    def _shared_prompt(self, prompt: str | None) -> str:
        for name in (prompt,) if prompt else (".ralph/PROMPT.md", "PROMPT.md"):
            if text := read_text(self.folder / name, root=ANYWHERE):
                return text.rstrip()
        if prompt:
            raise ConfigurationError(f"no prompt file: {self.folder / prompt}\n  next: write it, or leave it out")
        return ""


def open_project(
    project: str | os.PathLike[str],
    setup: str | None = None,
    *,
    script: str | None = None,
    settings: Mapping[str, str] | None = None,
    tasks: str | None = None,
) -> SwarmProject:
    """Look at the project that a folder belongs to; the rest as for :func:`bridge.loops.kind_of`.

    Args:
        tasks: the plan, relative to the project, where its loops would be told which it is.

    Raises:
        ConfigurationError: there is no such folder or setup; it lies in no git repository, or in one without a
            commit; RALPH_DIR leads all workers to one folder of state; the plan lies outside.
    """
    folder, kind = kind_of(project, setup, script=script, settings=settings)
    if os.environ.get("RALPH_DIR", "") not in ("", ".ralph"):
        raise ConfigurationError(
            "RALPH_DIR is set: all workers would share one folder of state\n  next: unset RALPH_DIR"
        )
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
    own, home = kinds()[kind], _home(folder, kind)
    if tasks and (tasks := os.path.relpath(folder / tasks, folder)).startswith(".."):
        raise ConfigurationError(
            f"--tasks {tasks}: no work tree has what lies outside of the project\n  next: move it into the project"
        )
    plans = [tasks] if tasks else [os.path.join(home, name) for name in own.plan.files]
    return SwarmProject(
        folder=folder,
        top=git.top,
        prefix=git.prefix,
        common=common_folder(git),
        kind=kind,
        files=files_of(kind, folder, home),
        plan=next((name for name in plans if (folder / name).is_file()), plans[0] if own.plan.always else None),
        home=home,
        format=PlanFormat(own.plan, folder),
    )


def _home(folder: Path, kind: str) -> str:
    from bridge.setups.projects import choose

    if not kinds()[kind].copied:
        return ""
    found = choose(folder, kind)
    home = "" if found is None else os.path.relpath(found.home, os.path.realpath(folder))
    return "" if home == "." else home


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
