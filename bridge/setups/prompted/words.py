"""What the words of a script come to, as far as they can be told without running it.

A word is taken apart into pieces: text, files that it puts in (``$(cat FILE)``), variables that only a run knows
(``$i``), and what only bash could tell. Variables are followed to what the script assigns to them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.setups.prompted.conditions import taken
from bridge.setups.prompted.tree import FUNCTION, Tree, above, heredoc_of, line_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tree_sitter import Node

_PARAMETER = re.compile(r"\$(?:\{(?P<braced>\w+)(?::?[-=](?P<default>.*))?\}|(?P<name>\w+))", re.DOTALL)
_COUNTS = re.compile(r"\(\(\s*(?:\+\+)?(\w+)\s*(?:=(?!=)|\+\+|\+=)|\b(\w+)=\$\(\(\s*\$?\2\b", re.ASCII)
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_DEEPEST, _LONGEST = 12, 2_000_000
_ESCAPED, _BLANK = re.compile(rb"[ \t]*(?P<sign>\\[^\n])"), re.compile(rb"(?<!\\)(?:\\\\)*\\[ \t]\Z")
_MISSED = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[\w{(@*#?$!-]|`)")
"""What bash puts in, in a part that the parser takes for text."""
_GOES_ON = re.compile(rb"\\\n\w")
_LONE = re.compile(r"\s*\$\s[^$`]*")
"""A dollar sign that means itself, which the parser takes for more."""
_WORDS = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion", "expansion"}
)
_READERS = {
    "git log": r"-\d+|-n|\d+|--oneline|--(?:grep|format|pretty|date|max-count|since|author)=.*|--no-merges|-i|HEAD",
    "gh issue (?:list|view)": r"-[sljSLARmqtc]|--(?:state|label|json|search|limit|assignee|author|milestone|repo|jq"
    r"|template)(?:=.*)?|--comments|[^-].*",
}
"""Programs that only read, whose output scripts put into prompts: how their words begin, and what may follow."""
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_SIGN = re.compile(r"\\(?:x(?P<x>[0-9a-fA-F]{1,2})|[uU](?P<u>[0-9a-fA-F]{1,8})|(?P<sign>[ntrabefv\\'\"]))")

Kind = Literal["text", "file", "variable", "output", "unknown"]


class Piece(NamedTuple):
    """A part of a word.

    Attributes:
        kind: ``text``; ``file``: its content, whose path (or pattern) is `text`; ``variable``: one that only a run
            knows, by name; ``output``: what a program prints that is called with these words, NUL between them;
            ``unknown``: what only bash could tell, as it stands.
        line: where it stands, from 1.
        bare: newlines at its end are left out.
        otherwise: what stands there where the file is none, or the program fails; None: nothing is said about that.
    """

    kind: Kind
    text: str
    line: int
    bare: bool = False
    otherwise: str | None = None

    def mapped(self, change: Callable[[str], str]) -> Piece:
        """The same with its text changed, if it is text."""
        return self._replace(text=change(self.text)) if self.kind == "text" else self


Word = tuple[Piece, ...]


class Assignment(NamedTuple):
    """What gives a variable a value: `node`, None: an empty one; `whole`: all of the assignment."""

    name: str
    node: Node | None
    appends: bool
    whole: Node

    @property
    def start(self) -> int:
        return self.whole.start_byte


@dataclass
class Words(Tree):
    """A script whose words are evaluated.

    Attributes:
        project: the folder that it works in.
        arguments: with which it is called; conditions on them decide which of its parts count.
    """

    project: Path
    arguments: tuple[str, ...] = ()
    _evaluated: dict[tuple[int, int, int], Word] = field(init=False, repr=False, default_factory=dict)
    _taken: dict[int, bool | None] = field(init=False, repr=False, default_factory=dict)

    # -- variables -----------------------------------------------------------------------------------

    @cached_property
    def assigned(self) -> list[Assignment]:
        """All that is assigned to variables, in order."""
        found = []
        for node in self.nodes:
            name, value = None, None
            if node.type == "variable_assignment":
                name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            elif node.type == "expansion" and any(each.type == ":=" for each in node.children):
                name, value = node.named_children[0], node.named_children[-1]
            elif node.type == "command" and self.of(node.children[0]) == "read" and (here := heredoc_of(node)):
                name, value = words_of(node)[-1], here
            if name is not None:
                appends = any(child.type == "+=" for child in node.children)
                found.append(Assignment(self.of(name), value, appends, node))
        return found

    @cached_property
    def _counted(self) -> frozenset[str]:
        """Variables that are counted up, whose values only a run knows."""
        return frozenset(name for each in _COUNTS.finditer(self.text) for name in each.groups() if name)

    def _last(self, name: str, before: int) -> Assignment | None:
        """What gives a variable its value: the last that surely runs, or adds to it, else the last that may run."""
        known = [each for each in self.assigned if each.name == name and each.start < before]
        may_be = [each for each in known if self.taken(each.whole) is not False]
        adds = re.compile(rf"\$\{{?{name}\b")
        made = [
            each for each in may_be if self.taken(each.whole) or each.appends or adds.search(self.of(each.whole))
        ]
        return next((each[-1] for each in (made, may_be, known) if each), None)

    def value(self, name: str) -> str | None:
        """What a variable comes to at the end of the script; None: nothing, or only bash could tell."""
        last = self._last(name, len(self.source))
        return None if last is None else plain(self.evaluate(last.node, before=last.start))

    def default(self, name: str) -> str | None:
        """The first value that the script assigns to a variable; None: it assigns none, or only bash could tell."""
        first = next((each for each in self.assigned if each.name == name and each.node is not None), None)
        return None if first is None else plain(self.evaluate(first.node, before=first.start))

    # -- conditions ----------------------------------------------------------------------------------

    def taken(self, node: Node, assume: Callable[[str], bool] | None = None) -> bool | None:
        """Say whether the conditions around a node let it run, given the arguments and an environment without
        settings; None: only bash could tell.

        Args:
            assume: says by the words of such a condition, those of its variables' values with them, that it is met.
        """
        if assume is not None:
            return taken(node, self._compared, lambda guard: assume(self._words_behind(guard)))
        if node.start_byte not in self._taken:
            self._taken[node.start_byte] = None  # a condition that needs itself
            self._taken[node.start_byte] = taken(node, self._compared)
        return self._taken[node.start_byte]

    def _words_behind(self, node: Node) -> str:
        text = self.of(node)
        named = {*re.findall(r"\$\{?(\w+)", text)}
        return " ".join([text, *(self.of(each.whole) for each in self.assigned if each.name in named)])

    def _compared(self, node: Node) -> str | None:
        """The text of a word in a condition."""
        if node.type not in _WORDS:
            return None
        return plain([each for each in self.evaluate(node) if not self._unset(each, node)])

    def _unset(self, piece: Piece, node: Node) -> bool:
        """Whether it is a variable of the environment, or an argument that isn't given."""
        if piece.kind != "variable":
            return False
        if _ENVIRONMENT.fullmatch(piece.text) and self._last(piece.text, len(self.source)) is None:
            return True
        return piece.text.isdigit() and function_of(node) is None

    # -- words ---------------------------------------------------------------------------------------

    def evaluate(self, node: Node | None, *, before: int | None = None, deep: int = 0) -> Word:
        """Take a word apart.

        Args:
            node: the word; None: an empty one.
            before: assignments that stand in front of there count; None: those in front of the word.
        """
        if node is None:
            return (Piece("text", "", 0),)
        before = node.start_byte if before is None else before
        if node.type == "heredoc_redirect":  # of a `read`
            given = [*self.heredoc(node, before)]
            if node.parent is not None and not self.of(node.parent).startswith("IFS="):
                given[0] = given[0]._replace(text=given[0].text.lstrip())
                given[-1] = given[-1]._replace(text=given[-1].text.rstrip())
            return tuple(given)
        key = (node.start_byte, node.end_byte, before)
        if key not in self._evaluated:
            unknown = (self.unknown(node),)
            self._evaluated[key] = unknown  # a word that needs itself
            try:
                found = unknown if self._cut(node) else joined(self._pieces(node, before, deep))
            except RecursionError:
                return unknown
            self._evaluated[key] = found if sum(len(each.text) for each in found) <= _LONGEST else unknown
        return self._evaluated[key]

    def unknown(self, node: Node) -> Piece:
        """What only bash could tell."""
        return Piece("unknown", self.of(node), line_of(node))

    def file(self, node: Node, *, shown: Node | None = None, bare: bool = False, **more: int) -> Piece:
        """The file whose path a word is; `shown`: what stands there where that can't be told, `more` as of
        `evaluate`."""
        path = plain(self.evaluate(node, **more))
        where = shown or node
        return Piece("file" if path else "unknown", path or self.of(where), line_of(where), bare)

    def _cut(self, node: Node) -> bool:
        """Whether the parser has lost what follows a word, or comes before it: it skips escaped blanks, for one."""
        behind = _ESCAPED.match(self.source, node.end_byte)
        known = node.next_sibling is not None and behind and node.next_sibling.start_byte == behind.start("sign")
        start = max(0, node.start_byte - 100)
        return (bool(behind) and not known) or bool(_BLANK.search(self.source[start : node.start_byte]))

    def _pieces(self, node: Node, before: int, deep: int) -> Iterator[Piece]:
        text, line = self.of(node), line_of(node)
        whole = node.type != "concatenation" or sum(len(self.of(each)) for each in node.named_children) == len(text)
        match node.type if deep <= _DEEPEST and whole else "":
            case "word" | "number":
                yield Piece("text", re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), line)
            case "raw_string" | "ansi_c_string":
                yield Piece("text", text[1:-1] if text[0] == "'" else _ansi(text[2:-1]), line)
            case "string" | "heredoc_body":
                quote = int(node.type == "string")
                yield from self._between(node, node.start_byte + quote, node.end_byte - quote, before, deep)
            case "concatenation":
                for child in node.named_children:
                    yield from self._pieces(child, before, deep)
            case "simple_expansion" | "expansion":
                yield from self._expansion(node, before, deep)
            case "command_substitution":
                yield from self._substituted(node, before, deep)
            case _:
                yield self.unknown(node)

    def _between(self, node: Node, start: int, end: int, before: int, deep: int) -> Iterator[Piece]:
        at = start
        for child in node.named_children:
            if child.type in ("string_content", "heredoc_content") or _LONE.fullmatch(self.of(child)):
                continue
            sign = re.compile(rb"[$`]").search(self.source, child.start_byte)  # blanks may stand before it
            yield self._literal(at, sign.start() if sign else child.start_byte, node)
            yield from self._pieces(child, before, deep)
            at = child.end_byte
        yield self._literal(at, end, node)

    def _literal(self, start: int, end: int, node: Node) -> Piece:
        """The text of a part between what bash puts in; the parser may have taken such a thing for text."""
        text = self.between(start, end)
        signs = r'[$`"\\]' if node.type == "string" else r"[$`\\]"
        unescaped = re.sub(rf"\\({signs}|\n)", lambda found: found[1].strip("\n"), text)
        return Piece("unknown" if _MISSED.search(text) else "text", unescaped, line_of(node))

    def heredoc(self, redirect: Node, before: int) -> Word:
        """A here-document, from line to line: the parser loses blanks and backslashes at its beginning."""
        parts = {each.type: each for each in redirect.children}
        if not {"heredoc_start", "heredoc_body", "heredoc_end"} <= parts.keys():
            return (self.unknown(redirect),)
        start, body = parts["heredoc_start"], parts["heredoc_body"]
        begin = self.source.find(b"\n", start.end_byte) + 1
        end = max(begin, self.source.rfind(b"\n", 0, parts["heredoc_end"].start_byte) + 1)
        text, line = self.between(begin, end), line_of(start) + 1
        if self.of(start)[:1] in ("'", '"', "\\"):
            pieces: Word = (Piece("text", text, line),)
        elif body.start_byte == body.end_byte and re.search(r"[$`]", text):
            pieces = (Piece("unknown", text, line),)
        else:
            pieces = joined(self._between(body, begin, end, before, 0))
        if redirect.children[0].type == "<<-":
            pieces = tuple(each.mapped(lambda text: re.sub(r"(?m)^\t+", "", text)) for each in pieces)
        return pieces

    # -- what is put in ------------------------------------------------------------------------------

    def _expansion(self, node: Node, before: int, deep: int) -> Iterator[Piece]:
        text, line = re.sub(r"\A[^$]*", "", self.of(node)), line_of(node)  # blanks may stand before it
        found = _PARAMETER.fullmatch(text)
        name = found and (found["name"] or found["braced"])
        goes_on = not text.startswith("${") and _GOES_ON.match(self.source, node.end_byte)
        if found is None or name is None or goes_on:
            yield Piece("unknown", text, line)
        elif name.isdigit() and 0 < int(name) <= len(self.arguments) and function_of(node) is None:
            yield Piece("text", self.arguments[int(name) - 1], line)
        elif found["default"] is None or any(each.name == name and each.start < before for each in self.assigned):
            yield from self._variable(node, name, before, deep)
        elif inside := [each for each in node.named_children if each.type != "variable_name"]:
            for each in inside:  # what is taken where nobody sets it
                yield from self._pieces(each, before, deep + 1)
        else:
            yield Piece("text", found["default"], line)

    def _variable(self, node: Node, name: str, before: int, deep: int) -> Iterator[Piece]:
        """What a variable stands for at a place of the script."""
        line = line_of(node)
        last, function = self._last(name, before), function_of(node)
        known = {"BASH_SOURCE": str(self.path), "0": str(self.path), "PWD": str(self.project)}
        known["HOME"] = os.environ.get("HOME", "")
        if name in self._counted:
            yield Piece("variable", name, line)
        elif name in known:
            yield Piece("text", known[name], line)
        elif last is not None and last.node is not None:
            if last.appends:
                yield from self._variable(node, name, last.start, deep + 1)
            yield from self.evaluate(last.node, before=last.start, deep=deep + 1)
        elif name.isdigit() and function is not None:
            yield from self._argument(function, int(name), Piece("unknown", f"${name}", line), deep)
        else:
            yield Piece("variable", name, line)

    def _argument(self, function: Node, number: int, unknown: Piece, deep: int) -> Word:
        """What a function of the script gets as its argument with this number, if that is the same everywhere."""
        name = self.of(function.named_children[0])
        called = [node for node, words in self.commands if words[:1] == [name] and len(words) > number][:99]
        found = {self.evaluate(words_of(each)[number], before=each.start_byte, deep=deep + 1) for each in called}
        return found.pop() if len(found) == 1 else (unknown,)

    def _substituted(self, node: Node, before: int, deep: int) -> Iterator[Piece]:
        text, line = self.of(node), line_of(node)
        if "dirname" in text and ("BASH_SOURCE" in text or "$0" in text):  # the folder of the script, or above it
            up = re.findall(r"/\.\.", text)
            yield Piece("text", os.path.normpath(os.path.join(self.path.parent, *(".." for _ in up))), line)
            return
        if "rev-parse --show-toplevel" in text or text == "$(pwd)":
            yield Piece("text", str(self.project), line)
            return
        inside = node.named_children
        if len(inside) == 1 and inside[0].type == "file_redirect":
            path = inside[0].named_children[-1]
            yield self.file(path, shown=node, bare=True, before=before, deep=deep + 1)
            return
        first, otherwise = inside[0] if len(inside) == 1 else node, None
        if first.type == "list" and len(first.named_children) == 2 and first.children[1].type == "||":
            first, other = first.named_children
            otherwise = plain(self.printed(other))
        printed = [*self.printed(first)]
        if any(piece.kind == "unknown" for piece in printed) or (first is not inside[0] and otherwise is None):
            yield self.unknown(node)
            return
        if len(printed) == 1 and otherwise is not None:
            printed[0] = printed[0]._replace(otherwise=otherwise.rstrip("\n"))
        last = printed.pop()
        yield from printed
        yield last._replace(text=last.text.rstrip("\n")) if last.kind == "text" else last._replace(bare=True)

    def printed(self, stage: Node) -> Word:
        """What a command prints, of those that print what they are given."""
        whole = stage
        while stage.type == "redirected_statement":
            stage = stage.named_children[0]
        words, before = words_of(stage) if stage.type == "command" else [], stage.start_byte
        name, given = self.of(words[0]) if words else "", words[1:]
        if name == "cat" and given:
            return tuple(self.file(each, before=before) for each in given)
        if name == "cat" and (here := heredoc_of(stage)) is not None:
            return self.heredoc(here, before)
        if name in ("echo", "printf") and given:
            return self._echoed(name, given, before)
        if name in ("git", "gh"):
            argv = [text for each in words if (text := plain(self.evaluate(each, before=before))) is not None]
            if len(argv) == len(words) and _only_reads(argv):
                return (Piece("output", "\0".join(argv), line_of(whole)),)
        return (self.unknown(whole),)

    def _echoed(self, name: str, given: list[Node], before: int) -> Word:
        """What ``echo`` and ``printf`` make of their words; of formats, those with ``%s`` and ``%b`` alone."""
        line, evaluated = line_of(given[0]), [self.evaluate(each, before=before) for each in given]
        options, pieces = "", list[Piece]()
        if name == "echo":
            while evaluated and re.fullmatch(r"-[neE]+", plain(evaluated[0]) or ""):
                options += plain(evaluated.pop(0)) or ""
            for number, word in enumerate(evaluated):
                pieces += [Piece("text", " ", line)] if number else []
                pieces += [each.mapped(_ansi) for each in word] if "e" in options else word
            return joined([*pieces, Piece("text", "" if "n" in options else "\n", line)])
        form, *words = (evaluated[1:] if plain(evaluated[0]) == "--" else evaluated) or [()]
        parts = re.split(r"(%[sb%])", plain(form) or "%?")
        if any("%" in part for part in parts[::2]):
            return (Piece("unknown", " ".join(map(self.of, given)), line),)
        while True:
            for part in parts:
                if part in ("%s", "%b"):
                    pieces += words.pop(0) if words else ()
                else:
                    pieces.append(Piece("text", "%" if part == "%%" else _ansi(part), line))
            if not words or not {"%s", "%b"} & {*parts}:
                return joined(pieces)


def plain(pieces: Sequence[Piece]) -> str | None:
    """The text of a word that has nothing else in it."""
    return "".join(each.text for each in pieces) if all(each.kind == "text" for each in pieces) else None


def joined(pieces: Iterable[Piece]) -> Word:
    """Neighbouring texts as one, and none that is empty beside others; at least one piece."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].kind == piece.kind == "text":
            found[-1] = found[-1]._replace(text=found[-1].text + piece.text)
        else:
            found.append(piece)
    return tuple(piece for piece in found if piece.kind != "text" or piece.text) or (Piece("text", "", 0),)


def function_of(node: Node) -> Node | None:
    """The function that a node stands in."""
    return next((up for up in above(node) if up.type == FUNCTION), None)


def _ansi(text: str) -> str:
    def sign(found: re.Match[str]) -> str:
        if number := found["x"] or found["u"]:
            return chr(min(int(number, 16), 0x10FFFF))
        return _SIGNS.get(found["sign"], found["sign"])

    return _SIGN.sub(sign, text)


def _only_reads(argv: Sequence[str]) -> bool:
    """Say whether a program with these words only reads, and asks nobody anything."""
    for start, more in _READERS.items():
        if begun := re.match(rf"{start}(?: |\Z)", " ".join(argv)):
            return all(re.fullmatch(more, each, re.DOTALL) for each in argv[len(begun[0].split()) :])
    return False
