"""What of the user's git configuration a box has, by variables: the identity, and settings that are known to be no
secrets. The files themselves may hold tokens (``insteadOf``, ``extraHeader``) and aren't there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.git.immune import OF_LFS, git_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_IDENTITY = frozenset(f"{who}.{what}" for who in ("user", "author", "committer") for what in ("name", "email"))
_SECTIONS = {
    "branch": "autosetupmerge autosetuprebase sort",
    "commit": "cleanup",
    "core": "autocrlf eol safecrlf quotepath precomposeunicode longpaths abbrev logallrefupdates",
    "diff": "algorithm renames noprefix mnemonicprefix colormoved",
    "fetch": "prune",
    "filter.lfs": "required",
    "gc": "auto",
    "i18n": "commitencoding logoutputencoding",
    "init": "defaultbranch",
    "log": "date",
    "maintenance": "auto",
    "merge": "ff conflictstyle renames",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "rebase": "autostash autosquash updaterefs",
    "rerere": "enabled",
    "status": "showuntrackedfiles",
    "tag": "sort",
}
_KNOWN = frozenset(f"{section}.{name}" for section, names in _SECTIONS.items() for name in names.split())
USERS = frozenset({"system", "global"})
_LONGEST, _MOST = 1_000, 1_000
_HARMLESS = ("", "false", "true", "cat", "never", "/dev/null")
"""Values by which we have git run nothing."""


def entries(listed: str) -> list[tuple[str, str, str]]:
    r"""Read what ``git config --list --show-scope -z`` prints: scope, key and value of each.

    >>> entries("global\0user.name\nA B\0local\0core.bare\0")
    [('global', 'user.name', 'A B'), ('local', 'core.bare', '')]
    """
    words = listed.split("\0")
    found = ((scope, *entry.partition("\n")) for scope, entry in zip(words[::2], words[1::2], strict=False))
    return [(scope, key, value) for scope, key, _, value in found]


def without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """Give an environment in which variables set what a box may have of git's settings, and no others.

    >>> token = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader", "GIT_CONFIG_VALUE_0": "TOKEN"}
    >>> without_secrets({**token, "HOME": "/"})
    {'HOME': '/'}
    """
    given = env.get("GIT_CONFIG_COUNT", "")
    numbers = range(min(int(given), _MOST) if given.isdecimal() else 0)
    pairs = [(env.get(f"GIT_CONFIG_KEY_{n}", ""), env.get(f"GIT_CONFIG_VALUE_{n}", "")) for n in numbers]
    kept = {
        key: value
        for key, value in pairs
        if value in _HARMLESS or shared([("global", key.lower(), value)]).get(key.lower()) == value
    }
    return {name: value for name, value in env.items() if not name.startswith("GIT_CONFIG_")} | git_settings(kept)


def shared(found: Iterable[tuple[str, str, str]], trees: Sequence[str] = ()) -> dict[str, str]:
    """Give the settings that a box has.

    Args:
        found: see :func:`entries`.
        trees: the paths of the project; of ``safe.directory`` only these are let in.

    >>> shared([("global", "user.name", "A"), ("global", "http.extraheader", "TOKEN"), ("local", "user.name", "B")])
    {'user.name': 'B'}
    """
    known: dict[str, str] = {}
    projects: set[str] = set()
    for scope, key, value in found:
        if len(value) > _LONGEST:
            continue
        if scope not in USERS:
            projects.add(key)
        if (
            key in _IDENTITY
            or (key in _KNOWN and scope in USERS)
            or (OF_LFS.get(key) == value and scope in USERS)
            or (key == "safe.directory" and value in trees and scope in USERS)
        ):
            known[key] = value
    # A variable would beat the repository's own word, which is there itself.
    return {key: value for key, value in known.items() if key in _IDENTITY or key not in projects}
