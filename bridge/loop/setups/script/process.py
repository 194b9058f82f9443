"""The script itself: started as its user would, in a process group of its own, and ended with all of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, open_file, usable
from bridge.base.process import guardian, ladder
from bridge.base.process.ladder import Rung
from bridge.base.process.secrets import without_secrets
from bridge.errors import ConfigurationError, ProgramNotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


_BY_ENDING = {
    **dict.fromkeys((".py", ".pyw"), ("python3",)),
    **dict.fromkeys((".js", ".mjs", ".cjs"), ("node",)),
    **dict.fromkeys((".ts", ".mts", ".tsx"), ("bun",)),
    ".zsh": ("zsh",),
    ".fish": ("fish",),
    ".pl": ("perl",),
    ".rb": ("ruby",),
    ".php": ("php",),
    ".mk": ("make", "-f"),
}
_BY_NAME = {**dict.fromkeys(("makefile", "gnumakefile"), ("make", "-f")), "justfile": ("just", "-f")}


def _way_on(cwd: str | os.PathLike[str], program: str) -> str:
    """What to do about a program that the system refused to start."""
    first = b""
    with suppress(OSError), open_file(os.path.join(cwd, program), root=ANYWHERE) as file:
        first = file.readline(4096)
    if first.startswith(b"#!") and first.endswith(b"\r\n"):  # the system looks for "bash\r"
        return f"its lines end as on Windows (CRLF): sed -i.crlf 's/\\r$//' {program}"
    return "see its first line, and whether it may be executed"


def interpreter_of(script: Path) -> list[str]:
    """Give what starts a script that doesn't start by itself: by its first line, else by its name, else bash."""
    with usable(script), open_file(script, root=ANYWHERE) as file:
        head = file.read(512)
    first = head[2:].partition(b"\n")[0].decode("utf-8", "replace").split() if head[:2] == b"#!" else []
    name = script.name.lower().removesuffix(".original")
    return first or [*(_BY_ENDING.get(os.path.splitext(name)[1]) or _BY_NAME.get(name) or ("bash",))]


def command_for(script: Path, words: Sequence[str], named: str = "") -> list[str]:
    """Give the command line that starts a script: by itself where it says how, else as `interpreter_of` says.

    Args:
        script: its file. words: its arguments.
        named: how its user names it, from the folder in which it is started, which a script sees as ``$0``; '': by
            its path.

    Raises:
        ConfigurationError: there is no such file, or its interpreter isn't there.
    """
    if not script.is_file():
        raise ConfigurationError(
            f"--script {script}: there is no such file\n  next: name the script that you start"
        )
    named = named or str(script)
    with usable(script), open_file(script, root=ANYWHERE) as file:
        head = file.read(512)
    if os.access(script, os.X_OK):
        named = named if os.sep in named else os.path.join(os.curdir, named)
        if head[:2] == b"#!" or b"\0" in head:
            return [named, *words]
    begins = interpreter_of(script)
    if shutil.which(begins[0]) is None:
        says = "its first line names" if head[:2] == b"#!" else "its name asks for"
        raise ConfigurationError(
            f"--script {script}: {says} {begins[0]}, which isn't there\n"
            f"  next: install {begins[0]}, or give the script a first line that names another program"
        )
    return [*begins, named, *words]


class ScriptProcess:
    """A script, which is started, and ended with its process group.

    Args:
        argv: its command line.
        cwd: where its user is.
        ended: called, in another thread, when it has ended.
        grace: seconds that it may take to obey each signal.
        folder: goes with this process, however that ends.
        output: where its stdout and its stderr go, and it reads nothing; None: all three are ours.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        ended: Callable[[], None],
        *,
        grace: float,
        folder: str,
        output: int | None = None,
    ) -> None:
        self.argv, self._cwd, self._env = argv, cwd, env
        self._ended, self._grace, self._folder, self._output = ended, grace, folder, output
        self._process: subprocess.Popen[bytes] | None = None
        self._foreground = False

    def start(self) -> None:
        """Start it.

        Raises:
            ProgramNotStarted: it can't be.
        """
        terminal = _our_terminal()
        try:
            with ladder.signals_held():
                self._process = process = subprocess.Popen(
                    [*self.argv],
                    cwd=self._cwd,
                    env=without_secrets(self._env),
                    stdin=None if self._output is None and _readable(0) else subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    process_group=0,
                )
                guardian.watch(process.pid, self._folder)
        except OSError as error:
            raise ProgramNotStarted(
                f"{self.argv[0]} could not be started: {error.strerror or error}\n"
                f"  next: {_way_on(self._cwd, self.argv[0])}"
            ) from None
        if terminal:
            self._foreground = True
            _give_terminal(process.pid)
            with suppress(OSError):  # it may have wanted to read before it was its turn
                os.killpg(process.pid, signal.SIGCONT)
        threading.Thread(target=self._wait, name="script", daemon=True).start()

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait()
        self._ended()

    @property
    def status(self) -> int | None:
        """How it has ended, as its user's shell would say; None: it is at work."""
        code = None if self._process is None else self._process.returncode
        return 128 - code if code is not None and code < 0 else code

    def terminate(self) -> None:
        """Tell it to end, and wait for nothing."""
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGTERM)

    def end(self) -> None:
        """End it with its group."""
        process = self._process
        if process is None:
            return
        try:
            if process.returncode is None:
                rungs = [Rung(signal.SIGTERM, self._grace), Rung(signal.SIGKILL, 10.0)]
                ladder.end([process.pid], rungs, lambda: process.returncode is None)
        finally:
            guardian.release(process.pid)
            if self._foreground:
                _give_terminal(os.getpgrp())


def _readable(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _our_terminal() -> bool:
    """Whether stdin is a terminal in whose foreground we are, so that it is ours to give on."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _give_terminal(group: int) -> None:
    held = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with suppress(OSError):
            os.tcsetpgrp(0, group)
    finally:
        signal.signal(signal.SIGTTOU, held)
