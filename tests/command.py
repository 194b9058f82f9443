"""The command: as a process from the ground up (`MAIN`), or forked from one that has imported its modules (`run`).

A forked one is a process like any other, with its own folder, environment, descriptors and exit status; only the
0.1 s for starting Python and importing is saved. What depends on the start itself (signals, closed streams, a
terminal, the locale) is tested with real starts; with RALPH_BRIDGE_COLD=1 in the environment all of them are.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import selectors
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
# From this checkout, also where another one is installed: a second work tree would test the first one's code.
_CODE = f"import sys; sys.path[0] = {str(ROOT)!r}; from bridge.cli import main; sys.exit(main())"
MAIN = [sys.executable, "-c", _CODE]
PATIENCE = 100.0
_DECIDED_AT_THE_START = ("LC_", "LANG", "PYTHON", "MALLOC_", "LD_")
_PROGRAMS = (
    "bridge.__main__",
    "bridge.loop.demo.standin",
    "bridge.verify.gherkin",
    "bridge.loop.setups.script.stand_in",
)


def run(
    arguments: Sequence[str | bytes],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[str]:
    """Run ``ralph-bridge`` to its end, and that of all who hold its output; as text, with ``\\n`` between lines."""
    done = run_bytes(arguments, cwd=cwd, env=env, stdin=stdin)
    out, err = (each.decode().replace("\r\n", "\n").replace("\r", "\n") for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def run_bytes(
    arguments: Sequence[str | bytes],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """As `run`, with the bytes that it prints."""
    with start(arguments, cwd=cwd, env=env, stdin=subprocess.PIPE, text=False) as process:
        try:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(["ralph-bridge", *arguments], process.returncode, out, err)


def start(
    arguments: Sequence[str | bytes],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: IO[Any] | int = subprocess.PIPE,
    stderr: IO[Any] | int = subprocess.PIPE,
    text: bool = True,
    start_new_session: bool = False,
) -> subprocess.Popen[Any]:
    """Start ``ralph-bridge``; the arguments are those of `subprocess.Popen`."""
    cold = "RALPH_BRIDGE_COLD" in os.environ or _at_the_start(env) != _at_the_start(os.environ)
    return (subprocess.Popen if cold or not hasattr(os, "pidfd_open") else _Forked)(
        [*MAIN, *arguments],
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        text=text,
        start_new_session=start_new_session,
    )


def _at_the_start(env: Mapping[str, str]) -> dict[str, str]:
    """What Python looks at before any of ours runs; what is empty counts as unset, and we are found anyway."""
    paths = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each not in ("", str(ROOT))]
    looked_at = {**env, "PYTHONPATH": os.pathsep.join(paths)}
    return {name: value for name, value in looked_at.items() if value and name.startswith(_DECIDED_AT_THE_START)}


class _Forked(subprocess.Popen[Any]):
    """A child of the forge, with the methods of one of ours: all that differs is who forks and who reaps it."""

    _status = -1

    def _execute_child(self, args: Any, *given: Any) -> None:
        """The parameters as `subprocess.Popen` gives them, by position."""
        cwd, env = given[4:6]
        pipes = given[9:15]
        descriptors = [pipes[0], pipes[3], pipes[5]]
        words = [os.fsdecode(each) for each in args[len(MAIN) :]]
        self.pid, self._status = _forge().start(
            words, os.path.abspath(cwd), dict(env), descriptors, bool(given[20])
        )
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._status, selectors.EVENT_READ)
            if not waiting.select(0 if wait_flags == os.WNOHANG else None):
                return 0, 0
        said = os.read(self._status, 16)
        os.close(self._status)
        if not said:
            raise RuntimeError("what forks commands has ended")
        return self.pid, int(said)

    def _internal_poll(self, _deadstate: int | None = None, **_: object) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        found: int | None = self.returncode
        return found


class _Forge:
    """The process to fork from; it ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(PATIENCE)
        self._lock = threading.Lock()
        code = "from tests.command import serve; serve()"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,  # Python's streams have to be those of pipes, as in the command
                stderr=subprocess.PIPE,
                cwd=ROOT,
            )

    def start(
        self, arguments: list[str], cwd: str, env: dict[str, str], descriptors: list[int], session: bool
    ) -> tuple[int, int]:
        """Fork a command; its process, and a descriptor from which its status can be read once it has ended."""
        status, theirs = os.pipe()
        asked = json.dumps([arguments, cwd, env, session]).encode()
        with self._lock:
            socket.send_fds(self._socket, [b"%d\n" % len(asked)], [*descriptors, theirs])
            os.close(theirs)
            self._socket.sendall(asked)
            pid = self._socket.recv(16)
        if not pid:
            raise RuntimeError(self._process.communicate()[1].decode())
        return int(pid), status

    def close(self) -> None:
        self._socket.close()
        self._process.communicate()


@cache
def _forge() -> _Forge:
    made = _Forge()
    atexit.register(made.close)
    return made


def serve() -> None:
    """Fork a command for each request on stdin, until nobody asks any more."""
    import bridge
    from bridge.cli import main

    for module in pkgutil.walk_packages(bridge.__path__, "bridge."):
        if not module.name.startswith(_PROGRAMS):
            with suppress(ModuleNotFoundError):  # tests/test_apart.py leaves rooms out
                import_module(module.name)
    gc.freeze()
    ended: list[int] = []
    atexit.register(_end_at_once, ended)  # the first, so that it is called last
    with socket.socket(fileno=os.dup(0)) as requests:
        if not _forked(requests):
            return
    try:
        main()
        ended.append(0)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            ended.append(error.code or 0)
        raise


def _end_at_once(ended: list[int]) -> None:
    """Without taking 800 modules to pieces, which takes longer than what most commands do."""
    if ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended[0])


def _forked(requests: socket.socket) -> bool:
    """Whether this process is to be the command; false when it is over."""
    at_work: dict[int, tuple[int, int]] = {}  # by what shows that it has ended: its process, and who wants to know
    with selectors.DefaultSelector() as waiting:
        waiting.register(requests, selectors.EVENT_READ)
        while True:
            try:
                ready = {key.fd for key, _ in waiting.select()}
                for ended in ready & at_work.keys():
                    waiting.unregister(ended)
                    _reap(ended, *at_work.pop(ended))
                if requests.fileno() not in ready:
                    continue
                head, descriptors, _, _ = socket.recv_fds(requests, 16, 4)
            except KeyboardInterrupt:  # meant for whoever runs the tests
                return False
            if not head:
                return False
            size, _, body = head.partition(b"\n")
            while len(body) < int(size):
                body += requests.recv(int(size) - len(body))
            *theirs, wants = descriptors
            if (pid := os.fork()) == 0:
                requests.close()
                for each in (wants, *at_work, *(wants for _, wants in at_work.values())):
                    os.close(each)
                _become(json.loads(body), theirs)
                return True
            for each in theirs:
                os.close(each)
            waiting.register(ended := os.pidfd_open(pid), selectors.EVENT_READ)
            at_work[ended] = pid, wants
            requests.sendall(b"%d" % pid)


def _reap(ended: int, pid: int, wants: int) -> None:
    """Tell the status of a command that has ended."""
    status = os.waitpid(pid, 0)[1]
    with suppress(BrokenPipeError):
        os.write(wants, b"%d" % status)
    os.close(wants)
    os.close(ended)


def _become(asked: tuple[list[str], str, dict[str, str], bool], descriptors: Sequence[int]) -> None:
    arguments, folder, environment, session = asked
    if session:
        os.setsid()
    for wanted, descriptor in enumerate(descriptors):
        os.dup2(descriptor, wanted)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["ralph-bridge", *arguments]
