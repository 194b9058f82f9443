"""The folder of one swarm, in the git folder that all work trees share: ``ralph-bridge/swarm/RUN/``.

Beside the record each task has a folder: what its worker reports (``events.jsonl``), what it printed beside
(``worker.log``), the output of the check. ``stop`` asks the workers to end; they look at it themselves, wherever
they run.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from bridge.base.amounts import amount, whole
from bridge.base.files import descriptor, make_folder, open_file, read_bytes, usable
from bridge.base.json_files import delete, write_text
from bridge.base.resources import likely
from bridge.errors import ConfigurationError
from bridge.loop.engine.lock import standing
from bridge.loop.swarm.swarm_record import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STOP = "stop"


def task_folder(folder: Path, task_id: str) -> Path:
    """The folder of a task, which is made if need be."""
    path = folder / "tasks" / task_id
    with usable(path):
        make_folder(path)
    return path


def new_run(swarms: Path, now: float) -> Path:
    """Make the folder of a new swarm; its name is the time."""
    name = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    with usable(swarms):
        make_folder(swarms)
        for number in range(1, 1000):
            folder = swarms / (name if number == 1 else f"{name}-{number}")
            with suppress(FileExistsError):
                make_folder(folder, new=True)
                return folder
    raise ConfigurationError(f"{swarms}: a thousand swarms in one second")


def runs(swarms: Path) -> list[Path]:
    """The folders of all swarms, the oldest first."""
    with suppress(OSError):
        found = [each for each in swarms.iterdir() if (each / FILE).is_file()]
        return sorted(found, key=lambda each: (each.name[:15], len(each.name), each.name))
    return []


def find_run(swarms: Path, name: str | None) -> Path:
    """The folder of a swarm, by its name or a beginning that no other has; None: the one at work, else the last.

    Raises:
        ConfigurationError: there is none, or several begin so.
    """
    known = runs(swarms)
    if not known:
        raise ConfigurationError("no swarm has run here yet\n  next: ralph-bridge swarm run")
    if name is None:
        return next((each for each in reversed(known) if standing(each).running), known[-1])
    found = [each for each in known if each.name == name] or [each for each in known if each.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    names = [each.name for each in known]
    if found:
        raise ConfigurationError(f"{name}: several swarms begin so: {', '.join(each.name for each in found)}")
    raise ConfigurationError(
        f"{name}: there is no such swarm.{likely(name, names)}\n  next: ralph-bridge swarm list"
    )


# -- what is asked of a swarm ------------------------------------------------------------------------


def ask_to_stop(folder: Path, how: Literal["soon", "now", "kill"]) -> None:
    """Ask all workers to end: behind the turn that is under way, at once, or without any grace."""
    write_text(folder / STOP, f"{how}\n")


def asked_to_stop(folder: Path) -> str:
    """What is asked: ``soon``, ``now``, ``kill``; ''."""
    with suppress(OSError):
        return read_bytes(folder / STOP).decode("ascii", "replace").strip()
    return ""


def forget_stop(folder: Path) -> None:
    delete(folder / STOP)


# -- what workers report -----------------------------------------------------------------------------


_AMOUNTS = {
    **dict.fromkeys(("turn", "attempt", "worker"), whole),
    **dict.fromkeys(("seconds", "at", "input_tokens", "output_tokens", "cost_usd"), amount),
}
"""The numbers of an event."""


def read_events(path: Path) -> list[dict[str, Any]]:
    return EventsTail(path).read()


class EventsTail:
    """Gives the events that a worker has reported since the last look at its ``events.jsonl``."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._offset = offset

    def read(self) -> list[dict[str, Any]]:
        """What is new; a line that is no event is passed over."""
        found: list[dict[str, Any]] = []
        with suppress(OSError), open_file(self._path) as file:
            file.seek(self._offset)
            data = file.read()
            whole = data.rpartition(b"\n")[0]
            self._offset += len(whole) + 1 if whole or data.startswith(b"\n") else 0
            for line in whole.split(b"\n"):
                with suppress(ValueError, RecursionError):
                    if isinstance(event := json.loads(line), dict):
                        numbers = {name: read(event[name]) for name, read in _AMOUNTS.items() if name in event}
                        found.append(event | numbers)
        return found


def tail_size(path: Path) -> int:
    """How long a file is; 0: there is none."""
    with suppress(OSError):
        return path.stat().st_size
    return 0


# -- locks -------------------------------------------------------------------------------------------


@contextmanager
def locked(path: Path, *, patience: float | None = None) -> Iterator[int | None]:
    """Hold a lock on a file, which is made, while the block runs; gives its descriptor, or None when it wasn't to
    be had within so many seconds (None: it takes as long as it takes).
    """
    with usable(path):
        make_folder(path.parent)
        held = descriptor(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield held if _taken(held, patience) else None
    finally:
        os.close(held)


def _taken(held: int, patience: float | None) -> bool:
    end = None if patience is None else time.monotonic() + patience
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if end is not None and time.monotonic() >= end:
            return False
        time.sleep(0.02)
