"""Processes of this machine: whether one is still the one that we know, and which belong to a project."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["MARK", "Identity", "alive", "command_of", "identify", "marked", "originals"]

MARK = "RALPH_BRIDGE_PROJECT"
"""Variable that the agent gets into its environment, and hands on to what it starts: the project's folder."""


class Identity(NamedTuple):
    """A process, told from any later one with its pid: when it started, and in which life of the machine."""

    pid: int
    started: str
    boot: str


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


def marked(project: Path) -> list[int]:
    """Return the pids of processes that agents of this project have left running.

    They are found by :data:`MARK` in their environment; where that can't be seen (macOS, other users'
    processes) there are none.
    """
    wanted = f"{MARK}={project}".encode("utf-8", "surrogateescape")
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
    return sorted(found)


def originals(project: Path) -> list[int]:
    """Return the pids of bash loops (``ralph_loop.sh``) at work in `project`; none where that can't be seen."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            with suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                runs_it = b"bash" in words[0] and any(word.endswith(b"ralph_loop.sh") for word in words[1:3])
                if runs_it and os.path.samefile(f"/proc/{name}/cwd", project):
                    found.append(int(name))
    return sorted(found)


def _started(pid: int) -> str:
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        # The name in parentheses may hold anything; behind it: state, ..., start time as the 20th.
        fields = file.read().rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    return "" if os.path.isdir("/proc/self") else _ps(pid, "lstart=")


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""  # `lstart` has the date and needs no more


def _ps(pid: int, field: str) -> str:
    with suppress(OSError):
        done = subprocess.run(["ps", "-o", field, "-p", str(pid)], capture_output=True, check=False, timeout=5)
        return done.stdout.decode("utf-8", "replace").strip()
    return ""
