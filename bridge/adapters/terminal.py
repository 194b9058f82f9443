"""A program on a pseudo terminal: starting it, reading and writing without blocking, ending all of it."""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.waiting import reads_terminal
from bridge.base.process import guardian
from bridge.base.process.ladder import LONGEST_POLL, Watch, send
from bridge.base.process.secrets import without_secrets
from bridge.base.process.table import members
from bridge.errors import ProgramNotStarted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_READ = 65_536
_ONCE = 1_048_576
"""Bytes that are read in a row before they are handed on."""
_TICK = 0.1
"""Seconds between looks at a child whose end can't be waited for (no pidfd)."""


class TtyState(NamedTuple):
    """The terminal's state: the kernel edits lines (there is no line editor at a prompt), it echoes, the program
    itself and no job of it is in the foreground; None where that can't be seen.
    """

    canonical: bool | None = None
    echo: bool | None = None
    own: bool | None = None


class Terminal:
    """One program and its terminal. Not for several threads."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str, size: tuple[int, int], folder: str = ""
    ) -> None:
        """Start `argv` in a session of its own, on a terminal of `size` (rows, columns).

        When this process is killed, the session ends and `folder` is removed.

        Raises:
            ProgramNotStarted: the system refused.
        """
        from ptyprocess import PtyProcess

        spare = _standard_descriptors()
        try:
            # Signals that we ignore would stay ignored in the program.
            self._process = PtyProcess.spawn(
                list(argv), env=without_secrets(env), cwd=cwd, dimensions=size, preexec_fn=_usual_signals
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ProgramNotStarted(f"{argv[0]} could not be started: {why}") from error
        finally:
            for each in spare:
                os.close(each)
        self.pid: int = self._process.pid
        self.fd: int = self._process.fd
        # Hanging up ends most programs, but not those that ignore it.
        guardian.watch(self.pid, folder)
        os.set_blocking(self.fd, False)
        self._end = Watch(self.pid)
        self._poll = select.poll()
        self._poll.register(self.fd, select.POLLIN)
        if self._end.fd >= 0:
            self._poll.register(self._end.fd, select.POLLIN)
        self._inbox = bytearray()
        self.status: int | None = None
        """Exit status, or minus the signal number; None while the program lives."""
        self.ended = False
        """Nothing more will come."""

    # reading

    def read(self, timeout: float | None) -> bytes:
        """What came, after waiting at most `timeout` seconds for something; empty at the deadline or at the end."""
        if not self._inbox and not self.ended:
            self._wait(timeout)
        data = bytes(self._inbox)
        self._inbox.clear()
        return data

    def _wait(self, timeout: float | None) -> None:
        limit = None if timeout in (None, math.inf) else min(max(timeout, 0.0), LONGEST_POLL / 1000)
        if self._end.fd < 0:
            limit = _TICK if limit is None else min(limit, _TICK)
        # Rounded up: poll takes whole milliseconds, and 0 would make a loop of it.
        ready = dict(self._poll.poll(None if limit is None else -int(-limit * 1000 // 1)))
        if self.fd in ready:
            self._drain()
        elif (self._end.fd in ready or self._end.fd < 0) and self._reap():
            # A daemon may hold the terminal for ever: the program's own end is what counts.
            self._drain()
            self.ended = True

    def _drain(self) -> None:
        taken = 0
        while taken < _ONCE:
            try:
                data = os.read(self.fd, _READ)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                data = b""
            if not data:  # EIO: on Linux, the other end is closed
                self._settle_end()
                return
            self._inbox += data
            taken += len(data)

    def _settle_end(self) -> None:
        self.ended = True
        self._wait_reaped(2.0)  # the descriptors are closed a moment before the process can be reaped

    # writing

    def write(self, data: bytes) -> None:
        """Write everything; what comes meanwhile is kept (a full queue would block both sides)."""
        view = memoryview(data)
        both = select.poll()
        both.register(self.fd, select.POLLIN | select.POLLOUT)
        while view and not self.ended:
            try:
                view = view[os.write(self.fd, view) :]
                continue
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno in (errno.EIO, errno.EBADF):
                    self._settle_end()
                    return
                raise
            ready = dict(both.poll(1000))
            if ready.get(self.fd, 0) & ~select.POLLOUT:
                self._drain()

    # looking

    @property
    def exited(self) -> bool:
        """Whether the program has ended, even if not everything that it printed was read."""
        return self.ended or self._reap()

    def state(self) -> TtyState:
        try:
            flags = termios.tcgetattr(self.fd)[3]
            own: bool | None = os.tcgetpgrp(self.fd) == self.pid
        except (OSError, termios.error):
            return TtyState()
        return TtyState(bool(flags & termios.ICANON), bool(flags & termios.ECHO), own)

    def is_reading(self) -> bool | None:
        """Whether the program waits for input from a terminal; None where that can't be seen."""
        return reads_terminal(self.pid, canonical=self.state().canonical)

    # ending

    def signal(self, number: int) -> None:
        if self.status is None:
            with suppress(OSError):
                os.killpg(self.pid, number)

    def end_job(self, number: int) -> bool:
        """Send a signal to the foreground job of the program; whether there was one."""
        try:
            group = os.tcgetpgrp(self.fd)
            if group in (self.pid, 0) or os.getsid(group) != self.pid:
                return False
            os.killpg(group, number)
        except OSError:
            return False
        return True

    def wait(self, timeout: float) -> bool:
        """Whether the program ended within `timeout` seconds; its output is thrown away meanwhile."""
        deadline = time.monotonic() + timeout
        while not self.ended and (left := deadline - time.monotonic()) > 0:
            self.read(left)
        return self._reap()

    def close(self) -> None:
        if self.fd < 0:
            return
        left = members(self.pid)
        os.close(self.fd)
        self.fd = self._process.fd = -1
        self._process.closed = True
        with suppress(OSError):
            self._process.fileobj.close()
        if self.status is None:
            self.signal(signal.SIGHUP)
            self._wait_reaped(0.5)
        if self.status is None:
            left |= members(self.pid)
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        send(signal.SIGKILL, left)
        self._wait_reaped(5.0)
        self._end.close()
        self.ended = True

    def _wait_reaped(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not self._reap() and (left := deadline - time.monotonic()) > 0:
            self._end.wait(left if self._end.fd >= 0 else min(left, 0.005))

    def _reap(self) -> bool:
        if self.status is None:
            try:
                if hasattr(os, "waitid"):
                    if not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                        return False
                    guardian.release(self.pid)  # before it is reaped and its pid reused
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # reaped elsewhere: its status is lost
                pid, status = self.pid, 0
            if pid:
                guardian.release(self.pid)
                self.status = os.waitstatus_to_exitcode(status)
                self._process.terminated = True
        return self.status is not None

    def resize(self, rows: int, columns: int) -> None:
        self._process.setwinsize(rows, columns)


def _standard_descriptors() -> list[int]:
    """Open those of 0, 1 and 2 that are closed, as in some daemons: the child's terminal has these numbers."""
    opened = []
    while (each := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
        opened.append(each)
    os.close(each)
    return opened


def _usual_signals() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTSTP, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
