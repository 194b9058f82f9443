"""One run of the CLI: started, listened to, ended. What it came to is judged elsewhere."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bridge.errors import BridgeError, ProgramTimeout
from bridge.files import write_atomic
from bridge.loop.events import Notice, OutputText, RunProgress
from bridge.loop.follow import last_sentence
from bridge.loop.tools import may_name_tool, tool_in
from bridge.loop.turn_logs import TurnLog
from bridge.loop.writes import Writes
from bridge.process.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.loop.ports import RunLogs, Store
    from bridge.stream.analysis import Analysis, RunFacts

__all__ = ["Hears", "Run", "Turn", "keep_stream", "live_filter", "not_started", "tail"]

_LAST_LINE = 400
_LAST_TEXT = 4096
_STDERR_TAIL = 64 * 1024


class Hears(Protocol):
    """What has taken in a run's output, and can say what that came to."""

    def finish(self, facts: RunFacts) -> Analysis:
        """Judge it."""


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended.

    Attributes:
        status: exit status, or minus the number of the signal that ended it.
        timed_out: it was ended because it ran for too long.
        idle: it was ended because it wrote no file for too long.
        analyzer: has taken in all that it printed.
        stderr: the end of what it wrote to stderr.
        result: the last line of a live stream that is a result, or None.
        shown: some of its text was shown already.
    """

    status: int
    timed_out: bool
    idle: bool
    analyzer: Hears
    stderr: bytes
    result: bytes | None
    shown: bool


class Turn:
    """Runs a command, and lets go of nothing until its whole process group has ended.

    Args:
        settings: the loop's.
        store: is told of the process, and of what it prints.
        iteration: for the events.
        show: turns a line of a live run into text; None: not live.
    """

    def __init__(
        self, settings: LoopSettings, store: Store, iteration: int, show: Callable[[bytes], bytes] | None
    ) -> None:
        self._settings = settings
        self._store = store
        self._iteration = iteration
        self._show = show
        self._shown = self._idle = False
        self._last = self._tool = b""
        self._result: bytes | None = None
        self._ticks = 0

    def run(
        self, argv: list[str], logs: RunLogs, *, stdin: bytes | None = None, timeout: float | None = None
    ) -> Generator[LoopEvent, None, Run]:
        """Run it to its end, or until its time is up: after `timeout` seconds; None: never."""
        from bridge.stream.analysis import Analyzer

        settings = self._settings
        analyzer = Analyzer()
        timed_out = False
        writes = None
        if settings.write_timeout is not None:
            writes = Writes(settings.project, timeout=settings.write_timeout, every=settings.heartbeat_seconds)
        env = dict(os.environ if settings.env is None else settings.env)
        every = min(settings.poll_seconds, writes.tick if writes else settings.poll_seconds)
        with (
            TurnLog(logs.output, settings.turn_log_bytes) as raw,  # before the program, which may remove the folder
            TurnLog(logs.stderr, settings.turn_log_bytes) as errors,
            Program(
                argv,
                cwd=settings.project,
                env=env,
                stderr_path=logs.stderr,
                timeout=timeout,
                graces=settings.graces,
                stdin=stdin,
            ) as program,
            closing(program.lines(max(every, 0.01))) as lines,
        ):
            began = polled = time.monotonic()
            self._store.agent(program.pid)
            try:
                for line in lines:
                    if line:
                        raw.write(line)
                        analyzer.feed(line)
                        yield from self._take(line)
                    now = time.monotonic()
                    if now - polled >= settings.poll_seconds:
                        polled = now
                        errors.bound()
                        yield self._progress(now - began)
                    if writes is not None and writes.missed():
                        self._idle = True
                        program.end()
            except ProgramTimeout:
                timed_out = True
            errors.bound()
            yield from map(Notice, filter(None, (raw.notice, errors.notice)))
        self._store.agent(None)
        assert program.status is not None
        stderr = tail(logs.stderr)
        return Run(program.status, timed_out, self._idle, analyzer, stderr, self._result, self._shown)

    def _take(self, line: bytes) -> Generator[LoopEvent, None, None]:
        if may_name_tool(line):
            self._tool = line
        if self._show is None:
            self._last = line
            self._store.show(line)
            return
        if b'"result"' in line and _is_result(line):
            self._result = line
        text = self._show(line)
        if text:
            self._shown = True
            self._last = (self._last + text)[-_LAST_TEXT:]
            self._store.show(text)
            yield OutputText(self._iteration, text.decode("utf-8", "replace"))

    def _progress(self, elapsed: float) -> RunProgress:
        last = self._last.rstrip(b"\r\n").rpartition(b"\n")[2].decode("utf-8", "replace")
        last = (last if self._show is None else last_sentence(self._last.decode("utf-8", "replace")))[:_LAST_LINE]
        tool = tool_in(self._tool) if self._tool else ""
        self._ticks += 1
        return RunProgress(self._iteration, elapsed, last, tool, self._ticks - 1)


def not_started(why: str) -> Run:
    """Say that a run could not be started, as a shell would."""
    from bridge.stream.analysis import Analyzer

    return Run(127, False, False, Analyzer(), why.encode("utf-8", "replace"), None, False)


def live_filter(program: Callable[[], str]) -> Generator[LoopEvent, None, Callable[[bytes], bytes] | None]:
    """Make the driver's stream filter usable; without it, output comes at the end of a run.

    A line that the filter chokes on costs itself, nothing more (trap T13).
    """
    from bridge.stream.jq import Filter

    try:
        return Filter(program()).apply
    except (ValueError, BridgeError) as error:
        yield Notice(f"the driver's stream filter is not usable, output comes at the end of a run: {error}")
        return None


def keep_stream(run: Run, logs: RunLogs) -> None:
    """Section 4.6: the whole stream of a live run goes to a file of its own, and its result takes its place."""
    if logs.stream is None:
        return
    with suppress(FileNotFoundError):  # the agent has tidied up
        if run.result is not None:
            os.replace(logs.output, logs.stream)
            write_atomic(logs.output, run.result)
            return
        try:
            os.link(logs.output, logs.stream)
        except OSError:  # a file system without links
            shutil.copyfile(logs.output, logs.stream)


def _is_result(line: bytes) -> bool:
    import json

    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and event.get("type") == "result"


def tail(path: os.PathLike[str]) -> bytes:
    """Return the end of what a run wrote to stderr."""
    with suppress(FileNotFoundError), open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _STDERR_TAIL))
        return file.read()
    return b""  # the agent has tidied up: `git clean -fdx` takes ignored logs, too
