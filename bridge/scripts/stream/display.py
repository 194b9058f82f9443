"""What people see of a run while it is at work: what a filter prints, as text, and a driver's live filter."""

from __future__ import annotations

import codecs
import time
from typing import TYPE_CHECKING, Self

from bridge.errors import BridgeError, FilterNotCompiled
from bridge.scripts.stream import COMMANDS
from bridge.scripts.stream.filters.hosted import refused
from bridge.scripts.stream.filters.loops import JqProgram, LineLoop
from bridge.scripts.stream.filters.running import NOWHERE, FilterRun, Jobs
from bridge.scripts.stream.filters.shelltext import NotUnderstood
from bridge.shell import Shell
from bridge.shell.sources import Source

if TYPE_CHECKING:
    import os
    import select
    from collections.abc import Iterator, Mapping

    from bridge.scripts.stream.filters.hosted import HookRun
    from bridge.shell.jobs import Job

_PAUSE = 0.03  # s: after which the beginning of a line is shown
_LOOP = LineLoop(name="line", keep_last=True, ignored=True)


class Display:
    """An iterator over text (str with surrogateescape): whole lines at once, and what comes without a newline
    when nothing has followed it for some milliseconds.

    It closes itself at its end; before that, `close` or a ``with`` block does.
    """

    def __init__(self, filtering: Job | HookRun) -> None:
        self._filtering = filtering
        self._text = self._texts()

    @property
    def status(self) -> int | None:
        return self._filtering.status

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._text)

    def _texts(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        begun: list[str] = []  # a line that is not whole yet: many lines at once come in pieces that end anywhere
        piece: bytes | None = None
        try:
            while piece != b"":
                piece = self._filtering.read_within(_PAUSE if begun else None)
                # Not splitlines(): a carriage return or a form feed ends no line.
                *lines, rest = decode(piece or b"", final=piece == b"").split("\n")
                for line in lines:
                    yield "".join((*begun, line, "\n"))
                    begun.clear()
                if rest:
                    begun.append(rest)
                if not piece and begun:
                    yield "".join(begun)
                    begun.clear()
        finally:
            self._filtering.close()

    def pieces(self) -> Iterator[bytes]:
        """The same as bytes, in pieces as they come. Read either this or the text."""
        try:
            while piece := self._filtering.read():
                yield piece
        finally:
            self._filtering.close()

    def terminate(self) -> None:
        self._filtering.terminate()

    def close(self) -> None:
        self._filtering.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class LiveFilter:
    """One program, run by the machine's jq (where there is none, by ours) with ``-j``, as bmalph's controller does.

    A line that the program chokes on costs itself, nothing more (trap T13). Programs that look beyond their line
    (``input``, ``halt``, ``$ENV``) get a jq for every line.

    Raises:
        FilterNotCompiled: the program does not compile.
    """

    def __init__(self, program: str, *, env: Mapping[str, str] | None, cwd: str | os.PathLike[str]) -> None:
        words = ("-j", program)
        self._shell = Shell(env=env, cwd=cwd, commands=COMMANDS)
        self._jobs = Jobs(self._shell, ("jq", *words), NOWHERE, grace=0.1)
        self._lines = _Lines()
        self._run: FilterRun | None = None
        self.gave_up = False
        try:
            parsed = JqProgram.of(words)
            if reason := refused(self._shell, parsed):
                raise NotUnderstood(reason)
            self._run = FilterRun(_LOOP, parsed, self._lines, self._jobs)
        except NotUnderstood:
            tried = self._shell.call("jq", *words)
            if not tried.ok:
                self.close()
                raise FilterNotCompiled(
                    f"this jq filter does not compile: {next(iter(program.split(chr(10))), '')}\n"
                    f"  jq says: {tried.stderr.strip()}\n"
                    "  next: try it with `jq -n` and correct it in the script that prints it",
                    tried.stderr.strip(),
                ) from None
        except BaseException:
            self.close()
            raise

    def show(self, line: bytes, within: float = 10.0) -> bytes | None:
        """What the line shows; None when that was not there within so many seconds: the filter was ended, and shows
        nothing from now on."""
        if self.gave_up:
            return b""
        line = line if line.endswith(b"\n") else line + b"\n"
        end = time.monotonic() + within
        try:
            if self._run is None:
                shown = self._alone(line, end)
            else:
                self._lines.put(line)
                shown = _until_settled(self._run, end)
        except BridgeError:
            shown = None
        if shown is None:
            self.gave_up = True
            self.close()
        return shown

    def _alone(self, line: bytes, end: float) -> bytes | None:
        shown: list[bytes] = []
        with self._jobs.alone(line) as job:
            while piece := job.read_within(max(0.0, end - time.monotonic())):
                shown.append(piece)
            return None if piece is None else b"".join(shown)

    def close(self) -> None:
        if self._run is not None:
            self._run.close()
        self._shell.close()


def _until_settled(run: FilterRun, end: float) -> bytes | None:
    shown: list[bytes] = []
    while True:
        piece = run.read_within(end - time.monotonic(), once=True)
        if piece:
            shown.append(piece)
        elif run.settled:
            return b"".join(shown)
        elif time.monotonic() >= end:
            return None


class _Lines(Source):
    def __init__(self) -> None:
        self._next: bytes | None = None

    def put(self, line: bytes) -> None:
        self._next = line

    def take(self) -> bytes | None:
        line, self._next = self._next, None
        return line

    def watch(self, poll: select.poll) -> bool:  # noqa: ARG002
        return self._next is not None
