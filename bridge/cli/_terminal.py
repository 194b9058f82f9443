"""What the commands share: results and messages, colours, signals that end a process in order.

Without click: what answers without it prints as well.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from bridge.cli._harmless import harmless, no_workflow_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bridge.shell import Value


AT_OPEN_BREAKER = "next: look at the last output, then `ralph-bridge reset`, or wait for the cooldown"
"""What can be done when a circuit breaker has ended a loop."""

_SIGNS = {
    "passed": ("✓", "ok", "green"),
    "limit": ("~", "~", "cyan"),
    "warning": ("!", "!", "yellow"),
    "failed": ("✗", "x", "red"),
    "skipped": ("-", "-", "dim"),
}
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Style:
    """Colours for one stream: on a terminal, unless NO_COLOR; elsewhere only with FORCE_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream.isatty()
        forced = bool(os.environ.get("FORCE_COLOR"))
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.on = not plain and (self.terminal or forced)

    def __call__(self, text: str, *names: str) -> str:
        if not self.on:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


def write(text: str | bytes, stream: TextIO | None = None) -> None:
    """Write a result to stdout, or what a script says to another stream: into a pipe or a file exactly, text that
    came from bytes as those bytes; on a terminal text and its colours.
    """
    out = sys.stdout if stream is None else stream
    if out.isatty():
        text = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
        text = harmless(text, colours="none" if os.environ.get("NO_COLOR") else "any", joiners=True)
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    out.flush()
    out.buffer.write(data)
    out.buffer.flush()


def write_text(text: str) -> None:
    """Write what an agent says to stdout, as `write` does; what its encoding lacks becomes a question mark."""
    write(text.encode(sys.stdout.encoding or "utf-8", "replace"))


def steer(stream: TextIO, text: str) -> None:
    """Write to a terminal what moves its cursor: rows that this package has made, and nothing else."""
    stream.write(text)
    stream.flush()


def print_json(document: Mapping[str, object]) -> None:
    """Print a document with its schema number; bytes that are not UTF-8 appear as lone surrogates (\\udcXX)."""
    import json

    write(json.dumps({"schema": 1, **document}, indent=2) + "\n")


def shell_line(argv: Sequence[str], stdin: bytes | None) -> bytes:
    """A command as a line that bash would run, with what it reads on stdin."""
    line = os.fsencode(_quoted(argv)) + b"\n"
    return line if stdin is None else b"printf %s " + os.fsencode(_quoted([os.fsdecode(stdin)])) + b" | " + line


def as_shell(name: str, value: Value | None) -> str:
    """A variable as a line that bash would read."""
    if value is None:
        return f"unset {name}"
    if isinstance(value, str):
        return f"{name}={_quoted([value])}"
    if isinstance(value, dict):
        return f"{name}=({' '.join(f'[{_quoted([k])}]={_quoted([v])}' for k, v in value.items())})"
    return f"{name}=({_quoted(value)})"


def _quoted(words: Iterable[str]) -> str:
    import shlex

    return shlex.join(words)


def columns(stream: TextIO) -> int:
    """How wide lines may be: as the terminal is, up to a hundred; 80 where there is none."""
    import shutil

    return max(min(shutil.get_terminal_size().columns, 100), 40) if stream.isatty() else 80


def hanging(label: str, text: str, width: int) -> str:
    """Fold `text` behind its label; what follows stands below its beginning."""
    from textwrap import TextWrapper

    folder = TextWrapper(width, label, " " * len(label), break_long_words=False, break_on_hyphens=False)
    return folder.fill(text) or label.rstrip()


_ESCAPE = r"\x1b\[[0-9;]*m"
_COLUMNS = r".*\S {2,}(?=\S)"
_LABEL = r" *(?:next:|[^\w\s]) "
_COMMAND = r" *next: .*(?:[<>|]|&&)"


def folded(text: str, stream: TextIO) -> str:
    """Lines as a terminal has room for them: each goes on below its last column, or behind its mark.

    A command line to be copied stays whole, and so does everything where there is no terminal.
    """
    if not stream.isatty():
        return text
    import shutil

    width = max(shutil.get_terminal_size().columns, 40)
    return "\n".join(fold(line, width) for line in text.split("\n"))


def fold(line: str, width: int) -> str:
    """One line, in as many as it takes; colours take no room."""
    import re

    bare = re.sub(_ESCAPE, "", line)
    if len(bare) <= width or re.match(_COMMAND, bare):
        return line
    found = re.match(_COLUMNS, bare[: width * 3 // 4]) or re.match(_LABEL, bare)
    column = found.end() if found else len(bare) - len(bare.lstrip(" ")) + 2
    rows = [""]
    room = width
    for word in re.findall(" *[^ ]+", line):
        size = len(re.sub(_ESCAPE, "", word))
        if size > room and room < width - column:
            word = word.lstrip(" ")
            size = len(re.sub(_ESCAPE, "", word))
            rows.append(" " * column)
            room = width - column
        rows[-1] += word
        room -= size
    return "\n".join(rows)


def say(*lines: str) -> None:
    """Print lines on stderr, at once; each is one, whatever is in it. What nobody can be told any more is no reason
    to stop working.
    """
    try:
        sys.stderr.write("".join(f"{message(line, sys.stderr)}\n" for line in lines))
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)


def say_all(text: str) -> None:
    """Print a text of several lines on stderr, as `say` does."""
    say(*text.split("\n"))


def message(line: str, stream: TextIO) -> str:
    """One line for people, with no colours but ours; for a screen, and for a file that is shown on one later."""
    return _for_people(line.replace("\n", " "), stream)


def _for_people(text: str, stream: TextIO) -> str:
    return in_job(harmless(text, colours="ours" if Style(stream).on else "none"))


def in_job(text: str) -> str:
    """A text as it may stand in the log of a job, where GitHub runs what looks like a command to it."""
    return no_workflow_command(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def drop(stream: TextIO) -> None:
    """Let a stream lead nowhere: nobody takes it, and the interpreter must not try to flush it when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def show(text: str) -> None:
    """Print lines for people on stdout, at once, folded; what its encoding lacks becomes a question mark."""
    text = _for_people(text, sys.stdout)
    sys.stdout.buffer.write(folded(text, sys.stdout).encode(sys.stdout.encoding or "utf-8", "replace"))
    sys.stdout.buffer.flush()


def sign(status: str, style: Style) -> str:
    """The mark in front of a finding, in colour; in letters where stdout's encoding has no such signs.

    status: ``passed``, ``limit``, ``warning``, ``failed`` or ``skipped``.
    """
    mark, plain, colour = _SIGNS[status]
    try:
        mark.encode(sys.stdout.encoding)
    except (UnicodeEncodeError, LookupError):
        mark = plain
    return style(mark, colour)


@contextmanager
def guarded(message: str = "interrupted: the CLI and everything it had started were ended") -> Iterator[None]:
    """End the block in order when a signal comes, or the reader of our output leaves.

    TERM and HUP end the process the way Ctrl-C does: everything that was started goes first. Where the caller has
    them ignored, as nohup does with HUP, they stay ignored.

    message: for people, after Ctrl-C.
    """

    def leave(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    caught = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in caught}
    try:
        yield
    except KeyboardInterrupt:
        say(message)
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output has gone
        drop(sys.stdout)
        sys.exit(128 + signal.SIGPIPE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_ATOMIC = 4096  # what a pipe takes whole when poll says that it takes something
_PATIENCE = 1000  # milliseconds, the first time


class LossyWriter:
    """Output that never holds a loop up: a pipe that nobody reads, or that has gone, costs lines, not the night.

    The original's dashboard gives the loop pipes and never reads them: after some dozen loops a write would block
    for ever. Whatever is dropped here stands in ``ralph.log``. Other people's text gets here by `say` and `write`.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._descriptor = -1
        self._patience = _PATIENCE
        if stream is not None:
            stream.flush()
            self._descriptor = stream.fileno()
            self._poller = select.poll()
            self._poller.register(self._descriptor, select.POLLOUT)

    def say(self, line: str) -> None:
        """Write a line for people."""
        if self._stream is not None:
            self.steer(message(line, self._stream) + "\n")

    def write(self, text: str) -> None:
        """Write what an agent says: on a terminal its text and colours."""
        if self._stream is not None and self._stream.isatty():
            text = harmless(text, colours="none" if os.environ.get("NO_COLOR") else "any", joiners=True)
        self.steer(text)

    def steer(self, text: str) -> None:
        """Write a text, or as much of it as goes. Never raises, never waits for longer than a second."""
        data = text.encode("utf-8", "replace")
        while data and self._descriptor >= 0:
            try:
                if not self._poller.poll(self._patience):
                    self._patience = 0  # nobody reads; once somebody does, lines come through again
                    return
                written = os.write(self._descriptor, data[:_ATOMIC])
            except OSError:
                self._descriptor = -1
                return
            self._patience = _PATIENCE
            data = data[written:]
