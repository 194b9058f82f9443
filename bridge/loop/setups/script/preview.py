"""The first call of a script: it runs up to that on a copy of its project, in a box without network."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import ANYWHERE, read_bytes
from bridge.base.process.program import Graces, Program
from bridge.base.process.secrets import without_secrets
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError, ProgramTimeout
from bridge.loop.sandbox.admitted import compose
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_policy import Mounted
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.boxed import boxed
from bridge.loop.sandbox.mounts import inside
from bridge.loop.sandbox.probes import probe
from bridge.loop.sandbox.temporary import keep_apart
from bridge.loop.setups.script.past_path import paths_in, startup
from bridge.loop.setups.script.server import Server
from bridge.shell import consent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.loop.setups.script.server import Call

_MOST_FILES, _MOST_BYTES = 50_000, 512 * 1024 * 1024
_PATIENCE = 60.0
_READ_SECONDS, _MOST_STDIN, _CHUNK = 5.0, 16 * 1024 * 1024, 65_536
_GRACES = Graces(interrupt=0.2, terminate=0.5)
_BEGINNING, MOST_SHOWN = 120, 16_384


class FirstCall(NamedTuple):
    """The first call of a script that would be a turn.

    Attributes:
        argv: its words, as the script has them. cwd: where it is made.
        stdin: what it would read there, at least its beginning; None: nothing that is given to it.
        whole: that is all of it.
    """

    argv: tuple[str, ...]
    cwd: str
    stdin: bytes | None
    whole: bool


class NoCall(NamedTuple):
    """Why there is none to be shown."""

    why: str


def first_call(
    argv: Sequence[str],
    *,
    script: Path,
    cwd: Path,
    project: Path,
    env: Mapping[str, str],
    absent: Sequence[str] = (),
) -> FirstCall | NoCall:
    """Say which call a script would make first. Nothing is left behind, and the call isn't made.

    Args:
        argv: the command line that starts it. script: its file.
        cwd: where its user is, in the project.
        absent: programs that it is to find, though they aren't there.
    """
    keep_apart(project)
    wanted = Wishes(provider="bwrap", network="off")
    problem = probe(wanted, env)
    if problem is not None and consent.looking():
        why = f"the script was not run, since no box can be made here ({problem.partition(chr(10))[0]})"
        return NoCall(f"{why}; {consent.OPTION} runs it on a copy of the project without one")
    if (size := _too_large(project)) is not None:
        return NoCall(f"the script was not run: the project is too large for a copy ({size})")
    try:
        with _copied(project) as copy:
            boxing = wanted if problem is None else None
            return _run(argv, script, cwd, project, copy, env, boxing, [f"/nowhere/{each}" for each in absent])
    except (BridgeError, OSError) as error:
        return NoCall(f"the script was not run: {one_line(str(error), 300)}")


def _too_large(project: Path) -> str | None:
    files = total = 0
    for folder, folders, names in os.walk(project):
        for name in (*names, *folders):
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
            files += 1
        if files > _MOST_FILES or total > _MOST_BYTES:
            return f"more than {_MOST_FILES:,} files or {_MOST_BYTES // 1024**2} MiB"
    return None


@contextmanager
def _copied(project: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-", ignore_cleanup_errors=True) as folder:
        copy = Path(os.path.realpath(folder), project.name or "project")
        _copy(os.path.realpath(project), copy)
        yield copy


def _copy(folder: str, to: Path) -> None:
    words = ["cp", "-a", "--reflink=auto", "--", folder, str(to)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BridgeError(f"the project can't be copied: {done.stderr.strip()}")


def _run(
    argv: Sequence[str],
    script: Path,
    cwd: Path,
    project: Path,
    copy: Path,
    env: Mapping[str, str],
    wanted: Wishes | None,
    absent: Sequence[str],
) -> FirstCall | NoCall:
    found: list[FirstCall] = []
    came = threading.Event()
    lock = threading.Lock()
    top = os.path.realpath(project)

    def take(call: Call) -> None:
        with lock:  # the first: others may come beside it
            if not found:
                found.append(_seen(call, str(copy), top))
                came.set()

    text = read_bytes(script, root=ANYWHERE).decode("utf-8", "surrogateescape")
    paths = [*paths_in(text, env)]
    with Server(env, take, [*absent, *paths]) as server:
        path = f"{server.bin}{os.pathsep}{env.get('PATH', os.defpath)}"
        given = {**without_secrets(env), "PATH": path, "PWD": str(cwd)}
        if words := startup(text, server.bin, env, server.names, paths):
            given["BASH_ENV"] = server.keep("startup", words)
        where = os.path.realpath(cwd)
        with tempfile.NamedTemporaryFile(prefix="ralph-bridge-") as errors:
            if wanted is None:
                moved = [_moved(each, top, str(copy)) for each in argv]
                where = _moved(where, top, str(copy))
                said = _until(came, Program(moved, cwd=where, env=given, stderr_path=errors.name,
                                            timeout=_PATIENCE, graces=_GRACES), errors.name)  # fmt: skip
            else:
                reads = [str(server.folder), sys.base_prefix]
                reads += [] if script.is_relative_to(project) else [str(script)]
                policy = compose(
                    project, replace(wanted, read=tuple(reads)), programs=[argv[0]], env=env, user=env
                ).policy
                mounts = [Mounted(str(copy), top, True), *_git_beside(project, wanted, env, copy)]
                policy = replace(
                    policy,
                    cwd=where,
                    roots=(*policy.roots, str(server.folder), *(each.source for each in mounts)),
                    writable=(), readonly=(), stand_ins=(), private=(),
                    mounts=tuple(mounts),
                    env=given,
                )  # fmt: skip
                box = boxed("bwrap", policy, argv, env)
                with box.standing():
                    said = _until(came, Program(box.argv, cwd="/", env=box.env, stderr_path=errors.name,
                                                timeout=_PATIENCE, graces=_GRACES), errors.name)  # fmt: skip
    return found[0] if found else NoCall(said)


def _git_beside(project: Path, wanted: Wishes, env: Mapping[str, str], copy: Path) -> Iterator[Mounted]:
    """The repository of a project where it lies elsewhere, as that of a further work tree does: a copy of it."""
    top = os.path.realpath(project)
    folders = Box(project, wanted, user=env).git(env).folders
    beside = [each for each in dict.fromkeys(map(os.path.realpath, folders)) if not inside(each, [top])]
    for number, each in enumerate(each for each in beside if not inside(each, [b for b in beside if b != each])):
        if _too_large(Path(each)) is not None:
            yield Mounted(each, each, False)
            continue
        made = copy.with_name(f"git-{number}")
        _copy(each, made)
        yield Mounted(str(made), each, True)


def _until(came: threading.Event, program: Program, errors: str) -> str:
    """Let it run until its first call has come; what is to be said where it ends without one."""
    last: deque[bytes] = deque(maxlen=3)
    with program, closing(program.lines(0.05)) as lines:
        try:
            for line in lines:
                if line:
                    last.append(line)
                if came.is_set():
                    program.end(interrupt=False)
                    return ""
        except ProgramTimeout:
            return f"the script made no call within {_PATIENCE:g} s"
    deadline = time.monotonic() + 1
    while not came.is_set() and time.monotonic() < deadline:  # a call that was on its way
        came.wait(0.05)
        if program.status is not None:
            break
    words = read_bytes(errors, root=ANYWHERE)[-2000:].splitlines()[-3:] or [*last]
    shown = one_line(b" ".join(words).decode("utf-8", "replace"), 300)
    return f"the script ended with {program.status} before any call" + (f": {shown}" if shown else "")


def _seen(call: Call, copy: str, top: str) -> FirstCall:
    request = call.request
    name = os.path.basename(request.argv[0])
    argv = (name, *(_moved(each, copy, top) for each in request.argv[1:]))
    stdin, whole = _stdin(request.fds[0])
    if stdin is not None:
        stdin = stdin.replace(os.fsencode(copy), os.fsencode(top))
    return FirstCall(argv, _moved(request.cwd, copy, top), stdin, whole)


def _moved(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


def _stdin(fd: int | None) -> tuple[bytes | None, bool]:
    """Read what is given to a call on its stdin, to its end where that comes soon."""
    if fd is None:
        return None, True
    mode = os.fstat(fd).st_mode
    if stat.S_ISCHR(mode):  # a terminal, or /dev/null
        return None, True
    data, end = bytearray(), time.monotonic() + _READ_SECONDS
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    while len(data) < _MOST_STDIN:
        if not poller.poll(max(0, int((end - time.monotonic()) * 1000))):
            return bytes(data), False
        piece = os.read(fd, _CHUNK)
        if not piece:
            return bytes(data), True
        data += piece
    return bytes(data), False


def shows_stdin(call: FirstCall) -> bool:
    """Whether what it reads is little enough to stand in a command line."""
    return call.whole and call.stdin is not None and len(call.stdin) <= MOST_SHOWN


def described(call: FirstCall, project: Path, place: str) -> list[str]:
    """What is to be known of it beside its words; `place`: the line of the script, or ''."""
    lines = [f"first call{f', {place}' if place else ''}"]
    if os.path.realpath(call.cwd) != os.path.realpath(project):
        lines.append(f"in {call.cwd}")
    if call.stdin:
        size = plural(len(call.stdin), "byte")
        text = one_line(call.stdin[: 4 * _BEGINNING].decode("utf-8", "replace"), _BEGINNING)
        size = ("" if call.whole else "more than ") + size
        lines.append(f"stdin: {size}{'' if shows_stdin(call) else ', too much to be shown below'}: {text}")
    return lines
