"""The calls of a script as they come: a socket in a private folder, a thread for each stand-in at work."""

from __future__ import annotations

import array
import os
import shlex
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
from contextlib import suppress
from fcntl import F_DUPFD_CLOEXEC, fcntl
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process import table
from bridge.errors import BridgeError
from bridge.loop.setups.script.calls import form_of, program_of
from bridge.loop.setups.script.past_path import OURS, REAL, STARTERS, stand_in_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bridge.loop.setups.script.calls import Form

_MOST_BYTES = 256 * 1024 * 1024
_LONGEST_SHEBANG = 120
_SOCKET_LIMIT = 90
_MOST_DESCRIPTORS = 64
_HIGH = 256  # above what a script hands down
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


_GIT = """\
#!/bin/sh
# Pushes what is to be pushed when its user says so.
value=
for word; do
    case $value$word in
        -C | -c | --git-dir | --work-tree | --namespace) value=of: ;;
        of:* | -*) value= ;;
        push) echo "ralph-bridge: nothing is pushed (--no-push)" >&2; exit 0 ;;
        *) break ;;
    esac
done
exec {git} "$@"
"""


class Request(NamedTuple):
    """What a stand-in sends.

    Attributes:
        argv: the words of the call, the path of the stand-in first.
        cwd: where it was started; '': a folder that is gone.
        env: its environment.
        fds: copies of its stdin, stdout and stderr; None: it has none.
        further: copies of its other descriptors, by their numbers there.
        umask, nice: its own. ignored: the signals that it ignores.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    fds: tuple[int | None, int | None, int | None]
    further: Mapping[int, int] = {}
    umask: int = 0o022
    nice: int = 0
    ignored: tuple[int, ...] = ()

    def close(self) -> None:
        """Let go of its descriptors."""
        for fd in (*self.fds, *self.further.values()):
            if fd is not None:
                os.close(fd)

    def for_a_box(self) -> Request:
        """Give the same without what would lead out of a box: of its further descriptors, pipes stay. By any other
        the file that it leads to can be opened anew, to be written to, and from a folder all below it.
        """
        pipes = {number: fd for number, fd in self.further.items() if stat.S_ISFIFO(os.fstat(fd).st_mode)}
        return self._replace(further=pipes)

    def script_environment(self) -> dict[str, str]:
        """Give what another program of the script's would have in its place: the stand-ins still come first."""
        return {name: value for name, value in self.env.items() if name not in OURS}

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Give what the CLI would have without us: what a script, or `own`, gives it, and no stand-ins.

        Args:
            own: the environment in which the script was started.
        """
        bin_ = os.path.dirname(self.argv[0])
        given = self.script_environment()
        if "PATH" in given:
            given["PATH"] = without(given["PATH"], bin_)
        if given.get("BASH_ENV", "").startswith(f"{os.path.dirname(bin_)}/"):  # for the script alone
            del given["BASH_ENV"]
            given |= {name: own[name] for name in ("BASH_ENV",) if name in own}
        return given

    def inherited(self) -> None:
        """Make a child that is about to be executed inherit what the stand-in has inherited."""
        with suppress(OSError):
            kept = {number: fcntl(fd, F_DUPFD_CLOEXEC, _HIGH) for number, fd in self.further.items()}
            for number, fd in kept.items():
                os.dup2(fd, number)
        os.umask(self.umask)
        with suppress(OSError):
            os.nice(self.nice - os.nice(0))
        for each in self.ignored:
            signal.signal(each, signal.SIG_IGN)


class Call:
    """A call that is a turn, from when it comes until its stand-in has its status.

    Attributes:
        request: what the script asks. form: how that is read. program: the path of the real one.
        number: which of the run, from 1.
    """

    def __init__(self, connection: socket.socket, request: Request, form: Form, program: str, number: int) -> None:
        self.request, self.form, self.program, self.number = request, form, program, number
        self._connection = connection
        self._signals: list[int] = []
        self._lock = threading.Lock()
        self._closed = False
        self.place: int | None = None
        """Where its stdin stood before the first attempt; None: it can't be gone back in, or isn't known yet."""
        self.stdin: bytes | None = None
        """What was read of it, where it can't."""
        self.gone = False
        """Nobody waits for it any more: its stand-in was killed."""
        self.fed = bytearray()
        """What was read of a stdin that is this call's alone."""
        self._own_stdin: bool | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.program, *self.request.argv[1:])

    @property
    def name(self) -> str:
        return os.path.basename(self.program)

    @property
    def has_own_stdin(self) -> bool:
        """Whether its stdin is a pipe that only its CLI reads from, as in ``git diff | claude -p "Review"``."""
        if self._own_stdin is None:
            self._own_stdin = _is_own(self.request.fds[0], _peer(self._connection))
        return self._own_stdin

    def heard(self, numbers: bytes) -> None:
        with self._lock:
            self._signals += numbers

    def signals(self) -> list[int]:
        """Give the signals that the stand-in has got since this was asked last."""
        with self._lock:
            came, self._signals = self._signals, []
        return came

    def end(self, status: int) -> None:
        """Let go of its descriptors, then tell it how the CLI has ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.request.close()
        with suppress(OSError):
            self._connection.sendall(b"s %d\n" % status)
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


class Server:
    """Takes the calls of a script, while the block runs.

    Args:
        env: the environment of the script, in whose PATH the CLIs are looked for.
        came: called in a thread of its own with each call that is a turn.
        paths: of CLIs that the script calls by these, or that it is to find though they aren't there.
        left: called when a stand-in has left.
        pushes: a `git push` of the script's pushes.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        came: Callable[[Call], None],
        paths: Sequence[str] = (),
        left: Callable[[], None] = lambda: None,
        *,
        pushes: bool = True,
    ) -> None:
        self._env, self._pushes = env, pushes
        self._came, self._left = came, left
        self._named = {os.path.basename(each): each for each in paths}
        self.names: list[str] = []
        """Of the programs that are stood in for."""
        self._seen: dict[str, str] = {}
        """Where they were when they were looked for last."""
        self._count = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening: socket.socket | None = None
        """Only from `__enter__` on: a loop that is refused before it starts has nothing to close."""
        self.folder = Path()

    def __enter__(self) -> Server:
        """Make the folder, with a stand-in for each CLI of this machine.

        Raises:
            BridgeError: it can't be made.
        """
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="ralph-bridge-", dir=_short_folder()))
            self._listening = listening = socket.socket(socket.AF_UNIX)
            try:
                listening.bind(str(self.folder / "host"))
                listening.listen(128)
                self._make_stand_ins()
            except BaseException:
                self.__exit__()
                raise
        except OSError as error:
            raise BridgeError(f"no stand-ins for the CLIs can be made: {error}") from None
        threading.Thread(target=self._accept, args=(listening,), name="calls", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._listening is None:
            return
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            left = [*self._open]
        for connection in left:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def bin(self) -> str:
        """The folder with the stand-ins, for the front of PATH."""
        return str(self.folder / "bin")

    def keep(self, name: str, text: str) -> str:
        """Put a file beside the socket, and give its path."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def at_work(self) -> bool:
        """Whether a stand-in waits for something."""
        with self._lock:
            return bool(self._open)

    def real(self, name: str, env: Mapping[str, str]) -> str | None:
        """The program that a call means without the stand-ins; None: there is none."""
        found = shutil.which(name, path=without(env.get("PATH", os.defpath), self.bin))
        if real := env.get(REAL) or found or self._named.get(name):
            self._seen[name] = real
        return real

    def look_again(self, call: Call) -> None:
        """Find the program of a call that is to be made again: it may have been away, and be elsewhere now."""
        name = os.path.basename(call.request.argv[0])
        call.program = self.real(name, call.request.env) or call.program

    # -- the stand-ins -------------------------------------------------------------------------------

    def _make_stand_ins(self) -> None:
        os.mkdir(self.bin)
        text = Path(__file__).with_name("stand_in.py").read_text(encoding="utf-8")
        kept = self.folder / "stand-in"
        kept.write_text(_head() + text, encoding="utf-8")
        kept.chmod(0o700)
        self.names = [name for name in stand_in_names() if self.real(name, self._env) is not None]
        for name in self.names:
            os.link(kept, self.folder / "bin" / name)
        if not self._pushes and (git := shutil.which("git", path=self._env.get("PATH"))) is not None:
            own = self.folder / "bin" / "git"
            own.write_text(_GIT.format(git=shlex.quote(git)), encoding="utf-8")
            own.chmod(0o700)

    # -- connections ---------------------------------------------------------------------------------

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="call", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        call = None
        try:
            if (request := _received(connection)) is None:
                return
            call = self._taken(connection, request)
            if call is None:
                return
            self._came(call)
            while data := connection.recv(64):
                call.heard(data)
        except OSError:
            pass
        finally:
            if call is not None:
                call.gone = True
            with self._lock:
                self._open.discard(connection)
            connection.close()
            self._left()

    def _taken(self, connection: socket.socket, request: Request) -> Call | None:
        """Make it a call, or have the stand-in become the real program."""
        name = os.path.basename(request.argv[0])
        program = self.real(name, request.env)
        stdout = request.fds[1]
        form = form_of((name, *request.argv[1:]), terminal=stdout is not None and os.isatty(stdout))
        if form is not None:  # one that is away fails as a turn
            program = program or self._seen.get(name)
        if form is None or program is None:
            request.close()
            if program is None:
                connection.sendall(b"s 127\n")
            else:
                connection.sendall(b"x " + b"\0".join(map(os.fsencode, (program, *self._changes(request)))) + b"\n")
            return None
        with self._lock:
            self._count += 1
            return Call(connection, request, form, program, self._count)

    def _changes(self, request: Request) -> Iterator[str]:
        """The variables that another program in the place of a stand-in is to have otherwise, or not at all."""
        is_cli = program_of(request.argv)[0] is not None  # what else `npx` runs may call one
        given = request.environment(self._env) if is_cli else request.script_environment()
        for name in request.env.keys() | given.keys():
            if request.env.get(name) != given.get(name):
                yield f"{name}={given[name]}" if name in given else name


def _peer(connection: socket.socket) -> int:
    """The process at the other end; 0: this system doesn't tell."""
    with suppress(OSError, AttributeError):
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(data[:4], sys.byteorder, signed=True)
    return 0


def _is_own(fd: int | None, pid: int) -> bool:
    """Whether a descriptor is a pipe that no process around a stand-in has, but such as only start others."""
    if fd is None or not pid or not stat.S_ISFIFO(os.fstat(fd).st_mode):
        return False
    while (pid := table.parent_of(pid)) > 1 and pid != os.getpid():
        program = os.path.basename(table.command_of(pid).partition(" ")[0])
        if program not in STARTERS and table.has_open(pid, f"/dev/fd/{fd}"):
            return False
    return pid == os.getpid()


def without(path: str, folder: str) -> str:
    """PATH without a folder."""
    return os.pathsep.join(each for each in path.split(os.pathsep) if each != folder)


def _head() -> str:
    """The first line: the interpreter as it is, nothing of the environment's or the site's in it."""
    python = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    if len(python) <= _LONGEST_SHEBANG and not any(each.isspace() for each in python):
        return f"#!{python} -IS\n"
    quoted = python.replace("'", "'\"'\"'")
    return f"#!/bin/sh\n'''exec' '{quoted}' -IS \"$0\" \"$@\"\n' '''\n"


def _short_folder() -> str | None:
    """A folder for the socket, whose path has to be short; None: the usual one."""
    return "/tmp" if len(tempfile.gettempdir()) > _SOCKET_LIMIT - 30 else None  # noqa: S108


def _received(connection: socket.socket) -> Request | None:
    """Read what a stand-in sends; None: it has ended meanwhile."""
    fds = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(_MOST_DESCRIPTORS * fds.itemsize), _CLOEXEC)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    try:
        head += _exactly(connection, 8 - len(head))
        data = _exactly(connection, int.from_bytes(head, "big"))
    except (OSError, EOFError):
        for fd in fds:
            os.close(fd)
        return None
    opened, modes, ignored, cwd, count, *rest = data.split(b"\0")[:-1]
    words, named = rest[: int(count)], rest[int(count) :]
    pairs = (each.partition(b"=") for each in named)
    given = dict(zip(map(int, opened.split()), fds, strict=False))
    umask, nice = map(int, modes.split())
    return Request(
        argv=tuple(map(os.fsdecode, words)),
        cwd=os.fsdecode(cwd),
        env={os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs},
        fds=(given.get(0), given.get(1), given.get(2)),
        further={number: fd for number, fd in given.items() if number > 2},
        umask=umask,
        nice=nice,
        ignored=tuple(map(int, ignored.split())),
    )


def _exactly(connection: socket.socket, size: int) -> bytes:
    if size > _MOST_BYTES:
        raise EOFError
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(1 << 20, size - len(data)))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
