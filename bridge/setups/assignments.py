"""What a shell file of settings assigns: read as bash would take it, and never run. Pure.

Lines that are plain assignments are read at once, others by tree-sitter-bash, which is imported for them alone. A
value that only a shell could tell, and a line that is more than assignments, is reported with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node, Parser

_PLAIN = re.compile(r"""([A-Za-z_]\w*)=(?:"([^"\\$`]*)"|'([^']*)'|([\w./,:@%+#-]*))[ \t]*(?:[ \t]#.*)?""", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PARAMETER = re.compile(rb"\$\{([A-Za-z_][A-Za-z0-9_]*)(?:\[([@*0-9]+)\])?(:?[-=+?])?")
_LIVE_QUOTED = re.compile(r"`|\$[\w@*#?$!({'-]")
_LIVE = re.compile(r"""[\s`;&|<>()'"]|\$[\w@*#?$!({'"-]""")
"""What a shell would not take as it stands."""
_BEGINS_NAME = re.compile("[A-Za-z_]")
_IN_NAME = re.compile("[A-Za-z_0-9]")
_EXPANDED = re.compile(r"[0-9({\['!@*#?$-]")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NOTHING = frozenset({"", "none"})
_MOST_LINES = 200
"""Of one statement."""


class Problem(NamedTuple):
    """What isn't data. `line`: where its statement begins, from 1."""

    line: int
    what: str


class Assigned(NamedTuple):
    """What a name stands for at the end of a file.

    Attributes:
        values: the elements of an array, or the one value; None: only bash could tell.
        text: what stands there.
        line: where its statement begins, from 1.
        array: it is one, of which bash takes the first element alone.
    """

    values: tuple[str, ...] | None
    text: str
    line: int
    array: bool = False

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
    r"""Read a file.

    >>> found = read_assignments('A="1 2"  # two\nB=${A}-${C:-3}\nD=$(id)\n', {})
    >>> found.found["B"].value, found.problems[0]
    ('1 2-3', Problem(line=3, what='a command substitution'))
    """
    reader = _Reader(env)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\r").split("\n")
    at = 0
    while at < len(lines):
        at += reader.statement(lines, at)
    return reader.result


class _UnknownValue(Exception):
    """Says what stands there."""


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _text(source: bytes) -> str:
    return source.decode("utf-8", "surrogateescape")


class _Reader:
    """Goes through the statements, one after the other."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.result = Assignments()
        self.gone: set[str] = set()
        self.line = 1
        self.sure = True
        self.braces = 0
        self.source = b""

    def statement(self, lines: list[str], at: int) -> int:
        """Read the statement that begins in a line, and return how many lines it has."""
        self.line, self.sure, self.braces = at + 1, True, 0
        line = lines[at]
        if not line.strip() or line.lstrip(" \t").startswith("#"):
            return 1
        if (plain := _PLAIN.fullmatch(line)) is not None:
            self._set(plain[1], (plain[2] or plain[3] or plain[4] or "",), line.partition("=")[2])
            return 1
        if "\0" in line:
            self._problem("a NUL byte")
            return 1
        text = line
        for end in range(at + 1, min(len(lines), at + _MOST_LINES) + 1):
            if _CONTINUED.search(text) and end < len(lines) and _open_quote(text) not in ("'", "#"):
                text = text[:-1] + lines[end]
                continue
            tree = self._parse(text)
            if not tree.has_error:
                self._statements(tree)
                return end - at
            text += "\n" + "".join(lines[end : end + 1])
        self._problem(_why(line))
        self._perhaps(self._parse(line))
        return 1

    def _parse(self, text: str) -> Node:
        self.source = _plainer(text).encode("utf-8", "surrogateescape")
        return _parser().parse(self.source).root_node

    def _problem(self, what: str) -> None:
        self.result.problems.append(Problem(self.line, what))

    def _statements(self, tree: Node) -> None:
        first = self.line
        for node in tree.children:
            self.line = first + node.start_point[0]
            if node.type in (";", "\n", "comment"):
                continue
            if self._statement(node):
                continue
            assigns = node.type == "command" and node.children[0].type == "variable_assignment"
            what = "a command behind an assignment" if assigns else "a command, or what only bash understands"
            what = "a syntax error" if node.type == ";;" else what
            self._problem(what)
            self._perhaps(node)
            self.sure = False  # of what stands behind it, too: `A=1 && exit`
        self.line = first

    def _statement(self, node: Node) -> bool:
        """Read one that is data; False: it is none."""
        match node.type:
            case "variable_assignment":
                self._assign(node)
            case "variable_assignments":
                for child in node.named_children:
                    self._assign(child)
            case "declaration_command":
                self._declaration(node)
            case "unset_command":
                self._unset(node)
            case "command" if self._of(node.children[0]) == b":":
                for child in node.named_children[1:]:
                    self._evaluated(child)
            case _:
                return False
        return True

    def _declaration(self, node: Node) -> None:
        exports = self._of(node.children[0]) == b"export"
        if self._of(node.children[0]) == b"local":
            self._problem("what only bash understands")
        for child in node.named_children:
            word = _text(self._of(child))
            if child.type == "variable_assignment":
                word = self._assign(child)
            elif child.type == "word" and re.fullmatch(r"-[axrgv]+", word):
                exports = exports or "x" in word
                continue
            elif child.type != "variable_name":
                self._problem("no name where one belongs")
                continue
            if exports:
                self.result.exported.add(word)

    def _perhaps(self, node: Node) -> None:
        """Read what a statement assigns that may run or not."""
        self.sure = False
        problems = len(self.result.problems)
        for inner in _inside(node):
            if inner.type == "variable_assignment":
                self._assign(inner)
            elif inner.type == "expansion":
                self._evaluated(inner)
        del self.result.problems[problems:]

    # -- names ---------------------------------------------------------------------------------------

    def _set(self, name: str, values: tuple[str, ...] | None, text: str, *, array: bool = False) -> None:
        found = self.result.found
        made = Assigned(values, text, self.line, array)
        if self.sure or made.value is None or made.value.strip().lower() not in _NOTHING or name not in found:
            found[name] = made
            self.gone.discard(name)

    def _unset(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_name":
                name = _text(self._of(child))
                self.result.found.pop(name, None)
                self.gone.add(name)
            elif self._of(child) != b"-v":
                self._problem("no name where one belongs")

    def _get(self, name: str) -> tuple[str, ...]:
        if (known := self.result.found.get(name)) is not None:
            if known.values is None:
                raise _UnknownValue("a value that only bash can tell")
            return known.values
        return (self.env[name],) if name in self.env and name not in self.gone else ()

    def _assign(self, node: Node) -> str:
        """Take in an assignment, and return the name."""
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = "" if value is None else _text(self._of(value))
        if target is None or not _NAME.fullmatch(_text(self._of(target))):
            self._problem("what only bash understands")
            return ""
        name = _text(self._of(target))
        array = value is not None and value.type == "array"
        known = self.result.found.get(name)
        values: tuple[str, ...] | None = None
        try:
            added = self._of(node.children[1]) == b"+="
            before = self._get(name) if added else ()
            array = array or (added and known is not None and known.array)
            if value is not None and value.type == "array":
                values = (*before, *self._array(value))
            else:
                values = ("".join(before[:1]) + self._value(value), *before[1:])
        except _UnknownValue as error:
            self._problem(str(error))
        self._set(name, values, text, array=array)
        return name

    # -- values --------------------------------------------------------------------------------------

    def _of(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def _value(self, node: Node | None) -> str:
        """~ at its beginning and behind a colon is the home folder."""
        if node is None:
            return ""
        value, raw, home = self._word(node), _text(self._of(node)), self.env.get("HOME", "")
        if raw.startswith("~") and raw[1:2] in ("", "/", ":"):
            value = home + value[1:]
        if not any(sign in raw for sign in "'\"\\"):
            value = re.sub(":~(?=[/:]|$)", lambda _found: f":{home}", value)
        return value

    def _array(self, node: Node) -> Iterator[str]:
        for child in node.named_children:
            if self._of(child).startswith(b"["):
                raise _UnknownValue("an array with keys")
            if child.type != "comment":
                yield self._word(child)

    def _evaluated(self, node: Node) -> None:
        try:
            self._word(node)
        except _UnknownValue as error:
            self._problem(str(error))

    def _word(self, node: Node, *, quoted: bool = False) -> str:
        text = _text(self._of(node)).lstrip() if "expansion" in node.type else _text(self._of(node))
        match node.type:
            case "word" | "number" | "string_content" | "brace_expression" | "regex" | "extglob_pattern":
                return self._literal(text, quoted=quoted)
            case "concatenation":
                return self._pieces(node, node.start_byte, node.end_byte, quoted=quoted)
            case "string":
                return self._pieces(node, node.start_byte + 1, node.end_byte - 1, quoted=True)
            case "translated_string":
                return self._word(node.named_children[0])
            case "raw_string" | "ansi_c_string":
                return text if quoted else text[1:-1] if text[0] == "'" else _ansi(text[2:-1])
            case "simple_expansion" if named := _NAME.match(text, 1):
                return "".join(self._get(named[0])[:1]) + text[named.end() :]
            case "expansion":
                return self._expansion(node, quoted=quoted)
        substitutes = node.type in ("command_substitution", "arithmetic_expansion")
        raise _UnknownValue("a command substitution" if substitutes else "a value that only bash can tell")

    def _pieces(self, node: Node, start: int, end: int, *, quoted: bool) -> str:
        """What stands between two places of a node: children, and text as it is."""
        pieces, at = [], start
        for child in node.named_children:
            if at <= child.start_byte and child.end_byte <= end:
                begun = self._begin(child)
                pieces.append(self._literal(_text(self.source[at:begun]), quoted=quoted))
                pieces.append(self._word(child, quoted=quoted))
                at = child.end_byte
        return "".join([*pieces, self._literal(_text(self.source[at:end]), quoted=quoted)])

    def _literal(self, text: str, *, quoted: bool) -> str:
        escaped = r'\\([$`"\\\n])' if quoted else r"\\(.)"
        live = _LIVE_QUOTED if quoted or self.braces else _LIVE
        if live.search(re.sub(escaped, "", text, flags=re.DOTALL)):
            raise _UnknownValue("what only bash understands, or a value that wants quotes")
        return re.sub(escaped, lambda found: found[1].strip("\n"), text, flags=re.DOTALL)

    def _begin(self, node: Node) -> int:
        """Where a node begins: in double quotes the parser gives an expansion the blanks before it."""
        text = self._of(node)
        return node.end_byte - len(text.lstrip()) if "expansion" in node.type else node.start_byte

    def _expansion(self, node: Node, *, quoted: bool) -> str:
        """``${NAME}``, and with what to take where it is unset or empty."""
        begun = self._begin(node)
        found = _PARAMETER.match(self.source[begun : node.end_byte])
        if found is None or (found[3] is None and found.end() != node.end_byte - begun - 1):
            raise _UnknownValue("a value that only bash can tell")
        name, index, operator = (_text(part or b"") for part in found.groups())
        values = self._get(name)
        value = "".join(values[:1])
        if index:
            value = " ".join(values) if index in "@*" else "".join(values[int(index) : int(index) + 1])
        if not operator:
            return value
        self.braces += 1
        other = self._pieces(node, begun + found.end(), node.end_byte - 1, quoted=quoted)
        self.braces -= 1
        unset = not (values or name in self.result.found) or (operator[0] == ":" and not value)
        if operator[-1] == "+":
            return "" if unset else other
        if operator[-1] == "?" and unset:
            raise _UnknownValue(f"{name} is not set, and has to be")
        if operator[-1] == "=" and unset:
            self._set(name, (other,), other)
        return other if unset else value


def _inside(node: Node) -> Iterator[Node]:
    """The node and all that is in it, an assignment as one."""
    yield node
    if node.type != "variable_assignment":
        for child in node.named_children:
            yield from _inside(child)


def _with_quotes(text: str) -> Iterator[tuple[str, str]]:
    """Give each sign of a text, with what is escaped as one, and the quote that it stands in (# in a comment)."""
    quote, before = "", "\n"
    for sign in re.findall(r"\\.|[^\\]|\\$", text, re.DOTALL):
        yield sign, quote
        if quote == "#":
            quote = "" if sign == "\n" else quote
        elif quote:
            quote = "" if sign[0] == quote or (quote == "'" and sign == "\\'") else quote
        elif sign in ("'", '"') or (sign == "#" and before in " \t\n;"):
            quote = sign
        before = sign


def _open_quote(text: str) -> str:
    """Give the quote that is open at the end of a text, # in a comment, or ''."""
    *_, (_, quote) = _with_quotes(f"{text} ")
    return quote


def _plainer(text: str) -> str:
    """Write with quotes what is escaped or looks like a sign, and names in braces: the parser mistakes some."""
    signs = [*_with_quotes(text), ("\n", "")]
    pieces, before, named = [], "", False
    for (sign, quote), (after, _) in pairwise(signs):
        piece = sign
        if named and not _IN_NAME.match(sign):
            named = False
            pieces.append("}")
        if not quote and sign[0] == "\\" and sign[1:] not in ("", "\n"):
            piece = f'"{sign[1]}"' if sign[1] == "'" else f"'{sign[1]}'"
        elif not quote and sign == "$" and after == '"':  # a text to be translated, which nobody does
            piece = ""
        elif not quote and sign == "$" and before != "$" and _BEGINS_NAME.match(after):
            named, piece = True, "${"
        elif not quote and sign == "#" and before == "=":
            piece = "'#'"
        elif not quote and sign == "$" and before != "$" and not _EXPANDED.match(after):
            piece = "'$'"
        pieces.append(piece)
        before = sign if sign in "$=" else ""
    return "".join([*pieces, "}" if named else ""])


def _ansi(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        sign = found[1]
        if sign.isalnum() and sign not in _ANSI:
            raise _UnknownValue("a value that only bash can tell")
        return _ANSI.get(sign, sign)

    return re.sub(r"\\(.)", one, text, flags=re.DOTALL)


def _why(line: str) -> str:
    """Say what keeps a statement from being one."""
    bare = re.sub(r"""\\.|'[^']*'""", "", line)
    if "`" in bare or "$(" in bare:
        return "a command substitution"
    bare = re.sub(r'"[^"]*"', "", bare)
    if "'" in bare or '"' in bare:
        return "a quote that is not closed"
    if bare.count("${") > bare.count("}"):
        return "a brace that is not closed"
    if re.search(r"=\([^)]*$", bare):
        return "an array that is not closed"
    return "a syntax error" if ";;" in bare else "what only bash understands, or a value that wants quotes"
