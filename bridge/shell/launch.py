"""How a job is started: what bash opens for it, the subshells, and what is left when one of that fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from bridge.errors import HookFailed
from bridge.process import guardian, processes
from bridge.shell import protocol
from bridge.shell.jobs import GRACE, AsSource, Job
from bridge.shell.place import Ends, Place
from bridge.shell.sources import Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import IO, TypeAlias

    from bridge.shell.coprocess import Coprocess
    from bridge.shell.jobs import Tee
    from bridge.shell.session import Session

    Input: TypeAlias = int | bytes | os.PathLike[str] | IO[bytes] | Iterable[bytes | str] | Source | Job | None
    Errors: TypeAlias = int | os.PathLike[str] | IO[bytes] | None


def start(
    session: Session,
    process: Coprocess,
    hook: str,
    arguments: tuple[str, ...],
    *,
    stdin: Input,
    stderr: Errors,
    tee: Tee | None,
    end_line: bool,
    grace: float | None,
) -> Job:
    """What `Shell.start` does; its lock is held and bash is alive."""
    folder = tempfile.mkdtemp(prefix="job-", dir=process.folder)
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        ends = Ends(_reader(f"{folder}/o"))
        undo.callback(ends.close)
        older = frozenset(processes.members(process.pid))
        group, said = 0, b""
        # The second time without the copies of the host's own streams, in case the script has closed them.
        for streams in (process.streams, {}):
            read_from, ends.source = _input(stdin, folder, streams)
            write_to, errors_to = _errors(stderr, folder, ends, streams)
            group, said = _forked(session, process, hook, arguments, folder, read_from, write_to, ends)
            if group or not streams:
                break
            ends.close_source()
            ends.close_stderr()
        if not group:
            what = f"{hook} could not be started beside the main shell"
            raise session._error(HookFailed, what, hook, arguments, None, b"", said)
        place = Place(process, folder, group, older, {})
        process.jobs.add(group)
        guardian.watch(group, folder)
        undo.pop_all()
    return Job(
        hook,
        place,
        ends,
        errors_to=errors_to,
        tee=tee,
        end_line=end_line,
        grace=GRACE if grace is None else grace,
        died=lambda hook: session._bereft(process, hook),
    )


def _forked(
    session: Session,
    process: Coprocess,
    hook: str,
    arguments: tuple[str, ...],
    folder: str,
    read_from: str,
    write_to: str,
    ends: Ends,
) -> tuple[int, bytes]:
    """The job's process group and nothing; or 0, and why bash could not start it."""
    spare = max((*process.streams.values(), 199)) + 1
    code = protocol.job(
        hook,
        arguments,
        folder=folder,
        redirections=f"0<{read_from} 1>{protocol.quote(folder + '/o')} {spare}>{write_to}",
        stderr=spare,
        closed=[*process.streams.values(), spare],
    )
    with contextlib.ExitStack() as undo:
        if ends.source is not None:
            # bash's opening end would wait for the other one; and an end that reads as well hears of no EPIPE.
            both = os.open(f"{folder}/i", os.O_RDWR | os.O_NONBLOCK)
            undo.callback(os.close, both)
        _, _, _, said = session._send(code, "__rb_c=0", [], hook=hook, arguments=arguments)
        try:
            with open(f"{folder}/pid", encoding="ascii") as file:
                group = int(file.read())
        except (OSError, ValueError):
            return 0, said
        if ends.source is not None:
            ends.stdin = os.open(f"{folder}/i", os.O_WRONLY | os.O_NONBLOCK)
    return group, b""


def _reader(path: str) -> int:
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _input(stdin: Input, folder: str, streams: Mapping[int, int]) -> tuple[str, Source | None]:
    """What bash opens as the job's stdin, and what the host feeds into it."""
    if stdin is None or (stdin == 0 and not processes.host_has(0)):
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
    source = AsSource(stdin) if isinstance(stdin, Job) else source_of(stdin)
    if not os.path.exists(path):
        os.mkfifo(path, 0o600)
    return protocol.quote(path), source


def _errors(stderr: Errors, folder: str, ends: Ends, streams: Mapping[int, int]) -> tuple[str, int]:
    """What bash opens as the job's stderr, and the descriptor that the host passes it on to (else -1)."""
    if isinstance(stderr, os.PathLike):
        return ">" + protocol.quote(os.path.abspath(os.fspath(stderr))), -1
    target = 2 if stderr is None else stderr if isinstance(stderr, int) else stderr.fileno()
    if target in streams:
        return f"&{streams[target]}", -1
    if target == 2 and not processes.host_has(2):
        return "/dev/null", -1
    ends.stderr = _reader(f"{folder}/e")
    return protocol.quote(f"{folder}/e"), target
