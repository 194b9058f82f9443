"""A loop over lines with one jq: what it does with a line, the program that its jq runs, and which lines those are.

Python's parser and jq agree on what is one plain JSON value. Where they might not (``.5``, ``nan``, a value that is
cut, several on a line, bytes that are no UTF-8), the line is *doubtful*: bash is asked about it.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.records import dataclass
from bridge.scripts.stream.filters.shelltext import NotUnderstood
from bridge.scripts.stream.jq import HOST_WORDS, STRING_OR_COMMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ECHO_OPTIONS = re.compile(r"-[neE]+")
_LETTERS = re.compile(r"-[rjcaSMe]+")
_LONG = {
    "--raw-output": "-r",
    "--join-output": "-j",
    "--compact-output": "-c",
    "--ascii-output": "-a",
    "--sort-keys": "-S",
    "--monochrome-output": "-M",
    "--exit-status": "-e",
    "--unbuffered": "--unbuffered",
    "--tab": "--tab",
}
_PARAMETERS = {"--arg": 2, "--argjson": 2, "--indent": 1}
_UNSURE = re.compile(r"\\\(|#[^\n]*\\\r?\n")  # strings with programs in them; comments that 1.7 continues
_LONGEST_PROGRAM = 100_000  # the kernel refuses arguments above 128 KiB


@dataclass(frozen=True, slots=True)
class Test:
    """``[ -n "$line" ]`` and its like; a prefix has the operator ``=^``."""

    operator: str
    text: str = ""
    negated: bool = False

    def holds(self, line: str) -> bool:
        match self.operator:
            case "-n":
                found = bool(line)
            case "=^":
                found = line.startswith(self.text)
            case _:
                found = line == self.text
        return found is not self.negated


@dataclass(frozen=True, slots=True)
class Printing:
    """``echo "$line"``, ``printf '%s\\n' "$line"``."""

    end: str = "\n"
    echo: bool = False

    def printed(self, text: str) -> str:
        """What it prints; the options of echo are none of the text (xpg_echo is off)."""
        if self.echo and text[:1] == "-" and _ECHO_OPTIONS.fullmatch(text):
            return "" if "n" in text else "\n"
        return text + self.end


@dataclass(frozen=True, slots=True)
class JqCall:
    """One jq command: its words as the script has them, without its name, how the line gets to it, and whether its
    stderr goes to /dev/null."""

    words: tuple[str, ...]
    feed: Printing
    quiet: bool


@dataclass(slots=True, kw_only=True)
class LineLoop:
    """``while IFS= read -r line; do …; done``.

    Attributes:
        name: the variable.
        text: the whole loop, without its redirection.
        file: the word behind ``<``; None: the hook's stdin.
        strip: no ``IFS=``: the blanks around a line go.
        keep_last: a last line without newline counts.
        skip: a line of which one of these holds is passed over.
        only: jq gets the lines of which it holds; None: all.
        otherwise: how those of which `only` doesn't hold are printed; None: not at all.
        jq: the command.
        on_failure: how a line is printed at which jq has failed; None: not at all.
        captured: what jq printed is kept in a variable, and printed so if there was anything.
        ignored: the body ends with status 0 whatever happens.
    """

    name: str
    text: str = ""
    file: str | None = None
    strip: bool = False
    keep_last: bool = False
    jq: JqCall = JqCall((), Printing(), quiet=True)
    skip: list[Test] = field(default_factory=list)
    only: Test | None = None
    otherwise: Printing | None = None
    on_failure: Printing | None = None
    captured: Printing | None = None
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class LoopHook:
    """A hook that is nothing but a loop over lines.

    Attributes:
        setup: commands before the loop: ``local``, assignments, tests of the file.
        loops: one; or two, the second of which runs when the first has printed nothing.
        succeeds: its status is 0 whatever happens in the loop.
    """

    setup: str
    loops: tuple[LineLoop, ...]
    succeeds: bool


# -- its jq ------------------------------------------------------------------------------------------


class JqProgram(NamedTuple):
    """A jq program with its options.

    Attributes:
        options: all but ``-e``, which changes nothing but the status.
        text: of the program.
        raw, joined: ``-r`` and ``-j`` are among them.
        judged: ``-e`` was.
    """

    options: tuple[str, ...]
    text: str
    raw: bool
    joined: bool
    judged: bool

    @classmethod
    def of(cls, words: Sequence[str]) -> JqProgram:
        """The words of a jq command, without its name, as bash has expanded them; NotUnderstood when it does
        something else than to filter its stdin value by value."""
        flags: set[str] = set()
        parameters: list[str] = []
        operands: list[str] = []
        left = list(words)
        while left:
            word = left.pop(0)
            if not word.startswith("-") or word == "-":
                operands.append(word)
            elif _LETTERS.fullmatch(word):
                flags.update(f"-{letter}" for letter in word[1:])
            elif word in _LONG:
                flags.add(_LONG[word])
            elif word in _PARAMETERS and len(left) >= _PARAMETERS[word]:
                parameters += [word, *left[: _PARAMETERS[word]]]
                del left[: _PARAMETERS[word]]
            else:
                raise NotUnderstood(f"jq {word}")
        if len(operands) != 1:
            raise NotUnderstood("jq without a program, or with a file")
        text = operands[0]
        plain = text if _UNSURE.search(text) else STRING_OR_COMMENT.sub(" ", text)
        if found := HOST_WORDS.search(plain):
            raise NotUnderstood(f"`{found.group()}` in a jq program, which is about the process around it")
        if len(text) > _LONGEST_PROGRAM or any("\udc80" <= letter <= "\udcff" for word in words for letter in word):
            raise NotUnderstood("a jq program that is very long, or no UTF-8")
        options = (*sorted(flags - {"-e", "--unbuffered"}), *parameters)
        return cls(options, text, not flags.isdisjoint(("-r", "-j")), "-j" in flags, "-e" in flags)


class Marks(NamedTuple):
    """What jq prints behind the output of each line, and behind that of one at which it failed."""

    done: str
    failed: str

    @classmethod
    def new(cls) -> Marks:
        """Such as no program and no input can know."""
        return cls(secrets.token_hex(8), secrets.token_hex(8))

    def around(self, program: str) -> str:
        """The program that prints them; the line breaks end a comment, even one that a backslash continues."""
        return f'(try ({program}\n\n) catch "{self.failed}"), "{self.done}"'

    def printed(self, program: JqProgram) -> tuple[bytes, bytes]:
        end = "" if program.joined else "\n"
        done, failed = (f"{mark}{end}" if program.raw else f'"{mark}"{end}' for mark in self)
        return done.encode(), failed.encode()


# -- its lines, as bash's `read` sees them, and what jq surely makes of them -------------------------


class Sort(Enum):
    JSON = auto()
    """Exactly one value, for every version."""
    BLANK = auto()
    """Nothing at all: no output and no error."""
    GARBAGE = auto()
    """No JSON from its first word on: an error before any output."""
    DOUBTFUL = auto()


def _no_constant(text: str) -> None:
    raise ValueError(text)


_scan = json.JSONDecoder(parse_constant=_no_constant).scan_once  # type: ignore[attr-defined]
_BLANKS = " \t\r\n"
# Begins with a word that is no literal and no number of any version. 1.6 to 1.8 take some spellings of nan and
# infinity; what an array begins with may be such a word, too: "[INFO] …".
_GARBAGE = re.compile(
    r"[ \t\r]*(?:\[[ \t\r]*(?![ \t\r]*\]))*"
    r"(?!(?i:true|false|null|s?nan[0-9]*|inf|infinity)(?:[\s\[{:,\]}\"]|\Z))"
    r"[^\x00-\x20\x7f0-9+\-.\"\[{\ufeff]"
)
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a surrogate pair: an error from 1.7 on
# What ends in such a byte, bash 5.2 joins with the next line: its `read` swallows the newline.
_INCOMPLETE = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})[\r\t ]?\Z")


def sort(line: str) -> Sort:
    """What jq makes of this line, which has no newline."""
    try:
        _, end = _scan(line, 0)
    except (StopIteration, ValueError, RecursionError):
        text = line.strip(_BLANKS)
        if text and text != line:
            return sort(text)
        return Sort.GARBAGE if _GARBAGE.match(text) else Sort.DOUBTFUL if text else Sort.BLANK
    if end != len(line) and line[end:].strip(_BLANKS):
        return Sort.DOUBTFUL
    if ("\\ud" in line or "\\uD" in line) and _HALF.search(_PAIR.sub("", line)):
        return Sort.DOUBTFUL
    return Sort.JSON


class LineReader:
    """Cuts what comes in pieces into lines, as ``read -r`` does; each is text, or bytes that are no UTF-8."""

    def __init__(self, *, keep_last: bool) -> None:
        self._keep_last = keep_last
        self._begun: list[bytes] = []
        self._joined: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[str | bytes]:
        end = piece.rfind(b"\n") + 1
        if not end:
            self._begun.append(piece)
            return
        data = b"".join((*self._begun, piece[: end - 1])).replace(b"\0", b"")
        self._begun = [piece[end:]]
        try:
            if self._joined:
                raise ValueError
            yield from data.decode().split("\n")
        except ValueError:
            for line in data.split(b"\n"):
                yield from self._bytes(line)

    def _bytes(self, line: bytes) -> Iterator[str | bytes]:
        if _INCOMPLETE.search(line):
            self._joined.append(line)
            return
        if self._joined:
            line = b"\n".join((*self._joined, line))
            self._joined.clear()
            yield line
            return
        try:
            yield line.decode()
        except ValueError:
            yield line

    def finish(self) -> bytes:
        """What no newline has ended, with the lines that may belong to it."""
        rest = b"".join(self._begun).replace(b"\0", b"")
        if self._joined:
            return b"\n".join((*self._joined, rest))
        return rest if self._keep_last else b""
