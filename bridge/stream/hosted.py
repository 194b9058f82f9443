"""A hook that is a filter, in its living bash: run in this process where `bridge.stream.lift` understands it."""

from __future__ import annotations

import functools
import os
import signal
import tempfile
from typing import TYPE_CHECKING

from bridge.shell.sources import pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from bridge.shell import Shell
    from bridge.shell.jobs import Errors
    from bridge.stream.lift import JqFacts, Lifted, Outcome, Refused, Running

__all__ = ["HostedFilter", "InProcess"]


_LEFT = 128 + signal.SIGPIPE  # what a filter ends with whose reader has gone


class InProcess:
    """A lifted filter at work; it stands where `bridge.shell.jobs.Job` stands for one that bash runs.

    Each piece is all that its lines print, so the beginning of a line need not wait for its rest.
    """

    def __init__(self, running: Running, pieces: Generator[bytes, None, None] | None) -> None:
        self._running = running
        self._pieces = pieces
        self._status: int | None = None

    @property
    def status(self) -> int | None:
        """0 to 255 once it has ended."""
        return self._status

    def read(self) -> bytes:
        """The next piece of output, as soon as there is one; b"" at the end."""
        for piece in self._running:
            if piece:
                return piece
        if self._status is None:
            self._status = self._running.status
        return b""

    def read_within(self, seconds: float | None) -> bytes | None:
        """As `read`; with a limit, None at once: what has been read so far has printed all it will."""
        return self.read() if seconds is None else None

    def close(self) -> None:
        """Let go of its input. May be repeated."""
        if self._status is None:
            self._status = _LEFT
        if self._pieces is not None:
            self._pieces.close()


class HostedFilter:
    """One hook of one script.

    Args:
        shell: the bash that has sourced the script.
        hook: name of the function.
    """

    def __init__(self, shell: Shell, hook: str) -> None:
        self._shell = shell
        self._hook = hook
        self._seen = ""
        self._lifted: Lifted | Refused | None = None

    def look(self) -> Lifted | Refused:
        """What lifting says about the function as it is defined now: an earlier hook may have changed it."""
        from bridge.stream.lift import Refused, lift

        definition = self._shell.call("declare", "-f", self._hook).stdout
        if self._lifted is None or definition != self._seen:
            others = [name for name in self._shell.functions() if name != self._hook]
            jq = self._jq()
            self._lifted = lift(definition, functions=others, jq=_facts(jq)) if jq else Refused("no jq on PATH")
            self._seen = definition
        return self._lifted

    def display(self, stream: object, *, end_lines: bool, stderr: Errors) -> InProcess | None:
        """Run it on `stream`; None when bash has to: nothing was read then."""
        from bridge.stream.lift import Lifted

        lifted = self.look()
        if not isinstance(lifted, Lifted) or lifted.file is not None:
            return None
        if hasattr(stream, "read_within"):
            pieces = _of_job(stream)
        else:
            pieces = _generator(pieces_of(stream, end_lines=end_lines))

        def ask(data: bytes) -> Outcome:
            return self._ask((), stdin=data, stderr=stderr)

        running = self._start(lifted, (), pieces, ask)
        return None if running is None else InProcess(running, pieces)

    def extract(self, path: str, *, stderr: Errors) -> InProcess | None:
        """Run it on a file; None when bash has to."""
        from bridge.stream.lift import Lifted

        lifted = self.look()
        if not isinstance(lifted, Lifted) or lifted.file != 1:
            return None

        def ask(data: bytes) -> Outcome:
            with tempfile.NamedTemporaryFile(prefix="ralph-bridge-") as file:
                file.write(data)
                file.flush()
                return self._ask((file.name,), stdin=None, stderr=stderr)

        running = self._start(lifted, (path,), None, ask)
        return None if running is None else InProcess(running, None)

    def _ask(self, arguments: tuple[str, ...], *, stdin: bytes | None, stderr: Errors) -> Outcome:
        from bridge.stream.lift import Outcome

        with self._shell.start(self._hook, *arguments, stdin=stdin, stderr=stderr) as job:
            printed = b"".join(iter(job.read, b""))
            return Outcome(printed, job.status or 0)

    def _start(
        self,
        lifted: Lifted,
        arguments: tuple[str, ...],
        pieces: Iterable[bytes] | None,
        ask: Callable[[bytes], Outcome],
    ) -> Running | None:
        from bridge.stream.lift import NotLifted

        variables: dict[str, str] = {}
        for name in (*lifted.reads, "IFS"):
            value = self._shell.get(name)
            if isinstance(value, str):
                variables[name] = value
            elif value is not None:
                return None
        folder = self._shell.get("PWD")
        try:
            return lifted.run(
                arguments,
                variables,
                pieces,
                oracle=ask,
                options=self._options(),
                folder=folder if isinstance(folder, str) else ".",
            )
        except NotLifted:
            return None

    def _options(self) -> frozenset[str]:
        """What is on; errexit never acts in a hook that is called beside the main shell."""
        words = self._shell.call("shopt", "-s").stdout.split()
        on = {name for name, state in zip(words[::2], words[1::2], strict=False) if state == "on"}
        set_on = self._shell.get("SHELLOPTS")
        return frozenset(on | set((set_on if isinstance(set_on, str) else "").split(":"))) - {"errexit", ""}

    def _jq(self) -> str:
        return self._shell.call("type", "-P", "jq").stdout.rstrip("\n")


@functools.cache
def _facts(jq: str) -> JqFacts | None:
    from bridge.stream.lift import JqFacts

    return JqFacts.of(jq) if jq and os.path.isabs(jq) else None


def _of_job(job: object) -> Generator[bytes, None, None]:
    yield from iter(job.read, b"")  # type: ignore[attr-defined]


def _generator(pieces: Iterable[bytes]) -> Generator[bytes, None, None]:
    yield from pieces
