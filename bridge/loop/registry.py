"""The loops of this machine's user: each leaves a record where ``watch --all`` finds it, until it ends.

They lie in ``$XDG_STATE_HOME/ralph-bridge/loops/``. No loop depends on them: one that can't be written isn't.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError
from bridge.files import make_folder
from bridge.process.table import Identity, alive
from bridge.records import delete, read_object, write_json
from bridge.resources import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.loop.runs import RunRecord


class Registered(NamedTuple):
    """A loop that says that it is at work.

    Attributes:
        run_id: of its run.
        process: its own.
        project: its project's folder.
        state: the folder of its lock and its record.
    """

    run_id: str
    process: Identity
    project: Path
    state: Path


def registry() -> Path:
    """The folder of the records; it need not exist.

    Raises:
        bridge.errors.ConfigurationError: nobody knows the user's home.
    """
    return state_folder() / "loops"


@contextmanager
def registered(run: RunRecord, project: Path, state: Path) -> Iterator[None]:
    """Leave a record of a loop for as long as the block takes."""
    path: Path | None = None
    with suppress(BridgeError, OSError):
        path = registry() / f"{run.run_id}.json"
        make_folder(path.parent)
        _sweep(path.parent)
        process = {"pid": run.pid, "started": run.started, "boot": run.boot}
        write_json(path, {"schema": 1, "run": run.run_id, **process, "project": f"{project}", "state": f"{state}"})
    try:
        yield
    finally:
        if path is not None:
            with suppress(BridgeError):
                delete(path)


def loops(folder: Path) -> list[Registered]:
    """The loops whose processes live, the oldest first."""
    return [found for path in _records(folder) if (found := _read(path)) is not None and alive(found.process)]


def _sweep(folder: Path) -> None:
    """Take away what killed loops have left."""
    for path in _records(folder):
        found = _read(path)
        if found is None or not alive(found.process):
            delete(path)


def _records(folder: Path) -> list[Path]:
    """The files of the records, the oldest first; ids of one second tell nothing about their order."""
    found: list[tuple[int, Path]] = []
    for path in folder.glob("*.json"):
        with suppress(OSError):  # its loop has ended just now
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]


def _read(path: Path) -> Registered | None:
    with suppress(BridgeError, KeyError, TypeError, ValueError):
        record = read_object(path) or {}
        process = Identity(int(record["pid"]), str(record["started"]), str(record["boot"]))
        return Registered(str(record["run"]), process, Path(record["project"]), Path(record["state"]))
    return None
