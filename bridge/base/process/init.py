"""The first process of a container: it gets all orphans, and nobody else takes note of their end."""

from __future__ import annotations

import os
import signal

_KERNEL = 0x80
"""Where a signal comes from a terminal, which has sent it to the whole group already."""

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def become_child_of_init() -> None:
    """Where this is process 1, go on as its child; elsewhere do nothing.

    Process 1 passes signals on, takes note of every process that ends, and ends as the child does.
    """
    if os.getpid() != 1 or not hasattr(signal, "sigwaitinfo"):
        return
    awaited = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os._exit(_watch(child, awaited))


def _watch(child: int, awaited: set[signal.Signals]) -> int:
    """Be process 1 until the child ends; return its exit status, 128 and the number for a signal."""
    while True:
        came = signal.sigwaitinfo(awaited)
        if came.si_signo != signal.SIGCHLD:
            if came.si_code != _KERNEL:
                os.kill(child, came.si_signo)
            continue
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 1
            if pid == 0:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
