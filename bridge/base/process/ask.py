"""A short run of a program to its end, such as git or ``CLI --version``: what came of it, never an exception."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import IO, TYPE_CHECKING

from bridge.base.process import ladder
from bridge.base.process.ladder import Rung, Watch
from bridge.base.process.secrets import without_secrets
from bridge.base.process.table import group_lives
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

NOT_STARTED = 127
TOO_LONG = 124
TOO_MUCH = 125

_LOOK = 0.01
_LOOK_AGAIN = 0.05
_SOON = 3.0
_RUNGS = (Rung(signal.SIGTERM, 2.0), Rung(signal.SIGKILL, 2.0))
_KILL = (Rung(signal.SIGKILL, 2.0),)


def start(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: bytes | int | None,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    before_exec: Callable[[], None] | None = None,
    close_fds: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, without our secrets in its environment.

    It reads `stdin` from a file, not from a pipe that somebody would have to feed while it runs; or nothing. A
    number is a descriptor, which it gets as it is.
    """
    words = stdin if isinstance(stdin, bytes) else b""
    with tempfile.TemporaryFile() if words else open(os.devnull, "rb") as source:
        if words:
            source.write(words)
            source.seek(0)
        return subprocess.Popen(
            [outside(argv[0], env, cwd), *argv[1:]],
            cwd=cwd,
            env=without_secrets(env),
            stdin=stdin if isinstance(stdin, int) else source,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=before_exec,
            close_fds=close_fds,
        )


def outside(name: str, env: Mapping[str, str], folder: str | os.PathLike[str]) -> str:
    """The path of a program that has a name alone: from no folder of PATH in `folder`, a project mostly, or that
    counts from where one stands.

    Raises:
        FileNotFoundError: there is none.
    """
    if "/" in name:
        return name
    top = os.path.realpath(folder).rstrip("/")
    folders = [each for each in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
    if top and not f"{os.path.realpath(env.get('HOME') or '/')}/".startswith(f"{top}/"):
        folders = [each for each in folders if not f"{os.path.realpath(each)}/".startswith(f"{top}/")]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return found


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended.

    Attributes:
        status: exit status, minus the number of the signal that ended it; :data:`NOT_STARTED` and :data:`TOO_LONG`
            as shells have them; :data:`TOO_MUCH`.
        out: what it printed.
        err: what it wrote to stderr; or why there is nothing.
    """

    status: int
    out: bytes = b""
    err: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def text(self) -> str:
        """What it printed, without the newlines at its end."""
        return os.fsdecode(self.out).rstrip("\n")


_ending: ContextVar[Callable[[], bool]] = ContextVar("ending", default=lambda: False)


@contextmanager
def ended_when(asked: Callable[[], bool]) -> Iterator[None]:
    """In this thread, have :func:`ask` end what it runs as soon as `asked` says so, as its host ends, too."""
    token = _ending.set(asked)
    try:
        yield
    finally:
        _ending.reset(token)


def ask(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: bytes = b"",
    patience: float,
    most: int | None = None,
    leave: bool = False,
    linger: Callable[[], bool] = lambda: False,
    look: Callable[[], None] = lambda: None,
) -> Ran:
    """Run a program in a session of its own, and give what came of it.

    What it prints goes to files: a child that keeps an output open delays nothing.

    Args:
        argv: the program and its arguments.
        cwd: the folder to run it in.
        env: its environment, whole.
        stdin: what it reads.
        patience: seconds that it may take, with all that it starts; then it gets TERM (at which git takes away its
            index.lock, in the way of all that follows), then KILL.
        most: bytes that it may print, on stdout and stderr together; one that prints more is ended.
        leave: what it has left in its process group goes on; else it is ended.
        linger: asked again and again, how long what is left may go on before it is ended.
        look: called when it has taken some seconds; the program is ended when this raises.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        full, ending = partial(_hold_more, (out, err), most), _ending.get()
        try:
            process = start(argv, cwd=cwd, env=env, stdin=stdin, stdout=out, stderr=err)
        except (OSError, ValueError) as error:
            return Ran(NOT_STARTED, b"", str(error))
        try:
            status = _wait(process, min(patience, _SOON), lambda: full() or ending())
            if status is None and patience > _SOON:
                look()
                status = _wait(process, patience - _SOON, lambda: full() or ending())
        except BaseException:
            _end(process, _RUNGS)
            raise
        if status is None:
            _end(process, _RUNGS)
        elif not leave and group_lives(process.pid):
            while linger() and group_lives(process.pid):
                time.sleep(_LOOK)
            ladder.end([process.pid], _KILL)
        if full():
            return Ran(TOO_MUCH, b"", f"{' '.join(argv[:2])} printed more than {most:,} bytes")
        for file in (out, err):
            file.seek(0)
        if status is None:
            ended = -signal.SIGTERM, b"", "it was ended, as its host ends"
            late = TOO_LONG, out.read(), f"{' '.join(argv[:2])} took longer than {patience:g} s"
            return Ran(*(ended if ending() else late))
        return Ran(status, out.read(), err.read().decode("utf-8", "replace"))


def _hold_more(files: Sequence[IO[bytes]], most: int | None) -> bool:
    return most is not None and sum(os.fstat(each.fileno()).st_size for each in files) > most


def _wait(process: subprocess.Popen[bytes], patience: float, over: Callable[[], bool]) -> int | None:
    """Wait so many seconds for its end, or until it is to be ended."""
    deadline = time.monotonic() + patience
    # Popen.wait with a time sleeps longer and longer: a git of 3 ms would take 4 to 8.
    with closing(Watch(process.pid, process)) as watch:
        while not over():
            left = max(deadline - time.monotonic(), 0)
            if watch.wait(min(left, _LOOK_AGAIN)):
                return process.wait()
            if not left:
                break
    return None


def _end(process: subprocess.Popen[bytes], rungs: Sequence[Rung]) -> None:
    ladder.end([process.pid], rungs, lambda: process.poll() is None or group_lives(process.pid))
    process.wait()
