"""One jq for all lines of a loop: what it surely reads goes to it, all others are settled in their place."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process import stopping
from bridge.scripts.stream.filters.loops import LineReader, Marks, Sort, sort
from bridge.shell.sources import Source

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from bridge.scripts.stream.filters.loops import JqProgram, LineLoop
    from bridge.shell import Shell
    from bridge.shell.jobs import Errors, Job

NOWHERE = Path(os.devnull)
_MOST_WAITING = 4 << 20  # bytes of lines that are not settled yet; above it no more are read
_MOST_HELD = 1 << 20  # bytes of one line's output that are held back until it is complete
_TICK = 100  # ms: how often to look where the system has no pidfd


class Jobs(NamedTuple):
    """What a run lets bash start: a jq for many lines, and what is run on a few of them alone."""

    shell: Shell
    on_few: tuple[str, ...]
    stderr: Errors
    grace: float | None = None

    def jq(self, words: Sequence[str], stdin: Source) -> Job:
        return self.shell.start("jq", *words, stdin=stdin, stderr=NOWHERE, grace=self.grace)

    def alone(self, lines: bytes) -> Job:
        return self.shell.start(*self.on_few, stdin=lines, stderr=self.stderr, grace=self.grace)


class _Way(Enum):
    JQ = auto()  # jq has the line, or soon will
    TEXT = auto()
    ASK = auto()  # bash


class _Feed(Source):
    """What one jq is given: the lines that the one before has not done, then what the run reads."""

    def __init__(self, run: FilterRun, again: bytes) -> None:
        self._run = run
        self._again = again
        self.stopped = False

    def take(self) -> bytes | None:
        if self._again:
            again, self._again = self._again, b""
            return again
        return b"" if self.stopped else self._run.lines_for_jq()

    def watch(self, poll: select.poll) -> bool:
        return bool(self._again) or self.stopped or self._run.watch_source(poll)


class FilterRun:
    def __init__(self, loop: LineLoop, program: JqProgram, source: Source, jobs: Jobs) -> None:
        self._loop = loop
        self._jobs = jobs
        self._source = source
        self._reader = LineReader(keep_last=loop.keep_last)
        marks = Marks.new()
        self._words = ("--unbuffered", *program.options, marks.around(program.text))
        self._done_mark, self._failed_mark = marks.printed(program)
        self._queue: deque[tuple[_Way, bytes]] = deque()
        self._waiting = 0  # bytes of their lines
        self._finished: deque[bytes] = deque()  # output of the first lines that jq has, mark of failure included
        self._begun = bytearray()  # output of the next one
        self._given_out = False  # the beginning of that has been given out
        self._ended = False  # nothing is left of the source
        self._stopped = False  # nobody wants more
        self._feed = _Feed(self, b"")
        self._jq = jobs.jq(self._words, self._feed)
        self._asked: Job | None = None
        self._last = b""  # line that may decide on the status
        self._known = (b"", 0)  # status of a line that bash was asked about
        self._until: float | None = None
        self._once = False
        self._output = self._outputs()
        self.spoke = False

    # -- lines in ----------------------------------------------------------------------------------------

    def watch_source(self, poll: select.poll) -> bool:
        """As `Source.watch`; with too much that isn't settled yet, nothing is read."""
        return self._ended or (self._waiting < _MOST_WAITING and self._source.watch(poll))

    def lines_for_jq(self) -> bytes | None:
        """The next lines for jq; None when there are none at the moment, b"" at the end."""
        if self._ended:
            return b""
        if self._waiting >= _MOST_WAITING:
            return None
        piece = self._source.take()
        if piece is None:
            return None
        if piece:
            given = [text for line in self._reader.feed(piece) if (text := self._sorted(line)) is not None]
        else:
            self._ended = True
            given = []
            if rest := self._reader.finish():
                given = self._last_line(rest)
        return "".join(f"{text}\n" for text in given).encode() or (b"" if self._ended else None)

    def _last_line(self, rest: bytes) -> list[str]:
        try:
            text = self._sorted(rest.decode())
        except ValueError:
            self._put(_Way.ASK, rest)
            self._last = rest
            return []
        return [] if text is None else [text]

    def _put(self, way: _Way, data: bytes) -> None:
        self._queue.append((way, data))
        self._waiting += len(data)

    def _sorted(self, line: str | bytes) -> str | None:
        """Queue a line; the line, when that is jq."""
        loop = self._loop
        if isinstance(line, bytes):
            self._last = line + b"\n"
            self._put(_Way.ASK, self._last)
            return None
        text = line.strip(" \t") if loop.strip else line
        if not loop.ignored:
            self._last = line.encode() + b"\n"
        if any(test.holds(text) for test in loop.skip):
            return None
        printing = loop.on_failure
        if loop.only is not None and not loop.only.holds(text):
            printing = loop.otherwise
        else:
            kind = sort(loop.jq.feed.printed(text) if text[:1] == "-" else text)
            if kind is Sort.JSON:
                self._put(_Way.JQ, line.encode() + b"\n")
                return line
            if kind is Sort.BLANK:
                return None
            if kind is Sort.DOUBTFUL or not loop.jq.quiet:
                self._put(_Way.ASK, line.encode() + b"\n")
                return None
        if printing is not None:
            self._put(_Way.TEXT, printing.printed(text).encode())
        return None

    # -- text out ----------------------------------------------------------------------------------------

    def read_within(self, seconds: float | None, *, once: bool = False) -> bytes | None:
        """The next piece of output, b"" at the end; None when there is nothing for so long.

        once: None as well as soon as all lines that were read have printed what they print.
        """
        self._until = None if seconds is None else time.monotonic() + seconds
        self._once = once
        piece = next(self._output, b"")
        self.spoke = self.spoke or bool(piece)
        return piece

    @property
    def settled(self) -> bool:
        return not self._queue

    def _outputs(self) -> Generator[bytes | None, None, None]:
        while not self._stopped:
            piece = self._jq.read_within(0)
            if piece:
                self._received(piece)
            elif piece == b"" and not self._stopped:
                self._jq_has_ended()
            yield from self._settled()
            if self._stopped or (piece == b"" and self._ended and not self._queue):
                return
            if piece == b"":
                again = b"".join(line for way, line in self._queue if way is _Way.JQ)
                self._feed = _Feed(self, again)
                self._jq = self._jobs.jq(self._words, self._feed)
            elif piece is None and not self._over():
                self._wait()
            if self._over():
                yield None

    def _over(self) -> bool:
        return (self._once and not self._queue) or (self._until is not None and time.monotonic() >= self._until)

    def _left(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def _wait(self) -> None:
        if self._jq.status is not None:  # before its input has ended
            self._feed.stopped = True
            return
        poll = select.poll()
        if not self._jq.watch(poll):
            left = self._left()
            poll.poll(stopping.patience(_TICK if left is None else min(left * 1000, _TICK)))
        stopping.look()

    def _received(self, piece: bytes) -> None:
        start = max(0, len(self._begun) - len(self._done_mark))
        self._begun += piece
        end = self._begun.rfind(self._done_mark, start)
        if end >= 0:
            self._finished.extend(bytes(self._begun[:end]).split(self._done_mark))
            del self._begun[: end + len(self._done_mark)]

    def _jq_has_ended(self) -> None:
        """Whatever has no mark, and is not just the rest of a run in order, was too much for jq."""
        left = sum(way is _Way.JQ for way, _ in self._queue) - len(self._finished)
        if left > 0 and self._jq.status == 0:
            self._finished.extend([bytes(self._begun), *[b""] * (left - 1)])
        elif left > 0:
            at = [at for at, (way, _) in enumerate(self._queue) if way is _Way.JQ][len(self._finished)]
            self._queue[at] = (_Way.TEXT, b"") if self._given_out else (_Way.ASK, self._queue[at][1])
        self._begun.clear()
        self._given_out = False

    def _settled(self) -> Iterator[bytes | None]:
        """What the lines print whose turn it is."""
        out: list[bytes] = []
        while self._queue:
            way, data = self._queue[0]
            if way is _Way.JQ:
                if not self._finished:
                    break
                printed = self._printed(self._finished.popleft(), data)
                self._given_out = False
                if printed is not None:
                    out.append(printed)
                else:
                    way = _Way.ASK
            elif way is _Way.TEXT:
                out.append(data)
            self._queue.popleft()
            self._waiting -= len(data)
            if way is _Way.ASK:
                yield from filter(None, [b"".join(out)])
                out = []
                yield from self._ask(data)
        if len(self._begun) > _MOST_HELD and self._queue[0][0] is _Way.JQ and self._plain:
            # The end may be the beginning of a mark.
            keep = len(self._done_mark) + len(self._failed_mark)
            out.append(bytes(self._begun[:-keep]))
            del self._begun[:-keep]
            self._given_out = True
        yield from filter(None, [b"".join(out)])

    @property
    def _plain(self) -> bool:
        """Nothing is done with what jq prints."""
        return self._loop.jq.quiet and self._loop.captured is None

    def _printed(self, output: bytes, line: bytes) -> bytes | None:
        """What a line prints of which jq has printed this; None: that has to be asked for."""
        loop = self._loop
        failed = output.endswith(self._failed_mark)
        if failed:
            output = output[: -len(self._failed_mark)]
            if not loop.jq.quiet:
                return None
        if loop.captured is not None:
            if b"\0" in output:
                return None  # bash drops it, and says so
            text = output.rstrip(b"\n").decode("utf-8", "surrogateescape")
            return loop.captured.printed(text).encode("utf-8", "surrogateescape") if text else b""
        if failed and loop.on_failure is not None:
            text = line[:-1].decode()
            output += loop.on_failure.printed(text.strip(" \t") if loop.strip else text).encode()
        return output

    def _ask(self, lines: bytes) -> Iterator[bytes | None]:
        with self._jobs.alone(lines) as self._asked:
            while (piece := self._asked.read_within(self._left())) != b"":
                yield piece
            self._known = lines, self._asked.status or 0
        self._asked = None

    # -- its end -----------------------------------------------------------------------------------------

    def status(self) -> int:
        """Of the loop, when all its output was read: that of its last line, which bash is asked about."""
        if self._loop.ignored or not self._last:
            return 0
        if self._last == self._known[0]:
            return self._known[1]
        with self._jobs.alone(self._last) as job:
            while job.read():
                pass
            return job.status or 0

    def terminate(self) -> None:
        """End what runs, from another thread: there is no more output then."""
        self._stopped = True
        for job in (self._asked, self._jq):
            if job is not None:
                job.terminate()

    def close(self) -> None:
        self._stopped = True
        self._output.close()
        for job in (self._asked, self._jq):
            if job is not None:
                job.close()
        self._source.close()
