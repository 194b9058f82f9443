"""The bash process: its private folder of FIFOs, one exchange at a time, and how it is ended.

Thin IO round `protocol`. How a call goes, and why:

* The host holds q and r open for reading and writing, so that neither side ever sees end-of-file there:
  bash's death shows in its process (by a pidfd where there are any), never in a pipe.
* bash opens q, r, o and e by path for each call and holds none of them while a hook runs, so that nothing
  a hook starts can read, forge or hold the channel.
* After the reply, end-of-file on o and e says that nobody holds them any more; if somebody does (a
  background job), that FIFO is put aside and a fresh one takes its name: what the job writes later is
  drained and dropped, and never shows up in a later call.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from bridge.base.process import guardian, stopping
from bridge.base.process.ladder import Watch, end_session, send
from bridge.base.process.table import members
from bridge.errors import ShellStartFailed
from bridge.shell import environment, protocol
from bridge.shell.outputs import CHUNK, LITTLE, TURN, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.shell.environment import Start

_read, _write = os.read, os.write
_MARK = protocol.MARK

# ms that only the reply is watched: a call that takes longer pays for the slow path's two extra descriptors.
# Not less than the kernel's tick (4 or 10 ms): a nearer timer has to be programmed for every call (7 µs).
_FAST = 10.0
_PAUSE = 100.0  # ms between two pieces of one reply, before anything else is considered
_TICK = 0.05  # s: how often to look for bash's death where there is no pidfd
_LOOK = 0.25  # s: how often to see whether the channel is still there while a hook runs

_COPIES_FROM = 200  # descriptors that no script uses, and below the 256 that macOS allows by default


class RawReply(NamedTuple):
    reply: bytes
    stdout: bytes
    stderr: bytes


class _Wait(Enum):
    WHOLE = auto()
    LATE = auto()
    FLOOD = auto()
    DEAD = auto()
    CUT = auto()
    """The channel is gone."""
    ASKED = auto()
    """The host wants the call to end."""


class _Ended(Exception):
    def __init__(self, stdout: bytes, stderr: bytes, returncode: int | None) -> None:
        super().__init__(returncode)
        self.stdout = stdout
        self.stderr = stderr
        self.returncode = returncode


class Died(_Ended):
    """bash ended during the exchange; `returncode` as in :class:`subprocess.Popen`, `why` if we know better."""

    why = ""
    unread = False
    """It had ended before it took the request."""
    never_read = False
    """It has not taken a single request: perhaps the program is not a bash at all."""


class TimedOut(_Ended):
    """The deadline passed; `returncode` is None when bash survived (an interrupt was enough)."""


class Interrupted(_Ended):
    """The host has asked for it; `returncode` as of `TimedOut`."""


class Flooded(_Ended):
    """An output passed its limit; `returncode` as of `TimedOut`."""


def private(path: str, flags: int) -> int:
    """For open(): what it creates is for this user only; a FIFO that a script has put there is an error at once."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


class Coprocess:
    """One bash, from start to end; raises ShellStartFailed. Not thread-safe: `Shell` holds the lock."""

    def __init__(self, start: Start) -> None:
        self.number = 0
        self.provided: frozenset[str] = frozenset()
        """Commands that PATH had none of, so that scripts find those of the host."""
        self.jobs: set[int] = set()
        """Process groups that a call's kill ladder spares: they have one of their own."""
        self.streams: dict[int, int] = {}
        """Which descriptors of bash are copies of the host's stdin (0) and stderr (2)."""
        self._grace = start.grace
        self._alive = self._unfinished = False
        self._at_work = self._asked = 0
        try:
            self.folder = os.path.abspath(tempfile.mkdtemp(prefix="ralph-bridge-"))
        except OSError as error:
            raise ShellStartFailed(f"no place for temporary files: {error}; set TMPDIR to a folder") from error
        with _starting(), contextlib.ExitStack() as undo:
            undo.callback(_remove, self.folder)
            self._q = self._channel("q", undo)
            self._r = self._channel("r", undo)
            self._o = Output(f"{self.folder}/o", start.output_limit)
            undo.callback(self._o.close)
            self._e = Output(f"{self.folder}/e", start.output_limit)
            undo.callback(self._e.close)
            self._process = self._start(start)
            self._alive = True
            undo.callback(end_session, self._process)
            guardian.watch(self.pid, self.folder)
            self._end = Watch(self.pid, self._process)
            undo.callback(self._end.close)
            # Runs when this object goes, at the latest when the interpreter ends: no shell is left behind.
            self._dispose = weakref.finalize(self, undo.pop_all().close)
        self._poll = select.poll()
        self._poll.register(self._r, select.POLLIN)
        if self._end.fd >= 0:
            self._poll.register(self._end.fd, select.POLLIN)

    def _channel(self, name: str, undo: contextlib.ExitStack) -> int:
        path = f"{self.folder}/{name}"
        os.mkfifo(path, 0o600)
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        undo.callback(os.close, fd)
        return fd

    def _start(self, start: Start) -> subprocess.Popen[bytes]:
        given, self.provided = start.environment(f"{self.folder}/bin")
        script = f"{self.folder}/prelude"
        # By these names bash would start in POSIX mode or restricted.
        folder, name = os.path.split(start.bash)
        called = os.path.join(folder, "bash") if name in ("sh", "rbash") else start.bash
        prefix = start.prefix if called == start.bash else ()  # which would start it by its path
        for name, content in (("prelude", start.prelude()), ("t", b""), ("m", b""), ("b", b"")):
            with open(f"{self.folder}/{name}", "wb", opener=private) as file:
                file.write(content)
        copies: list[int] = []
        try:
            if start.host_streams:
                for stream in filter(environment.host_has, (0, 2)):
                    with contextlib.suppress(OSError):  # it was closed meanwhile
                        copies.append(fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, _COPIES_FROM))
                        self.streams[stream] = copies[-1]
            # bash tells the guardian itself: killed between this and `watch`, the host would leave it behind.
            with guardian.pipe(_COPIES_FROM) as pipe:
                return subprocess.Popen(
                    [*prefix, called, "--noprofile", "--norc", script, self.folder, str(pipe)],
                    executable=None if prefix else start.bash,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=given,
                    cwd=start.cwd,
                    start_new_session=True,
                    pass_fds=[*copies, pipe],
                )
        except OSError as error:
            what = start.bash
            if start.cwd and not Path(start.cwd).is_dir():
                what = f"working folder {start.cwd}"
            raise ShellStartFailed(
                f"bash could not be started: {what}: {error.strerror}. Install bash, or say which one to use "
                "(Shell(bash=...) or RALPH_BRIDGE_BASH)"
            ) from error
        finally:
            for copy in copies:
                os.close(copy)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """As of :class:`subprocess.Popen`; None while it has not been reaped."""
        return self._process.returncode

    @property
    def alive(self) -> bool:
        """False once an exchange has found bash dead, or `close` was called."""
        return self._alive

    @property
    def overflow(self) -> bool:
        """Whether an output passed the limit since this was asked last."""
        if not (self._o.overflow or self._e.overflow):
            return False
        self._o.overflow = self._e.overflow = False
        return True

    def exchange(self, request: bytes, *, values: bool, timeout: float | None) -> RawReply:
        """Send one request (at most PIPE_BUF bytes, with its mark and NUL) and wait for its reply.

        Raises:
            Died, TimedOut, Flooded: see there. Any other exception (Ctrl-C) interrupts the hook first.
        """
        if self._unfinished:
            # What an exchange wrote that an exception of the host's has ended (Ctrl-C) is no part of this one.
            self._o.finish()
            self._e.finish()
            _ = self.overflow
        self.number = self._at_work = number = self.number + 1
        reply: bytes | bytearray = b""
        self._unfinished = True
        try:
            try:
                _write(self._q, b"%b%b\0" % (_MARK, request))
            except BlockingIOError:
                self._full()
            whole = False
            # The fast path: only the reply is watched; whoever fills a pipe first is served 10 ms later.
            if self._poll.poll(_FAST):
                try:
                    reply = _read(self._r, LITTLE)
                except BlockingIOError:
                    pass  # poll() reported bash's death
                else:
                    # The outputs were closed before the reply began: its rest is all that can come.
                    if not (whole := protocol.complete(reply, number, values)):
                        reply = bytearray(reply)
                        self._rest(reply, values)
                        whole = protocol.complete(reply, number, values)
            if not whole:
                reply = bytearray(reply)
                self._wait(reply, values, timeout)
            done = RawReply(bytes(reply), self._o.finish(), self._e.finish())
            self._unfinished = False
            return done
        except BaseException as error:
            if not (isinstance(error, _Ended) or protocol.complete(reply, number, values)):
                self._interrupt(bytearray(reply), values)
            raise
        finally:
            self._at_work = 0

    def interrupt(self) -> bool:
        """End the exchange of another thread; False when there is none."""
        self._asked = number = self._at_work
        return number > 0

    def more_loop(self) -> None:
        """Give bash a further copy of its loop, for one that something threw it out of."""
        with contextlib.suppress(OSError):
            environment.add_loop(f"{self.folder}/prelude")

    def _rest(self, reply: bytearray, values: bool) -> None:
        """The rest of a reply that has begun, as far as it comes without a pause."""
        begin = b"%d " % self.number  # else somebody else wrote it, who may never end
        while (
            reply.startswith(begin)
            and not protocol.complete(reply, self.number, values)
            and self._poll.poll(_PAUSE)
        ):
            try:
                reply += _read(self._r, CHUNK)
            except BlockingIOError:  # poll() reported bash's death
                break

    def _wait(self, reply: bytearray, values: bool, timeout: float | None) -> None:
        """The slow path: watch everything until the reply is whole, bash is dead, or time is up."""
        end = None if timeout is None else time.monotonic() + timeout
        survived = False
        why = ""
        with contextlib.ExitStack() as undo:
            for output in (self._o, self._e):
                with contextlib.suppress(OSError):  # its folder is gone: seen below
                    undo.callback(os.close, output.hold_open())
            state = self._pump(reply, values, end, ladder=False)
            if state in (_Wait.LATE, _Wait.FLOOD, _Wait.ASKED):
                survived = self._interrupt(reply, values)
        if state == _Wait.WHOLE:
            return
        if state == _Wait.CUT or (state == _Wait.DEAD and self._cut()):
            why = f"the bridge's private folder {self.folder} was removed or changed"
        if state in (_Wait.DEAD, _Wait.CUT):
            self.kill()
        kind = {_Wait.LATE: TimedOut, _Wait.FLOOD: Flooded, _Wait.ASKED: Interrupted}.get(state, Died)
        ended = kind(self._o.finish(), self._e.finish(), None if survived else self._process.returncode)
        _ = self.overflow  # belongs to this exchange, not to the next
        self._unfinished = False
        if isinstance(ended, Died):
            ended.why = why
            ended.unread = not why and self._unread()
            ended.never_read = ended.unread and self.number == 1
        raise ended

    def _full(self) -> NoReturn:
        """Nobody reads the requests, and somebody else writes some."""
        self.kill()
        ended = Died(self._o.finish(), self._e.finish(), self._process.returncode)
        ended.why = "the channel is full of what a script has written into it"
        raise ended

    def _pump(self, reply: bytearray, values: bool, end: float | None, *, ladder: bool = True) -> _Wait:
        """Move bytes until the reply is whole, bash is dead, or `end` has come; but while the `ladder` is climbed,
        also until output is too long, or somebody wants the call to end.
        """
        poll = select.poll()
        for fd in (self._r, self._o.fd, self._e.fd, *([self._end.fd] if self._end.fd >= 0 else [])):
            poll.register(fd, select.POLLIN)
        look = time.monotonic()
        while True:
            dead = self._end.ended()
            self._take_in(reply)
            if protocol.complete(reply, self.number, values):
                return _Wait.WHOLE
            if dead:
                return _Wait.DEAD
            if not ladder and (over := self._over()) is not None:
                return over
            now = time.monotonic()
            if now >= look:
                if self._cut():
                    return _Wait.CUT
                look = now + _LOOK
            if end is not None and now >= end:
                return _Wait.LATE
            wait = (look if end is None else min(look, end)) - now
            poll.poll(max(1.0, (wait if self._end.fd >= 0 else min(_TICK, wait)) * 1000))

    def _over(self) -> _Wait | None:
        stopping.look()
        if self._o.overflow or self._e.overflow:
            return _Wait.FLOOD
        return _Wait.ASKED if self._asked == self.number else None

    def _take_in(self, reply: bytearray) -> None:
        self._o.drain()
        self._e.drain()
        with contextlib.suppress(BlockingIOError):
            for _ in range(TURN):
                reply += os.read(self._r, CHUNK)
        protocol.drop_foreign(reply, self.number)

    def _unread(self) -> bool:
        """Whether the request still lies where it was put."""
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(self._q, 1))
        return False

    def _cut(self) -> bool:
        """Whether the channel is gone: then bash would wait for us, and we for it, for ever."""
        ends = {"q": self._q, "r": self._r, "o": self._o.fd, "e": self._e.fd}
        try:
            same = (os.path.samestat(os.stat(f"{self.folder}/{name}"), os.fstat(fd)) for name, fd in ends.items())
            return not all(same)
        except OSError:
            return True

    def _interrupt(self, reply: bytearray, values: bool) -> bool:
        """The kill ladder. INT ends the hook and spares the shell (True), as does the end of a child that bash
        waits for; so those go first: INT for all, TERM and KILL for the children, TERM for bash, KILL (False).
        """
        survived = False
        try:
            for step, of_bash in (
                (signal.SIGINT, True),
                (signal.SIGTERM, False),
                (signal.SIGKILL, False),
                (signal.SIGTERM, True),
            ):
                pids = [*members(self.pid, without=self.jobs)]
                if not pids and not of_bash:
                    continue
                if of_bash:  # first: once its child has ended, it would go on with the hook until it hears of it
                    pids.insert(0, self.pid)
                send(step, pids)
                send(signal.SIGCONT, pids)
                state = self._pump(reply, values, time.monotonic() + self._grace)
                if state == _Wait.WHOLE:
                    # An answer to INT that comes behind TERM for bash is its last: that is still on its way.
                    survived = not (of_bash and step == signal.SIGTERM)
                    break
                if state in (_Wait.DEAD, _Wait.CUT):
                    break
        finally:
            if not survived:
                self.kill()
        return survived

    def kill(self) -> int:
        """End bash and everything in its session at once; reap it; return its status."""
        if self._alive:
            self._alive = False
            end_session(self._process)
        return self._process.returncode

    def close(self) -> None:
        """End bash in good order (its EXIT trap runs), then whatever is left of its session; free everything."""
        if self._alive:
            with contextlib.suppress(OSError):
                os.write(self._q, protocol.MARK + b"exec 1>/dev/null 2>&1\n\\builtin exit 0\0")
                self._end.wait(self._grace)
            self.kill()
        self._dispose()

    def disown(self) -> None:
        """In a forked child: everything here is the parent's; let go of it without touching it."""
        self._alive = False
        if self._dispose.detach() is not None:
            self._process.returncode = 0  # not ours to wait for
            os.close(self._q)
            os.close(self._r)
            for end in (self._o, self._e, self._end):
                end.close()


def _remove(folder: str) -> None:
    """Also where there is no descriptor to list it with: then there was none to put more than `q` into it."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.unlink(f"{folder}/q")
        os.rmdir(folder)


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    try:
        yield
    except ShellStartFailed:
        raise
    except OSError as error:
        what = f"no bash can be started now: {error}; close other shells, or raise the limit (ulimit -n)"
        raise ShellStartFailed(what) from error
