"""A jq filter in a process of ours, for what imitates no hook.

What people see of a run comes from :class:`bridge.scripts.stream.display.LiveFilter`.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import signal
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO

from bridge.errors import FilterNotCompiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Strings leave the engine as strings, everything else as [JSON text], because the binding would turn
# 1.0 into 1 and round big integers; an error is caught as [message, null], because the binding drops
# the rest of the line at an error where the command goes on with the line's next value. The line
# breaks end a trailing comment, even one that a backslash continues. The parentheses keep the
# program's own definitions (of `tojson`, say) away from ours.
_WRAPPED = 'try (({}\n\n) | if type == "string" then . else [tojson] end) catch [., null]'

_BLANKS = " \t\r\n"  # not str.isspace: a no-break space is an error to jq
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*', re.DOTALL)
HOST_WORDS = re.compile(
    r"\$ENV|\$__|__jq|(?<![\w.$])(?:debug|env|get_search_list|halt|halt_error|import|include|input|input_filename"
    r"|input_line_number|inputs|modulemeta|stderr)(?!\w)"
)
"""What a program says about the run and not about its input, or what ends the run."""


class Filter:
    """One jq program, for what imitates no hook: `verify` and `drift` look at what it makes of each event.

    It prints what ``jq -j`` prints, byte for byte as the libjq 1.8 in the PyPI binding ``jq``, whatever the machine
    has: of 1.6, numbers (``1.0``), ``nan``, nesting and a few built-ins differ. A program is compiled once (1 ms,
    where starting the command costs 15), and each line stands alone (trap T13): it is the whole input, so that
    ``input`` finds nothing and ``halt`` ends the line. The binding holds the interpreter's lock while a program
    runs, so that nothing could end one that never ends (``def f: f; f``): a forked child runs it, which an alarm
    ends, and every line behind that one is an error, too.

    Args:
        program: the jq program.
        seconds: that a line may take.

    Raises:
        FilterNotCompiled: the program does not compile.

    Attributes:
        errors: how many errors there were so far (the command would have printed one line for each).
        last_error: text of the latest, or None.
    """

    def __init__(self, program: str, *, seconds: float = 5.0) -> None:
        self.program = program
        self.errors = 0
        self.last_error: str | None = None
        self._engine = _compile(program)
        self._seconds = seconds
        self._child: _Child | None = None
        self._over = False

    @property
    def host_words(self) -> frozenset[str]:
        """Words in the program whose meaning depends on the process around it."""
        return frozenset(HOST_WORDS.findall(STRING_OR_COMMENT.sub(" ", self.program)))

    def apply(self, line: bytes) -> bytes:
        """What the command prints for this one line; errors are counted, and what was printed before them stays."""
        text = readable(line)
        if not text.strip(_BLANKS):
            return b""
        if self._child is None and not self._over:
            self._child = _Child(self._engine, self._seconds)
        answer = None if self._child is None else self._child.ask(text)
        if answer is None:
            self._child, self._over = None, True
            answer = b"", [f"it did not end within {self._seconds:g} s"]
        printed, failures = answer
        self.errors += len(failures)
        self.last_error = failures[-1] if failures else self.last_error
        return printed

    def stream(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        return filter(None, map(self.apply, lines))


def _printed(engine: Any, text: str) -> tuple[bytes, list[str]]:
    """What the command prints for a text, and the errors that it would report."""
    out: list[str] = []
    failures: list[str] = []
    try:
        for value in engine.input_text(text):
            if isinstance(value, str):
                out.append(value)
            elif len(value) == 1:
                out.append(pretty(value[0]))
            else:
                message = value[0]
                failures.append(message if isinstance(message, str) else f"{message!r} (not a string)")
    except ValueError as error:  # a parse error, or a break without its label
        failures.append(str(error))
    return "".join(out).encode(), failures


class _Child:
    """A fork of this process that prints for one text after the other, until one takes too long."""

    def __init__(self, engine: Any, seconds: float) -> None:
        import pickle  # noqa: F401 - before the fork: the child is to take no lock of an import
        import warnings

        theirs, mine = os.pipe()
        answers, replies = os.pipe()
        with warnings.catch_warnings():
            # Python warns of forks beside threads: this child takes no lock, and runs nothing but jq.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _serve(engine, seconds, theirs, replies)
        os.close(theirs)
        os.close(replies)
        self._to, self._from = os.fdopen(mine, "wb"), os.fdopen(answers, "rb")
        self._end = weakref.finalize(self, _end, pid, self._to, self._from)

    def ask(self, text: str) -> tuple[bytes, list[str]] | None:
        """Give what is printed; None: the child has ended, because that took too long."""
        import pickle

        try:
            pickle.dump(text, self._to)
            self._to.flush()
            answer: tuple[bytes, list[str]] = pickle.load(self._from)  # noqa: S301 - of our own fork
            return answer
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self._end()
            return None


def _serve(engine: Any, seconds: float, texts: int, replies: int) -> None:
    import pickle

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
                answer = _printed(engine, text)
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


def _compile(program: str) -> Any:
    import jq  # 30 ms on a cold start: only whoever filters pays for it

    try:
        if "\0" in program:
            raise ValueError("a NUL byte ends the program")
        try:
            jq.compile(program)  # first as it stands: `.) | (.` compiles within our parentheses only
        except ValueError as error:
            if "Top-level program not given" not in str(error):
                raise
            program += "\n\n."  # blanks, comments or definitions alone: the identity, as up to 1.6
            jq.compile(program)
        return jq.compile(_WRAPPED.format(program))
    except ValueError as error:
        first = next((line for line in program.splitlines() if line.strip()), "")
        complaint = str(error)
        indented = complaint.replace("\n", "\n    ")
        raise FilterNotCompiled(
            f"this jq filter does not compile: {first.strip()}\n  jq says: {indented}\n"
            "  next: try it with `jq -n` and correct it in the script that prints it",
            complaint,
        ) from error


# -- JSON text as jq reads and writes it -------------------------------------------------------------

_AS_JQ = "ralph-bridge-jq"

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^{}\[\],:"]+', re.DOTALL)
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(
    rb'\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(["\\/bfnrt]))'
)
_BAD_ESCAPE = re.compile(rb"\\(?!u[0-9a-fA-F]{4}|[\"\\/bfnrt])|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])", re.DOTALL)
_SINGLE = {
    b'"': b'"',
    b"\\": b"\\",
    b"/": b"/",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
}


def pretty(text: str) -> str:
    """Indent compact JSON text by two blanks a level, as the jq command does without ``-c``."""
    if text[0] not in "[{":
        return text
    out: list[str] = []
    depth = 0
    previous = ""
    for part in _TOKEN.findall(text):
        if part in "]}":
            depth -= 1
            if previous not in "[{":  # an empty one stays on its line
                out.append("\n" + "  " * depth)
        elif previous and previous in "[{,":
            out.append("\n" + "  " * depth)
        out.append(": " if part == ":" else part)
        if part in "[{":
            depth += 1
        previous = part
    return "".join(out)


def readable(line: bytes) -> str:
    """Decode a line of JSON so that the engine sees in it what the jq command would see.

    Invalid UTF-8 inside strings becomes U+FFFD.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return _STRING.sub(_repair, line).decode("utf-8", "replace")


def _repair(match: re.Match[bytes]) -> bytes:
    """Give a string token whose invalid bytes are U+FFFD; jq looks at them after the escapes."""
    inner = match[1]
    try:
        inner.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return match[0]
    if b"\0" in inner or _BAD_ESCAPE.search(inner.replace(b"\\\\", b"")):
        return match[0]  # jq will refuse the line here anyway
    plain = _ESCAPE.sub(_unescape, inner)
    return json.dumps(plain.decode("utf-8", _AS_JQ), ensure_ascii=False).encode("utf-8")


def _unescape(match: re.Match[bytes]) -> bytes:
    high, low, code, single = match.groups()
    if single:
        return _SINGLE[single]
    if high:
        return bytes.fromhex((high + low).decode("ascii")).decode("utf-16-be").encode("utf-8")
    return chr(int(code, 16)).encode("utf-8", "surrogatepass")


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Handle invalid UTF-8, counting replacement characters as jq does (differently from Python).

    One for a sequence that its last bytes end too early, for an overlong one, for a surrogate; a
    sequence that the end of the string cuts short takes all the bytes that are left with it.
    """
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + _bad_length(error.object, error.start)


# The decoder calls it where it stands: a loop of our own would read the rest anew at every invalid byte.
codecs.register_error(_AS_JQ, _replace)


def _bad_length(data: bytes, start: int) -> int:
    lead = data[start]
    length = 2 if 0xC2 <= lead <= 0xDF else 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 1
    if start + length > len(data):
        return len(data) - start
    for offset in range(1, length):
        if not 0x80 <= data[start + offset] <= 0xBF:
            return offset
    return length
