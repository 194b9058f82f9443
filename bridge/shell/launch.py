"""How a job is started: what bash opens for it, the subshells, and what is left when one of that fails."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from bridge.base.process import guardian
from bridge.base.process.table import members
from bridge.shell import protocol
from bridge.shell.environment import host_has
from bridge.shell.job_resources import JobDescriptors, JobProcesses
from bridge.shell.jobs import Job
from bridge.shell.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.errors import HookError
    from bridge.shell.coprocess import Coprocess
    from bridge.shell.jobs import Errors, Input, JobSpec
    from bridge.shell.sources import Source


class NotStarted(Exception):
    stdout = b""

    def __init__(self, stderr: bytes) -> None:
        super().__init__(stderr)
        self.stderr = stderr


def start(
    order: JobSpec, process: Coprocess, execute: Callable[[str], bytes], orphaned: Callable[[], HookError]
) -> Job:
    """What `Shell.start` does; its lock is held and bash is alive.

    execute: runs code in bash; what that printed on stderr.
    orphaned: makes the error of a job whose bash has died.

    Raises:
        NotStarted: see there.
    """
    folder = tempfile.mkdtemp(prefix="job-", dir=process.folder)
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        descriptors = JobDescriptors(_reader(f"{folder}/o"))
        undo.callback(descriptors.close)
        older = frozenset(members(process.pid))
        attempt = functools.partial(_attempt, order, process, execute, folder, descriptors)
        group, errors_to, stderr = attempt(process.streams)
        if not group and process.streams:  # the script may have closed the copies of the host's own streams
            group, errors_to, stderr = attempt({})
        if not group:
            raise NotStarted(stderr)
        of_job = JobProcesses(process, folder, group, older, {})
        process.jobs.add(group)
        guardian.watch(group, folder)
        undo.pop_all()
    return Job(order, of_job, descriptors, errors_to=errors_to, orphaned=orphaned)


def _attempt(
    order: JobSpec,
    process: Coprocess,
    execute: Callable[[str], bytes],
    folder: str,
    descriptors: JobDescriptors,
    streams: Mapping[int, int],
) -> tuple[int, int, bytes]:
    """The job's process group (0: not started), what its stderr goes to (-1: nothing), bash's own stderr."""
    descriptors.close_source()
    descriptors.let_go("stderr")
    read_from, descriptors.source = _input(order.stdin, streams, folder)
    write_to, errors_to = _errors(order.stderr, streams, folder, descriptors)
    spare = max((*process.streams.values(), 199)) + 1
    code = protocol.job(
        order.hook,
        order.arguments,
        folder=folder,
        redirections=f"0<{read_from} 1>{protocol.quote(folder + '/o')} {spare}>{write_to}",
        stderr=spare,
        closed=[*process.streams.values(), spare],
    )
    with contextlib.ExitStack() as undo:
        if descriptors.source is not None:
            # bash's opening end would wait for the other one; and an end that reads as well hears of no EPIPE.
            both = os.open(f"{folder}/i", os.O_RDWR | os.O_NONBLOCK)
            undo.callback(os.close, both)
        stderr = execute(code)
        try:
            with open(f"{folder}/pid", encoding="ascii") as file:
                group = int(file.read())
        except (OSError, ValueError):
            return 0, errors_to, stderr
        if descriptors.source is not None:
            descriptors.stdin = os.open(f"{folder}/i", os.O_WRONLY | os.O_NONBLOCK)
    return group, errors_to, stderr


def _input(stdin: Input, streams: Mapping[int, int], folder: str) -> tuple[str, Source | None]:
    """What bash opens as the job's stdin, and what the host feeds into it."""
    if stdin is None or (stdin == 0 and not host_has(0)):
        return "/dev/null", None
    if isinstance(stdin, os.PathLike):
        return protocol.quote(os.path.abspath(os.fspath(stdin))), None
    path = f"{folder}/i"
    if isinstance(stdin, bytes):
        with open(path, "wb") as file:
            file.write(stdin)
        return protocol.quote(path), None
    if isinstance(stdin, int) and stdin in streams:
        return f"&{streams[stdin]}", None
    source = source_of(stdin)
    if not os.path.exists(path):
        os.mkfifo(path, 0o600)
    return protocol.quote(path), source


def _errors(
    stderr: Errors, streams: Mapping[int, int], folder: str, descriptors: JobDescriptors
) -> tuple[str, int]:
    """What bash opens as the job's stderr, and what the host passes it on to."""
    if isinstance(stderr, os.PathLike):
        return ">" + protocol.quote(os.path.abspath(os.fspath(stderr))), -1
    target = 2 if stderr is None else stderr if isinstance(stderr, int) else stderr.fileno()
    if target in streams:
        return f"&{streams[target]}", -1
    if target == 2 and not host_has(2):
        return "/dev/null", -1
    descriptors.stderr = _reader(f"{folder}/e")
    return protocol.quote(f"{folder}/e"), target


def _reader(path: str) -> int:
    if not os.path.exists(path):
        os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
