"""The processes of a shell's session: who they are, and how they are ended.

Ending a shell by its process group alone misses jobs under ``set -m``, which have groups of their own;
so a shell gets a session of its own and is ended by that, with the descendants that have left it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.shell import guardian

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["end_session", "members", "send"]


def _parents() -> dict[int, int]:
    """Parent of every process of this machine, by pid."""
    if Path("/proc/self/stat").exists():
        return dict(_proc_parents())
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=False).stdout
    return {int(pid): int(parent) for pid, parent in (line.split() for line in listing.splitlines())}


def _proc_parents() -> Iterable[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    # The command name stands in parentheses and may hold anything, ")" included.
                    fields = stat.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            if fields[0] not in (b"Z", b"X"):
                yield int(name), int(fields[1])


def members(leader: int) -> set[int]:
    """Pids of the session that `leader` leads and of their descendants, the leader excluded."""
    parents = _parents()
    found: set[int] = set()
    for pid in parents:
        try:
            if os.getsid(pid) == leader:
                found.add(pid)
        except OSError:
            continue
    found.add(leader)
    grown = True
    while grown:
        children = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= children
        grown = bool(children)
    found.discard(leader)
    return found


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to each; those that are gone meanwhile are no error."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def end_session(leader: subprocess.Popen[bytes], *, patience: float = 2.0) -> None:
    """Kill the leader and every other member of its session until none is left, for at most `patience` seconds.

    Repeated, because a process may fork between the look and the kill. The leader is reaped last: its pid
    keeps the session id from being given to somebody else meanwhile.
    """
    send(signal.SIGKILL, [leader.pid])
    end = time.monotonic() + patience
    while (left := members(leader.pid)) and time.monotonic() < end:
        send(signal.SIGKILL, left)
        time.sleep(0.001)
    guardian.release(leader.pid)
    leader.wait()
