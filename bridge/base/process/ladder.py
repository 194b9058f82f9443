"""How processes are ended, and watched meanwhile: the kill ladder for groups, whole sessions, single ones."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.process import guardian
from bridge.base.process.table import group_lives, members

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence


_TICK = 0.05
"""Seconds between two looks at a process, where the system has no pidfd."""

LONGEST_POLL = 24 * 3600 * 1000
"""Milliseconds of one poll(), which takes no more than 24 days."""


class Rung(NamedTuple):
    """A signal, and the seconds that a group may take to obey it."""

    signal: int
    patience: float


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hold Ctrl-C and TERM back while a process is being started, so that none is lost track of."""
    came: list[int] = []
    held: dict[int, Any] = {}
    try:
        for number in (int(signal.SIGINT), int(signal.SIGTERM), int(signal.SIGHUP), int(signal.SIGQUIT)):
            handler = signal.getsignal(number)
            if callable(handler):
                held[number] = signal.signal(number, lambda got, _frame: came.append(got))
    except ValueError:  # not the main thread, which alone gets signals
        pass
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


def end(groups: Collection[int], rungs: Sequence[Rung], alive: Callable[[], bool] | None = None) -> None:
    """Climb the ladder until nothing of the groups is left. All at once: ten servers take no longer than one.

    Args:
        groups: the process groups to signal.
        rungs: signals with the seconds that each may take, the sure one last.
        alive: asked again and again whether something is left; may do what the groups need in order to obey.
            None: ask the process table.

    Raises:
        KeyboardInterrupt, SystemExit: came meanwhile. The rungs before the last were skipped for it, and
            it is raised when the ladder has been climbed.
    """
    left = alive or (lambda: any(map(group_lives, groups)))
    came: BaseException | None = None
    *gentle, last = rungs
    try:
        for rung in gentle:
            if not _climb(groups, rung, left):
                return
    except (KeyboardInterrupt, SystemExit) as error:
        came = error
    with signals_held():
        _climb(groups, last, left)
    if came is not None:
        raise came


def _climb(groups: Collection[int], rung: Rung, alive: Callable[[], bool]) -> bool:
    """Signal the groups and return whether something is alive after the rung's time."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone meanwhile, or not ours
            os.killpg(group, rung.signal)
    deadline = time.monotonic() + rung.patience
    pause = 0.001
    while left := alive():
        if time.monotonic() >= deadline:
            break
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return left


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to each; those that are gone meanwhile are no error."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


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


class Watch:
    """Tells whether a process, which need not be our child, has ended, reaped or not.

    child: is reaped where that is the only way to see its end.
    """

    def __init__(self, pid: int, child: subprocess.Popen[bytes] | None = None) -> None:
        self._pid, self._child = pid, child
        self._gone = False
        self.fd = -1
        """A descriptor that poll() finds readable once it has ended; -1 where the system has none."""
        if hasattr(os, "pidfd_open"):
            try:
                self.fd = os.pidfd_open(pid)
            except ProcessLookupError:
                self._gone = True
            except OSError:
                pass  # an old kernel, or no descriptor left

    def ended(self) -> bool:
        self._gone = self._gone or (self._polled(0) if self.fd >= 0 else self._is_gone())
        return self._gone

    def _polled(self, milliseconds: float) -> bool:
        poll = select.poll()  # select() can't see a descriptor above 1023; one poll object serves one thread
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(min(milliseconds, LONGEST_POLL)))

    def _is_gone(self) -> bool:
        if self._child is not None and not hasattr(os, "waitid"):
            return self._child.poll() is not None
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        try:
            os.kill(self._pid, 0)
        except OSError as error:
            return isinstance(error, ProcessLookupError)
        return False

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        end = time.monotonic() + seconds
        while not self.ended():
            if (left := end - time.monotonic()) <= 0:
                return False
            if self.fd >= 0:
                self._polled(left * 1000)
            else:
                time.sleep(min(_TICK, left))
        return True

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
