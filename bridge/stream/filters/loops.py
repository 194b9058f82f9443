"""A loop over lines with one jq: what it does with a line, and the program that its jq runs."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from bridge.stream.filters.shelltext import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Sequence

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
# What jq says about the run and not about the line, or what ends it.
_HOST_WORDS = re.compile(
    r"\$ENV|\$__|__jq|(?<![\w.$])(?:debug|env|get_search_list|halt|halt_error|import|include|input|input_filename"
    r"|input_line_number|inputs|modulemeta|stderr)(?!\w)"
)
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*', re.DOTALL)
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
        plain = text if _UNSURE.search(text) else _STRING_OR_COMMENT.sub(" ", text)
        if found := _HOST_WORDS.search(plain):
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
        """What they are in its output."""
        end = "" if program.joined else "\n"
        done, failed = (f"{mark}{end}" if program.raw else f'"{mark}"{end}' for mark in self)
        return done.encode(), failed.encode()
