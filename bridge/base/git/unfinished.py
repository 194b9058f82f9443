"""What is under way in the git folder of a box, such as a rebase, and isn't seen in the host's own."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.json_files import read_object

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD = "record.json"
"""The file in the state of a box that says what the host had, and what is under way."""


def state_of(own: str, env: Mapping[str, str]) -> Path:
    """Where the state of the boxes of a git folder `own` lies, in the home of whoever has this environment."""
    given = env.get("XDG_STATE_HOME", "")
    base = (
        given if given.startswith("/") else os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local/state")
    )
    name = hashlib.sha256(os.fsencode(os.path.realpath(own))).hexdigest()[:16]
    return Path(os.path.realpath(base), "ralph-bridge", "git", name)


def under_way(own: str, env: Mapping[str, str]) -> str:
    """Name what goes on in the boxes of a git folder alone, such as ``rebase-merge``; ''."""
    found = read_object(state_of(own, env) / RECORD) or {}
    return str(found.get("under_way") or "")
