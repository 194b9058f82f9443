"""A script in a plain bash with errexit in force, as the controllers have it."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.verify.probe.base import Probe

__all__ = ["Strict", "end_group", "strict"]


class Strict(NamedTuple):
    """How the script fared in a plain bash with errexit, as the controller has it: how far it came."""

    loaded: bool
    reached: tuple[str, ...]
    status: int
    stderr: str


def strict(
    probe: Probe, hooks: Sequence[str], options: str = "-e", before: str = "", condition: bool = False
) -> Strict:
    """Source it in a plain bash with these options, then call `hooks`, one after the other.

    before: code that is run first. condition: the hooks are called behind a ``||``, which suspends errexit in them.
    """
    probe.limit()
    log = str(probe.scratch.root / "strict")
    code = f"exec 9>{shlex.quote(log)}\n{before}\nset {options}\n. {shlex.quote(probe.script)} >/dev/null\n"
    for hook in ("loaded", *hooks):
        call = f"{hook} >/dev/null" + " || :" * condition
        code += f"{call}\n" * (hook != "loaded") + f"builtin printf '{hook}\\0' >&9\n"
    process = subprocess.Popen(
        [probe.subject.bash or "bash", "--noprofile", "--norc", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=probe.scratch.project,
        env=probe.scratch.environment(),
        start_new_session=True,
    )
    try:
        _, stderr = process.communicate(timeout=probe.patience)
    except subprocess.TimeoutExpired:
        end_group(process)
        return Strict(False, (), -1, "it did not end")
    with open(log, errors="replace") as file:
        reached = file.read().split("\0")[:-1]
    return Strict("loaded" in reached, tuple(reached[1:]), process.returncode, stderr.decode(errors="replace"))


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own, with everything in it, and reap it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, 9)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()
