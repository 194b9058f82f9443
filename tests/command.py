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
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
MAIN = [sys.executable, "-c", "import sys; from bridge.cli import main; sys.exit(main())"]
PATIENCE = 100.0
_DECIDED_AT_THE_START = ("LC_", "LANG", "PYTHON", "MALLOC_", "LD_")
_PROGRAMS = ("bridge.__main__", "bridge.demo.standin", "bridge.verify.plugin", "bridge.verify.gherkin")


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
    if "RALPH_BRIDGE_COLD" in os.environ or _at_the_start(env) != _at_the_start(os.environ):
        words = [*MAIN, *arguments]
        return subprocess.run(
            words, cwd=cwd, env=env, input=stdin, capture_output=True, timeout=PATIENCE, check=False
        )
    done = _forge().run([os.fsdecode(each) for each in arguments], os.path.abspath(cwd), dict(env), stdin)
    done.args = ["ralph-bridge", *arguments]
    return done


def _at_the_start(env: Mapping[str, str]) -> dict[str, str]:
    """What Python looks at before any of ours runs; what is empty counts as unset."""
    decided = {name: value for name, value in env.items() if value and name.startswith(_DECIDED_AT_THE_START)}
    return {name: value for name, value in decided.items() if name != "PYTHONPATH"}


class _Forge:
    """The process to fork from; it ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(PATIENCE)
        code = "from tests.command import serve; serve()"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,  # Python's streams have to be those of pipes, as in the command
                stderr=subprocess.PIPE,
                cwd=ROOT,
            )

    def run(
        self, arguments: list[str], cwd: str, env: dict[str, str], stdin: bytes
    ) -> subprocess.CompletedProcess[bytes]:
        pipes = [os.pipe() for _ in range(3)]
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
        asked = json.dumps([arguments, cwd, env]).encode()
        theirs = [theirs_in, theirs_out, theirs_err]
        socket.send_fds(self._socket, [b"%d\n" % len(asked)], theirs)
        self._socket.sendall(asked)
        for descriptor in theirs:
            os.close(descriptor)
        assert len(stdin) <= 65536, "more than a pipe holds"
        os.write(ours_in, stdin)
        os.close(ours_in)
        said = {ours_out: b"", ours_err: b""}
        _read_all(said)
        status = self._socket.recv(16)
        if not status:
            raise RuntimeError(self._process.communicate()[1].decode())
        return subprocess.CompletedProcess([], os.waitstatus_to_exitcode(int(status)), *said.values())

    def close(self) -> None:
        self._socket.close()
        self._process.communicate()


@cache
def _forge() -> _Forge:
    made = _Forge()
    atexit.register(made.close)
    return made


def _read_all(said: dict[int, bytes]) -> None:
    """Read each descriptor to its end, and close it."""
    with selectors.DefaultSelector() as waiting:
        for descriptor in said:
            waiting.register(descriptor, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(PATIENCE)
            assert ready, f"the command has not ended within {PATIENCE:g} s"
            for key, _ in ready:
                if data := os.read(key.fd, 65536):
                    said[key.fd] += data
                else:
                    waiting.unregister(key.fd)
                    os.close(key.fd)


def serve() -> None:
    """Fork a command for each request on stdin, until nobody asks any more."""
    import bridge
    from bridge.cli import main

    for module in pkgutil.walk_packages(bridge.__path__, "bridge."):
        if not module.name.startswith(_PROGRAMS):
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
    while True:
        try:
            head, descriptors, _, _ = socket.recv_fds(requests, 16, 3)
        except KeyboardInterrupt:  # meant for whoever runs the tests
            return False
        if not head:
            return False
        size, _, body = head.partition(b"\n")
        while len(body) < int(size):
            body += requests.recv(int(size) - len(body))
        pid = os.fork()
        if pid == 0:
            requests.close()
            _become(json.loads(body), descriptors)
            return True
        for descriptor in descriptors:
            os.close(descriptor)
        requests.sendall(b"%d" % os.waitpid(pid, 0)[1])


def _become(asked: tuple[list[str], str, dict[str, str]], descriptors: Sequence[int]) -> None:
    arguments, folder, environment = asked
    for wanted, descriptor in enumerate(descriptors):
        os.dup2(descriptor, wanted)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["ralph-bridge", *arguments]
