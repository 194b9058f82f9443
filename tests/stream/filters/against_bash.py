"""A function in bash itself, and the same function in one jq: the two sides that tests compare."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.scripts.stream import COMMANDS
from bridge.scripts.stream.filters import HostedFilter
from bridge.shell import Shell
from tests import jqs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.scripts.stream.filters import HookRun

BASH = shutil.which("bash") or "bash"


@cache
def _path() -> str:
    """With some jq on it: where the machine has none, ours."""
    if jqs.version():
        return os.environ["PATH"]
    return f"{jqs.one_for_scripts(Path(_FOLDER.name, 'jq'))}:{os.environ['PATH']}"


_FOLDER = tempfile.TemporaryDirectory(prefix="ralph-bridge-jq-")


class Printed(NamedTuple):
    """What came of a run."""

    stdout: bytes
    status: int
    stderr: bytes = b""


@dataclass
class Bench:
    """Runs one function both ways.

    Attributes:
        script: the text that defines the function ``hook`` and its globals.
        options: shell options that are on, for ``set -o``.
    """

    script: str
    bash: str = BASH
    options: tuple[str, ...] = ()
    locale: str = "C.UTF-8"
    path: str | None = None

    @property
    def env(self) -> Mapping[str, str]:
        return jqs.environment(LC_ALL=self.locale, PATH=self.path or _path())

    def in_bash(self, data: bytes, *, as_file: bool) -> Printed:
        """The oracle: nothing of ours but the hook."""
        setting = "".join(f"set -o {option}; " for option in self.options)
        with tempfile.NamedTemporaryFile() as file:
            file.write(data if as_file else b"")
            file.flush()
            words = [self.bash, "-c", f'{self.script}\n{setting}hook "$@" || exit', "bash", file.name]
            done = subprocess.run(
                words if as_file else words[:-1],
                input=b"" if as_file else data,
                capture_output=True,
                check=False,
                env=self.env,
            )
        return Printed(done.stdout, done.returncode, done.stderr)

    @contextmanager
    def hosted(self) -> Iterator[HostedFilter]:
        with Shell(env=self.env, bash=self.bash, options=self.options, commands=COMMANDS) as shell:
            shell.execute(self.script)
            yield HostedFilter(shell, "hook")

    def why_not(self) -> str:
        with self.hosted() as found:
            return found.why_not()

    def in_one_jq(self, data: bytes, chunk: int = 1 << 20) -> tuple[Printed, bool] | None:
        """And whether it reads a file; None: bash has to run it."""
        with tempfile.TemporaryDirectory() as folder, self.hosted() as hosted:
            path, errors = Path(folder, "input"), Path(folder, "errors")
            path.write_bytes(data)
            errors.touch()
            pieces = (data[at : at + chunk] for at in range(0, len(data), chunk))
            running = hosted.extract(str(path), stderr=errors)
            as_file = running is not None
            running = running or hosted.display(pieces, end_lines=False, stderr=errors)
            return (Printed(*drained(running), errors.read_bytes()), as_file) if running else None

    def check(self, data: bytes, chunk: int = 1 << 20, *, lifted: bool = True) -> None:
        """Both print the same and end with the same status.

        lifted: it has to be run by one jq.
        """
        ours = self.in_one_jq(data, chunk)
        if ours is None:
            assert not lifted, self.why_not()
            return
        assert ours[0][:2] == self.in_bash(data, as_file=ours[1])[:2]


def drained(running: HookRun) -> tuple[bytes, int]:
    try:
        printed = b"".join(iter(running.read, b""))
        assert running.status is not None
        return printed, running.status
    finally:
        running.close()
