"""``.ralphrc``: a shell script that the original runs, read here as data. Pure but for :func:`read`.

What it assigns is taken as bash takes it: quotes, ``$NAME`` and ``${NAME:-other}``, comments, ``export``, arrays,
several assignments on a line, values over several lines. Nothing in it is run: whatever takes more than assignments
to understand (a command, ``$(...)``, ``if``) is refused with its line, as is what bash itself would refuse; half a
file is none (trap F33).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.files import read_bytes, usable
from bridge.setups.dot_ralph.keys import RcEntry
from bridge.setups.dot_ralph.signs import RC as FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_BUILTIN = re.compile(r"(export|readonly|declare|typeset|unset|:)(?=[ \t\n;#]|$)")
_FLAGS = re.compile(r"[ \t]+-[axrgv]+(?=[ \t\n;#]|$)")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PARAMETER = re.compile(r"([A-Za-z_]\w*)(\[[@*\d]+\])?", re.ASCII)
_OPERATOR = re.compile(r":?[-=+?]")
_PLAIN = re.compile(r"""[^\s;&|<>()'"\\$`]+""")
_INSIDE = re.compile(r"""[^"\\$`]+""")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_BETWEEN = re.compile(r"(?:\s|\\\n|#[^\n]*)+")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NESTED = 20
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class RcScript:
    """What the file says.

    Attributes:
        entries: what its lines assign, the last of each name.
        exported: what of that the agent finds in its environment.
        notices: what people should be told.
        exists: whether there is a file.
    """

    entries: Mapping[str, RcEntry] = field(default_factory=dict)
    exported: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    exists: bool = False


def read(project: Path, env: Mapping[str, str]) -> RcScript:
    """Read a project's ``.ralphrc``.

    Raises:
        ConfigurationError: a line that can't be read as data; names it.
        ProjectUnusable: the file can't be read.
    """
    path = project / FILE
    if not os.path.lexists(path):
        return RcScript()
    if not path.is_file():
        raise ConfigurationError(f"{FILE} is no regular file\n  next: put a file of NAME=VALUE lines there")
    with usable(FILE):
        text = read_bytes(path).decode("utf-8", "surrogateescape")
    return parse(text, env)


def parse(text: str, env: Mapping[str, str]) -> RcScript:
    r"""Read a settings file.

    >>> found = parse('A="1 2"  # two\nB=${A}-${C:-3}\n', {}).entries
    >>> found["B"].value, found["B"].line
    ('1 2-3', 2)

    Raises:
        ConfigurationError: see :func:`read`.
    """
    reader = _Reader(text.removeprefix("\ufeff").replace("\r\n", "\n"), env)
    try:
        reader.run()
    except _Unreadable as error:
        line = reader.line(reader.start)
        shown = text.splitlines()[line - 1].strip().encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        raise ConfigurationError(
            f"{FILE} line {line}: {error}: {shown!r}\n"
            "  the file is read and never run, and half of it would be another loop: nothing is started\n"
            "  next: write NAME=VALUE there, or set it in the environment"
        ) from None
    return reader.found()


class _Unreadable(Exception):
    """Says what stands there."""


class _Reader:
    """One pass over the text; `start` is where the statement begins that is being read."""

    def __init__(self, text: str, env: Mapping[str, str]) -> None:
        self.text = text
        self.env = env
        self.at = self.start = 0
        self.depth = 0
        self.in_array = False
        self.values: dict[str, list[str]] = {}
        self.lines: dict[str, int] = {}
        self.exports: set[str] = set()
        self.gone: set[str] = set()
        self.arrays: set[str] = set()

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def found(self) -> RcScript:
        entries = {
            name: RcEntry(value[0] if value else "", self.lines[name]) for name, value in self.values.items()
        }
        exported = {
            name: entry.value for name, entry in entries.items() if name in self.exports or name in self.env
        }
        notices = tuple(
            f"{FILE} line {self.lines[name]}: {name} is an array, of which bash takes the first element alone"
            for name in sorted(self.arrays & self.values.keys())
            if name.isupper()
        )
        return RcScript(entries, exported, notices, exists=True)

    # -- statements ----------------------------------------------------------------------------------

    def run(self) -> None:
        if "\0" in self.text:
            self.start = self.text.index("\0")
            raise _Unreadable("a NUL byte")
        while self._skip(_BETWEEN) or self.at < len(self.text):
            self.start = self.at
            if self.at < len(self.text):
                self._statement()
                self._end()

    def _statement(self) -> None:
        if builtin := self._take(_BUILTIN):
            flags = "x" if builtin[1] == "export" else ""
            while builtin[1] != ":" and (more := self._take(_FLAGS)):
                flags += more[0]
            self._words(builtin[1], exports="x" in flags)
        elif self._assign() is None:
            raise _Unreadable("a command, or what only bash understands")
        else:
            while self._skip(_BLANK) and not self._at_end():
                if self._assign() is None:
                    raise _Unreadable("a command behind an assignment")

    def _words(self, builtin: str, *, exports: bool) -> None:
        while self._skip(_BLANK) and not self._at_end():
            if builtin == ":":
                self._word()
            elif builtin == "unset":
                self._unset(self._name())
            else:
                name = self._assign() or self._name()
                if exports:
                    self.exports.add(name)

    def _unset(self, name: str) -> None:
        self.values.pop(name, None)
        self.gone.add(name)

    def _name(self) -> str:
        found = self._take(_NAME)
        if found is None:
            raise _Unreadable("no name where one belongs")
        return found[0]

    def _assign(self) -> str | None:
        found = self._take(_ASSIGNMENT)
        if found is None:
            return None
        name, added = found[1], bool(found[2])
        before = self.values.get(name, []) if added else []
        if self.text.startswith("(", self.at):
            self.at += 1
            self._set(name, before + self._array())
            self.arrays.add(name)
        else:
            old = before[0] if before else (self.env.get(name, "") if added else "")
            self._set(name, [old + self._value(), *before[1:]])
            self.arrays -= set() if added else {name}
        return name

    def _set(self, name: str, values: list[str]) -> None:
        self.values[name] = values
        self.lines[name] = self.line(self.start)
        self.gone.discard(name)

    def _end(self) -> None:
        self._skip(_BLANK)
        if not self._at_end():
            raise _Unreadable("a command, or what only bash understands")
        if self.text.startswith(";", self.at):
            self.at += 1
            if self.text.startswith(";", self.at):
                raise _Unreadable("a syntax error")

    def _at_end(self) -> bool:
        here = self.text[self.at : self.at + 1]
        return here in ("", "\n", ";") or (here == "#" and self.text[self.at - 1] in " \t\n;")

    # -- values --------------------------------------------------------------------------------------

    def _array(self) -> list[str]:
        found: list[str] = []
        self.in_array = True
        while True:
            self._skip(_BETWEEN)
            if self.at >= len(self.text):
                raise _Unreadable("an array that is not closed")
            if self.text[self.at] == ")":
                self.at += 1
                self.in_array = False
                return found
            if self.text[self.at] == "[":
                raise _Unreadable("an array with keys")
            found.append(self._word())

    def _value(self) -> str:
        """What is assigned: a word, in which ~ at the beginning and behind a colon is the home folder."""
        home = self.env.get("HOME", "")
        begun = self.at
        value = self._word(may_be_empty=True)
        raw = self.text[begun : self.at]
        if raw.startswith("~") and raw[1:2] in ("", "/", ":"):
            value = home + value[1:]
        if ":~/" in raw and not any(sign in raw for sign in "'\"\\"):
            value = value.replace(":~/", f":{home}/")
        return value

    def _word(self, *, may_be_empty: bool = False) -> str:
        begun, pieces = self.at, []
        while (piece := self._piece()) is not None:
            pieces.append(piece)
        if self.at == begun and not may_be_empty:
            raise _Unreadable("a syntax error")
        return "".join(pieces)

    def _piece(self) -> str | None:
        """The next piece of a word that isn't inside of double quotes; None at the word's end."""
        match self.text[self.at : self.at + 1]:
            case "'":
                return self._single()
            case '"':
                return self._double()
            case "\\":
                self.at += 2
                escaped = self.text[self.at - 1 : self.at]
                return "" if escaped == "\n" else escaped
            case "`":
                raise _Unreadable("a command substitution")
            case "$":
                return self._dollar()
            case ")" if self.in_array:
                return None
            case "(" | ")" | "&" | "|" | "<" | ">":
                raise _Unreadable("what only bash understands, or a value that wants quotes")
        found = self._take(_PLAIN)
        return None if found is None else found[0]

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise _Unreadable("a quote that is not closed")
        found, self.at = self.text[self.at + 1 : end], end + 1
        return found

    def _double(self) -> str:
        self.at += 1
        pieces: list[str] = []
        while True:
            match self.text[self.at : self.at + 1]:
                case "":
                    raise _Unreadable("a quote that is not closed")
                case '"':
                    self.at += 1
                    return "".join(pieces)
                case "`":
                    raise _Unreadable("a command substitution")
                case "$":
                    pieces.append(self._dollar(quoted=True))
                case "\\":
                    pieces.append(self._escaped())
                case _:
                    found = self._take(_INSIDE)
                    assert found is not None
                    pieces.append(found[0])

    def _escaped(self) -> str:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if escaped == "\n" else escaped if escaped in '$`"\\' else f"\\{escaped}"

    def _dollar(self, *, quoted: bool = False) -> str:
        self.at += 1
        rest = self.text[self.at : self.at + 1]
        if rest == "{":
            return self._braced(quoted=quoted)
        if found := self._take(_NAME):
            return self._get(found[0])
        if rest == "'" and not quoted:
            return self._ansi()
        if rest == '"' and not quoted:
            return self._double()
        if rest == "(":
            raise _Unreadable("a command substitution")
        if rest and rest in "0123456789@*#?$!-[":
            raise _Unreadable("a value that only bash can tell")
        return "$"

    def _ansi(self) -> str:
        self.at += 1
        pieces: list[str] = []
        while (sign := self.text[self.at : self.at + 1]) != "'":
            if not sign:
                raise _Unreadable("a quote that is not closed")
            self.at += 1
            if sign == "\\":
                sign = self.text[self.at : self.at + 1]
                if sign.isalnum() and sign not in _ANSI:
                    raise _Unreadable("a value that only bash can tell")
                sign = _ANSI.get(sign, sign)
                self.at += 1
            pieces.append(sign)
        self.at += 1
        return "".join(pieces)

    def _braced(self, *, quoted: bool) -> str:
        """``${NAME}``, and with what to take where it is unset or empty."""
        self.at += 1
        found = self._take(_PARAMETER)
        if found is None:
            raise _Unreadable("a value that only bash can tell")
        name, index = found[1], found[2] or ""
        value = self._element(name, index[1:-1]) if index else self._get(name)
        if operator := self._take(_OPERATOR):
            unset = not self._is_set(name) or (operator[0][0] == ":" and not value)
            other = self._other(quoted=quoted)
            match operator[0][-1]:
                case "+":
                    value = "" if unset else other
                case "?" if unset:
                    raise _Unreadable(f"{name} is not set, and has to be")
                case "=" if unset:
                    self._set(name, [other])
                    value = other
                case "-" if unset:
                    value = other
        if not self.text.startswith("}", self.at):
            raise _Unreadable("a value that only bash can tell")
        self.at += 1
        return value

    def _other(self, *, quoted: bool) -> str:
        self.depth += 1
        if self.depth > _NESTED:
            raise _Unreadable("a value that only bash can tell")
        pieces = []
        while (sign := self.text[self.at : self.at + 1]) != "}":
            if not sign:
                raise _Unreadable("a brace that is not closed")
            if sign in '$`\\"' or (sign == "'" and not quoted):
                pieces.append(self._piece() or "")
            else:
                pieces.append(sign)
                self.at += 1
        self.depth -= 1
        return "".join(pieces)

    def _get(self, name: str) -> str:
        values = self.values.get(name)
        if values is not None:
            return values[0] if values else ""
        return "" if name in self.gone else self.env.get(name, "")

    def _element(self, name: str, index: str) -> str:
        values = self.values.get(name) or [self._get(name)]
        if index in ("@", "*"):
            return " ".join(values)
        return values[int(index)] if index.isdigit() and int(index) < len(values) else ""

    def _is_set(self, name: str) -> bool:
        return name in self.values or (name in self.env and name not in self.gone)

    # -- scanning ------------------------------------------------------------------------------------

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        return self._take(pattern) is not None
