"""The command in processes that are forked from one in which its modules are imported already.

Each is a process like any other, with its own folder, environment, descriptors and exit status; only the 0.1 s for
starting Python and importing is saved. What depends on the start itself (arguments that are bytes, stdin, signals)
is tested with real starts.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
WARM = [f"bridge.{name}" for name in ("cli.run", "cli.adopt", "cli.ralph_loop", "setups.bmalph", "agent")]
WARM += [f"bridge.{name}" for name in ("setups.ralph_loop.opening", "stream.filters", "contract.reading")]


class Warm:
    """The process to fork from; it ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(100)
        with theirs:
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            self._process = subprocess.Popen([sys.executable, __file__], stdin=theirs.fileno(), env=environment)

    def run(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run ``ralph-bridge`` with nothing to read."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            asked = json.dumps([list(arguments), os.fspath(cwd), dict(env)]).encode()
            socket.send_fds(self._socket, [b"%d\n" % len(asked)], [out.fileno(), err.fileno()])
            self._socket.sendall(asked)
            status = int(self._socket.recv(16))
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), *said)

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()


def _serve(requests: socket.socket) -> None:
    """In the parent for ever; returns in each child, which is the command then."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(requests, 16, 2)
        if not head:
            os._exit(0)
        size, _, body = head.partition(b"\n")
        while len(body) < int(size):
            body += requests.recv(int(size) - len(body))
        pid = os.fork()
        if pid == 0:
            requests.close()
            arguments, folder, environment = json.loads(body)
            for descriptor, wanted in zip((os.open(os.devnull, os.O_RDONLY), *descriptors), range(3), strict=True):
                os.dup2(descriptor, wanted)
                os.close(descriptor)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = ["ralph-bridge", *arguments]
            return
        for descriptor in descriptors:
            os.close(descriptor)
        requests.sendall(b"%d" % os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    for name in WARM:
        import_module(name)
    with socket.socket(fileno=os.dup(0)) as channel:
        _serve(channel)
    from bridge.cli import main

    main()
