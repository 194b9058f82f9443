"""git as a process: it never raises, never asks anything of anybody, and never stays longer than it may."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Ran", "run_git"]

_GRACE = 2.0
"""Seconds to obey TERM, and then KILL."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a git command ended."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """What it printed, without the newline at its end."""
        return os.fsdecode(self.out).rstrip("\n")


def run_git(folder: Path, arguments: Sequence[str], *, env: Mapping[str, str], data: bytes, patience: float) -> Ran:
    """Run git; without git, or when it takes too long, say so as shells do: status 127 or 124.

    Args:
        folder: where.
        arguments: behind ``git``.
        env: on top of this process's own.
        data: for its stdin.
        patience: seconds that it may take, with the hooks that it calls.
    """
    try:
        process = subprocess.Popen(
            ["git", "-c", "core.quotePath=false", *arguments],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # with its hooks, it can be ended as one
        )
    except OSError as error:
        return Ran(127, b"", str(error))
    with process:
        try:
            out, err = process.communicate(data, timeout=patience)
        except subprocess.TimeoutExpired:
            _end(process)
            return Ran(124, b"", f"git {arguments[0]} took longer than {patience:g} s")
        except BaseException:
            _end(process)
            raise
    return Ran(process.returncode, out, err.decode("utf-8", "replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and its hooks: by TERM first, at which it takes away index.lock, in the way of all that follows."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
