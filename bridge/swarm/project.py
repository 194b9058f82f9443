"""A project as a swarm sees it: the kind of its loop, its plan, and its files that git doesn't have."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError
from bridge.files import ANYWHERE
from bridge.git.repository import Files, Repository, find_repository
from bridge.loops import kind_of
from bridge.records import read_text
from bridge.setups import kinds
from bridge.swarm.plans import format_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.setups.model import SetupKind
    from bridge.swarm.plans import PlanFormat
    from bridge.swarm.tasks import Task

INCLUDE = ".worktreeinclude"
TASK_FILE = ".ralph_bridge.task.md"
"""Where the task stands in setups whose prompt is a file; one of the loop's own files, so never committed."""

_SETUP = (
    ".ralph",
    ".ralphrc",
    "PROMPT.md",
    "@fix_plan.md",
    "fix_plan.md",
    "@AGENT.md",
    "ralph/drivers",
    "bmalph/config.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    INCLUDE,
)
_ASKS = """\
Work on this task, and on nothing else. Commit what you do.

When it is done, close your last answer with this block, and with the words <promise>COMPLETE</promise>:

---RALPH_STATUS---
STATUS: COMPLETE
EXIT_SIGNAL: true
---END_RALPH_STATUS---
"""


@dataclass(frozen=True, slots=True)
class SwarmProject:
    """A project that a swarm works on.

    Attributes:
        folder: the project's folder.
        top: the top of its repository's working tree.
        prefix: the project's folder from there: '' or ``sub/folder/``.
        common: the git folder that all work trees share.
        kind: of the loop, a name of :func:`bridge.setups.kinds`.
        files: which files are the loop's own, and so never committed nor merged.
        plan: the fix plan, relative to `folder`; None: there is none.
        home: the folder of a ralph-loop setup, relative to `folder`.
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
        """Its kind of setup."""
        return kinds()[self.kind]

    @property
    def swarms(self) -> Path:
        """The folder of the records of all its swarms."""
        return self.common / "ralph-bridge" / "swarm"

    @property
    def name(self) -> str:
        """Its name in folders: readable, and unlike that of others."""
        return folder_name(self.folder)

    def repository(self) -> Repository:
        """The user's own working tree."""
        return Repository(self.folder, self.files, env=clean_environment())

    def plan_text(self) -> str | None:
        """What stands in the plan."""
        return None if self.plan is None else read_text(self.folder / self.plan, root=ANYWHERE)

    def is_own(self, path: str) -> bool:
        """Whether a path from the top of a work tree is the loop's own."""
        return path.startswith(self.prefix) and self.files.is_own(path.removeprefix(self.prefix))

    def is_of_task(self, path: str) -> bool:
        """Whether it is one that each task has of its own, so that no merge brings it along."""
        if not path.startswith(self.prefix):
            return False
        inside = path.removeprefix(self.prefix)
        return inside == self.plan or self.files.is_own(inside) or inside in self.own.own_per_task

    # -- what goes into a work tree ------------------------------------------------------------------

    def to_copy(self) -> tuple[list[str], list[str]]:
        """Name files that a work tree lacks, from the top: those of the setup that git doesn't have, and the
        ignored ones that ``.worktreeinclude`` names."""
        git = self.repository()
        there = [name for name in (*_SETUP, *self._copied()) if os.path.lexists(self.folder / name)]
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

    def _copied(self) -> tuple[str, ...]:
        return tuple(os.path.join(self.home, name) for name in self.own.copied)

    def telling(self, task: Task, prompt: str | None, told: str = "") -> tuple[dict[str, str], dict[str, Any]]:
        """Say how one task becomes the only one of a loop.

        Args:
            task: the task.
            prompt: the prompt file that was asked for, relative to the project, or None.
            told: what an earlier attempt came to, or ''.

        Returns:
            Files to write, by their path from the project's folder, and options for `Loop.open`.

        Raises:
            ConfigurationError: the project's prompt can't be read.
        """
        words = f"{task.prompt}\n\n{told}".strip() if told else task.prompt
        if self.own.plan.asks == "task":
            files = {} if self.plan is None else {self.plan: self._plan_for(task, "")}
            return files, {"setup": self.kind, "task": words}
        if self.own.plan.asks == "words":
            path = os.path.join(self.home, TASK_FILE)
            # The original's own files are named as its controller is called: from the project's folder.
            return {path: f"{words}\n\n{_ASKS}"}, {"words": ("prompt", path)}
        if self.plan is not None:
            return {self.plan: self._plan_for(task, told)}, {}
        path = f".ralph/{TASK_FILE}"
        shared = self._shared_prompt(prompt)
        return {path: f"{shared}\n\n# The task\n\n{words}\n" if shared else f"{words}\n\n{_ASKS}"}, {"prompt": path}

    def _plan_for(self, task: Task, told: str) -> str:
        if task.boxes:
            text = self.format.only(self.plan_text() or "", task.boxes)
        else:
            first, *rest = task.prompt.splitlines()
            text = f"# Fix plan\n\n- [ ] {first}\n" + "".join(f"  {line}".rstrip() + "\n" for line in rest)
        return f"{text.rstrip()}\n\n# What came before\n\n{told}\n" if told else text

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
) -> SwarmProject:
    """Look at a project.

    Args:
        project: its folder, or one below it.
        setup, script, settings: see :func:`bridge.loops.kind_of`.

    Raises:
        ConfigurationError: there is no such folder or setup; it lies in no git repository, or in one without a
            commit; RALPH_DIR leads all workers to one folder of state.
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
    git = Repository(folder, env=clean_environment())
    if not git.head():
        raise ConfigurationError(
            f"{folder}: the repository has no commit yet\n  next: git add -A && git commit -m first"
        )
    common = Path(git.run("rev-parse", "--path-format=absolute", "--git-common-dir").text)
    own, home = kinds()[kind], _home(folder, kind)
    names = [os.path.join(home, name) for name in own.plan.files]
    plan = next((name for name in names if (folder / name).is_file()), names[0] if own.plan.always else None)
    files, form = files_of(kind, folder, home), format_of(own.plan, folder)
    return SwarmProject(folder, git.top, git.prefix, common, kind, files, plan, home, form)


def _home(folder: Path, kind: str) -> str:
    """The folder of the setup's own files in a project, where it isn't the project's; else ''."""
    from bridge.setups.projects import choose

    if not kinds()[kind].copied:
        return ""
    found = choose(folder, kind)
    home = "" if found is None else os.path.relpath(found.home, os.path.realpath(folder))
    return "" if home == "." else home


def folder_name(folder: Path) -> str:
    """Give a project's name in folders: readable, and unlike that of others."""
    told = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:8]
    return f"{folder.name or 'project'}-{told}"


def files_of(kind: str, folder: Path, home: str) -> Files:
    """Say which files of a project, or of a work tree of it, are the loop's own."""
    project = folder.resolve()
    return kinds()[kind].own_files(project, project / home)


def clean_environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the environment without what would lead git to another repository, as a hook of git has it set."""
    found = os.environ if env is None else env
    gone = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
    return {name: value for name, value in found.items() if name not in gone}


def _names(git: Repository, *arguments: str) -> list[str]:
    """Ask ``git ls-files`` for paths from the project's folder; nested repositories are none."""
    found = git.run("ls-files", "-z", *arguments).out.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in found if name and not name.endswith("/")]


def uncommitted(project: SwarmProject, copied: Sequence[str]) -> list[str]:
    """Name the user's changes that no work tree will have: from the top, those that are copied aside."""
    git = project.repository()
    tree = git.look()
    return [] if tree is None else sorted(git.work(tree) - {*copied})
