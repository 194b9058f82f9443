"""What coding CLIs keep of their own, where that lies, and what a box has of it: one project's sessions alone."""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from bridge.loop.sandbox.mounts import inside as _inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bridge.base.clis import Cli
    from bridge.loop.sandbox.box_settings import Wishes


class Pattern(str):
    """Of paths, for glob: the folder in front, whose name may be anything, is escaped in it."""

    __slots__ = ()


def below(folder: str, name: str) -> str:
    """Give a path, or a pattern where the name is one."""
    return Pattern(os.path.join(glob.escape(folder), name)) if "*" in name else os.path.join(folder, name)


_LONGEST = 200
"""Characters of a name that Claude Code doesn't shorten; behind that nobody but it knows the name."""


def own_files(clis: Sequence[Cli], home: str, env: Mapping[str, str]) -> Iterator[str]:
    """The CLI's own files: as they are, since two copies of a login end each other."""
    for cli in clis:
        yield from (_expanded(each, home) for each in cli.state)
        yield from _moved(cli, home, env)


def needed_folders(clis: Sequence[Cli], home: str, env: Mapping[str, str]) -> Iterator[str]:
    """Folders of a CLI's state that have to be there; of one that is told where, none in its usual place."""
    for cli in clis:
        for each in (*cli.state, *cli.protected):
            if each.endswith("/"):
                usual, *moved = places(each, cli, home, env)
                yield from moved or [usual]


class _Apart(NamedTuple):
    """What CLIs keep of all projects, and what a box has instead.

    Attributes:
        stand_ins: source and path. hidden: what is empty in there, where nothing can stand in.
        credentials: files among them that are the real ones.
        folders, files: that have to be there.
    """

    stand_ins: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    credentials: tuple[str, ...]
    folders: tuple[str, ...]
    files: tuple[str, ...]


def apart(clis: Sequence[Cli], wanted: Wishes, home: str, env: Mapping[str, str], kept: str) -> _Apart:
    # srt puts nothing in another's place: without sessions of a project's own, all of them have to be seen there.
    srt = wanted.provider == "srt"
    found: dict[str, str] = {}
    for cli in clis if not srt else [each for each in clis if each.own_sessions]:
        for each in cli.sessions:
            usual, *moved = places(each, cli, home, env)
            paths = [*moved, usual] if os.path.lexists(usual) else moved or [usual]
            found |= {os.path.realpath(path): "/" if each.endswith("/") else "" for path in paths}
    sources = {} if srt else {path: f"{kept}{path}" for path in found}
    both = [(each, found[path]) for path in found for each in (path, *filter(None, [sources.get(path)]))]
    credentials = (path for cli in clis for each in cli.credentials for path in places(each, cli, home, env))
    return _Apart(
        stand_ins=tuple((source, path) for path, source in sources.items()),
        hidden=tuple(found) if srt else (),
        credentials=tuple(each for each in credentials if _inside(each, found) and os.path.isfile(each)),
        folders=tuple(each for each, folder in both if folder),
        files=tuple(each for each, folder in both if not folder),
    )


def own_sessions(clis: Sequence[Cli], home: str, env: Mapping[str, str], projects: Sequence[str]) -> Iterator[str]:
    """The folders of these projects' own sessions."""
    for cli in clis:
        if cli.own_sessions:
            usual, *moved = places(cli.own_sessions, cli, home, env)
            for each in moved or [usual]:
                yield from _named_by_path(os.path.realpath(each), projects)


def _moved(cli: Cli, home: str, env: Mapping[str, str]) -> list[str]:
    """Where a variable such as CLAUDE_CONFIG_DIR or CODEX_HOME has a CLI's state lie."""
    named = (name for name in env if name.endswith(("_CONFIG_DIR", "_HOME")) and env[name])  # few, and asked often
    folders = {
        os.path.abspath(env[name])
        for name in named
        if any(fnmatch.fnmatchcase(name, each) for each in cli.variables)
    }
    there = (each for each in sorted(folders) if os.path.isdir(each) or not os.path.lexists(each))
    return [each for each in there if not _inside(home, [os.path.realpath(each).rstrip("/")])]


def places(name: str, cli: Cli, home: str, env: Mapping[str, str]) -> Iterator[str]:
    """Where a file or folder of a CLI's state lies, or may lie; its name may be a pattern."""
    own, whole = (f"{each.rstrip('/')}/" for each in (cli.state[0], name))
    inside = whole.removeprefix(own) if whole.startswith(own) else os.path.basename(whole[:-1])
    usual = (home, name[2:]) if name.startswith("~") else ("/", name)
    for folder, each in (usual, *((each, inside) for each in _moved(cli, home, env))):
        yield below(os.path.normpath(folder), os.path.normpath(each))


def there(pattern: str) -> list[str]:
    """What a path, or a pattern of paths, stands for today."""
    return sorted(glob.glob(pattern)) if isinstance(pattern, Pattern) else [pattern]


def _expanded(path: str, home: str) -> str:
    return (home + path[1:] if path.startswith("~") else path).rstrip("/")


def store(project: str, home: str, env: Mapping[str, str]) -> str:
    """Give the folder with what the boxes of a repository keep of CLIs' sessions; no box sees it as a whole.

    Args:
        project: the real path of its git folder, or of the project where there is none.
    """
    given = env.get("XDG_STATE_HOME", "")
    base = os.path.realpath(given if os.path.isabs(given) else os.path.join(home, ".local/state"))
    name = hashlib.sha256(os.fsencode(project)).hexdigest()[:16]
    return os.path.join(base, "ralph-bridge", "sessions", name)


def _named_by_path(folder: str, projects: Iterable[str]) -> Iterator[str]:
    """Name the folders of projects' sessions, where a CLI names them by paths with dashes.

    >>> [*_named_by_path("/s/projects", ["/home/me/a.b"])]
    ['/s/projects/-home-me-a-b']
    """
    for each in dict.fromkeys(projects):
        # By units of UTF-16, of which a character outside of the first plane has two.
        name = "".join(c if c.isascii() and c.isalnum() else "-" * (1 + (ord(c) > 0xFFFF)) for c in each)
        if len(name) <= _LONGEST:
            yield os.path.join(folder, name)
