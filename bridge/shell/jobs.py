"""Functions at work beside the main shell, each in a forked subshell of its own, as a stage of a pipeline.

How it is done, and why so:

* The living bash forks a subshell that opens the job's FIFOs (so a failure is known at once), turns job control
  on (its child gets a process group of its own and doesn't ignore SIGINT) and forks the *keeper* into the
  background. Being a grandchild, the keeper leaves no trace in the main shell: ``$!``, ``jobs`` and ``wait`` of the
  scripts are as before.
* The keeper forks the subshell in which the hook runs, in a condition, and writes its status to a file. It traps
  the signals that end the hook, so that the status is exact; without one, only KILL can have ended both.
* The end shows in the keeper's process, never in end-of-file: a daemon may hold stdout for ever.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
import weakref
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from bridge.base.process import stopping
from bridge.base.process.ladder import Watch
from bridge.shell.job_resources import KILLED, JobDescriptors, JobProcesses, dispose, status_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO, TypeAlias

    from bridge.errors import HookError
    from bridge.shell.sources import Source

    Input: TypeAlias = int | bytes | os.PathLike[str] | IO[bytes] | Iterable[bytes | str] | Source | "Job" | None
    Errors: TypeAlias = int | os.PathLike[str] | IO[bytes] | None


GRACE = 2.0
"""Seconds that a job may take to obey INT, and then TERM, before it is killed."""

LEFTOVER = 0.5
"""Seconds that a child which holds stdout delays the end of its job; and what such children have to obey TERM."""

_SWEEP = ((signal.SIGTERM, LEFTOVER),)
_CHUNK = 1 << 16
_KEPT = 16 << 20  # bytes of last words
_TURN = 16  # chunks in one go
_TICK = 0.05  # s: how often to look where the system has no pidfd


class Tee(Protocol):
    """What gets a copy of all that is read: a binary file, or what is as good as one."""

    def write(self, data: bytes, /) -> object:
        """Take it."""

    def flush(self) -> None:
        """Hold nothing back."""


class JobSpec(NamedTuple):
    """What to run as a job, and how it is connected; see `Shell.start`."""

    hook: str
    arguments: tuple[str, ...]
    stdin: Input
    stderr: Errors
    tee: Tee | None
    end_line: bool
    grace: float


class Job:
    """A function at work beside the main shell. Made by `Shell.start`.

    Iterating gives its stdout as lines of bytes, each with its newline (the last perhaps without), as they come;
    while nobody reads, the writer waits. As a context manager it ends with the block, together with everything
    that it had started. One thread may read while another calls `terminate`.

    Attributes:
        hook: the function.
        pid: of its process group.
    """

    def __init__(
        self,
        order: JobSpec,
        of_job: JobProcesses,
        descriptors: JobDescriptors,
        *,
        errors_to: int,
        orphaned: Callable[[], HookError],
    ) -> None:
        self.hook = order.hook
        self.pid = of_job.group
        self._lock = threading.RLock()
        self._processes = of_job
        self._descriptors = descriptors
        self._errors_to = errors_to
        self._errors = memoryview(b"")  # for there
        self._target = select.poll()
        self._target.register(max(errors_to, 0), select.POLLOUT)
        self._tee = order.tee
        self._end_line = order.end_line
        self._grace = order.grace
        self._orphaned = orphaned
        self._keeper = Watch(self.pid)
        self._bash = Watch(of_job.bash.pid)
        self._status: int | None = None
        self._until = 0.0  # when those that still hold its stdout have held it for long enough
        self._open = True  # stdout may bring more
        self._done = self._swept = False
        self._last_output = bytearray()  # read while it was being ended
        self._line: list[bytes] = []  # begun and not given out yet
        self._last = b"\n"  # byte of its output
        self._pending = memoryview(b"")  # for its stdin
        self._free = weakref.finalize(self, dispose, of_job, descriptors, self._keeper, self._bash)

    # -- its output ----------------------------------------------------------------------------------

    @property
    def status(self) -> int | None:
        """How it ended: 0 to 255, 128 and the number for a signal; None while it runs."""
        with self._lock:
            self._look()
            return self._status

    def read(self) -> bytes:
        """The next piece of stdout, as soon as there is one; b"" when the job has ended.

        What its source (see `Shell.start`) has left when the job ends is read, too, and dropped.

        Raises:
            ShellDied: bash ended, and the job with it.
            Exception: what the iterable that feeds it raised.
        """
        piece = None
        while piece is None:
            piece = self.read_within(None)
        return piece

    def read_within(self, seconds: float | None) -> bytes | None:
        """As `read`, but None when there is nothing for so long."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            with self._lock:
                piece = self.take()
                if piece is not None:
                    return piece
                poll = select.poll()
                ready = self.watch(poll)
                patience = 0.0 if ready else self.patience()
            if end is not None:
                if (left := (end - time.monotonic()) * 1000) <= 0:
                    return None
                patience = left if patience is None else min(left, patience)
            poll.poll(stopping.patience(patience))
            stopping.look()

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                # A line of megabytes comes in hundreds of pieces: joined once.
                line = b"".join((*self._line, end, b"\n"))
                self._line.clear()
                yield line
            if rest:
                self._line.append(rest)
        if self._line:
            line = b"".join(self._line)
            self._line.clear()
            yield line

    # -- moving bytes --------------------------------------------------------------------------------

    def take(self) -> bytes | None:
        """As `read`, but None instead of waiting; for whoever waits for several things at once."""
        if self._last_output:
            left = bytes(self._last_output)
            self._last_output.clear()
            return left
        if self._done:
            return b""
        self._feed()
        self._relay()
        self._look()
        if self._status is not None and self._open and time.monotonic() >= self._until:
            # Others hold its stdout: they are ended, and what they still had to say is kept.
            self._ladder(_SWEEP)
            self._drain()
            self._open = False
            if self._last_output:
                return self.take()
        piece = self._read()
        if piece:
            return self._copied(piece)
        if self._status is None:
            if self._bash.ended():  # what is left of the job ends, too
                self._done = True
                self._free()
                raise self._orphaned()
            return None
        if piece is None or self._descriptors.source is not None:
            return None
        return self._finished()

    def watch(self, poll: select.poll) -> bool:
        """Register what tells that `take` has something to do; True when it has that now."""
        ends = self._descriptors
        ready = bool(self._last_output) or self._done
        for fd, events in (
            (ends.stdout if self._open else -1, select.POLLIN),
            (self._errors_to, select.POLLOUT) if self._errors else (ends.stderr, select.POLLIN),
            (self._keeper.fd if self._status is None else -1, select.POLLIN),
            (self._bash.fd if self._status is None else -1, select.POLLIN),
        ):
            if fd >= 0:
                poll.register(fd, events)
        if ends.source is not None and not self._pending:
            now = ends.source.watch(poll)
            if now and ends.stdin >= 0:
                poll.register(ends.stdin, select.POLLOUT)
            else:
                ready |= now
        elif self._pending and ends.stdin >= 0:
            poll.register(ends.stdin, select.POLLOUT)
        return ready

    def patience(self) -> float | None:
        """Milliseconds after which to look again, whatever was registered; None: any number."""
        source = self._descriptors.source
        theirs = None if source is None or self._pending else source.patience()
        if self._status is not None:
            own = max(1.0, (self._until - time.monotonic()) * 1000) if self._open else None
        else:
            own = _TICK * 1000 if self._keeper.fd < 0 else None
        return min((each for each in (own, theirs) if each is not None), default=None)

    def _read(self) -> bytes | None:
        """What stdout brings; None when that is nothing now, b"" when nobody holds it."""
        if not self._open:
            return b""
        try:
            piece = os.read(self._descriptors.stdout, _CHUNK)
        except BlockingIOError:
            return None
        self._open = bool(piece)
        return piece

    def _copied(self, piece: bytes) -> bytes:
        self._last = piece[-1:]
        if self._tee is not None:
            self._tee.write(piece)
            self._tee.flush()
        return piece

    def _feed(self) -> None:
        ends = self._descriptors
        if not self._pending:
            if ends.source is None:
                return
            piece = ends.source.take()
            if piece is None:
                return
            if not piece:
                ends.close_source()
                ends.let_go("stdin")
                return
            self._pending = memoryview(piece)
        if ends.stdin < 0:  # the job doesn't read any more: the source is only emptied
            self._pending = memoryview(b"")
            return
        try:
            self._pending = self._pending[os.write(ends.stdin, self._pending) :]
        except BlockingIOError:
            return
        except OSError:  # nobody reads
            self._pending = memoryview(b"")
            ends.let_go("stdin")

    def _relay(self) -> None:
        """Its stderr, where the host has to pass it on: as far as that doesn't make the host wait."""
        ends = self._descriptors
        try:
            for _ in range(_TURN):
                if self._errors:
                    if not self._target.poll(0):
                        return
                    # So much goes into a pipe that poll() finds writable.
                    self._errors = self._errors[os.write(self._errors_to, self._errors[: select.PIPE_BUF]) :]
                elif ends.stderr < 0:
                    return
                else:
                    self._errors = memoryview(os.read(ends.stderr, _CHUNK))
                    if not self._errors:
                        ends.let_go("stderr")
        except BlockingIOError:
            return
        except OSError:  # nobody wants it: the job gets SIGPIPE, as it would without us
            ends.let_go("stderr")
            self._errors = memoryview(b"")

    # -- its end -------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Has it ended? Before stdout is read for the last time: what it wrote is then all there."""
        if self._status is not None or self._done:
            return
        written = self._keeper.fd < 0 and status_in(self._processes.folder) != KILLED
        if (self._keeper.ended() or written) and not self._bash.ended():  # else the whole session was ended
            self._status = status_in(self._processes.folder)
            self._until = time.monotonic() + LEFTOVER

    def _finished(self) -> bytes | None:
        if not self._swept:
            self._ladder(_SWEEP)
            self._swept = True
        self._relay()
        if self._errors:
            return None
        self._done = True
        self._free()
        if self._end_line and self._last != b"\n":
            return self._copied(b"\n")
        return b""

    def terminate(self, *, interrupt: bool = True) -> None:
        """End it: INT (if `interrupt`), then TERM, then KILL for all that it has started, until none is left.

        What it still writes meanwhile can be read afterwards.
        """
        with self._lock:
            if not self._done:
                self._descriptors.close_source()
                self._descriptors.let_go("stdin")
                first = ((signal.SIGINT, self._grace),) if interrupt else ()
                self._ladder((*first, (signal.SIGTERM, self._grace)))
                self._relay()
                self._errors = memoryview(b"")  # whoever reads them doesn't: that must not keep us
                self._descriptors.let_go("stderr")
                self._look()

    def _ladder(self, rungs: Iterable[tuple[signal.Signals, float]]) -> None:
        self._descriptors.nothing_left = False
        try:
            for number, grace in rungs:
                if not self._processes.send(number) or self._gone_within(grace):
                    self._descriptors.nothing_left = True
                    return
        finally:  # Ctrl-C again: no more patience
            if not self._descriptors.nothing_left:
                self._processes.kill()

    def _gone_within(self, grace: float) -> bool:
        end = time.monotonic() + grace
        pause = 0.001
        while self._processes.members():
            if time.monotonic() >= end:
                return False
            self._drain()  # who is blocked writing can't obey
            if self._keeper.ended():
                time.sleep(pause)
            else:
                self._keeper.wait(pause)
            pause = min(pause * 2, 0.05)
        return True

    def _drain(self) -> None:
        for _ in range(_TURN):  # no more than a pipe holds: who goes on writing may be out of our reach
            piece = self._read()
            if not piece:
                break
            self._copied(piece)
            if len(self._last_output) < _KEPT:
                self._last_output += piece
        self._relay()

    def close(self) -> None:
        """End it, if it still runs, and what it has left running; free everything. May be repeated."""
        with self._lock:
            if not self._done:
                try:
                    if self.status is None:
                        self.terminate()
                    else:
                        self._ladder(_SWEEP)
                finally:
                    self._done = True
                    self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Job {self.hook} {'runs' if self._status is None else f'ended with {self._status}'}>"

    def disown(self) -> None:
        """In a forked child: it is the parent's job; let go of it without touching it."""
        self._lock = threading.RLock()
        self._done = True
        if self._free.detach() is not None:
            self._descriptors.close_descriptors()
            self._keeper.close()
            self._bash.close()
