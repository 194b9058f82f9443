"""The processes of a shell's session: who they are, and how they are ended.

Ending a shell by its process group alone misses jobs under ``set -m``, which have groups of their own;
so a shell gets a session of its own and is ended by that, with the descendants that have left it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

from bridge.process import guardian
from bridge.process.table import descendants, table

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Collection, Iterable


def host_has(stream: int) -> bool:
    """Whether descriptor 0 or 2 of this process is its stdin or stderr: else it may be anything by now."""
    return (sys.__stdin__ if stream == 0 else sys.__stderr__) is not None


def members(leader: int, *, without: Collection[int] = ()) -> set[int]:
    """Pids of the session that `leader` leads and of their descendants, the leader excluded.

    without: process groups that lead jobs of their own: they and their descendants are left out.
    """
    known = table()
    found = descendants(known, {leader, *(pid for pid, process in known.items() if process.session == leader)})
    if without:
        found -= descendants(known, {pid for pid, process in known.items() if process.group in without})
    found.discard(leader)
    return found


def of_job(
    group: int, session: int, *, older: Collection[int], others: Collection[int], met: dict[int, tuple[int, int]]
) -> set[int]:
    """Pids of a job: its process group, their descendants, and what it left behind in groups of its own.

    Args:
        group: of the job.
        session: in which it runs; its leader's own group is none of the job's business.
        older: pids that were in the session before the job began.
        others: groups of other jobs.
        met: group and session of those that were found the last time; brought up to date.
    """
    known = table()
    apart = descendants(known, {pid for pid, process in known.items() if process.group in others})
    within = {pid for pid, process in known.items() if process.session == session}
    orphans = {
        pid
        for pid in within - apart
        if known[pid].group not in (session, group) and known[pid].parent not in within and pid not in older
    }
    still = {pid for pid, before in met.items() if pid in known and known[pid][1:] == before}
    found = descendants(known, orphans | still | {pid for pid, process in known.items() if process.group == group})
    met.clear()
    met.update((pid, known[pid][1:]) for pid in found if pid in known)
    return found


class Watch:
    """Tells whether a process that need not be our child has ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = -1
        """A descriptor that poll() finds readable once it has ended; -1 where the system has none."""
        self._gone = False
        if hasattr(os, "pidfd_open"):
            try:
                self.fd = os.pidfd_open(pid)
            except ProcessLookupError:
                self._gone = True
            except OSError:
                pass  # an old kernel, or no descriptor left

    def ended(self) -> bool:
        """Whether it has ended, reaped or not (reaped, where there is no descriptor)."""
        if self.fd >= 0 and not self._gone:
            poll = select.poll()
            poll.register(self.fd, select.POLLIN)
            self._gone = bool(poll.poll(0))
        elif not self._gone:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                self._gone = True
            except OSError:
                pass
        return self._gone

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to each; those that are gone meanwhile are no error."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def end_session(leader: subprocess.Popen[bytes], *, patience: float = 2.0) -> None:
    """Kill the leader and every other member of its session until none is left, for at most `patience` seconds.

    Nothing, when the leader was reaped before. Repeated, because a process may fork between the look and the kill.
    The leader is reaped last: its pid keeps the session id from being given to somebody else meanwhile.
    """
    if leader.returncode is not None:
        return
    send(signal.SIGKILL, [leader.pid])
    end = time.monotonic() + patience
    try:
        while (left := members(leader.pid)) and time.monotonic() < end:
            send(signal.SIGKILL, left)
            time.sleep(0.001)
    except OSError:  # this process has no descriptor left to look with
        with contextlib.suppress(OSError):
            os.killpg(leader.pid, signal.SIGKILL)
    guardian.release(leader.pid)
    leader.wait()
