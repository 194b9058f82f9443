"""Words of shell scripts, taken apart as bash would and never run: quotes of all kinds, escapes, parameters. Pure.

What takes a command to know (``$(...)``, arithmetic, ``${X%...}``) is a part of its own, which says so. bashlex and
tree-sitter-bash were looked at: the former knows no ``${X:-word}``, the latter loses text in such words
(``${M:-claude-opus-4-7}``), behind escapes and beside blanks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bridge.base.patterns import lazy

MOST_NESTED = 30
"""Parameters within parameters."""
ONLY_BASH = "a value that only bash can tell"

_NAME = lazy(r"[A-Za-z_]\w*", re.ASCII)
_NUMBER = lazy(r"[0-9]", re.ASCII)
_BARE = lazy(r"""[^ \t\n\\'"$`;&|<>()]+""")
_IN_QUOTES = lazy(r'[^"\\$`]+')
_IN_BRACES = lazy(r"""[^}\\'"$`]+""")
_KEPT = lazy(r'(?:[^\\]|\\[$`"\\\n])*+\\')
"""A backslash that stands for itself in double quotes, unless they stand in others."""
_JOINED = lazy(r'\$[A-Za-z_]\w*"+\w', re.ASCII)
"""In braces within double quotes bash takes inner ones away before it reads a name: it goes on behind them."""
_PARAMETER = lazy(r"\$\{([A-Za-z_]\w*|[0-9]{1,9})(?:\[([@*]|[0-9]{1,9})\])?(?=(:?[-=+?])?)", re.ASCII)
_SUBSTITUTION = lazy(r"""\\.|'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[()]""", re.DOTALL)
_BACKTICKS = lazy(r"`[^`\\]*+(?:\\.[^`\\]*+)*+`", re.DOTALL)
_ANSI_STRING = lazy(r"\$'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_ANSI = lazy(
    rb"\\(?:x(?P<x>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})|(?P<o>[0-7]{1,3})"
    rb"|c(?P<c>[^\\])|(?P<sign>.))",
    re.DOTALL,
)
_SIGNS = dict(zip(b"ntraebfvE\\'\"?", b"\n\t\r\a\x1b\b\f\v\x1b\\'\"?", strict=True))


class Text(NamedTuple):
    """Text as it stands; unquoted, a ``~`` in it may be the home folder."""

    text: str
    quoted: bool


class Parameter(NamedTuple):
    """``$NAME``, ``${NAME}``, or with what stands in for it.

    Attributes:
        subscript: of an array: ``@``, ``*`` or a number; "": none.
        operator: ``:-``, ``-``, ``:=``, ``=``, ``:+``, ``+``, ``:?``, ``?``; "": none.
        word: what stands behind it.
    """

    name: str
    subscript: str
    operator: str
    word: Word
    quoted: bool


class Unknown(NamedTuple):
    """What isn't known without a shell.

    Attributes:
        why: says what it is.
        text: what stands there, of what runs in this shell, and so may set names.
    """

    why: str
    text: str = ""


Word = tuple[Text | Parameter | Unknown, ...]


class ShellSyntaxError(Exception):
    """What bash wouldn't read, or what is nested too deeply; says what it is."""


def parse_parameter(text: str, *, quoted: bool = False) -> Parameter | None:
    """Take ``${NAME...}`` apart, which stands in double quotes or not; None: it is no parameter, or more than one.

    The name may be the number of an argument.

    >>> parse_parameter("${M:-claude-opus-4-7}").word
    (Text(text='claude-opus-4-7', quoted=False),)
    """
    reader, parts = WordReader(text, numbers=True), list[Text | Parameter | Unknown]()
    try:
        reader.dollar(parts, quoted=quoted)
    except (ShellSyntaxError, IndexError):
        return None
    first = parts[0] if len(parts) == 1 and reader.at == len(text) else None
    return first if isinstance(first, Parameter) else None


class WordReader:
    """Reads words from a place of a text on; `numbers`: arguments are known."""

    def __init__(self, text: str, *, numbers: bool = False) -> None:
        self.text, self.at, self._nested, self._numbers = text, 0, 0, numbers

    @property
    def char(self) -> str:
        """The sign that comes next; "": none."""
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if (found := pattern.match(self.text, self.at)) is not None:
            self.at = found.end()
        return found

    def word(self) -> Word | None:
        """Read a word; None: none begins here. Raises ShellSyntaxError."""
        parts: list[Text | Parameter | Unknown] = []
        start = self.at
        while True:
            if found := self.take(_BARE):
                parts.append(Text(found[0], quoted=False))
            elif not self._special(parts):
                return tuple(parts) if self.at > start else None

    def _special(self, parts: list[Text | Parameter | Unknown]) -> bool:
        """Read an escape, a quoted part or an expansion outside of quotes; False: none begins here."""
        match self.char:
            case "\\":
                if (escaped := self.text[self.at + 1 : self.at + 2]) != "\n":
                    parts.append(Text(escaped or "\\", quoted=True))
                self.at = min(self.at + 2, len(self.text))
            case "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise ShellSyntaxError("a quote that is not closed")
                parts.append(Text(self.text[self.at + 1 : end], quoted=True))
                self.at = end + 1
            case '"':
                self._double_quoted(parts)
            case "$":
                self.dollar(parts, quoted=False)
            case "`":
                self._backticks(parts)
            case _:
                return False
        return True

    def _double_quoted(self, parts: list[Text | Parameter | Unknown]) -> None:
        self.at += 1
        parts.append(Text("", quoted=True))
        while self.char != '"':
            if found := self.take(_IN_QUOTES):
                parts.append(Text(found[0], quoted=True))
            elif not self._quoted_special(parts, '$`"\\'):
                raise ShellSyntaxError("a quote that is not closed")
        self.at += 1

    def _quoted_special(self, parts: list[Text | Parameter | Unknown], escapable: str) -> bool:
        match self.char:
            case "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                if escaped != "\n":
                    kept = escaped if escaped and escaped in escapable else f"\\{escaped}"
                    parts.append(Text(kept, quoted=True))
                self.at = min(self.at + 2, len(self.text))
            case "$":
                self.dollar(parts, quoted=True)
            case "`":
                self._backticks(parts)
            case _:
                return False
        return True

    def _backticks(self, parts: list[Text | Parameter | Unknown]) -> None:
        if self.take(_BACKTICKS) is None:
            raise ShellSyntaxError("a command substitution that is not closed")
        parts.append(Unknown("a command substitution"))

    def dollar(self, parts: list[Text | Parameter | Unknown], *, quoted: bool) -> None:
        """Read what begins with ``$``."""
        after = self.text[self.at + 1 : self.at + 2]
        if name := _NAME.match(self.text, self.at + 1):
            parts.append(Parameter(name[0], "", "", (), quoted))
            self.at = name.end()
        elif after == "{":
            self._nested += 1
            if self._nested > MOST_NESTED:
                raise ShellSyntaxError(f"more than {MOST_NESTED} parameters within each other")
            parts.append(self._braced(quoted=quoted))
            self._nested -= 1
        elif after == "(":
            parts.append(self._substitution())
        elif after == "'" and not quoted:
            self._ansi_string(parts)
        elif after == '"' and not quoted:
            self.at += 1
            self._double_quoted(parts)
        elif self._numbers and (number := _NUMBER.match(self.text, self.at + 1)):
            parts.append(Parameter(number[0], "", "", (), quoted))
            self.at += 2
        elif after == "[" or (after and after in "0123456789@*#?$!-"):
            parts.append(Unknown(ONLY_BASH))
            self.at += 2
        else:
            parts.append(Text("$", quoted=True))
            self.at += 1

    def _ansi_string(self, parts: list[Text | Parameter | Unknown]) -> None:
        if (found := self.take(_ANSI_STRING)) is None:
            raise ShellSyntaxError("a quote that is not closed")
        text = _unescaped(found[1])
        parts.append(Unknown(ONLY_BASH) if text is None else Text(text, quoted=True))

    def _substitution(self) -> Unknown:
        """Skip a command or a calculation, as far as parentheses and quotes tell where it ends."""
        depth, start, why = 0, self.at, "a command substitution"
        if self.text.startswith("$((", self.at):
            why = "a calculation"
        for found in _SUBSTITUTION.finditer(self.text, self.at + 1):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth == 0:
                self.at = found.end()
                return Unknown(why, self.text[start : self.at] if why == "a calculation" else "")
        raise ShellSyntaxError(f"{why} that is not closed")

    def _braced(self, *, quoted: bool) -> Parameter | Unknown:
        start, begun = self.at, self.take(_PARAMETER)
        numbers = self._numbers or begun is None or not begun[1].isdigit()
        if begun is not None and numbers and (begun[3] or self.char == "}"):
            name, subscript, operator = (each or "" for each in begun.groups())
            self.at += len(operator)
            return Parameter(name, subscript, operator, self._in_braces(quoted=quoted), quoted)
        self.at += 0 if begun is not None else 2
        self._in_braces(quoted=False)
        return Unknown(ONLY_BASH, self.text[start : self.at])

    def _in_braces(self, *, quoted: bool) -> Word:
        """Read up to the closing brace. In double quotes a single one stands for itself, and hides a brace."""
        parts: list[Text | Parameter | Unknown] = []
        single, start = False, self.at
        while self.char != "}" or single:
            if found := self.take(_IN_BRACES):
                run = "<(" in found[0] or ">(" in found[0]
                parts.append(Unknown("a command substitution") if run else Text(found[0], quoted))
            elif not self.char:
                raise ShellSyntaxError("a brace that is not closed")
            elif not quoted:
                self._special(parts)
            elif self.char in "'}":
                single ^= self.char == "'"
                parts.append(Text(self.char, quoted=True))
                self.at += 1
            else:
                self._in_quoted_braces(parts, single=single)
        if quoted and _JOINED.search(self.text, start, self.at):
            parts.append(Unknown(ONLY_BASH))
        self.at += 1
        return tuple(parts)

    def _in_quoted_braces(self, parts: list[Text | Parameter | Unknown], *, single: bool) -> None:
        """Read what is neither text nor the end there."""
        if single and (self.char == '"' or self.text.startswith(("${", "$'"), self.at)):
            parts.append(Unknown(ONLY_BASH))  # versions of bash differ
            self.at += 1
        elif self.char == '"':
            start = self.at
            self._double_quoted(parts)
            if _KEPT.match(self.text, start, self.at):
                parts.append(Unknown(ONLY_BASH))
        elif ansi := _ANSI_STRING.match(self.text, self.at):
            self._ansi_string(parts)
            if re.search('["}]', ansi[0]):
                parts.append(Unknown(ONLY_BASH))
        elif self.text.startswith('$"', self.at):
            self.at += 1
        else:
            self._quoted_special(parts, '$`"\\}')


def _unescaped(text: str) -> str | None:
    """What stands in ``$'...'``, in UTF-8, up to a NUL; None: only bash can tell."""

    def one(found: re.Match[bytes]) -> bytes:
        if code := found["u"] or found["U"]:
            return chr(int(code, 16)).encode()
        if found["c"]:
            return bytes([found["c"][0] & 31])
        if number := found["x"]:
            return bytes([int(number, 16)])
        if number := found["o"]:
            return bytes([int(number, 8) & 255])
        sign = found["sign"][0]
        if sign in b"xcuU":
            raise ValueError
        return bytes([_SIGNS[sign]]) if sign in _SIGNS else found[0]

    try:
        read = _ANSI.sub(one, text.encode("utf-8", "surrogateescape"))
    except (ValueError, OverflowError):
        return None
    return read.partition(b"\0")[0].decode("utf-8", "surrogateescape")
