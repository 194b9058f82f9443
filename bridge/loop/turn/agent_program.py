"""An agent's program, run through its script's own filter: what is printed, and when it is over."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.table import Rest
from bridge.loop.turn.ending import EndWatch, Over, is_whole, rest_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator

    from bridge.scripts.agent import Agent, Elsewhere
    from bridge.scripts.stream.display import Display
    from bridge.shell.jobs import Errors, Input, Job, Tee

_LAST_WORDS = 5.0
"""Seconds that the display may take for what was still on its way when the program was ended."""
_LONGEST_TAPPED = 1024 * 1024


class _Tapped:
    """A log whose lines others get, too; of one that is too long, none."""

    def __init__(self, log: Tee, watch: EndWatch, on_line: Callable[[bytes], None] | None) -> None:
        from bridge.scripts.stream.events import Reader

        self._log, self._on_line, self._begun = log, on_line, b""
        self._watch, self._reader, self._lock = watch, Reader(text=False), threading.Lock()
        self._rest: Rest | None = None

    def runs(self, pid: int) -> None:
        """Note by which process the program runs."""
        with self._lock:
            self._rest = Rest(pid)

    def write(self, data: bytes) -> int:
        self._log.write(data)
        *lines, begun = (self._begun + data).split(b"\n")
        self._begun = begun if len(begun) < _LONGEST_TAPPED else b""
        with self._lock:
            for line in lines:
                self._reader.feed(line)
            self._watch.printed(time.monotonic(), self._reader.closings)
            if self._rest is not None and self._reader.family is None:
                self._rest.printed()
        if (on_line := self._on_line) is not None:
            for line in lines:
                on_line(line)
        return len(data)

    def flush(self) -> None:
        self._log.flush()

    @property
    def tick(self) -> float:
        return self._watch.tick

    def over(self) -> Over | None:
        """Say whether the program is to be ended; from another thread."""
        with self._lock:
            return self._watch.over(time.monotonic(), self._answered, self._at_rest)

    def answered(self) -> bool:
        with self._lock:
            return self._answered()

    def failed(self) -> bool:
        """Whether its answer reports an error."""
        with self._lock:
            return self._reader.answer().is_error

    def _at_rest(self) -> bool:
        return self._rest is not None and self._reader.family is None and self._rest.look()

    def _answered(self) -> bool:
        if is_whole(self._begun):  # a result without a newline behind it
            self._reader.feed(self._begun)
            self._begun = b""
        return self._reader.answered()


class AgentEnd(NamedTuple):
    """How an agent's program ended.

    Attributes:
        status: of the rightmost stage that failed: the filter's, else the program's.
        timed_out: it was ended because it ran for too long, or printed nothing for too long.
        mute: because it printed nothing.
        shown: some of its text was shown.
    """

    status: int
    timed_out: bool = False
    mute: bool = False
    shown: bool = False


def run_agent(
    agent: Agent,
    prompt_file: str | os.PathLike[str],
    capture: Tee,
    *,
    stdin: Input = 0,
    stderr: Errors = None,
    end_line: bool = True,
    grace: float | None = None,
    timeout: float | None = None,
    on_start: Callable[[int | None], None] = lambda _pid: None,
    instead: Elsewhere | None = None,
    answered: float = 0.0,
    max_silence: float | None = None,
    on_line: Callable[[bytes], None] | None = None,
) -> Generator[str, None, AgentEnd]:
    """Run ``agent_invoke`` through ``agent_format_display``; yields the text for people as it comes.

    Args:
        prompt_file: path of the prompt, as the script shall see it.
        capture: gets every byte that the program prints.
        stdin, stderr, end_line, grace: see :meth:`bridge.scripts.agent.Agent.invoke`.
        timeout: seconds that it may take; None: any number.
        on_start: gets its process group, and None when it has ended.
        instead: as for :meth:`bridge.scripts.agent.Agent.invoke`.
        answered: seconds that it may stay once its CLI has answered; 0: any number.
        max_silence: seconds that it may print nothing; None: any number.
        on_line: gets each line that it prints.

    Raises:
        bridge.errors.BridgeError: it can't be started.
    """
    rest = rest_of(answered, timeout)
    tapped = _Tapped(capture, EndWatch(time.monotonic(), grace=answered, silence=max_silence, rest=rest), on_line)
    with (
        agent.invoke(
            prompt_file, stdin=stdin, stderr=stderr, tee=tapped, end_line=end_line, grace=grace, instead=instead
        ) as running,
        agent.format_display(running, end_line=end_line) as display,
        _ended_in_time(timeout, running, display, tapped) as ended,
    ):
        tapped.runs(running.pid)
        on_start(running.pid)
        yield from display
    on_start(None)
    status = display.status or running.status or 0
    if ended.by is Over.ANSWERED:
        return AgentEnd(int(tapped.failed()))
    if ended.late or ended.by is Over.SILENT:
        return AgentEnd(status or 124, True, ended.by is Over.SILENT)
    return AgentEnd(status)


class _Ended:
    """Why a job was ended: `by` what it printed or didn't; `late`: it ran for too long."""

    by: Over | None = None
    late: bool = False


@contextmanager
def _ended_in_time(seconds: float | None, job: Job, display: Display, tapped: _Tapped) -> Iterator[_Ended]:
    """End a job that has answered and stays, that prints nothing or runs for too long, and say so.

    Its display is ended, too, if that doesn't end by itself then.
    """
    ended, shown = _Ended(), threading.Event()
    deadline = None if seconds is None else time.monotonic() + max(seconds, 0.0)

    def watch() -> None:
        while not (ended.late or ended.by):
            left = tapped.tick if deadline is None else min(tapped.tick, max(0.0, deadline - time.monotonic()))
            if shown.wait(left):
                return
            ended.by = tapped.over()
            if ended.by is None and deadline is not None and time.monotonic() >= deadline:
                ended.by, ended.late = (Over.ANSWERED, False) if tapped.answered() else (None, True)
        job.terminate(interrupt=ended.by is not Over.ANSWERED)
        if not shown.wait(_LAST_WORDS):
            display.terminate()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield ended
    finally:
        shown.set()
        watcher.join()
