"""What keeps a judged script from environments and descriptors of other processes, and from outliving its judge.

On Linux a process of the same user may read ``/proc/PID/environ`` and open ``/proc/PID/fd/1`` of ours, and of all
that started us, with the secrets and the log of a CI job. Not so from another user namespace, nor, for root, with
fewer capabilities than they have. A namespace is also a mark that no process can take off: what a script leaves
behind is known by it, whatever session, environment or parent it has given itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAPABILITIES = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+net_bind_service,+net_raw"
"""What root keeps in a script: who lacks one that another process has may not look into that one."""
_DUMPABLE, _SUBREAPER = 4, 36  # PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER

_lock = threading.Lock()
_blocks = 0


class Box(NamedTuple):
    """How a script is started.

    prefix: stands in front of a command, and becomes it, in the same process; empty where there is no box.
    namespace: the one in ``/proc/PID/ns`` by which its processes are known; '': none.
    """

    prefix: tuple[str, ...] = ()
    namespace: str = ""

    def mark(self, pid: int) -> int:
        """The namespace of a process that was started so; 0: it can't be seen, or is ours."""
        with contextlib.suppress(OSError):
            theirs = os.stat(f"/proc/{pid}/ns/{self.namespace}").st_ino if self.namespace else 0
            return 0 if theirs == os.stat(f"/proc/self/ns/{self.namespace}").st_ino else theirs
        return 0

    def marked(self, marks: set[int]) -> list[int]:
        wanted = marks - {0}
        return [pid for pid in table() if self.mark(pid) in wanted] if wanted else []


@cache
def box() -> Box:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/bin", "/bin"])
    unshare, setpriv = shutil.which("unshare", path=path), shutil.which("setpriv", path=path)
    fewer = [setpriv, "--bounding-set", _CAPABILITIES, "--"] if setpriv and os.geteuid() == 0 else []
    boxes = [
        *([Box((unshare, "--uts", "--", *fewer), "uts")] if unshare and fewer else []),
        *([Box((unshare, "--user", "--map-current-user", "--"), "user")] if unshare else []),
        *([Box(tuple(fewer))] if fewer else []),
    ]
    return next(filter(_works, boxes), Box())


def _works(tried: Box) -> bool:
    look = f"/proc/{os.getpid()}/environ"
    code = f"test -r /proc/self/status && ! cat {look}"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [*tried.prefix, "/bin/sh", "-c", code],
            env={"PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        return done.returncode == 0
    return False


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """While the block runs, what scripts leave behind becomes our child; it is ended with the last such block.

    Where there is no box, at least this process can't be looked into, other than by root.
    """
    global _blocks
    with _lock:
        _blocks += 1
        _prctl(_SUBREAPER, 1)
        if not box().prefix:
            _prctl(_DUMPABLE, 0)
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:  # else what is there may be at work for another thread
                _end_children()
                _prctl(_SUBREAPER, 0)
                _prctl(_DUMPABLE, 1)


def _end_children() -> None:
    """Kill what has become our child in a box, with its own children, until there is nothing more."""
    for _ in range(100):
        found = table()
        left = [pid for pid, each in found.items() if each.parent == os.getpid() and box().mark(pid)]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
