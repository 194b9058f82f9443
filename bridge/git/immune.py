"""What keeps git from running what an agent has planted: programs that a repository's own files name.

A repository names programs in its configuration (``core.fsmonitor``, hooks, filters, textconv, pager, gpg), in that
of each repository inside of it, and applies them by ``.gitattributes``. Where a loop only looks, none of them is
run. Commits and merges run the hooks of their user, additions the filters of the repository itself, as documented;
checkouts none, since those of a work tree come with the commit that is checked out.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from bridge.patterns import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NEVER = (
    *("-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false"),
    *("-c", "core.pager=cat", "-c", "log.showSignature=false"),
)
"""In front of every command."""
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
NO_DIFFS = ("--no-ext-diff", "--no-textconv")
"""Of each ``diff``, and of others that show differences."""
_SHOWING = frozenset(("diff", "log", "show"))
LISTED = ("config", "--show-scope", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
RUNNING_HOOKS = frozenset(("commit", "merge"))
"""That run hooks of a project's by their nature."""
_FILTERING = frozenset(("status", "diff", "add"))
_WITH_VALUE = frozenset(("-C", "-c", "--git-dir", "--work-tree"))
_PROGRAMS = lazy(
    r"(?:include|includeif|alias|filter|credential|gpg|pager|browser|man|difftool|mergetool|trailer|tar|url|protocol"
    r"|sequence|guitool|sendemail|instaweb|imap|ssh|uploadpack|interactive)\.|diff\.(?:external|.+\.(?:command|textconv))$"
    r"|merge\..+\.driver$|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)$|http\..*proxy"
    r"|core\.(?:fsmonitor|hookspath|sshcommand|gitproxy|editor|pager|askpass|alternaterefscommand)$"
)
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


def options(command: str) -> tuple[str, ...]:
    return NEVER if command in RUNNING_HOOKS else (*NEVER, *NO_HOOKS)


def filters(command: str) -> bool:
    """Whether it may run filters that a repository names."""
    return command in _FILTERING


def overrides(mine: bytes, inner: Iterable[bytes], *, looks: bool) -> tuple[str, ...]:
    """Options that let no filter run which only a repository itself names, or one inside of it.

    Args:
        mine, inner: what :data:`LISTED` prints for it, and for those inside.
        looks: its own aren't wanted, either: only those of its user's and of the system's configuration.
    """
    named, users = _read(mine)
    wanted = users if looks else users | named
    others = {name for each in inner for name in _read(each)[0]}
    found = others | named.keys() if looks else others
    return tuple(word for name in sorted(found) for word in ("-c", f"{name}={wanted.get(name, '')}"))


def _read(listed: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """The repository's own settings, and the others."""
    words = listed.decode("utf-8", "surrogateescape").split("\0")
    named: dict[str, str] = {}
    users: dict[str, str] = {}
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        name, _, value = entry.partition("\n")
        (named if scope in _OWN else users)[name] = value
    return named, users


def looking(arguments: Sequence[str]) -> list[str]:
    """A command that only looks, as it was written by somebody else, with what shows differences made harmless."""
    command = command_of(arguments)
    at = list(arguments).index(command) + 1 if command in _SHOWING else 0
    more = NO_DIFFS if at else ()
    return [*NEVER, *NO_HOOKS, *arguments[:at], *more, *arguments[at:]]


def names_programs(listed: bytes) -> bool:
    """Whether a configuration, as ``config --list -z`` prints it, has git run something, or read another one."""
    entries = (each.partition("\n") for each in listed.decode("utf-8", "surrogateescape").split("\0"))
    return any(_PROGRAMS.match(key) or (key.startswith("submodule.") and "!" in value) for key, _, value in entries)


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
