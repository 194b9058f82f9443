"""What of a turn in a box nobody has looked at: as long as there is a record of how things were before it."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from bridge.base.files import ANYWHERE, delete, read_bytes
from bridge.base.json_files import as_object, parse_json
from bridge.base.process.table import Identity, alive
from bridge.base.resources import state_folder
from bridge.errors import ConfigurationError, ProjectUnusable


def record_of(project: str | Path) -> Path:
    """The file in which how things were is kept, as long as nobody has looked behind a turn."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]
    return state_folder() / "gate" / name / "before.json"


def not_looked_at(folder: str | Path) -> Path | None:
    """The project, this folder or one around it, behind whose last turn nobody has looked, nor does now."""
    try:
        folder = Path(os.path.realpath(folder))
    except FileNotFoundError:  # a working folder that is gone is no project any more
        return None
    try:
        records = [(each, record_of(each)) for each in (folder, *folder.parents)]
    except ConfigurationError:  # no home is known, where one would lie
        return None
    for each, record in records:
        if record.exists():
            host = as_object((as_object(parse_json(text_of(record))) or {}).get("host")) or {}
            with suppress(KeyError, TypeError, ValueError):
                if alive(Identity(int(host["pid"]), str(host["started"]), str(host["boot"]))):
                    return None
            return each
    return None


def require_looked(folder: str | Path) -> None:
    """Refuse a project that a turn in a box may have made anything of.

    Raises:
        ProjectUnusable: nobody has looked behind its last turn.
    """
    if (project := not_looked_at(folder)) is not None:
        raise ProjectUnusable(
            f"{project}: what its last turn in a box has left was not looked at, or not all of it: its loop was"
            " killed, or ended there\n"
            "  next: `ralph-bridge run`, which looks first; or `ralph-bridge reset`, to take all of it as it is"
        )


def forget(folder: str | Path) -> list[str]:
    """Take a project as it is; say so."""
    if (project := not_looked_at(folder)) is None:
        return []
    delete(record_of(project))
    return [f"{project} is taken as its last turn in a box has left it, which nobody has looked at"]


def text_of(path: Path) -> bytes:
    """What a file holds; nothing where it can't be read."""
    with suppress(OSError):
        return read_bytes(path, root=ANYWHERE)
    return b""
