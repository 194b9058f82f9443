"""What the commands print: results and messages, colours, and what of a text may reach a terminal.

Without click: what answers without it prints as well.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from bridge.base.patterns import lazy
from bridge.base.wording import apart, coloured, harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_OTHER_BYTES = lazy("([\udca0-\udcff]+)")
_WORKFLOW_COMMAND = lazy(r"^(\s*:)(?=:)|(##)(?=\[)", re.MULTILINE)
_SIGNS = {
    "passed": ("✓", "ok", "green"),
    "limit": ("~", "~", "cyan"),
    "warning": ("!", "!", "yellow"),
    "failed": ("✗", "x", "red"),
    "skipped": ("-", "-", "dim"),
}
_ESCAPE = r"\x1b\[[0-9;]*m"
_COLUMNS = r".*\S {2,}(?=\S)"
_LABEL = r" *(?:next:|[^\w\s]) "
_COMMAND = r" *next: .*(?:[<>|]|&&)"
_ATOMIC = 4096  # what a pipe takes whole when poll says that it takes something
_PATIENCE = 1000  # milliseconds, the first time
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
        text = coloured(text if isinstance(text, str) else text.decode("utf-8", "surrogateescape"))
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    out.flush()
    out.buffer.write(data)
    out.buffer.flush()


def write_text(text: str, stream: TextIO | None = None) -> None:
    """Write what an agent says to stdout, or another stream: text and its colours alone, wherever it goes, since
    people see it on a terminal later (`| tee`); what the encoding lacks becomes a question mark. Not on a terminal,
    bytes that are no UTF-8, and no control characters of another encoding either, stay.
    """
    out = sys.stdout if stream is None else stream
    parts = [text] if out.isatty() else _OTHER_BYTES.split(text)
    data = [in_job(coloured(part)).encode(out.encoding or "utf-8", "replace") for part in parts]
    data[1::2] = [part.encode("utf-8", "surrogateescape") for part in parts[1::2]]
    write(b"".join(data), out)


class Pieces:
    """Text that comes in pieces, which end anywhere: what isn't whole is held, such as half an escape sequence."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, text: str) -> str:
        """Take in a piece, and return what can be written; in a job of GitHub, whole lines."""
        text = self._held + text
        whole = text.rpartition("\n")[:2] if _in_a_job() else apart(text)[:1]
        self._held = text[len("".join(whole)) :]
        return "".join(whole)

    def end(self) -> str:
        rest, self._held = self._held, ""
        return rest


def steer(stream: TextIO, text: str) -> None:
    """Write to a terminal what moves its cursor: rows that this package has made, and nothing else."""
    stream.write(text)
    stream.flush()


def print_json(document: Mapping[str, object]) -> None:
    """Print a document with its schema number; bytes that are not UTF-8 appear as lone surrogates (\\udcXX)."""
    import json

    write(json.dumps({"schema": 1, **document}, indent=2) + "\n")


def text_width(stream: TextIO) -> int:
    """How wide lines may be: as the terminal is, up to a hundred; 80 where there is none."""
    return max(min(shutil.get_terminal_size().columns, 100), 40) if stream.isatty() else 80


def hanging(label: str, text: str, width: int) -> str:
    """Fold `text` behind its label; what follows stands below its beginning."""
    from textwrap import TextWrapper

    folder = TextWrapper(width, label, " " * len(label), break_long_words=False, break_on_hyphens=False)
    return folder.fill(text) or label.rstrip()


def folded(text: str, stream: TextIO) -> str:
    """Lines as a terminal has room for them: each goes on below its last column, or behind its mark.

    A command line to be copied stays whole, and so does everything where there is no terminal.
    """
    if not stream.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, 40)
    return "\n".join(fold(line, width) for line in text.split("\n"))


def fold(line: str, width: int) -> str:
    """One line, in as many as it takes; colours take no room."""
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
    """Print lines on stderr, at once, folded; each is one, whatever is in it. What nobody can be told any more is
    no reason to stop working.
    """
    try:
        sys.stderr.write("".join(f"{folded(message(line, sys.stderr), sys.stderr)}\n" for line in lines))
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)


def say_all(text: str) -> None:
    say(*text.split("\n"))


def message(line: str, stream: TextIO) -> str:
    """One line for people, with no colours but ours; for a screen, and for a file that is shown on one later."""
    return _for_people(line.replace("\n", " "), stream)


def _for_people(text: str, stream: TextIO) -> str:
    return in_job(harmless(text, colours="ours" if Style(stream).on else "none"))


def in_job(text: str) -> str:
    """A text as it may stand in the log of a job of GitHub, which takes ``##[``, or ``::`` first, for a command."""
    return _WORKFLOW_COMMAND.sub(r"\1\2 ", text) if _in_a_job() else text


def _in_a_job() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


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


def show_lines(lines: Iterable[str]) -> None:
    """Print lines for people on stdout; each is one, whatever is in it."""
    show("".join(f"{line.replace(chr(10), ' ')}\n" for line in lines))


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


class LossyWriter:
    """Output that never holds a loop up: a pipe that nobody reads, or that has gone, costs lines, not the night.

    The original's dashboard gives the loop pipes and never reads them: after some dozen loops a write would block
    for ever. Whatever is dropped here stands in ``ralph.log``. Other people's text gets here by `say`, `write`
    and `end`.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._descriptor = -1
        self._patience = _PATIENCE
        self._pieces = Pieces()
        if stream is not None:
            stream.flush()
            self._descriptor = stream.fileno()
            self._poller = select.poll()
            self._poller.register(self._descriptor, select.POLLOUT)

    def say(self, line: str) -> None:
        if self._stream is not None:
            self.steer(message(line, self._stream) + "\n")

    def write(self, text: str) -> None:
        """Write what an agent says, as `write_text` does."""
        self.steer(in_job(coloured(self._pieces.add(text))))

    def end(self) -> None:
        """Write what is held of that: something else comes."""
        self.steer(in_job(coloured(self._pieces.end())))

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
