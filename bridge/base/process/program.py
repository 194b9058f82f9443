"""A program whose output is read line by line, and whose whole process group has ended when we let go of it.

Its stdout is a pipe that is read in the calling thread; its stderr is a file. The programs in question print
megabytes on one line, leave children behind that hold stdout open, and stop reading signals while they are blocked
writing: so the end is the program's own end and not end-of-file, and the ladder reads on while it climbs.
"""

from __future__ import annotations

import os
import select
import signal
import time
import warnings
from typing import TYPE_CHECKING

from bridge.base.files import descriptor
from bridge.base.process import argv as arguments
from bridge.base.process import guardian, ladder, stopping
from bridge.base.process.ask import TOO_LONG, start
from bridge.base.process.ladder import Rung
from bridge.base.process.table import group_lives
from bridge.base.records import dataclass
from bridge.errors import ProgramNotStarted, ProgramTimeout

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

_SLICE = 0.05
_READ = 65_536
_MOST_A_PIPE_HOLDS = 1024 * 1024
_LAST_WORDS = 16 * 1024 * 1024
_LONGEST_LINE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Graces:
    """Seconds that a process group may take to obey each signal; `leftover`: what is left behind: TERM, KILL.

    `answered`: how long a CLI may stay once it has answered; 0: any time.

    KILL is obeyed at once, but for a process that the kernel keeps waiting for a disk.
    """

    interrupt: float = 2.0
    terminate: float = 2.0
    kill: float = 10.0
    leftover: float = 0.5
    answered: float = 5.0


class Program:
    """A running program, as a context manager: when the block ends, so has its whole process group.

    When this process is killed with -9, the guardian of the shells ends the group, from the moment on that
    the program is executed.

    Args:
        argv: program and arguments; bytes that are no text as surrogate escapes.
        cwd: folder to run it in.
        env: its environment, whole.
        stderr_path: file that gets its stderr, replaced; None: it goes where stdout goes.
        timeout: seconds that it may run, or None.
        graces: the kill ladder's patience.
        stdin: what it reads on stdin; a number: a descriptor, which it gets as it is; None: nothing. An open,
            silent stdin hangs most CLIs.
        inherited: called in the child before it is executed.
        open_beside: descriptors that this opens stay open in it, and others of ours that aren't closed on exec.

    Raises:
        ProgramNotFound: there is no such program.
        ProgramNotStarted: it can't be executed.
        ArgumentTooLong: the system would refuse the command line.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str],
        stderr_path: str | os.PathLike[str] | None,
        timeout: float | None = None,
        graces: Graces | type[Graces] = Graces,
        stdin: bytes | int | None = None,
        inherited: Callable[[], None] | None = None,
        open_beside: bool = False,
    ) -> None:
        self.argv = arguments.resolve(argv, cwd=cwd, env=env)
        arguments.check_sizes(self.argv, env)
        self.status: int | None = None
        """Exit status once it has ended; minus the signal's number when a signal ended it."""
        self._graces = graces
        self.timeout = timeout
        """Seconds that it may run, or None."""
        self.out_of_time = False
        """It has run for so long, and what it prints now are its last words."""
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._pending: list[bytes] = []
        self._length = 0
        self._last_words = b""
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._poller = select.poll()
        self._poller.register(self._reader, select.POLLIN)
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        try:
            with ladder.signals_held():
                self._process = _start(self.argv, cwd, env, stderr_path, writer, stdin, inherited, open_beside)
                self.pid = self._process.pid
                guardian.watch(self.pid)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(writer)

    def lines(self, every: float | None = None) -> Generator[bytes, None, None]:
        """Yield stdout line by line, each with its newline (the last perhaps without), byte for byte.

        A line of more than 64 MiB comes in several pieces, of which only the last has a newline.

        Ends when the program has ended and its output is read; a child of it that still holds stdout
        delays nothing.

        Args:
            every: also yield an empty line each time that so many seconds have passed.

        Raises:
            ProgramTimeout: it ran for too long. The group was ended and its last output was yielded.
            StopRequested: somebody wants this thread's work to end.
        """
        after_exit, closed, pause = 0, False, 0.0005
        tick = float("inf") if every is None else time.monotonic() + every
        while self._time_left() > 0 and after_exit < _MOST_A_PIPE_HOLDS:
            stopping.look()
            alive = self._alive()  # before the read: what it wrote before it ended is then all there
            if alive and closed:
                time.sleep(pause)
                pause = min(pause * 2, _SLICE)
            elif alive:
                self._poller.poll(min(_SLICE, self._time_left()) * 1000)
            data = None if closed else self._read()
            closed = closed or data == b""
            if data:
                after_exit += 0 if alive else len(data)
                yield from self._split(data)
            elif not alive:
                break
            if every is not None and alive and (now := time.monotonic()) >= tick:
                tick = now + every
                yield b""
        yield from self._split(self._last_words)
        self.out_of_time = self._alive()
        if self.out_of_time:
            yield from self._split(self._end_group())
        yield from self._rest()
        if self.out_of_time:
            raise ProgramTimeout(f"{self.argv[0]} ran longer than {self.timeout:g} s and was ended")

    def printed(self, most: int) -> tuple[bytes, int]:
        """Wait for its end; return the first `most` bytes of its stdout, and its status: TOO_LONG past its time."""
        kept = bytearray()
        try:
            for line in self.lines():
                kept += line[: most - len(kept)]
        except ProgramTimeout:
            return bytes(kept), TOO_LONG
        return bytes(kept), 1 if self.status is None else self.status

    def _time_left(self) -> float:
        return float("inf") if self._deadline is None else self._deadline - time.monotonic()

    def _read(self) -> bytes | None:
        """Return what is there, b"" at the end of the stream, None when nothing is there now."""
        try:
            return os.read(self._reader, _READ)
        except BlockingIOError:
            return None

    def _split(self, data: bytes) -> Iterator[bytes]:
        *ends, rest = data.split(b"\n")
        for end in ends:
            # A line of megabytes comes in hundreds of pieces: searched piece by piece, joined once.
            self._pending += (end, b"\n")
            yield from self._rest()
        if rest:
            self._pending.append(rest)
            self._length += len(rest)
            if self._length >= _LONGEST_LINE:
                yield from self._rest()

    def _rest(self) -> Iterator[bytes]:
        if self._pending:
            line = b"".join(self._pending)
            self._pending.clear()
            self._length = 0
            yield line

    def _alive(self) -> bool:
        if self.status is None and self._process is not None:
            self.status = self._process.poll()
        return self.status is None

    def end(self, *, interrupt: bool = True) -> None:
        """End the whole group before its time; what it still wrote comes out of :meth:`lines`.

        Args:
            interrupt: begin with INT; else with TERM, which no CLI takes for a wish to say more.
        """
        if self._alive() or group_lives(self.pid):
            self._last_words += self._end_group(interrupt=interrupt)

    def unfinished(self) -> bytes:
        """The line that is being printed, as far as it has come."""
        return b"".join(self._pending)

    def taken(self) -> None:
        """Forget what :meth:`unfinished` gave: somebody has made it a line."""
        self._pending.clear()
        self._length = 0

    def _end_group(self, *, gently: bool = True, interrupt: bool = True) -> bytes:
        """End the whole group and return what it still wrote."""
        graces = self._graces
        rungs = [Rung(signal.SIGTERM, graces.leftover), Rung(signal.SIGKILL, graces.kill)]
        if gently:
            rungs[:1] = [Rung(signal.SIGINT, graces.interrupt)] if interrupt else []
            rungs.insert(-1, Rung(signal.SIGTERM, graces.terminate))
        written: list[bytes] = []
        kept = 0

        def lives() -> bool:
            nonlocal kept
            # Keep reading: a program that is blocked writing its last words can't obey.
            if data := self._read():
                kept += len(data)
                if kept <= _LAST_WORDS:
                    written.append(data)
            return self._alive() or group_lives(self.pid)

        ladder.end([self.pid], rungs, lives)
        while kept <= _LAST_WORDS and (data := self._read()):
            kept += len(data)
            written.append(data)
        return b"".join(written)

    def close(self) -> None:
        """End what is left of the process group, reap it and let go of every descriptor."""
        if self._process is None:
            os.close(self._reader)
            return
        try:
            if self._alive():
                self._end_group()
            elif group_lives(self.pid):
                self._end_group(gently=False)
        finally:
            os.close(self._reader)
            if self._alive():  # unkillable (a process in the kernel's hands); never wait for ever
                raise ProgramTimeout(f"{self.argv[0]} (process {self.pid}) does not end, even after KILL")
            guardian.release(self.pid)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.close()
        except ProgramTimeout:
            # What ends the block counts more: hidden by this one, a signal would not end a loop.
            if error is None:
                raise


def _appending(path: str, flags: int) -> int:
    return os.open(path, flags) if path == os.devnull else descriptor(path, flags | os.O_APPEND)


def _start(
    argv: list[str],
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stderr_path: str | os.PathLike[str] | None,
    writer: int,
    stdin: bytes | int | None,
    inherited: Callable[[], None] | None,
    open_beside: bool,
) -> subprocess.Popen[bytes]:
    # Appended to: whoever cuts it short while the program runs has it go on behind that.
    with open(stderr_path or os.devnull, "wb", opener=_appending) as file, warnings.catch_warnings():
        stderr = file if stderr_path is not None else writer
        # Python 3.12 warns of a fork in Python when threads exist. The child only writes to a pipe and executes;
        # there is nothing that the caller could do about it.
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        try:
            with guardian.announcing() as announce:

                def before() -> None:
                    announce()
                    if inherited is not None:
                        inherited()

                return start(
                    argv, cwd=cwd, env=env, stdin=stdin, stdout=writer, stderr=stderr, before_exec=before,
                    close_fds=not open_beside,
                )  # fmt: skip
        except OSError as error:
            raise ProgramNotStarted(f"{argv[0]} could not be started: {error.strerror or error}") from None
