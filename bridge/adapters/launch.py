"""From `process` to a command line and an environment: which program, which arguments, no shell in between."""

from __future__ import annotations

import os
import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError, ProgramNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridge.adapters.model import AdapterFile, Process

__all__ = ["Program", "arguments", "environment", "expanded", "find_program", "split"]

_VARIABLE = re.compile(r"%([A-Za-z_][A-Za-z0-9_]*(?:\([xX]86\))?)%")
_ALSO_CALLED = {"python": ("python3",), "lua": ("lua5.4", "lua5.3"), "node": ("nodejs",), "fd": ("fdfind",)}
"""What systems call a program when they don't have it under its usual name."""
_QUOTE = "\ue000"
"""Stands for a double quote that is part of a word."""
_QUOTED = re.compile(r""""[^"]*"|(?<![^\s=])'([^']*)'(?!\S)""")
_UTF8 = "UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_PAGERS = {"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}


class Program(NamedTuple):
    """Where the program is, and which entry led to it."""

    path: str
    entry: str
    tried: tuple[str, ...]


def expanded(text: str, env: Mapping[str, str]) -> str:
    """`text` with ``%NAME%`` replaced; unknown names stay. ``$NAME`` and ``~`` mean nothing here."""
    return _VARIABLE.sub(lambda match: env.get(match[1], match[0]), text)


def split(template: str) -> list[str]:
    """Split at blanks; a double quote anywhere turns that off and on again. There are no escapes.

    >>> split('"{shell_path}" -i --use:"a b"  ""')
    ['{shell_path}', '-i', '--use:a b']
    """
    found: list[str] = []
    token, quoted = "", False
    for char in template:
        if char == '"':
            quoted = not quoted
        elif char == " " and not quoted:
            if token:
                found.append(token)
            token = ""
        else:
            token += char
    return [*found, token] if token else found


def find_program(adapter: AdapterFile, env: Mapping[str, str]) -> Program:
    """The first candidate that exists; else the executable, the adapter's name, its aliases.

    Raises:
        ProgramNotFound: none of them is there; the message lists what was tried.
    """
    tried: list[str] = []
    for entry in _entries(adapter):
        tried.append(entry)
        if path := _resolved(entry, env):
            return Program(path, entry, tuple(tried))
    raise ProgramNotFound(
        f"adapter {adapter.name}: no program was found; tried: {', '.join(tried)}\n"
        "  next: install it, or name it under process.executable_candidates"
    )


def _entries(adapter: AdapterFile) -> Iterable[str]:
    process = adapter.process
    named = [*process.executable_candidates, *([process.executable] if process.executable else []), adapter.name]
    # An adapter that names its program means that one: its aliases say how the adapter is called.
    others = list(adapter.aliases) if not (process.executable or process.executable_candidates) else []
    bare = [*named, *others] if others else named
    more = [also for each in bare for also in _ALSO_CALLED.get(each.lower(), ())]
    return dict.fromkeys(entry for entry in (*bare, *more) if entry)


def _resolved(entry: str, env: Mapping[str, str]) -> str | None:
    text = expanded(entry, env)
    if text != entry:
        text = text.replace("\\", "/")
    if os.path.isabs(text):
        return text if _runs(text) else None
    if "/" in text or "\\" in text or "%" in text:
        return None
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    return next((path for folder in folders if _runs(path := os.path.join(folder or ".", text))), None)


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def arguments(process: Process, values: Mapping[str, str], env: Mapping[str, str]) -> list[str]:
    """The command line.

    ``{init_invocation}`` is part of the template: in quotes it is one word, quotes in it included; elsewhere it is
    split, and single quotes around a word of it are quotes, too. Every other placeholder is put into the words
    afterwards, so that no path can become two arguments.

    Args:
        process: with the template.
        values: placeholder to value; `init_invocation` may hold placeholders itself.
        env: for ``%NAME%``.

    Raises:
        ConfigurationError: nothing is left to start, or a Windows path names a variable that isn't set.
    """
    template = _with_invocation(process.command_template, values.get("init_invocation", ""))
    words = [_word(word.replace(_QUOTE, '"'), values, env) for word in split(template)]
    if not words:
        raise ConfigurationError("process.command_template: nothing to start")
    return words


def _with_invocation(template: str, invocation: str) -> str:
    pieces = template.split("{init_invocation}")
    found, quoted = pieces[0], False
    for before, after in pairwise(pieces):
        quoted ^= before.count('"') % 2 == 1
        found += (_as_text(invocation) if quoted else _as_words(invocation)) + after
    return found


def _as_text(invocation: str) -> str:
    """`invocation` within quotes: its own are part of the text, unless there is nothing else in them."""
    if match := re.fullmatch(r"""\s*(["'])(\{\w+\})\1\s*""", invocation):
        return match[2]
    return invocation.replace('"', _QUOTE)


def _as_words(invocation: str) -> str:
    def double(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else '"' + match[1].replace('"', _QUOTE) + '"'

    return _QUOTED.sub(double, invocation)


def _word(word: str, values: Mapping[str, str], env: Mapping[str, str]) -> str:
    text = expanded(word, env)
    if text != word and "\\" in text:
        text = text.replace("\\", "/")
    elif "\\" in text and (missing := _VARIABLE.search(text)):
        raise ConfigurationError(
            f"process.command_template: {missing[0]} in {word!r} is not set\n"
            f"  next: set {missing[1]}, or write where the file is on this system"
        )
    return filled(text, lambda name: values.get(name))


def filled(text: str, value: Callable[[str], str | None]) -> str:
    """`text` with every ``{name}`` replaced that `value` knows, in one pass."""

    def known(match: re.Match[str]) -> str:
        found = value(match[1])
        return match[0] if found is None else found

    return re.sub(r"\{([a-z_]+)\}", known, text)


def environment(
    process: Process, parent: Mapping[str, str], *, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The program's environment: what it inherits, no pagers, a usual terminal, then what the adapter says.

    With ``inherit_environment: false`` nothing is inherited, as with ``env -i``; text is UTF-8 all the same.
    """
    kept = dict(parent) if process.inherit_environment else {"LC_CTYPE": _UTF8}
    for name in ("LINES", "COLUMNS"):
        kept.pop(name, None)  # they would contradict the terminal
    return {**kept, **_PAGERS, "TERM": "xterm-256color", **process.env, **(extra or {})}
