"""The process table of this machine: the only reader of ``/proc``, and of ``ps`` where there is none.

Ending a shell by its process group alone misses jobs under ``set -m``, which have groups of their own; so a shell
gets a session of its own and is ended by that, with the descendants that have left it.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


class Process(NamedTuple):
    """Where one process stands: pids of its parent, of its group and of its session (0: not known)."""

    parent: int
    group: int
    session: int


class Identity(NamedTuple):
    """A process, told from any later one with its pid: when it started, and in which life of the machine."""

    pid: int
    started: str
    boot: str


def table() -> dict[int, Process]:
    """Every process of this machine that is not a zombie, by pid."""
    if _has_proc():
        rows = ((pid, _fields(pid)) for pid in _pids())
        return {pid: Process(*map(int, row[1:4])) for pid, row in rows if row and row[0] not in (b"Z", b"X")}
    asked = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="]
    listing = subprocess.run(asked, capture_output=True, check=False).stdout.splitlines()
    found = {}
    for pid, parent, group, state in (row.split()[:4] for row in listing):
        if not state.startswith(b"Z"):
            found[int(pid)] = Process(int(parent), int(group), _session(int(pid)))
    return found


def group_lives(group: int) -> bool:
    """Say whether the process group has a member that is not a zombie."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Of nearly all processes nothing but the group is asked, which costs a tenth.
    return not _has_proc() or any(_group(pid) == group and _started(pid) for pid in _pids())


def descendants(known: dict[int, Process], roots: set[int]) -> set[int]:
    found = set(roots)
    while more := {pid for pid, process in known.items() if process.parent in found and pid not in found}:
        found |= more
    return found


def members(leader: int, *, without: Collection[int] = ()) -> set[int]:
    """Pids of the session that `leader` leads and their descendants, but for it and the job groups `without`."""
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


def ancestors() -> set[int]:
    known, found, pid = table(), set[int](), os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        pid = known[pid].parent if pid in known else 0
    return found


def parent_of(pid: int) -> int:
    """The parent of a process; 0: it has ended, or can't be seen (macOS)."""
    fields = _fields(pid)
    return int(fields[1]) if fields else 0


def identify(pid: int | None = None) -> Identity:
    """Identify a process; None is this one. `started` is empty when it does not live."""
    pid = os.getpid() if pid is None else pid
    return Identity(pid, _started(pid), _boot())


def alive(known: Identity) -> bool:
    """Whether that very process still lives."""
    started = _started(known.pid)
    return bool(started) and started == known.started and known.boot == _boot()


def command_of(pid: int) -> str:
    """Return the command line of a process, ``""`` when it can't be seen."""
    with suppress(OSError):
        data = Path(f"/proc/{pid}/cmdline").read_bytes()
        return data.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return _ps(pid, "command=")


def hide_name(name: str) -> None:
    """Black out a name in the command line of this process, as ``ps`` and ``pgrep -f`` show it to all.

    Nothing happens where that can't be written to (macOS).
    """
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        start, end = map(int, fields[45:47])  # arg_start and arg_end, the first of these fields being the third
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            words = memory.read(end - start)
            memory.seek(start)
            memory.write(words.replace(os.fsencode(name), b"*" * len(os.fsencode(name))))


def environments() -> Iterator[tuple[int, list[bytes]]]:
    """Yield the pid and the ``NAME=VALUE`` of every other process; none where they can't be seen (macOS)."""
    for pid in _pids():
        if pid != os.getpid():
            with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
                yield pid, file.read().split(b"\0")


def environments_visible() -> bool:
    return _has_proc()


def has_open(pid: int, path: str | os.PathLike[str]) -> bool:
    """Whether a process has a file open; True where that can't be seen (macOS, other users' processes)."""
    try:
        wanted, links = os.stat(path), os.listdir(f"/proc/{pid}/fd")
    except FileNotFoundError:
        return not _has_proc()
    except OSError:
        return True
    for link in links:
        with suppress(OSError):
            if os.path.samestat(wanted, os.stat(f"/proc/{pid}/fd/{link}")):
                return True
    return False


def resting(pids: Iterable[int]) -> bool:
    """Whether each of these waits for something other than time; False where that can't be seen."""
    return _has_proc() and all(_fields(pid)[:1] in ([], [b"S"], [b"Z"]) and not _sleeps(pid) for pid in pids)


def _sleeps(pid: int) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/wchan") as file:
        return "nanosleep" in file.read()
    return False


def cpu_ticks(pid: int) -> int:
    """The processor's time that a process has used so far, in ticks of the clock; 0 where that can't be seen."""
    return sum(map(int, _fields(pid)[11:13]))


def holding_deleted(*paths: str) -> list[int]:
    """Pids that have one of these files open though it was deleted; none where that can't be seen (macOS)."""
    wanted = {f"{path} (deleted)" for path in paths}
    found = []
    for pid in _pids():
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{descriptor}") in wanted:
                        found.append(pid)
    return sorted(set(found))


def running_in(folder: Path, script: str) -> list[int]:
    """Return the pids of bashes that run a script of that name in a folder; none where that can't be seen."""
    found = []
    for pid in _pids():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            runs_it = b"bash" in words[0] and any(word.endswith(os.fsencode(script)) for word in words[1:3])
            if runs_it and os.path.samefile(f"/proc/{pid}/cwd", folder):
                found.append(pid)
    return sorted(found)


_IDLE = 2
"""Clock ticks that a runtime takes between two looks for nothing but its own housekeeping."""


class Rest:
    """Looks at a program and all that it has started.

    At rest are those that compute nothing, have no socket open, and were there when it first printed something: who
    waits for a model has a connection, who waits for a tool has started one.

    Args:
        leader: pid of the program, which leads a session.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._first: set[int] | None = None
        self._ticks: int | None = None

    def printed(self) -> None:
        """Note that it does something."""
        self._ticks = None
        if self._first is None:
            self._first = self._all()

    def look(self) -> bool:
        """Say whether it has been at rest since the look before; False the first time, and where nobody can see."""
        now = self._all()
        if self._first is None or not now <= self._first or not all(map(_talks_to_nobody, now)):
            self._ticks = None
            return False
        before, self._ticks = self._ticks, sum(map(cpu_ticks, now))
        return before is not None and self._ticks - before <= _IDLE

    def _all(self) -> set[int]:
        return {self._leader, *members(self._leader)}


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit()) if _has_proc() else iter(())


def _fields(pid: int) -> list[bytes]:
    """The fields of ``stat`` from the state on; none for a process that has ended."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        # The name in parentheses may hold anything, ")" included.
        return file.read().rpartition(b")")[2].split()
    return []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _started(pid: int) -> str:
    if not _has_proc():
        return _ps(pid, "lstart=")
    fields = _fields(pid)
    return "" if not fields or fields[0] in (b"Z", b"X") else fields[19].decode()


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""  # `lstart` has the date and needs no more


def _talks_to_nobody(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return not any(os.readlink(f"{folder}/{each}").startswith("socket:") for each in os.listdir(folder))
    except OSError:  # another user's, one that has just ended, or no such folder at all
        return False


def _ps(pid: int, field: str) -> str:
    with suppress(OSError):
        done = subprocess.run(["ps", "-o", field, "-p", str(pid)], capture_output=True, check=False, timeout=5)
        return done.stdout.decode("utf-8", "replace").strip()
    return ""
