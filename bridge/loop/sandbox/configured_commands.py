"""Files that settings of coding CLIs have run by themselves: hooks, a status line, servers. They may have any name,
and lie where turns write. Pure, but for reading the settings."""

from __future__ import annotations

import os
import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, read_bytes
from bridge.base.json_files import parse_json
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST, _MOST_WORDS = 16 * 1024 * 1024, 10_000
_KEYS = re.compile(r"(?i)command|commands|notify|\w*helper|\w*refresh")
_WORDS = re.compile(r"[^\s|;&()<>`!]+")
_PATHS = re.compile(r"[^\s'\"|;&()<>$`!=]+")
_CD = re.compile(r"(?:^|[\s;&|({!])cd\s+['\"]?([^\s'\"|;&()<>$`]+)")
_FORM = re.compile(r"(?!-)[^%:*{}]*(/|[\w-]\.)[^%:*{}]*\w")
_HOME = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/)")
_PROJECT = re.compile(r"^(?:\$\w*PROJECT_DIR|\$\{\w*PROJECT_DIR\})(?=/)")


def named(settings: Iterable[str], folder: str, home: str, top: str, *, further: str = "") -> Iterator[str]:
    """Give the files that are there among those that commands in settings name.

    Args:
        settings: paths of files, in JSON or TOML; those that aren't there, or can't be read, name nothing.
        folder: from which commands are looked at. home: the user's. top: of the project.
        further: another key whose values count.
    """
    for path in settings:
        try:
            status = os.stat(path)
        except OSError:
            continue
        for word in _words(path, status.st_mtime_ns, status.st_size, further):
            found = _PROJECT.sub(lambda _: top, _HOME.sub(lambda _: home, word))
            if os.path.isfile(each := os.path.normpath(os.path.join(folder, found))):
                yield each


def run_by(command: str, folder: str) -> Iterator[str]:
    """Give the files that a command names, as seen from a folder, and those that it would if they were there.

    What isn't there counts where a word has the form of a path, or of a file with an ending: else each word of a
    command (``cat``, ``build``) would be a name that no turn may give to anything.

    >>> [*run_by("python3 tools/x.py --all -- %f", "/nowhere")]
    ['/nowhere/tools/x.py']
    """
    folders = [folder, *(os.path.join(folder, each) for each in _CD.findall(command))]
    for word in map(os.path.expanduser, _PATHS.findall(command)):
        for path in (os.path.normpath(os.path.join(each, word)) for each in folders):
            if os.path.isfile(path) or (_FORM.fullmatch(word) and not os.path.lexists(path)):
                yield path


@lru_cache(maxsize=256)
def _words(path: str, _changed: int, _size: int, further: str) -> tuple[str, ...]:
    try:
        data = read_bytes(path, _MOST, root=ANYWHERE)
        is_toml = path.endswith(".toml")
        document = tomllib.loads(data.decode("utf-8", "replace")) if is_toml else parse_json(data)
    except (BridgeError, OSError, ValueError, RecursionError):
        return ()
    found: list[str] = []
    waiting: list[tuple[Any, bool]] = [(document, False)]
    while waiting and len(found) < _MOST_WORDS:
        value, counts = waiting.pop()
        if isinstance(value, dict):
            waiting += [(each, key == further or bool(_KEYS.fullmatch(str(key)))) for key, each in value.items()]
        elif isinstance(value, list):
            waiting += [(each, counts) for each in value]
        elif counts and isinstance(value, str):
            found += _WORDS.findall(value.replace('"', "").replace("'", ""))
    return tuple(dict.fromkeys(found))
