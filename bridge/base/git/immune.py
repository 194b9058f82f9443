"""What keeps git from running what an agent has planted: programs that a repository's own files name.

A repository names programs in its configuration (``core.fsmonitor``, hooks, filters, textconv, pager, gpg), in that
of each repository inside of it, and applies them by ``.gitattributes``. Where a loop only looks, none of them is
run. Commits run the hooks of their user, additions the filters of the repository itself, as documented;
checkouts and merges none, since those of a work tree come with the commit that is checked out.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from bridge.base.process.ask import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NEVER = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.alternateRefsCommand": "true",
    "log.showSignature": "false",
    "protocol.ext.allow": "never",
}
"""Settings for every command."""
NO_HOOKS = {"core.hooksPath": "/dev/null"}
NO_DIFFS = ("--no-ext-diff", "--no-textconv")
"""Of each ``diff``, and of others that show differences."""
_SHOWING = frozenset(("diff", "log", "show"))
LISTED = ("config", "--show-scope", "-z", "--get-regexp", r"^(filter\..*\.(clean|smudge|process)|hook\..*)$")
RUNNING_HOOKS = frozenset(("commit",))
"""That run hooks of a project's by their nature."""
_FETCHING = frozenset(("fetch", "push", "pull", "clone", "ls-remote", "remote"))
_ADDING = frozenset(("add", "commit", "checkout", "merge", "worktree", "reset", "read-tree", "clean", "stash"))
"""That put files in or out, by the filters of the repository itself."""
_FILTERING = frozenset(("status", "diff", "add"))
OF_LFS = {
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
}
"""Filters as ``git lfs install`` writes them, which run nothing of a project's."""
_boxed: set[str] = set()
_HOOKS_IN_CONFIG = (2, 54)
"""The first version of git that runs hooks which a configuration names."""
_WITH_VALUE = frozenset(("-C", "-c", "--git-dir", "--work-tree"))
_OWN = frozenset(("local", "worktree"))


def command_of(arguments: Sequence[str]) -> str:
    """The name of git's command, behind the options of git itself.

    >>> command_of(["-C", "/x", "--literal-pathspecs", "add", "-A"])
    'add'
    """
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            return word
        if word in _WITH_VALUE:
            next(words, None)
    return ""


def environment(
    env: Mapping[str, str], command: str = "", more: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """The environment in which a git command of the host's runs nothing that a repository names.

    Settings go by variables: in an option of git's, a name ends at the first ``=`` in it.

    Args:
        env: of this process.
        command: git's, such as ``status``; '': one that only looks.
        more: further settings, such as those of :func:`overrides`.
    """
    settings = {**NEVER, **({} if command in RUNNING_HOOKS else NO_HOOKS), **more}
    found = {**env, **git_settings(settings, env)}
    if command not in _FETCHING and looks(command):
        # Stronger than any setting: what a repository doesn't have is fetched by nobody.
        found |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    return found


def git_settings(settings: Mapping[str, str], env: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Give settings of git as variables, behind those that are there.

    >>> git_settings({"user.name": "n"})
    {'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'user.name', 'GIT_CONFIG_VALUE_0': 'n'}
    """
    given = env.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    found = {"GIT_CONFIG_COUNT": str(first + len(settings))} if settings else {}
    for number, (key, value) in enumerate(settings.items(), first):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def looks(command: str) -> bool:
    """Whether a command has no need of the repository's own filters."""
    return command not in _ADDING


def distrust(project: str | os.PathLike[str]) -> None:
    """Note that turns of a project run in a box: from now on in this process, git in it runs no filter out here, of
    whichever configuration, but those of :data:`OF_LFS`. The program of another may be a turn's, or import what is.
    """
    _boxed.add(os.path.realpath(project))


def distrusted(project: str | os.PathLike[str]) -> bool:
    """Whether that was said of a project, or of one in it or around it."""
    top = f"{os.path.realpath(project)}/"
    return any(top.startswith(f"{each}/") or f"{each}/".startswith(top) for each in _boxed)


def may_run(command: str, git: str, *, boxed: bool = False) -> bool:
    """Whether this command of the program `git` could run filters of a repository, or hooks of a configuration;
    `boxed`: filters of whichever.
    """
    return (
        command in _FILTERING
        or (boxed and not looks(command))
        or (command not in RUNNING_HOOKS and _version(git) >= _HOOKS_IN_CONFIG)
    )


@cache
def _version(git: str) -> tuple[int, ...]:
    said = ask([git, "--version"], cwd="/", env={}, patience=5.0).text
    return tuple(int(each) for each in re.findall(r"\d+", said)[:2])


def overrides(mine: bytes, inner: Iterable[bytes], *, looks: bool, boxed: bool = False) -> dict[str, str]:
    """Settings that let no filter run which only a repository itself names, or one inside of it; and no hook that
    stands in a configuration.

    Args:
        mine, inner: what :data:`LISTED` prints for it, and for those inside.
        looks: its own aren't wanted, either: only those of its user's and of the system's configuration.
        boxed: of all of these, those of git-lfs alone.
    """
    named, users = _read(mine)
    wanted = users if looks else users | named
    others = {name for each in inner for name in _read(each)[0]}
    found = others | named.keys() if looks else others
    if boxed:
        wanted = {name: value for name, value in (users | named).items() if OF_LFS.get(name) == value}
        found = {name for name in others | named.keys() | users.keys() if name not in wanted}
    hooks = {name for name in (*named, *users, *others) if name.startswith("hook.")}
    off: dict[str, str] = {}
    for name in sorted(found - hooks):
        off[name] = wanted.get(name, "")
        if not off[name]:
            off[f"{name.rpartition('.')[0]}.required"] = "false"
    for name in sorted(hooks):
        off |= {f"{name.rpartition('.')[0]}.enabled": "false", f"{name.rpartition('.')[0]}.command": "true"}
    return off


def _read(listed: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """The repository's own settings, and the others."""
    words = listed.decode("utf-8", "surrogateescape").split("\0")
    named: dict[str, str] = {}
    users: dict[str, str] = {}
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        name, _, value = entry.partition("\n")
        (named if scope in _OWN else users)[name] = value
    return named, users


def harmless(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command that only looks, as it was written by somebody else, with what shows differences
    made harmless."""
    command = command_of(arguments)
    at = list(arguments).index(command) + 1 if command in _SHOWING else 0
    return [*arguments[:at], *(NO_DIFFS if at else ()), *arguments[at:]]


def program(env: Mapping[str, str], project: str | os.PathLike[str]) -> str:
    """The path of git, from no folder that an agent in the project could fill; ``git`` where there is none."""
    return outside("git", env, project) or "git"


def outside(name: str, env: Mapping[str, str], project: str | os.PathLike[str]) -> str | None:
    """Find a program on PATH, but for folders that depend on where one stands, or lie in a project."""
    path = path_outside(env, project)
    return shutil.which(name, path=path) if path else None


def path_outside(env: Mapping[str, str], project: str | os.PathLike[str]) -> str:
    """PATH without such folders; '' where nothing is left."""
    top = os.path.realpath(project)
    return os.pathsep.join(
        each
        for each in env.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(each) and not f"{os.path.realpath(each)}/".startswith(f"{top}/")
    )
