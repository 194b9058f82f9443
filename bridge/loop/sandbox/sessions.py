"""What CLIs keep of all projects in one place: a box gets that of its own project. Pure but for links."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LONGEST = 200
"""Characters of a name that Claude Code doesn't shorten; behind that nobody but it knows the name."""


def store(project: str, home: str, env: Mapping[str, str]) -> str:
    """Give the folder with what the boxes of a repository keep of CLIs' sessions; no box sees it as a whole.

    Args:
        project: the real path of its git folder, or of the project where there is none.
    """
    given = env.get("XDG_STATE_HOME", "")
    base = os.path.realpath(given if os.path.isabs(given) else os.path.join(home, ".local/state"))
    name = hashlib.sha256(os.fsencode(project)).hexdigest()[:16]
    return os.path.join(base, "ralph-bridge", "sessions", name)


def own(folder: str, projects: Iterable[str]) -> Iterator[str]:
    """Name the folders of projects' sessions, where a CLI names them by paths with dashes.

    >>> [*own("/s/projects", ["/home/me/a.b"])]
    ['/s/projects/-home-me-a-b']
    """
    for each in dict.fromkeys(projects):
        # By units of UTF-16, of which a character outside of the first plane has two.
        name = "".join(c if c.isascii() and c.isalnum() else "-" * (1 + (ord(c) > 0xFFFF)) for c in each)
        if len(name) <= _LONGEST:
            yield os.path.join(folder, name)
