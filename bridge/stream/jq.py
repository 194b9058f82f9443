"""A jq filter without the command: it prints what ``jq`` prints for one line, in a process of ours.

It is for what imitates no hook: `verify`, `diff` and `drift` look at what a driver's program makes of each event,
and how often it errs. What people see of a run comes from :class:`bridge.stream.filters.LiveFilter`. Starting the
command costs 15 ms, and one line that is not JSON ends it (trap T13). Here a program is compiled once (about 1 ms)
and each line stands alone: what went wrong on it is counted, and the next line is fresh. The binding holds the
interpreter's lock while a program runs, so that nothing could end one that never ends (``def f: f; f``): lines are
given to a forked child, which an alarm ends.

The engine is the PyPI binding ``jq``, which bundles libjq 1.8; the installed command may be older.
What a filter prints is byte for byte the output of a command of that version. Rules on versions,
found by running random programs and lines through both (tests/stream/test_jq.py):

1. Numbers. 1.7 and 1.8 print a literal as it was written (``1.0``, ``12345678901234567890``; ``1E5``
   as ``1E+5``) until arithmetic touches it; 1.6 prints the double behind it (``1``,
   ``12345678901234567000``, ``100000``) and ``1e1000`` as ``1.7976931348623157e+308``. Integers up to
   2**53 and short fractions such as ``0.5`` are the same everywhere.
2. A bare ``nan`` is ``null`` from 1.7 on, an error in 1.6. 1.6 drops a form feed before a number.
3. Nesting: 1.6 refuses more than 256 levels, 1.8 more than 10,000.
4. Built-ins that were changed: ``ltrimstr`` and ``rtrimstr`` of a non-string are an error in 1.8 and
   the identity before; ``limit(0; f)`` was the first output of f in 1.6; ``"a" * 0`` was null.
5. A program without a body (blanks, comments, definitions) is the identity up to 1.6, and here; an error from 1.7.
6. A NUL inside a string is an error; the 1.6 that Debian has patched keeps it as ``\\u0000``.
7. The wording of errors (``last_error``), which the command prints on stderr.

And on this class, whatever the version:

8. A line is the whole input: a value that goes on in the next line is an error on both lines.
9. ``input`` finds nothing (an error, recorded), ``inputs`` is empty, ``halt`` and ``halt_error`` end
   the line and not the stream, ``debug`` and ``stderr`` pass their input on and print nothing,
   ``$ENV`` and ``env`` are this process's environment. :attr:`Filter.host_words` names those that a
   program mentions, so that a caller can prefer the command for it.
10. A line that takes longer than a few seconds is an error, and so is every line behind it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import warnings
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO

from bridge.errors import ConfigurationError
from bridge.stream.jsontext import pretty, readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Strings leave the engine as strings, everything else as [JSON text], because the binding would turn
# 1.0 into 1 and round big integers; an error is caught as [message, null], because the binding drops
# the rest of the line at an error where the command goes on with the line's next value. The line
# breaks end a trailing comment, even one that a backslash continues. The parentheses keep the
# program's own definitions (of `tojson`, say) away from ours.
_WRAPPED = 'try (({}\n\n) | if type == "string" then . else [tojson] end) catch [., null]'
_QUOTED = "try (({}\n\n) | [tojson]) catch [., null]"

_BLANKS = " \t\r\n"  # not str.isspace: a no-break space is an error to jq
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*', re.DOTALL)
_HOST_WORDS = re.compile(
    r"\$ENV|(?<![\w.$])(?:debug|env|get_search_list|halt|halt_error|input|input_filename"
    r"|input_line_number|inputs|stderr)(?!\w)"
)


class Filter:
    """One compiled jq program.

    Args:
        program: the jq program.
        raw: print strings without quotes (``-r``; ``-j`` implies it).
        join: print no newline after a value (``-j``). False prints one (``-r``).
        compact: print arrays and objects on one line (``-c``) and not indented by two blanks.
        seconds: that a line may take.

    Raises:
        ConfigurationError: the program does not compile.

    Attributes:
        errors: how many errors there were so far (the command would have printed one line for each).
        last_error: text of the latest, or None.
    """

    def __init__(
        self, program: str, *, raw: bool = True, join: bool = True, compact: bool = False, seconds: float = 5.0
    ) -> None:
        self.program = program
        self.errors = 0
        self.last_error: str | None = None
        engine = _compile(program, _WRAPPED if raw or join else _QUOTED)
        self._printer = _Printer(engine, compact=compact, end="" if join else "\n")
        self._seconds = seconds
        self._child: _Child | None = None
        self._over = False

    @property
    def host_words(self) -> frozenset[str]:
        """Words in the program whose meaning depends on the process around it (rule 9)."""
        return frozenset(_HOST_WORDS.findall(_STRING_OR_COMMENT.sub(" ", self.program)))

    def apply(self, line: bytes) -> bytes:
        """Give what the command prints for this one line.

        Never raises for what is in the line: errors are counted, and what was printed before them stays.

        Args:
            line: one line of input, with or without its newline; invalid UTF-8 is read as jq reads it.

        Returns:
            The output; empty for a blank line.
        """
        text = readable(line)
        if not text.strip(_BLANKS):
            return b""
        if self._child is None and not self._over:
            self._child = _Child(self._printer, self._seconds)
        answer = None if self._child is None else self._child.ask(text)
        if answer is None:
            self._child, self._over = None, True
            answer = b"", [f"it did not end within {self._seconds:g} s"]
        printed, failures = answer
        for message in failures:
            self.errors += 1
            self.last_error = message
        return printed

    def stream(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Apply the filter to each line, giving the output of those that print something."""
        for line in lines:
            printed = self.apply(line)
            if printed:
                yield printed


class _Printer:
    """What the command prints for a text, and the errors that it would report."""

    def __init__(self, engine: Any, *, compact: bool, end: str) -> None:
        self._engine = engine
        self._compact = compact
        self._end = end

    def printed(self, text: str) -> tuple[bytes, list[str]]:
        out: list[str] = []
        failures: list[str] = []
        try:
            for value in self._engine.input_text(text):
                if isinstance(value, str):
                    out.append(value)
                elif len(value) == 1:
                    out.append(value[0] if self._compact else pretty(value[0]))
                else:
                    failures.append(_message(value[0]))
                    continue
                out.append(self._end)
        except ValueError as error:  # a parse error, or a break without its label
            failures.append(_message(str(error)))
        return "".join(out).encode(), failures


def _message(said: object) -> str:
    return said if isinstance(said, str) else f"{said!r} (not a string)"


class _Child:
    """A fork of this process that prints for one text after the other, until one takes too long."""

    def __init__(self, printer: _Printer, seconds: float) -> None:
        theirs, mine = os.pipe()
        answers, replies = os.pipe()
        with warnings.catch_warnings():
            # Python warns of forks beside threads: this child takes no lock, and runs nothing but jq.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _serve(printer, seconds, theirs, replies)
        os.close(theirs)
        os.close(replies)
        self._to, self._from = os.fdopen(mine, "wb"), os.fdopen(answers, "rb")
        self._end = weakref.finalize(self, _end, pid, self._to, self._from)

    def ask(self, text: str) -> tuple[bytes, list[str]] | None:
        """Give what is printed; None: the child has ended, because that took too long."""
        try:
            pickle.dump(text, self._to)
            self._to.flush()
            answer: tuple[bytes, list[str]] = pickle.load(self._from)  # noqa: S301 - of our own fork
            return answer
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self._end()
            return None


def _serve(printer: _Printer, seconds: float, texts: int, replies: int) -> None:
    """What the child does; never returns."""
    status = 1
    try:
        for each in map(int, os.listdir("/dev/fd")):
            if each > 2 and each not in (texts, replies):  # of other threads, who wait for the end of their pipes
                with contextlib.suppress(OSError):
                    os.close(each)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends it, whatever it is doing
        with os.fdopen(texts, "rb") as incoming, os.fdopen(replies, "wb") as outgoing:
            while True:
                text = pickle.load(incoming)  # noqa: S301 - of our own parent
                signal.setitimer(signal.ITIMER_REAL, seconds)
                answer = printer.printed(text)
                signal.setitimer(signal.ITIMER_REAL, 0)
                pickle.dump(answer, outgoing)
                outgoing.flush()
    except EOFError:
        status = 0
    finally:
        os._exit(status)


def _end(pid: int, *pipes: BinaryIO) -> None:
    for pipe in pipes:
        with contextlib.suppress(OSError):
            pipe.close()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _compile(program: str, wrapper: str) -> Any:
    # 30 ms on a cold start: only whoever filters pays for it.
    import jq

    try:
        if "\0" in program:
            raise ValueError("a NUL byte ends the program")
        # First as it stands: `.) | (.` compiles within our parentheses only.
        program = _checked(program)
        return jq.compile(wrapper.format(program))
    except ValueError as error:
        first = next((line for line in program.splitlines() if line.strip()), "")
        said = str(error).replace("\n", "\n    ")
        raise ConfigurationError(
            f"this jq filter does not compile: {first.strip()}\n  jq says: {said}\n"
            "  next: try it with `jq -n` and correct it in the script that prints it"
        ) from error


def _checked(program: str) -> str:
    import jq

    try:
        jq.compile(program)
    except ValueError as error:
        if "Top-level program not given" not in str(error):
            raise
        program += "\n\n."  # blanks, comments or definitions alone: the command takes it for the identity
        jq.compile(program)
    return program
