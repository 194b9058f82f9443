"""What the host and the prelude say to each other. Pure: no descriptors, no clock.

A request is a mark and shell code, ended by a NUL. The mark tells it from what a script may have written into the
channel: that is thrown away, up to the last mark. Every value in it is single-quoted, so that nothing from a value
is ever evaluated; every name is checked first. A reply is NUL-framed::

    <number> <status> <how it left> <$->\\0  [values]  [=<number>\\0 when there were values]

Counts come before elements, because ``printf '%s\\0' "${a[@]}"`` prints one NUL for an empty array.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import InvalidName, ValueNotAccepted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


BUILTIN_BACK = '\\builtin eval "__rb_B=;$__rb_B"\n'
"""After the host's own code: a function of the script's that is called ``builtin`` comes back (see the prelude)."""

NOTHING = "__rb_c=$?"
"""The command of a request that has none: it passes on how the code before it ended."""

MARK = b"\x1e\x1f;"
"""What a request begins with; the rest of it doesn't have the first byte."""

INLINE_LIMIT = 400
"""Bytes. bash reads a pipe one byte per system call (0.27 µs each); from here on a file is faster."""

_MANY_QUOTES = 100  # bash takes 4.6 s to parse 400,000 of them outside single quotes, 0.04 s inside double ones

_TRACED = re.compile(rb"(?m)^.*(?:\b__rb_[a-zA-Z]=|&& __rb_k\(\)).*\n?")

_DOUBLED = "\1\x7f"
"""bash's own quoting characters: between the parentheses of an array it puts a byte 1 before them. Each bash does
so in double quotes, bash 3.2 also in single ones."""

_BLANKS = frozenset("\0\n\t ")


class Head(NamedTuple):
    """The first frame of a reply.

    number: of the request that it answers, counted from 1 in each bash.
    status: 0 to 255.
    left: ``-`` the call returned, ``exit`` it called exit, ``int`` an interrupt ended it, ``lost`` something in it
        threw bash out of the prelude's loop.
    options: the value of ``$-`` after the call.
    """

    number: int
    status: int
    left: str
    options: str


def encode(text: str) -> bytes:
    """Text to the bytes that bash sees (UTF-8, lone surrogates as the bytes that they stand for).

    Raises ValueNotAccepted for a surrogate that stands for no byte, with some of the text.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        bad, around = text[error.start], text[max(0, error.start - 30) : error.start + 30]
        raise ValueNotAccepted(
            f"{bad!r} in {around!r} is half of a character and stands for no byte; "
            "give text, or bytes decoded with surrogateescape"
        ) from None


def check_text(text: str) -> str:
    """Return `text` if all of it stands for bytes.

    Raises:
        ValueNotAccepted: a surrogate in it stands for none. Every value is looked at before it becomes code, so
            that the message shows what a caller gave, and nothing of ours.
    """
    if not text.isascii():
        encode(text)
    return text


def decode(data: bytes) -> str:
    """Bytes from bash to text; a byte that is not UTF-8 becomes a lone surrogate and survives the way back."""
    return data.decode("utf-8", "surrogateescape")


def check_name(name: str) -> str:
    """Return `name` if it is the name of a shell variable.

    Raises:
        InvalidName: anything else, because names are put into code as they are.
    """
    if not isinstance(name, str):
        raise InvalidName(f"{name!r:.60} ({type(name).__name__}) is not a shell variable name, expected a str")
    if not (name.isascii() and name.isidentifier()):
        raise InvalidName(f"{name!r} is not a shell variable name (a letter or _, then letters, digits, _)")
    if name.startswith("__rb_"):
        raise InvalidName(f"{name!r} is reserved: names that begin with __rb_ belong to the bridge")
    return name


def quote(text: str) -> str:
    """`text` as one shell word; raises ValueNotAccepted for what `check_text` refuses, a NUL byte, or no str."""
    if not isinstance(text, str):
        raise ValueNotAccepted(f"{text!r:.60} is {type(text).__name__}, expected str")
    if "\0" in text:
        raise ValueNotAccepted(f"{text[:60]!r} has a NUL byte; a shell value can't hold one")
    check_text(text)
    # ASCII only: in a charset such as Shift-JIS a byte before it could swallow a backslash in double quotes.
    if text.count("'") > _MANY_QUOTES and text.isascii() and not any(byte in text for byte in _DOUBLED):
        return '"' + re.sub(r'[\\"$`]', r"\\\g<0>", text) + '"'
    return "'" + text.replace("'", "'\\''") + "'"


def call(hook: str, arguments: Iterable[str]) -> str:
    """The command that calls a function, builtin or program. Quoting keeps aliases and keywords out."""
    if not isinstance(hook, str) or not hook or not _BLANKS.isdisjoint(hook):
        raise InvalidName(f"{hook!r:.60} is not the name of a function or command")
    # One byte less than quotes: bash reads them one by one.
    command = "\\" + hook if hook.isidentifier() and hook.isascii() else quote(hook)
    if arguments:
        try:
            command += " '" + "' '".join([w.replace("'", "'\\''") for w in arguments]) + "'"
        except (AttributeError, TypeError):
            bad = next(each for each in arguments if not isinstance(each, str))
            what = f"{hook}: the argument {bad!r:.60} is {type(bad).__name__}, expected str"
            raise ValueNotAccepted(what) from None
        if not command.isascii():
            for each in arguments:
                check_text(each)
    return command


def positional(count: int) -> str:
    """The words that are the positional parameters: one by one where they are few.

    With a byte 1 in IFS, bash before 4.4 joins or splits ``"$@"``; but it walks to each number from the first.
    """
    return "".join(f' "${{{n}}}"' for n in range(1, count + 1)) if count < 100 else ' "$@"'


def check_names(names: object, of: str) -> Sequence[str]:
    """Return `names`, a list (or other collection) of names of shell variables.

    Raises:
        InvalidName: one that is none.
        ValueNotAccepted: a single str, whose letters would be taken for names, or what is no collection.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Collection):
        hint = f"{of}=[{names!r}]" if isinstance(names, str) else f"{of}=[NAME, ...]"
        raise ValueNotAccepted(f"{of} is {names!r:.60} ({type(names).__name__}), expected a list of names: {hint}")
    return [check_name(name) for name in names]


def source(path: str, arguments: Sequence[str]) -> str:
    """The command that sources a script at the main level, where its ``declare`` makes globals."""
    return "\\__rb_plain; __rb_t=$__rb_B\n\\builtin set --\n\\. " + " ".join(quote(w) for w in (path, *arguments))


def run(code: str) -> str:
    return '\\__rb_plain\n\\eval "__rb_B=;$__rb_B\n"' + quote(code)


def plain(request: bytes) -> bool:
    """Whether these bytes can stand in a request themselves, and not in a file that it names.

    The mark may not; and bash's ``read`` loses a byte 1 or 127 (its own quoting characters) that follows the start
    of a broken UTF-8 sequence (bash 5.1 to 5.3); what is parsed from a file is exact.
    """
    return b"\1" not in request and b"\x7f" not in request and b"\x1e" not in request


def assignment(name: str, value: str | Sequence[str] | dict[str, str] | dict[int, str]) -> str:
    """The code that sets a variable: scalar, indexed array (also sparse), or associative array."""
    check_name(name)
    if isinstance(value, str):
        return f"{name}={quote(value)}"
    if not isinstance(value, dict):
        code = f"{name}=({' '.join(map(quote, value))})"
        if not any(byte in code for byte in _DOUBLED):
            return code
    # Between parentheses bash 4.0 to 4.3 misread keys such as `\\` and `]`.
    elements: Iterable[tuple[str | int, str]] = value.items() if isinstance(value, dict) else enumerate(value)
    keys = ((key if isinstance(key, int) else quote(key), each) for key, each in elements)
    return f"{name}=()" + "".join(f"\n{name}[{key}]={quote(each)}" for key, each in keys)


def want(code: Sequence[str]) -> str:
    return f"__rb_w={quote(_wanted(code))}\n" if code else ""


def _wanted(code: Sequence[str]) -> str:
    return "".join(f"\\{each};" for each in code)


def isolated(command: str, wants: Sequence[str]) -> str:
    """A call in a forked subshell, which sends the values itself before they are gone with it."""
    # No reserved words: the trap is parsed when it runs, and any word may be an alias then.
    # The first command takes a DEBUG trap away from the others; its last word is empty, and keeps the status.
    first = "\\builtin trap - DEBUG RETURN${__rb_n:0:__rb_c=$?,0} 1>&- 2>&-"
    leave = first + ';((0${FUNCNEST+1}))&&FUNCNEST= \\__rb_leave "$__rb_c"||\\__rb_leave "$__rb_c"'
    trap = f"\\builtin enable trap 2>&-;\\builtin trap '{leave}' EXIT"
    inside = f"__rb_l=1;__rb_P=${{BASHPID-$$}};__rb_w={quote(_wanted(wants))};{trap}\n"
    return f"__rb_i=1\n({inside}{BUILTIN_BACK}{command})"


def job(
    hook: str, arguments: Sequence[str], *, folder: str, redirections: str, stderr: int, closed: Sequence[int]
) -> str:
    """The code that starts a job (see `bridge.shell.jobs`): three subshells, one within the other.

    Args:
        folder: of the job; gets the files ``pid`` (of the keeper) and ``status``.
        redirections: of all three; what fails here fails at once.
        stderr: the descriptor that the hook has as its stderr. bash's own words on a hook that was killed, and
            the trace of our code, are not to go there.
        closed: descriptors that the hook doesn't see.
    """
    away = " ".join(f"{number}>&-" for number in closed)
    aliases = "\\builtin shopt -%s expand_aliases"
    return (
        # Any reserved word of what follows may be an alias.
        f"__rb_o=\n{aliases % 'q'} && __rb_o={quote(aliases % 's')}\n{aliases % 'u'}\n"
        "(\n\\builtin enable set trap printf eval 2>&-\n\\builtin set -m\n"
        # The next call may replace the file while the hook's own subshell is still on its way.
        "case $__rb_B in '') ;; *) __rb_B=$(<\"$__rb_d/b\") ;; esac\n"
        # The keeper. The hook sees one subshell, as a stage of a pipeline does.
        "(\n\\builtin set +m\n\\builtin trap : ALRM HUP INT PIPE QUIT TERM USR1 USR2\n__rb_c=0 BASH_SUBSHELL=0\n"
        f'(\n{{ \\builtin eval "$__rb_o"\n{BUILTIN_BACK}}} 2>/dev/null\n'
        f"{call(hook, arguments)}\n) 2>&{stderr} {away} || __rb_c=$?\n"
        f"\\builtin printf '%s\\n' \"$__rb_c\" >|{quote(folder + '/status')}\n"
        f") 2>/dev/null &\n\\builtin printf '%s\\n' \"$!\" >|{quote(folder + '/pid')}\n"
        f") {redirections} || __rb_t=\n"
        '\\builtin eval "$__rb_o"\n'
    )


def complete(buffer: bytes | bytearray, number: int, values: bool) -> bool:
    """Whether `buffer` ends with the end of reply `number` (`values`: the request wanted some)."""
    end = b"\0=%d\0" % number if values else b"\0"
    return buffer.endswith(end) and buffer.startswith(b"%d " % number)


def drop_foreign(buffer: bytearray, number: int) -> None:
    """Drop what stands before the reply with this number: an earlier one, or what a script wrote there."""
    if buffer and not buffer.startswith(b"%d " % number):
        head = re.search(rb"%d [0-9]{1,3} (-|exit|int|lost) [A-Za-z]*\0" % number, buffer)
        if head or len(buffer) > 1 << 20:  # so much of it is not the beginning of anything
            del buffer[: head.start() if head else -200]


def parse(reply: bytes) -> tuple[Head, list[str]]:
    """A whole reply to its head and the frames of its values; raises ValueError."""
    head, *frames = decode(reply).split("\0")
    number, status, left, options = head.split(" ")
    return Head(int(number), int(status), left, options), frames[:-2]


def without_trace(stderr: bytes) -> bytes:
    """What a call wrote, without the lines in which ``set -x`` or ``set -v`` shows the code of a request."""
    return _TRACED.sub(b"", stderr) if b"__rb_" in stderr else stderr


def names(frame: str) -> list[str]:
    """The names in one frame of ``compgen``, without ours, sorted."""
    return sorted({name for name in frame.split("\n") if name and not name.startswith("__rb_")})


def take_array(frames: Iterator[str]) -> list[str]:
    return list(islice(frames, int(next(frames))))


def take_variable(frames: Iterator[str]) -> tuple[str, list[str], list[str]]:
    """The next variable of a reply: the text of its declaration, its keys, its elements."""
    declaration, count = next(frames), int(next(frames))
    return declaration, list(islice(frames, count)), list(islice(frames, count))
