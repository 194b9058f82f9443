"""The commands of a hook that are understood, with the options that are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.stream.lift import shelltree as tree
from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.jqlang.line import Options
from bridge.stream.lift.tools import TOOLS
from bridge.stream.lift.words import Word, constant

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMMANDS", "SAFE", "Call"]

SAFE = frozenset(
    [
        "IFS",
        "PATH",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LC_COLLATE",
        "LC_MESSAGES",
        "HOME",
        "ENV",
        "TMOUT",
        "POSIXLY_CORRECT",
    ]
)
"""Variables that change what commands do: an assignment to them isn't lifted."""


class Call(NamedTuple):
    """A command with its words and what its descriptors are bound to."""

    name: str
    words: tuple[Word, ...]
    quiet: bool = False
    mute: bool = False
    here: Word | None = None
    file: Word | None = None


def _plain(call: Call) -> None:
    if call.quiet or call.mute or call.here is not None or call.file is not None:
        raise NotLifted(f"a redirection of `{call.name}`")


def _echo(call: Call) -> tree.Statement:
    if call.here is not None or call.file is not None:
        raise NotLifted("a redirection of `echo`")
    words = [constant(word) for word in call.words]
    if len(words) == 2 and words[0] == "-n":
        # `echo -n "$x"` with -e in x would go on reading options
        raise NotLifted("`echo -n`")
    if len(words) != 1:
        raise NotLifted("`echo` with other than one word")
    if words[0] is not None and words[0].startswith("-"):
        raise NotLifted("options of `echo`")
    _quoted(call.words[0])
    first = call.words[0][0] if call.words[0] else ""
    return tree.Say(call.words[0], options=not isinstance(first, str))


def _quoted(word: Word) -> None:
    if any(not isinstance(part, str) and not part.quoted for part in word):
        raise NotLifted("a variable outside of quotes")


def _printf(call: Call) -> tree.Statement:
    if call.here is not None or call.file is not None:
        raise NotLifted("a redirection of `printf`")
    if len(call.words) != 2 or constant(call.words[0]) not in ("%s\\n", "%s"):
        raise NotLifted("`printf` with another format than %s and %s\\n, or several words")
    _quoted(call.words[1])
    return tree.Say(call.words[1], end="\n" if constant(call.words[0]) != "%s" else "")


_LONG = {
    "raw-output": "r",
    "join-output": "j",
    "compact-output": "c",
    "monochrome-output": "M",
    "unbuffered": "",
    "raw-input": "R",
}


def _jq(call: Call) -> tree.Statement:
    letters = ""
    arguments: list[tuple[str, Word, bool]] = []
    rest: list[Word] = []
    words = list(call.words)
    while words:
        word = words.pop(0)
        text = constant(word)
        if text is None or not text.startswith("-"):
            rest.append(word)
        elif text in ("--arg", "--argjson"):
            name = constant(words.pop(0)) if words else None
            if name is None or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or not words:
                raise NotLifted(f"jq {text} without a plain name and a value")
            if name in ("ENV", "__loc__", "__prog_args") or any(name == other for other, _, _ in arguments):
                raise NotLifted(f"jq {text} {name}")
            value = words.pop(0)
            _quoted(value)
            arguments.append((name, value, text == "--argjson"))
        elif text[2:] in _LONG and text.startswith("--"):
            letters += _LONG[text[2:]]
        elif re.fullmatch(r"-[rjcMR]+", text):
            letters += text[1:]
        else:
            raise NotLifted(f"jq {text}")
    if not rest or len(rest) > 2:
        raise NotLifted("jq without a program, or with several files")
    for word in rest:
        _quoted(word)
    file = call.file
    if len(rest) == 2:
        if file is not None or call.here is not None:
            raise NotLifted("jq with a file and a redirection")
        file = rest[1]
        if isinstance(file[0] if file else "", str) and constant(file) in ("", None):
            raise NotLifted("a file of jq with a name that is put together")
    options = Options("r" in letters, "j" in letters, "c" in letters, "R" in letters)
    return tree.Jq(rest[0], options, tuple(arguments), call.quiet, call.here, file, call.mute)


def _tool(call: Call) -> tree.Statement:
    return TOOLS[call.name](call)


def _test(call: Call) -> tree.Statement:
    _plain(call)
    words = list(call.words)
    if not words or constant(words.pop()) != "]":
        raise NotLifted("`[` without `]`")
    for word in words:
        _quoted(word)
    sign = constant(words[0]) if words else None
    if len(words) == 3 and sign == "!" and constant(words[1]) in ("-f", "-e", "-r"):
        return tree.Not(tree.Test(constant(words[1]) or "", words[2]))
    if len(words) == 2 and sign in ("-n", "-z", "-f", "-e", "-r"):
        return tree.Test(sign, words[1])
    middle = constant(words[1]) if len(words) == 3 else None
    if middle in ("=^", "!^"):  # of our own: see quotes.py
        return tree.Test(middle, words[0], words[2])
    if middle in ("=", "==", "!="):
        return tree.Test("!=" if middle == "!=" else "=", words[0], words[2])
    raise NotLifted("a test other than -n, -z, = and !=")


def _nothing(status: int) -> Callable[[Call], tree.Statement]:
    def made(call: Call) -> tree.Statement:
        _plain(call)
        if call.words:
            raise NotLifted(f"`{call.name}` with words")
        return tree.Nothing(status)

    return made


def _continue(call: Call) -> tree.Statement:
    _plain(call)
    if call.words:
        raise NotLifted("`continue` with a number")
    return tree.Continue()


def _return(call: Call) -> tree.Statement:
    _plain(call)
    word = constant(call.words[0]) if len(call.words) == 1 else "0" if not call.words else None
    if word is None or not re.fullmatch(r"[0-9]{1,3}", word):
        raise NotLifted("`return` with something else than a number")
    return tree.Return()


def _unreached(call: Call) -> tree.Statement:
    raise NotLifted(f"`{call.name}` here")


COMMANDS: dict[str, Callable[[Call], tree.Statement]] = {
    "echo": _echo,
    "printf": _printf,
    "jq": _jq,
    "[": _test,
    "true": _nothing(0),
    ":": _nothing(0),
    "false": _nothing(1),
    "continue": _continue,
    "local": _unreached,
    "return": _return,
    **dict.fromkeys(TOOLS, _tool),
}
