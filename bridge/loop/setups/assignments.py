"""What a shell file of settings assigns: read as bash would take it, and never run. Pure.

A value that only a shell could tell says why; what is more than assignments (a command, ``if``) or no shell at all
is reported with its line, and what such a statement assigns counts as what may be so or not.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.loop.setups.shell_words import ONLY_BASH, Parameter, ShellSyntaxError, Text, Unknown, Word, WordReader

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST = 1_000_000
"""Characters that the values of a file may come to, and its text."""
MOST_LINES = 20_000

_ASSIGNS = lazy(r"([A-Za-z_]\w*)(\[[^]\s]*\])?(\+?)=", re.ASCII)
_GAP = lazy(r"(?:[ \t]|\\\n)*")
_BETWEEN = lazy(r"(?:[ \t\n]|\\\n|#[^\n]*)*")
_LINE = lazy(r"[^\n]*")
_ENDS = frozenset({"", *"\n#;&|<>()"})
_OPERATORS = lazy(r"&&|\|\||\([ \t]*\)|;[;&]?|[&|<>()]+")
_ASSIGNS_SOMEWHERE = lazy(r"(?:^|[\s;&|({])([A-Za-z_]\w*)(?:\[[^]\s]*\])?\+?=(\S*)", re.ASCII | re.MULTILINE)
_TILDE = lazy(r"(^|:)~([^/:]*)(?=([/:]?))")
_USER = lazy(r"[\w.+-]+")
_NAME = lazy(r"[A-Za-z_]\w*", re.ASCII)
_SETS = lazy(r"\+\+|--|(?:[^=!<>]|<<|>>)=(?!=)")
"""In what only bash understands: it may set a name."""
_BRACES = lazy(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_OPTION = lazy(r"[-+][A-Za-z]+|--")
_DECLARES = frozenset({"export", "readonly", "declare", "typeset"})
_OF_THE_SHELL = lazy(
    r"BASH\w*|RANDOM|SRANDOM|SECONDS|LINENO|EPOCH\w+|E?UID|PPID|SHLVL|GROUPS|FUNCNAME|DIRSTACK|PIPESTATUS|HISTCMD|_"
    r"|OPTIND|OPTERR|IFS|PS4|SHELLOPTS"
)
_UNLESS_SET = frozenset({"PATH", "PWD", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE", "SHELL", "TERM"})
_SPLIT = lazy(r"[\s*?\[]")
_PATTERN = lazy(r"[*?\[{]")
_NOTHING = frozenset({"", "none"})
_PERHAPS = "only bash can tell whether it is assigned"
_UNQUOTED = "what only bash understands, or a value that wants quotes"
_MOST_FAULTS = 20


class Problem(NamedTuple):
    """A statement that isn't data. `line`: where it begins, from 1."""

    line: int
    what: str


class Assigned(NamedTuple):
    """What a name stands for at the end of a file.

    Attributes:
        values: the elements of an array, or the one value; None: only bash could tell.
        text: what stands there.
        line: where its statement begins, from 1.
        array: it is one, of which bash takes the first element alone.
        why: why only bash could tell; "": the value is known. There may be `values` all the same, by which it would
            be known if its statement ran.
    """

    values: tuple[str, ...] | None
    text: str
    line: int
    array: bool = False
    why: str = ""

    @property
    def value(self) -> str | None:
        """What bash takes; None: only bash could tell."""
        return None if self.values is None else self.values[0] if self.values else ""


@dataclass(slots=True)
class Assignments:
    """What a file says.

    Attributes:
        found: by name; of several lines the last counts. What may run or not counts where it asks for something,
            and takes nothing back.
        exported: names that it exports.
        problems: in the order of the lines.
    """

    found: dict[str, Assigned] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def read_assignments(text: str, env: Mapping[str, str]) -> Assignments:
    r"""Read a file, within bounds: what lies behind the first :data:`LARGEST` characters is a problem.

    >>> found = read_assignments('A="1 2"  # two\nB=${A}-${C:-3}\nD=$(id)\n', {}).found
    >>> found["B"].value, found["D"].why
    ('1 2-3', 'a command substitution')
    """
    reader = _Reader(text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\r"), env)
    reader.read()
    return reader.result


class _UnknownValue(Exception):
    """Says why."""


class _TooMuch(Exception):
    """Says what there is too much of."""


class _Assignment(NamedTuple):
    name: str
    subscript: str
    adds: bool
    value: Word
    elements: list[Word] | None  # of an array
    text: str


class _Reader(WordReader):
    """Goes through the statements, one after the other."""

    def __init__(self, text: str, env: Mapping[str, str]) -> None:
        super().__init__(text)
        self.env = env
        self.result = Assignments()
        self.gone: set[str] = set()
        self.line, self.counted = 1, 0
        self.sure = True  # False behind the first command: what follows may run or not
        self.characters = 0

    def read(self) -> None:
        faults = 0
        try:
            if len(self.text) > LARGEST or self.text.count("\n") > MOST_LINES:
                raise _TooMuch(f"more than {LARGEST:,} characters or {MOST_LINES:,} lines")
            while self.take(_BETWEEN) and self.at < len(self.text):
                start = self.at
                self.line += self.text.count("\n", self.counted, start)
                self.counted = start
                try:
                    self._statement()
                except ShellSyntaxError as error:
                    faults += 1
                    if faults > _MOST_FAULTS:
                        raise _TooMuch(f"more than {_MOST_FAULTS} errors of syntax") from error
                    self._problem(str(error))
                    self.at = start
                    self.take(_LINE)
                    self._lost(self.text[start : self.at], str(error))
        except _TooMuch as error:
            self._problem(str(error))
            self._lost(self.text[self.counted :], str(error))

    def _lost(self, text: str, why: str) -> None:
        """Nobody knows what the assignments in a text come to."""
        for found in _ASSIGNS_SOMEWHERE.finditer(text):
            self.result.found[found[1]] = Assigned(None, found[2], self.line, why=why)

    def _problem(self, what: str) -> None:
        self.result.problems.append(Problem(self.line, what))

    def _command(self, what: str = "a command, or what only bash understands") -> None:
        if self.sure:
            self._problem(what)
        self.sure = False

    # -- statements ----------------------------------------------------------------------------------

    def _statement(self) -> None:
        start, items = self.at, list[_Assignment | Word]()
        while self.take(_GAP) and self.char not in _ENDS:
            items.append(self._item(items))
        operator = self.take(_OPERATORS)
        if "\0" in self.text[start : self.at]:
            raise ShellSyntaxError("a NUL byte")
        ends = operator[0] if operator else ""
        if self.sure and ends not in ("", ";", "&&", "||"):
            if ends[0] == ";" or (items and ends[0] in "()" and (ends != "()" or _bare(items[0]) is None)):
                raise ShellSyntaxError("a syntax error" if ends[0] == ";" else _UNQUOTED)
            self._command()
        if self.sure and ends and not items:
            raise ShellSyntaxError("a syntax error")
        self._perform(items)
        if ends in ("&&", "||"):
            self._command()

    def _item(self, items: list[_Assignment | Word]) -> _Assignment | Word:
        takes = not self.sure or not items or isinstance(items[-1], _Assignment) or _bare(items[0]) in _DECLARES
        if takes and (begun := self.take(_ASSIGNS)):
            at = self.at
            elements = self._elements() if self.char == "(" else None
            value = () if elements is not None else self.word() or ()
            return _Assignment(begun[1], begun[2] or "", bool(begun[3]), value, elements, self.text[at : self.at])
        return self.word() or ()

    def _elements(self) -> list[Word]:
        self.at += 1
        found: list[Word] = []
        while self.take(_BETWEEN) and self.char != ")":
            if (word := self.word()) is None:
                raise ShellSyntaxError(_UNQUOTED if self.char else "an array that is not closed")
            found.append(word)
        self.at += 1
        return found

    def _perform(self, items: list[_Assignment | Word]) -> None:
        given = [each for each in items if isinstance(each, _Assignment)]
        words = [each for each in items if not isinstance(each, _Assignment)]
        first = _bare(items[0]) if items and self.sure else None
        if first in _DECLARES:
            self._declare(first == "export", items[1:])
            return
        if first == "unset":
            self._unset(words[1:])
            return
        if words and first != ":":
            self._command("a command behind an assignment" if given else "a command, or what only bash understands")
        for each in given:
            self._assign(each)
        for word in words:  # ``${NAME:=value}``
            with suppress(_UnknownValue):
                self._text(word)

    def _declare(self, exports: bool, items: list[_Assignment | Word]) -> None:
        doubted = takes_back = False
        for each in items:
            if isinstance(each, _Assignment):
                why = ONLY_BASH if doubted or _BRACES.search(_shape(each.value)) else ""
                self._assign(each, why=why)
                name = each.name
            elif _OPTION.fullmatch(name := _bare(each) or ""):
                exports = exports or (name[0] == "-" and "x" in name)
                takes_back = takes_back or "n" in name or name[0] == "+"
                doubted = doubted or not {*name[1:]} <= {*"axrgnA-"}
                continue
            elif not _NAME.fullmatch(name):
                self._problem("no name where one belongs")
                continue
            if exports and not takes_back:
                self.result.exported.add(name)
            elif takes_back:
                self.result.exported.discard(name)

    def _unset(self, words: list[Word]) -> None:
        for word in words:
            if _NAME.fullmatch(name := _bare(word) or ""):
                self.result.found.pop(name, None)
                self.result.exported.discard(name)
                self.gone.add(name)
            elif name != "-v":
                self._problem("no name where one belongs")

    # -- names ---------------------------------------------------------------------------------------

    def _set(self, name: str, made: Assigned) -> None:
        found = self.result.found
        if self.sure:
            found[name] = made
            self.gone.discard(name)
        elif made.value is None or made.value.strip().lower() not in _NOTHING or name not in found:
            found[name] = made._replace(why=made.why or _PERHAPS)
        else:
            found[name] = found[name]._replace(why=_PERHAPS)

    def _get(self, name: str) -> tuple[str, ...]:
        if (known := self.result.found.get(name)) is not None:
            if known.values is None:
                raise _UnknownValue(ONLY_BASH)
            return known.values
        if name in self.gone:
            return ()
        if _OF_THE_SHELL.fullmatch(name) or (name in _UNLESS_SET and name not in self.env):
            raise _UnknownValue(ONLY_BASH)
        return (self.env[name],) if name in self.env else ()

    def _assign(self, each: _Assignment, *, why: str = "") -> None:
        known = self.result.found.get(each.name)
        was_array = known is not None and known.array
        values: tuple[str, ...] | None = None
        try:
            if why or each.subscript:
                raise _UnknownValue(why or "an element of an array")
            if each.elements is not None:
                given = tuple(value for word in each.elements for value in self._element(word))
                values = (*self._get(each.name), *given) if each.adds else given
            else:
                value = self._text(each.value)
                before = self._get(each.name) if each.adds or was_array else ()
                values = ("".join(before[:1]) + value if each.adds else value, *before[1:])
        except _UnknownValue as error:
            why = str(error)
            for word in (each.value, *(each.elements or ())):
                self._doubt(word)
        array = each.elements is not None or bool(each.subscript) or was_array
        self._set(each.name, Assigned(values, each.text, self.line, array, why))

    def _doubt(self, word: Word) -> None:
        """What a word may have set on its way to a value that isn't known."""
        for part in word:
            if isinstance(part, Unknown):
                for name in _NAME.findall(part.text) if _SETS.search(part.text) else ():
                    self._set(name, Assigned(None, part.text, self.line, why=part.why))
            elif isinstance(part, Parameter):
                if part.operator[-1:] == "=" and not self._is_set(part.name):
                    self._set(part.name, Assigned(None, "", self.line, why=ONLY_BASH))
                self._doubt(part.word)

    def _is_set(self, name: str) -> bool:
        with suppress(_UnknownValue):
            return self._get(name)[:1] not in ((), ("",))
        return False

    # -- values --------------------------------------------------------------------------------------

    def _text(self, word: Word) -> str:
        pieces, unknown = list[str](), None
        for number, part in enumerate(word):
            try:
                pieces.append(self._part(part, first=not number, last=number + 1 == len(word)))
            except _UnknownValue as error:
                self._doubt((part,))
                unknown = unknown or error
        if unknown:  # but what stands behind it may set a name
            raise unknown
        value = "".join(pieces)
        self.characters += len(value)
        if self.characters > LARGEST:
            raise _TooMuch(f"values of more than {LARGEST:,} characters")
        return value

    def _part(self, part: Text | Parameter | Unknown, *, first: bool, last: bool) -> str:
        if isinstance(part, Unknown):
            raise _UnknownValue(part.why)
        if isinstance(part, Parameter):
            return self._parameter(part)
        return part.text if part.quoted or "~" not in part.text else self._home(part.text, first=first, last=last)

    def _home(self, text: str, *, first: bool, last: bool) -> str:
        """``~`` at the beginning of a word and behind a colon is the home folder."""

        def home(found: re.Match[str]) -> str:
            behind = found[3] or (last and found.end() == len(text))
            if not behind or (not found[1] and not first):
                return found[0]
            if found[2] and not _USER.fullmatch(found[2]):
                return found[0]
            if found[2]:
                raise _UnknownValue(ONLY_BASH)
            given = self._get("HOME")
            if not given:
                raise _UnknownValue(ONLY_BASH)
            return found[1] + given[0]

        return _TILDE.sub(home, text)

    def _element(self, word: Word) -> tuple[str, ...]:
        """What a word gives to an array."""
        part = word[0]
        if isinstance(part, Text) and not part.quoted and part.text.startswith("["):
            raise _UnknownValue("an array with keys")
        if len(word) == 2 and isinstance(word[1], Parameter) and word[1].subscript == "@" and word[1].quoted:
            return () if word[1].operator else self._get(word[1].name)
        if _PATTERN.search(_shape(word)):
            raise _UnknownValue(ONLY_BASH)
        value = self._text(word)
        bare = [each for each in word if isinstance(each, Parameter) and not each.quoted]
        if bare and (not value or any(_SPLIT.search(self._parameter(each)) for each in bare)):
            raise _UnknownValue(ONLY_BASH)  # it is split into words, or stands for files
        return (value,)

    def _parameter(self, each: Parameter) -> str:
        """``$NAME``, with what to take where it is unset or empty."""
        values = self._get(each.name)
        if each.subscript in ("@", "*"):
            value, missing = " ".join(values), not values
        else:
            at = int(each.subscript or 0)
            value, missing = "".join(values[at : at + 1]), len(values) <= at
        if not each.operator:
            return value
        missing = missing or (each.operator[0] == ":" and not value)
        if each.operator[-1] == "+":
            return "" if missing else self._text(each.word)
        if not missing:
            return value
        if each.operator[-1] == "?":
            raise _UnknownValue(f"{each.name} is not set, and has to be")
        if each.operator[-1] == "-":
            return self._text(each.word)
        self._assign(_Assignment(each.name, each.subscript, False, each.word, None, ""))
        return "".join(self._get(each.name)[:1])


def _bare(item: _Assignment | Word) -> str | None:
    """What a word says that has nothing but text without quotes."""
    if isinstance(item, _Assignment):
        return None
    return None if "\0" in (text := _shape(item)) else text


def _shape(word: Word) -> str:
    """A word's text without quotes, with a NUL for each other part."""
    return "".join(each.text if isinstance(each, Text) and not each.quoted else "\0" for each in word)
