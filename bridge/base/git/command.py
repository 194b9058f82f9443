"""git, asked so that it runs nothing that an agent has named, and waits for nothing that one has put in its way.

Which commands may run what is decided in :mod:`.immune`; here they are run, in the folder of a project.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from bridge.base.files import read_bytes
from bridge.base.git import immune
from bridge.base.process.ask import Ran, ask
from bridge.errors import BridgeError, ConfigurationError, ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    Within = Callable[
        [Sequence[str], Mapping[str, str]], AbstractContextManager[tuple[Sequence[str], Mapping[str, str]]]
    ]

OF_A_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
"""Variables that name a repository: in one that lies inside, they would lead to the outer one."""
_MOST_OF_GIT = 64 * 1024 * 1024


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


class Git:
    """git in the folder of a project.

    Args:
        project: the project's folder.
        env: the environment for git; None for this process's own.
    """

    within: Within | None = None
    """What commits run in, and additions that have filters: these run programs of the project, and with them what
    an agent has written."""
    _patience = 120.0
    """Seconds that one command may take, with the hooks that it calls."""

    def __init__(self, project: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.project = project
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
        here = not any(name in self._env for name in OF_A_REPOSITORY)
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
