"""A control group around a turn, where bubblewrap bounds nothing: the kernel counts none of root's processes.

Only the number of processes is bounded by it. Where none can be had (no such file system, one that is read-only, as
in most containers, whose own bound counts then), there is none.
"""

from __future__ import annotations

import glob
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.base.files import usable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOP = "/sys/fs/cgroup"
_PATIENCE = 2.0
_JOIN = 'echo "$$" > "$1/cgroup.procs" || exit 126\nshift\nexec "$@"\n'


def place(name: str, top: str = _TOP, own: str = "/proc/self/cgroup") -> str:
    """Give the path of the group of this name that a turn can have; '': it can have none.

    It lies below our own group, so that what bounds us bounds it, or else beside it: where there are processes,
    version 2 has no groups below that count.

    Args:
        top: where the file systems of groups are mounted.
        own: the file that says which are ours.
    """
    return next((os.path.join(each, name) for each in _parents(top, own)), "")


def left(name: str) -> list[str]:
    """Give groups whose names begin so; with nothing in them, nothing else removes them."""
    return [each for parent in _parents(_TOP, "/proc/self/cgroup") for each in glob.glob(f"{parent}/{name}*")]


def _parents(top: str, own: str) -> Iterator[str]:
    rows: list[list[str]] = []
    with suppress(OSError), open(own, encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in rows:
        if "pids" in controllers.split(","):
            folders = [f"{top}/pids{path}"]
        elif controllers:
            continue
        else:
            within = os.path.normpath(f"{top}{path}")
            above = os.path.dirname(within)
            folders = [each for each in (within, above) if f"{each}/".startswith(f"{top}/") and _counts(each)]
        yield from (os.path.normpath(each) for each in folders if os.access(each, os.W_OK))


def _counts(folder: str) -> bool:
    """Whether groups of version 2 count processes in this folder."""
    with suppress(OSError), open(f"{folder}/cgroup.subtree_control", encoding="ascii") as file:
        return "pids" in file.read().split()
    return False


def joined(folder: str, argv: Sequence[str]) -> list[str]:
    """A command that runs another in the group; it fails where that can't be joined."""
    return ["bash", "-c", _JOIN, "bash", folder, *argv]


@contextmanager
def standing(folder: str, processes: int) -> Iterator[None]:
    """Have it with that bound.

    Raises:
        bridge.errors.BridgeError: it can't be made.
    """
    try:
        with usable(f"the control group {folder}"):
            os.mkdir(folder, 0o755)
            with open(f"{folder}/pids.max", "r+", encoding="ascii") as file:  # made by the kernel, or it is none
                file.write(str(processes))
        yield
    finally:
        remove(folder)


def remove(folder: str) -> None:
    """Remove it once the last of its processes has ended."""
    end, pause = time.monotonic() + _PATIENCE, 0.001
    while os.path.isdir(folder) and time.monotonic() < end:
        with suppress(OSError):
            os.rmdir(folder)
            return
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
