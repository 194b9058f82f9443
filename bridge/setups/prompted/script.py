"""What a controller's own script calls, and with what: read by the parser, never run.

A word of the script is taken apart into pieces: text, files that it puts in (``$(cat FILE)``), variables that only
a run knows (``$i``), and what only bash could tell. Variables are followed to what the script assigns to them.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.clis import find_cli
from bridge.files import ANYWHERE, read_bytes, usable
from bridge.setups.prompted.conditions import taken
from bridge.setups.prompted.job import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tree_sitter import Node

    from bridge.clis import Cli

_STARTERS = frozenset(
    {"env", "exec", "nohup", "time", "timeout", "gtimeout", "stdbuf", "command", "caffeinate", "nice"}
)
_BOXES = (("docker", "sandbox", "run"), ("sbx", "run"), ("docker", "run"), ("docker", "exec"))
_ASKS = frozenset({"--version", "-v", "--help", "-h"})
_OURS = frozenset({"-p", "--print", "--verbose", "--include-partial-messages"})
_OURS_WITH_VALUE = frozenset({"--output-format", "--input-format"})
_ALL = "--dangerously-skip-permissions"
_CHOICE = re.compile(r"(?:\w+_)?(?:tool|agent|cli|engine|provider|llm|backend|runner)", re.IGNORECASE)
_PARAMETER = re.compile(r"\$(?:\{(?P<braced>\w+)(?::?[-=](?P<default>.*))?\}|(?P<name>\w+))", re.DOTALL)
_COUNTS = re.compile(r"\(\(\s*(?:\+\+)?(\w+)\s*(?:=(?!=)|\+\+|\+=)|\b(\w+)=\$\(\(\s*\$?\2\b", re.ASCII)
_DEEPEST, _LONGEST, _HIGHEST = 12, 2_000_000, 200
_PATIENCE, _CHUNK = 5.0, 65_536
_ESCAPED, _BLANK = re.compile(rb"[ \t]*(?P<sign>\\[^\n])"), re.compile(rb"(?<!\\)(?:\\\\)*\\[ \t]\Z")
_MISSED = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[\w{(@*#?$!-]|`)")
"""What bash puts in, in a part that the parser takes for text."""
_GOES_ON = re.compile(rb"\\\n\w")
_LONE = re.compile(r"\s*\$\s[^$`]*")
"""A dollar sign that means itself, which the parser takes for more."""
_READERS = (
    (
        "git log",
        r"-\d+|-n|\d+|--oneline|--(?:grep|format|pretty|date|max-count|since|author)=.*|--no-merges|-i|HEAD",
    ),
    (
        "gh issue (?:list|view)",
        r"-[sljSLARmqtc]|--(?:state|label|json|search|limit|assignee|author|milestone|repo|jq|template)(?:=.*)?"
        r"|--comments|[^-].*",
    ),
)
"""Programs that only read, whose output scripts put into prompts: how their words begin, and what may follow."""

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


class Assignment(NamedTuple):
    name: str
    node: Node | None
    appends: bool
    start: int
    whole: Node


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a coding CLI.

    Attributes:
        cli: which. line: of the call, from 1.
        words: behind its name; each as its pieces.
        stdin: what it reads there; None: nothing that the script gives it.
        boxed: it is started in a container or a sandbox of Docker's.
        looped: it stands in a loop, or in a function.
        node: the command.
        taken: conditions around it may let it run.
    """

    cli: Cli
    line: int
    words: tuple[tuple[Piece, ...], ...]
    stdin: tuple[Piece, ...] | None
    boxed: bool
    looped: bool
    node: Node = field(repr=False)
    taken: bool

    @cached_property
    def parsed(self) -> tuple[Tool, tuple[Piece, ...] | None, tuple[str, ...]]:
        """Give how it is called, the prompt (None: it has none), and options whose values only bash could tell."""
        return _parse(self)

    @property
    def tool(self) -> Tool:
        return self.parsed[0]

    @property
    def prompt(self) -> tuple[Piece, ...] | None:
        return self.parsed[1]

    @property
    def headless(self) -> bool:
        """Whether it answers and ends, as far as its options say; None of the CLIs but one has an option for it."""
        return not self.cli.switches or any(_plain(word) in ("-p", "--print") for word in self.words)


@dataclass
class Script:
    """A controller's script.

    Attributes:
        path: of it. project: the folder that it works in.
        arguments: with which it is called; conditions on them decide which of its parts count.
        text: of it; '': there is none, or what is there is no text.
    """

    path: Path
    project: Path
    arguments: tuple[str, ...] = ()
    text: str = field(init=False, repr=False)
    _evaluated: dict[tuple[int, int, int], tuple[Piece, ...]] = field(init=False, repr=False, default_factory=dict)
    _taken: dict[int, bool | None] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        with usable("the controller's script"):
            data = read_bytes(self.path, 4 * 1024 * 1024, root=ANYWHERE) if self.path.is_file() else b""
        data = b"" if b"\0" in data else data
        self._source = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        self.text = self._source.decode("utf-8", "surrogateescape")

    @cached_property
    def _root(self) -> Node:
        import tree_sitter
        import tree_sitter_bash

        parser, data = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())), self._source
        end = time.monotonic() + _PATIENCE
        try:  # what is no script may take the parser hours, and only a parse in chunks can be ended
            parser.parse(lambda at, _: data[at : at + _CHUNK], progress_callback=lambda *_: time.monotonic() > end)
        except ValueError:
            parser.reset()
            data = b""
        return parser.parse(data).root_node

    @cached_property
    def nodes(self) -> list[Node]:
        """All of its nodes, in order."""
        found, waiting = [], [self._root]
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting.extend(reversed(node.children))
        return found

    def of(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")

    @cached_property
    def commands(self) -> list[tuple[Node, list[str]]]:
        """Every simple command, with its words as they stand."""
        return [(node, [self.of(each) for each in _words(node)]) for node in self.nodes if node.type == "command"]

    @cached_property
    def _assigned(self) -> list[Assignment]:
        found = []
        for node in self.nodes:
            if node.type == "variable_assignment" and (name := node.child_by_field_name("name")) is not None:
                appends = any(child.type == "+=" for child in node.children)
                value = node.child_by_field_name("value")
                found.append(Assignment(self.of(name), value, appends, node.start_byte, node))
            elif node.type == "expansion" and ":=" in {each.type for each in node.children}:
                found.append(
                    Assignment(
                        self.of(node.named_children[0]), node.named_children[-1], False, node.start_byte, node
                    )
                )
            elif node.type == "command" and self.of(node.children[0]) == "read" and (here := _heredoc(node)):
                found.append(Assignment(self.of(_words(node)[-1]), here, False, node.start_byte, node))
        return found

    @cached_property
    def _counted(self) -> frozenset[str]:
        """Variables that are counted up, whose values only a run knows."""
        found = re.finditer(_COUNTS, self.text)
        return frozenset(name for each in found for name in each.groups() if name)

    def _last(self, name: str, before: int) -> Assignment | None:
        """What gives a variable its value: the last that surely runs, or adds to it, else the last that may run."""
        known = [each for each in self._assigned if each.name == name and each.start < before]
        may_be = [each for each in known if self.taken(each.whole) is not False]
        adds = re.compile(rf"\$\{{?{name}\b")
        made = [
            each for each in may_be if self.taken(each.whole) or each.appends or adds.search(self.of(each.whole))
        ]
        return next((each[-1] for each in (made, may_be, known) if each), None)

    def value(self, name: str) -> str | None:
        """What a variable comes to at the end of the script; None: nothing, or only bash could tell."""
        last = self._last(name, len(self._source))
        return None if last is None else _plain(self.evaluate(last.node, before=last.start))

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
        return " ".join([text, *(self.of(each.whole) for each in self._assigned if each.name in named)])

    def _compared(self, node: Node) -> str | None:
        """The text of a word in a condition."""
        if node.type not in _WORDS:
            return None
        pieces = self.evaluate(node, before=node.start_byte)
        return (
            None
            if any(each.kind != "text" and not self._unset(each, node) for each in pieces)
            else "".join(each.text for each in pieces if each.kind == "text")
        )

    def _unset(self, piece: Piece, node: Node) -> bool:
        """Whether it is a variable of the environment, or an argument that isn't given."""
        inside = any(up.type == _FUNCTION for up in above(node))
        named = _ENVIRONMENT.fullmatch(piece.text) is not None and self._last(piece.text, len(self._source)) is None
        return piece.kind == "variable" and (named or (piece.text.isdigit() and not inside))

    def default(self, name: str) -> str | None:
        """The first value that the script assigns to a variable; None: it assigns none, or only bash could tell."""
        first = next((each for each in self._assigned if each.name == name and each.node is not None), None)
        return None if first is None else _plain(self.evaluate(first.node, before=first.start))

    @cached_property
    def promises(self) -> dict[str, int]:
        """What its own tests look for in ``<promise>`` tags, and the exit status that each of them ends it with."""
        found: dict[str, int] = {}
        for node in self.nodes:
            then = next((each for each in node.children if each.type == "then"), None)
            if node.type not in ("if_statement", "elif_clause") or then is None:
                continue
            test = self._source[node.start_byte : then.start_byte].decode("utf-8", "replace")
            test = re.sub(
                r"\$\{?(\w+)\}?", lambda name: self.value(name[1]) or self.default(name[1]) or name[0], test
            )
            body = [each for each in node.children if each.start_byte > then.start_byte]
            inside = [each for each in body if each.type not in ("elif_clause", "else_clause")]
            text = "\n".join(map(self.of, inside))
            for promise in re.findall(r"<promise>([^<>$]{1,200})<\\?/promise>", test):
                ends = re.search(r"\bexit\b[ \t]*(\d*)", text)
                found.setdefault(promise.strip(), int(ends[1] or 0) if ends else 0)
        return found

    # -- calls ---------------------------------------------------------------------------------------

    @cached_property
    def calls(self) -> list[Call]:
        """Every call of a coding CLI that we know, in order."""
        return [call for node, words in self.commands if (call := self._call(node, words)) is not None]

    @property
    def by_default(self) -> Call | None:
        """The call that it makes when nobody asks for another CLI.

        That of the CLI with which its variable for that begins, else the first in a loop or a function.
        """
        calls = sorted(self.calls, key=lambda call: (not call.taken, not call.headless))
        found = (call for cli in self.chosen for call in calls if call.cli is cli)
        return next(found, None) or next((call for call in calls if call.looped), None) or next(iter(calls), None)

    @property
    def chosen(self) -> list[Cli]:
        """The CLIs with which its variables for that begin."""
        names = [each.name for each in self._assigned if _CHOICE.fullmatch(each.name)]
        return [cli for name in names if (cli := find_cli(self.default(name) or "")) is not None]

    def _call(self, node: Node, words: list[str]) -> Call | None:
        if words and words[0][:1] in '"$':  # a variable, which may stand for several words
            words = [*self._named(_words(node)[0]), *words[1:]]
        bare = [word.strip("\"'") for word in words]
        if bare[:2] == ["sbx", "run"]:  # a box is called as its CLI, with a name of its own behind that
            bare = [word.partition("-")[0] or word for word in bare]
        at = next((number for number, word in enumerate(bare) if find_cli(word) is not None), None)
        if at is None or (before := _starts(bare[:at])) is None:
            return None
        cli = find_cli(bare[at])
        assert cli is not None
        behind = _words(node)[at + 1 :]
        evaluated: list[tuple[Piece, ...]] = []
        for last, each in zip((None, *behind), behind, strict=False):
            if last is not None and last.end_byte == each.start_byte:  # one word that the parser has split
                evaluated[-1:] = [(*evaluated[-1], *self.evaluate(each, before=each.start_byte))]
            else:
                evaluated += self._spread(each)
        if {_plain(word) for word in evaluated} & _ASKS and len(evaluated) == 1:
            return None
        boxed = before == "box"
        if boxed and any(_plain(word) == "--" for word in evaluated):  # behind it are the CLI's own
            evaluated = evaluated[next(n for n, word in enumerate(evaluated) if _plain(word) == "--") + 1 :]
        for lost in (*node.children, node.next_sibling):  # words that the parser can't read
            if lost is not None and lost.type in ("ERROR", "$"):
                evaluated.append((Piece("unknown", self.of(lost), lost.start_point[0] + 1),))
        return Call(
            cli=cli,
            line=node.start_point[0] + 1,
            words=tuple(evaluated),
            stdin=self._stdin(node),
            boxed=boxed,
            node=node,
            looped=any(up.type in LOOPS for up in above(node)),
            taken=self.taken(node) is not False,
        )

    def _named(self, node: Node) -> list[str]:
        """The words of a program that a variable names: by its value, else by what it begins with."""
        words = [_plain(each) or "" for each in self._spread(node)]
        name = re.fullmatch(r'"?\$\{?(\w+)\}?"?', self.of(node))
        begins = self.default(name[1]) if name is not None else None
        known = begins is None or (words and find_cli(words[0]) is not None)
        return words if known else str(begins).split()

    def _spread(self, node: Node) -> Iterator[tuple[Piece, ...]]:
        """A word of a command: an array stands for all of its elements."""
        if found := re.fullmatch(r'"?\$\{(\w+)\[[@*]\]\}"?', self.of(node)):
            elements: list[tuple[Piece, ...]] = []
            for each in self._assigned:
                if (
                    each.name == found[1]
                    and each.start < node.start_byte
                    and each.node is not None
                    and (self.taken(each.whole) is not False)
                ):
                    elements = elements if each.appends else []
                    if each.node.type == "array":
                        inside = [child for child in each.node.named_children if child.type != "comment"]
                        elements += [self.evaluate(child, before=each.start) for child in inside]
            yield from elements
            return
        pieces = self.evaluate(node, before=node.start_byte)
        text = _plain(pieces)
        if text is not None and node.type in ("simple_expansion", "expansion"):  # unquoted: split at blanks
            yield from ((Piece("text", word, pieces[0].line),) for word in text.split())
        else:
            yield pieces

    def _stdin(self, node: Node) -> tuple[Piece, ...] | None:
        """What a command reads: a file, a here-document, or what an ``echo`` or a ``cat`` before it prints."""
        inner = node
        for up in (node, *above(node)):
            if up is node or up.type == "redirected_statement":
                for redirect in up.children:
                    line = redirect.start_point[0] + 1
                    if redirect.type == "file_redirect" and any(each.type == "<" for each in redirect.children):
                        path = _plain(self.evaluate(redirect.named_children[-1], before=node.start_byte))
                        found = Piece("file" if path else "unknown", path or self.of(redirect), line)
                        return None if path == os.devnull else (found,)
                    if redirect.type == "herestring_redirect":
                        given = self.evaluate(redirect.named_children[-1], before=node.start_byte)
                        return tuple(_joined(iter([*given, Piece("text", "\n", line)])))
                    if redirect.type == "heredoc_redirect":
                        return self._here(redirect, node.start_byte)
            elif up.type == "pipeline":
                stages = [each for each in up.named_children if each.end_byte <= inner.start_byte]
                if stages:
                    return self._printed(stages[-1])
            elif up.type not in ("heredoc_redirect", "heredoc_body") and (
                up.type != "list" or up.named_children[0] != inner
            ):
                return None
            inner = up
        return None

    def _printed(self, stage: Node) -> tuple[Piece, ...]:
        """What a command prints, of those that print what they are given."""
        whole = stage
        while stage.type == "redirected_statement":
            stage = stage.named_children[0]
        words, before = [*_words(stage)] if stage.type == "command" else [], stage.start_byte
        name, given, line = self.of(words[0]) if words else "", words[1:], whole.start_point[0] + 1
        if name == "cat" and not given and (here := _heredoc(stage)) is not None:
            return self._here(here, before)
        if name == "cat" and given:
            paths = [(each, _plain(self.evaluate(each, before=before))) for each in given]
            return tuple(Piece("file" if path else "unknown", path or self.of(each), line) for each, path in paths)
        if name in ("echo", "printf") and given:
            return self._echoed(name, given, before)
        if name in ("git", "gh"):
            called = [_plain(self.evaluate(each, before=before)) for each in words]
            if None not in called and _only_reads(argv := [str(each) for each in called]):
                return (Piece("output", "\0".join(argv), line),)
        return (Piece("unknown", self.of(whole), line),)

    def _echoed(self, name: str, given: list[Node], before: int) -> tuple[Piece, ...]:
        """What ``echo`` and ``printf`` make of their words; of formats, those with ``%s`` and ``%b`` alone."""
        line, evaluated = given[0].start_point[0] + 1, [self.evaluate(each, before=before) for each in given]
        options, pieces = "", list[Piece]()
        if name == "echo":
            while evaluated and re.fullmatch(r"-[neE]+", _plain(evaluated[0]) or ""):
                options += _plain(evaluated.pop(0)) or ""
            for number, word in enumerate(evaluated):
                pieces += [Piece("text", " ", line)] if number else []
                pieces += map(_ansi_piece, word) if "e" in options else word
            pieces += [] if "n" in options else [Piece("text", "\n", line)]
            return tuple(_joined(iter(pieces)))
        form, *words = evaluated[1:] if _plain(evaluated[0]) == "--" else evaluated
        parts = re.split(r"(%[sb%])", _plain(form) or "%?")
        if any("%" in part for part in parts[::2]):
            return (Piece("unknown", " ".join(map(self.of, given)), line),)
        while True:
            for part in parts:
                if part in ("%s", "%b"):
                    pieces += words.pop(0) if words else ()
                else:
                    pieces.append(Piece("text", "%" if part == "%%" else _ansi(part), line))
            if not words or not {"%s", "%b"} & {*parts}:
                return tuple(_joined(iter(pieces)))

    # -- words ---------------------------------------------------------------------------------------

    def evaluate(self, node: Node | None, *, before: int, deep: int = 0) -> tuple[Piece, ...]:
        """Take a word apart; `before`: assignments that stand in front of there count."""
        if node is None:
            return (Piece("text", "", 0),)
        if node.type == "heredoc_redirect":  # of a `read`
            given = [*self._here(node, before)]
            if node.parent is not None and not self.of(node.parent).startswith("IFS="):
                given[0] = given[0]._replace(text=given[0].text.lstrip())
                given[-1] = given[-1]._replace(text=given[-1].text.rstrip())
            return tuple(given)
        key = (node.start_byte, node.end_byte, before)
        if key not in self._evaluated:
            unknown = (Piece("unknown", self.of(node), node.start_point[0] + 1),)
            self._evaluated[key] = unknown  # a word that needs itself
            try:
                found = unknown if self._cut(node) else tuple(_joined(self._pieces(node, before, deep)))
            except RecursionError:
                return unknown
            self._evaluated[key] = found if sum(len(each.text) for each in found) <= _LONGEST else unknown
        return self._evaluated[key]

    def _cut(self, node: Node) -> bool:
        """Whether the parser has lost what follows a word, or comes before it: it skips escaped blanks, for one."""
        behind = _ESCAPED.match(self._source, node.end_byte)
        known = node.next_sibling is not None and behind and node.next_sibling.start_byte == behind.start("sign")
        start = max(0, node.start_byte - 100)
        return (bool(behind) and not known) or bool(_BLANK.search(self._source[start : node.start_byte]))

    def _pieces(self, node: Node, before: int, deep: int) -> Iterator[Piece]:
        text, line = self.of(node), node.start_point[0] + 1
        if deep > _DEEPEST:
            yield Piece("unknown", text, line)
            return
        match node.type:
            case "word" | "number":
                yield Piece("text", re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), line)
            case "raw_string" | "ansi_c_string":
                yield Piece("text", text[1:-1] if text[0] == "'" else _ansi(text[2:-1]), line)
            case "string" | "heredoc_body":
                quote = int(node.type == "string")
                yield from self._between(node, node.start_byte + quote, node.end_byte - quote, before, deep)
            case "concatenation":
                if sum(len(self.of(child)) for child in node.named_children) != len(text):
                    yield Piece("unknown", text, line)
                    return
                for child in node.named_children:
                    yield from self._pieces(child, before, deep)
            case "simple_expansion" | "expansion":
                yield from self._expansion(node, before, deep)
            case "command_substitution":
                yield from self._substituted(node, before, deep)
            case _:
                yield Piece("unknown", text, line)

    def _between(self, node: Node, start: int, end: int, before: int, deep: int) -> Iterator[Piece]:
        at, line = start, node.start_point[0] + 1
        for child in node.named_children:
            if child.type in ("string_content", "heredoc_content") or _LONE.fullmatch(self.of(child)):
                continue
            sign = re.compile(rb"[$`]").search(self._source, child.start_byte)  # blanks may stand before it
            yield self._literal(at, sign.start() if sign else child.start_byte, node, line)
            yield from self._pieces(child, before, deep)
            at = child.end_byte
        yield self._literal(at, end, node, line)

    def _literal(self, start: int, end: int, node: Node, line: int) -> Piece:
        """The text of a part between what bash puts in; the parser may have taken such a thing for text."""
        text = self._source[start:end].decode("utf-8", "surrogateescape")
        return Piece("unknown" if _MISSED.search(text) else "text", _unescaped(text, node), line)

    def _expansion(self, node: Node, before: int, deep: int) -> Iterator[Piece]:
        text = re.sub(r"\A[^$]*", "", self.of(node))  # blanks, and a line that goes on, may stand before it
        found = _PARAMETER.fullmatch(text)
        name = found and (found["name"] or found["braced"])
        goes_on = not text.startswith("${") and _GOES_ON.match(self._source, node.end_byte)
        if found is None or name is None or goes_on:
            yield Piece("unknown", text, node.start_point[0] + 1)
        elif (
            name.isdigit()
            and 0 < int(name) <= len(self.arguments)
            and not any(up.type == _FUNCTION for up in above(node))
        ):
            yield Piece("text", self.arguments[int(name) - 1], node.start_point[0] + 1)
        elif found["default"] is None or any(each.name == name and each.start < before for each in self._assigned):
            yield from self._variable(node, name, before, deep)
        elif inside := [each for each in node.named_children if each.type != "variable_name"]:
            for each in inside:  # what is taken where nobody sets it
                yield from self._pieces(each, before, deep + 1)
        else:
            yield Piece("text", found["default"], node.start_point[0] + 1)

    def _variable(self, node: Node, name: str, before: int, deep: int) -> Iterator[Piece]:
        """What a variable stands for at a place of the script."""
        line = node.start_point[0] + 1
        last = self._last(name, before)
        function = next((up for up in above(node) if up.type == _FUNCTION), None)
        here = {"BASH_SOURCE": str(self.path), "0": str(self.path), "PWD": str(self.project)}
        if name in self._counted:
            yield Piece("variable", name, line)
        elif name in here or name == "HOME":
            yield Piece("text", here.get(name, os.environ.get("HOME", "")), line)
        elif last is not None and last.node is not None:
            if last.appends:
                yield from self._variable(node, name, last.start, deep + 1)
            yield from self.evaluate(last.node, before=last.start, deep=deep + 1)
        elif name.isdigit() and function is not None:
            yield from self._argument(function, int(name), Piece("unknown", f"${name}", line), deep)
        else:
            yield Piece("variable", name, line)

    def _argument(self, function: Node, number: int, unknown: Piece, deep: int) -> Iterator[Piece]:
        """What a function of the script gets as its argument with this number, if that is the same everywhere."""
        name = self.of(function.named_children[0])
        called = [node for node, words in self.commands if words[:1] == [name] and len(words) > number]
        found = {
            self.evaluate(_words(each)[number], before=each.start_byte, deep=deep + 1): 1 for each in called[:99]
        }
        yield from next(iter(found)) if len(found) == 1 else [unknown]

    def _substituted(self, node: Node, before: int, deep: int) -> Iterator[Piece]:
        text, line = self.of(node), node.start_point[0] + 1
        if "dirname" in text and ("BASH_SOURCE" in text or "$0" in text):  # the folder of the script, or above it
            up = re.findall(r"/\.\.", text)
            yield Piece("text", os.path.normpath(os.path.join(self.path.parent, *(".." for _ in up))), line)
            return
        if "rev-parse --show-toplevel" in text or text == "$(pwd)":
            yield Piece("text", str(self.project), line)
            return
        inside = node.named_children
        if len(inside) == 1 and inside[0].type == "file_redirect":
            path = _plain(self.evaluate(inside[0].named_children[-1], before=before, deep=deep + 1))
            yield Piece("file" if path else "unknown", path or text, line, bare=True)
            return
        first, otherwise = inside[0] if len(inside) == 1 else node, None
        if first.type == "list" and len(first.named_children) == 2 and first.children[1].type == "||":
            other = self._printed(first.named_children[1])
            first, otherwise = first.named_children[0], _plain(other)
        printed = [*self._printed(first)]
        if any(piece.kind == "unknown" for piece in printed) or (first is not inside[0] and otherwise is None):
            yield Piece("unknown", text, line)
            return
        if len(printed) == 1 and otherwise is not None:
            printed[0] = printed[0]._replace(otherwise=otherwise.rstrip("\n"))
        last = printed.pop()
        yield from printed
        yield last._replace(text=last.text.rstrip("\n")) if last.kind == "text" else last._replace(bare=True)

    def _here(self, redirect: Node, before: int) -> tuple[Piece, ...]:
        """A here-document, from line to line: the parser loses blanks and backslashes at its beginning."""
        parts = {each.type: each for each in redirect.children}
        if not {"heredoc_start", "heredoc_body", "heredoc_end"} <= parts.keys():
            return (Piece("unknown", self.of(redirect), redirect.start_point[0] + 1),)
        start, body = parts["heredoc_start"], parts["heredoc_body"]
        begin = self._source.find(b"\n", start.end_byte) + 1
        end = max(begin, self._source.rfind(b"\n", 0, parts["heredoc_end"].start_byte) + 1)
        text, line = self._source[begin:end].decode("utf-8", "surrogateescape"), start.start_point[0] + 2
        if self.of(start)[:1] in ("'", '"', "\\"):
            pieces: tuple[Piece, ...] = (Piece("text", text, line),)
        elif body.start_byte == body.end_byte and re.search(r"[$`]", text):
            pieces = (Piece("unknown", text, line),)
        else:
            pieces = tuple(_joined(self._between(body, begin, end, before, 0)))
        if redirect.children[0].type != "<<-":
            return pieces
        return tuple(
            each._replace(text=re.sub(r"(?m)^\t+", "", each.text)) if each.kind == "text" else each
            for each in pieces
        )


_WORDS = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion", "expansion"}
)
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_FUNCTION = "function_definition"
LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement", _FUNCTION})


def above(node: Node) -> Iterator[Node]:
    """What a node stands in, from the nearest on; each step takes as long as the node lies deep."""
    for _ in range(_HIGHEST):
        if (up := node.parent) is None:
            return
        yield up
        node = up


def _words(command: Node) -> list[Node]:
    """Its name and its arguments; what is assigned for it alone, and redirections, are none."""
    words = [
        each
        for each in command.named_children
        if each.type != "variable_assignment" and "redirect" not in each.type
    ]
    return [
        each.named_children[0] if each.type == "command_name" and each.named_children else each for each in words
    ]


def _heredoc(command: Node) -> Node | None:
    """The here-document that a command reads."""
    up = command.parent
    found = up.children if up is not None and up.type == "redirected_statement" else ()
    return next((each for each in found if each.type == "heredoc_redirect"), None)


def _starts(before: Sequence[str]) -> str | None:
    """Say what words in front of a CLI's name are: '' it is started as it is, ``box``, None: it isn't started."""
    if not before:
        return ""
    if any(tuple(before[: len(box)]) == box for box in _BOXES):
        return "box"
    return "" if os.path.basename(before[0]) in _STARTERS and "-v" not in before else None


def _plain(pieces: Sequence[Piece]) -> str | None:
    """The text of a word that has nothing else in it."""
    return "".join(each.text for each in pieces) if all(each.kind == "text" for each in pieces) else None


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbouring texts as one, and none that is empty beside others; at least one piece."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].kind == piece.kind == "text":
            found[-1] = found[-1]._replace(text=found[-1].text + piece.text)
        else:
            found.append(piece)
    yield from [piece for piece in found if piece.kind != "text" or piece.text] or [Piece("text", "", 0)]


def _unescaped(text: str, node: Node) -> str:
    signs = r'[$`"\\]' if node.type == "string" else r"[$`\\]"
    return re.sub(rf"\\({signs}|\n)", lambda found: found[1].strip("\n"), text)


_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_SIGN = re.compile(r"\\(?:x(?P<x>[0-9a-fA-F]{1,2})|[uU](?P<u>[0-9a-fA-F]{1,8})|(?P<sign>[ntrabefv\\'\"]))")


def _ansi(text: str) -> str:
    def sign(found: re.Match[str]) -> str:
        if number := found["x"] or found["u"]:
            return chr(min(int(number, 16), 0x10FFFF))
        return _SIGNS.get(found["sign"], found["sign"])

    return _SIGN.sub(sign, text)


def _ansi_piece(piece: Piece) -> Piece:
    return piece._replace(text=_ansi(piece.text)) if piece.kind == "text" else piece


def _only_reads(argv: Sequence[str]) -> bool:
    """Say whether a program with these words only reads, and asks nobody anything."""
    for start, more in _READERS:
        if begun := re.match(rf"{start}(?: |\Z)", " ".join(argv)):
            return all(re.fullmatch(more, each, re.DOTALL) for each in argv[len(begun[0].split()) :])
    return False


def _parse(call: Call) -> tuple[Tool, tuple[Piece, ...] | None, tuple[str, ...]]:
    """Sort the words of a call: options that are passed on, the permission mode, the prompt."""
    options: list[str] = []
    prompt: tuple[Piece, ...] | None = None
    lost: list[str] = []
    permission = ""
    waiting = [*call.words]
    while waiting:
        word = waiting.pop(0)
        text = _plain(word)
        if text is None or not text.startswith("-") or text == "-" or " " in text:
            prompt = word if text != "-" and _is_prompt(text, call) else prompt
            continue
        if text in ("--",):
            continue
        name, equals, value = text.partition("=")
        takes = not equals and name not in call.cli.switches and bool(call.cli.switches)
        values: list[tuple[Piece, ...]] = []
        while takes and waiting and not (_plain(waiting[0]) or "x").startswith("-"):
            values.append(waiting.pop(0))
            if name not in call.cli.several:
                break
        if name in _OURS or name in _OURS_WITH_VALUE:
            continue
        if name == "--permission-mode":
            permission = value or (_plain(values[0]) if values else "") or ""
            continue
        permission = "bypassPermissions" if name == _ALL else permission
        known = [_plain(each) for each in values]
        if None in known:
            lost.append(name)
        else:
            options += [text, *(each for each in known if each is not None)]
    on_stdin = prompt is None and call.stdin is not None
    if call.cli.switches and not permission:
        permission = "acceptEdits" if call.boxed else "default"
    tool = Tool(
        program=call.cli.programs[0],
        options=tuple(options) if call.cli.switches else (),
        permission=permission if call.cli.switches else "",
        on_stdin=on_stdin,
        line=call.line,
    )
    return tool, call.stdin if on_stdin else prompt, tuple(lost)


def _is_prompt(text: str | None, call: Call) -> bool:
    """A CLI of which nobody knows which options take values: a text with blanks in it, or what is put in."""
    return bool(call.cli.switches) or text is None or " " in text or "\n" in text
