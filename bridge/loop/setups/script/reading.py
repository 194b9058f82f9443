"""The calls of coding CLIs in a script's text, as far as they can be told without running it.

A word is its text, or None where only a run could tell. Variables are followed to what the script assigns to them;
one with several values is unknown, but where one of them names a CLI.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import find_cli, program_of_package
from bridge.base.records import dataclass
from bridge.loop.setups.script.calls import BOXES
from bridge.loop.setups.script.tree import LOOPS, Tree, above, line_of, words_of
from bridge.loop.setups.shell_words import Text, parse_parameter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tree_sitter import Node

    from bridge.base.clis import Cli

_STARTERS = frozenset(
    {
        *("env", "exec", "nohup", "time", "timeout", "gtimeout", "stdbuf", "command", "caffeinate", "nice"),
        *("ionice", "setsid", "unbuffer", "xargs", "npx", "bunx", "pnpx"),
    }
)
_FETCHERS = (["pnpm", "dlx"], ["yarn", "dlx"], ["bun", "x"])
_BOXES = (["docker", "run"], ["docker", "exec"])
_DEEPEST = 12
_LONGEST = 1024 * 1024
"""Characters of a word that counts; variables made of variables can stand for more than there is memory."""
_COUNTS = re.compile(r"\(\(\s*(?:\+\+)?(\w+)\s*(?:=(?!=)|\+\+|\+=)|\b(\w+)=\$\(\(\s*\$?\2\b", re.ASCII)
_PUT_IN = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[\w{(@*#?$!-]|`)")
"""What bash puts in, in a part that the parser takes for text."""


class Call(NamedTuple):
    """One call of a coding CLI.

    Attributes:
        cli: which. line: of the call, from 1.
        words: behind its name; None: only a run could tell.
        boxed: it is started in a container.
        looped: it stands in a loop, or in a function.
    """

    cli: Cli
    line: int
    words: tuple[str | None, ...]
    boxed: bool
    looped: bool


class _Assignment(NamedTuple):
    name: str
    node: Node | None
    appends: bool
    start: int


@dataclass
class Script(Tree):
    """A script whose words are read; `project`: the folder that it works in."""

    project: Path

    @cached_property
    def _assigned(self) -> list[_Assignment]:
        found = []
        for node in self.nodes:
            name, value = None, None
            if node.type == "variable_assignment":
                name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            elif node.type == "expansion" and any(each.type == ":=" for each in node.children):
                name, value = node.named_children[0], node.named_children[-1]
            if name is not None:
                appends = any(child.type == "+=" for child in node.children)
                found.append(_Assignment(self.of(name), value, appends, node.start_byte))
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[_Assignment]]:
        found: dict[str, list[_Assignment]] = {}
        for each in self._assigned:
            found.setdefault(each.name, []).append(each)
        return found

    @cached_property
    def _values(self) -> dict[int, str | None]:
        """What is assigned, by where that begins, once it is known: others are made of it again and again."""
        return {}

    @cached_property
    def _counted(self) -> frozenset[str]:
        return frozenset(name for each in _COUNTS.finditer(self.text) for name in each.groups() if name)

    def value(self, node: Node | None, *, before: int | None = None, deep: int = 0) -> str | None:
        """Give the text of a word; assignments in front of `before` count, or of the word itself."""
        if node is None:
            return ""
        text, before = self.of(node), node.start_byte if before is None else before
        match node.type if deep <= _DEEPEST else "":
            case "word" | "number":
                return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
            case "raw_string":
                return text[1:-1]
            case "string":
                return self._quoted(node, before, deep)
            case "concatenation":
                parts = [self.value(each, before=before, deep=deep + 1) for each in node.named_children]
                whole = sum(len(self.of(each)) for each in node.named_children) == len(text)
                return _joined(parts) if whole else None
            case "simple_expansion" | "expansion":
                return self._expanded(text, before, deep)
            case "command_substitution":
                return self._folder(text)
        return None

    def _quoted(self, node: Node, before: int, deep: int) -> str | None:
        parts: list[str | None] = []
        at = node.start_byte + 1
        inside = [each for each in node.named_children if each.type != "string_content"]
        for child in (*inside, None):
            end = node.end_byte - 1 if child is None else child.start_byte
            literal = self.between(at, end)
            parts.append(None if _PUT_IN.search(literal) else re.sub(r'\\([$`"\\])|\\\n', r"\1", literal))
            if child is not None:
                parts.append(self.value(child, before=before, deep=deep + 1))
                at = child.end_byte
        return _joined(parts)

    def _expanded(self, text: str, before: int, deep: int) -> str | None:
        found = parse_parameter(re.sub(r"\A[^$]*", "", text))
        if found is None or found.subscript or found.operator[-1:] not in ("", "-", "="):
            return None
        known = {"BASH_SOURCE": str(self.path), "0": str(self.path), "PWD": str(self.project)}
        known["HOME"] = os.environ.get("HOME", "")
        assigned = [each for each in self._by_name.get(found.name, ()) if each.start < before]
        if found.name in self._counted or (found.name.isdigit() and found.name != "0"):
            return None
        if assigned:
            if any(each.appends for each in assigned):
                return None
            values = {self._value_of(each, deep) for each in assigned}
            return values.pop() if len(values) == 1 else None
        if found.operator:
            plain = all(isinstance(part, Text) for part in found.word)
            return "".join(part.text for part in found.word if isinstance(part, Text)) if plain else None
        return known.get(found.name)

    def _value_of(self, each: _Assignment, deep: int) -> str | None:
        if each.start not in self._values:
            self._values[each.start] = self.value(each.node, before=each.start, deep=deep + 1)
        return self._values[each.start]

    def _folder(self, text: str) -> str | None:
        """The folder that a usual command prints: the script's, or one above it, or the project's."""
        if "dirname" in text and ("BASH_SOURCE" in text or "$0" in text):
            return os.path.normpath(os.path.join(self.path.parent, *(".." for _ in re.findall(r"/\.\.", text))))
        return str(self.project) if "rev-parse --show-toplevel" in text or text == "$(pwd)" else None

    # -- calls ---------------------------------------------------------------------------------------

    def call_of(self, node: Node, words: list[str]) -> Call | None:
        """Read a command, given its words as they stand; None: it starts no CLI that we know."""
        named = words[:1]
        if words and words[0][:1] in '"$':  # a variable, which may stand for several words
            named = self._named(words_of(node)[0])
            words = [*named, *words[1:]]
        bare = [word.strip("\"'") for word in words]
        runs = next((len(box) + 1 for name, box in BOXES.items() if tuple(bare[: len(box) + 1]) == (name, *box)), 0)
        if runs:  # a sandbox may have a name of its own, behind that of its CLI: `claude-NAME`
            bare = [word if _cli(word) else word.partition("-")[0] or word for word in bare]
        at, cli = next(((n, cli) for n, word in enumerate(bare) if (cli := _cli(word)) is not None), (0, None))
        boxed = bare[:2] in _BOXES
        starter = at > 0 and "-v" not in bare[:at] and os.path.basename(bare[0]) in _STARTERS
        if cli is None or not (at == 0 or runs or boxed or starter or bare[:2] in _FETCHERS):
            return None
        given: list[str | None] = [*named[at + 1 :]]
        given += self._words(words_of(node)[max(1, at + 2 - len(named)) :])
        if (runs or boxed) and "--" in given:  # behind it are the CLI's own
            given = given[given.index("--") + 1 :]
        elif runs and given[:1] == ["."]:
            given = given[1:]
        lost = (*node.children, node.next_sibling)  # words that the parser can't read
        given += [None for each in lost if each is not None and each.type in ("ERROR", "$")]
        looped = any(up.type in LOOPS for up in above(node))
        return Call(cli, line_of(node), tuple(given), boxed, looped)

    def resolved(self, node: Node, words: list[str]) -> list[str]:
        """Give the words of a command, with those of the program that a variable names in the variable's place."""
        nodes = [*map(self._named, words_of(node)[1:])] if any(each[:1] in '"$' for each in words[1:]) else []
        found = [
            named if named and find_cli(named[0]) else [word] for named, word in zip(nodes, words[1:], strict=False)
        ]
        return [*words[:1], *(each for part in found for each in part)]

    def fed(self) -> Iterator[str]:
        """Files that go into calls of CLIs as a whole: by a redirection, or by `cat` alone."""
        for node, words in self.commands:
            if self.call_of(node, words) is None:
                continue
            top = node
            while top.parent is not None and top.parent.type in ("redirected_statement", "pipeline"):
                top = top.parent
            for each in self.nodes:
                if not top.start_byte <= each.start_byte < each.end_byte <= top.end_byte:
                    continue
                given = words_of(each) if each.type == "command" else []
                if len(given) == 2 and self.of(given[0]) == "cat":
                    file = given[1]
                elif each.type == "file_redirect" and any(part.type == "<" for part in each.children):
                    file = each.named_children[-1]
                else:
                    continue
                if name := self.value(file):
                    yield name

    def _named(self, node: Node) -> list[str]:
        """The words of a program that a variable names: of all its values the first that is a CLI's."""
        words = [each or "" for each in self._spread(node)]
        name = re.fullmatch(r'"?\$\{?(\w+)\}?"?', self.of(node))
        values = [self.value(e.node, before=e.start) for e in (self._by_name.get(name[1], ()) if name else ())]
        known = (found for each in values if each and (found := each.split()) and find_cli(found[0]) is not None)
        return words if words and find_cli(words[0]) is not None else next(known, words)

    def _words(self, nodes: list[Node]) -> list[str | None]:
        found: list[str | None] = []
        end = -1
        for node in nodes:
            if node.start_byte == end:  # one word that the parser has split
                found[-1:] = [_joined([*found[-1:], self.value(node)])]
            else:
                found += self._spread(node)
            end = node.end_byte
        return found

    def _spread(self, node: Node) -> Iterator[str | None]:
        """A word of a command: an array stands for all of its elements, an unquoted variable for several words."""
        if array := re.fullmatch(r'"?\$\{(\w+)\[[@*]\]\}"?', self.of(node)):
            elements: list[str | None] = []
            for each in self._assigned:
                if each.name != array[1] or each.start >= node.start_byte or each.node is None:
                    continue
                inside = each.node.named_children if each.node.type == "array" else ()
                new = [self.value(child, before=each.start) for child in inside if child.type != "comment"]
                elements = elements + new if each.appends else new
            yield from elements
            return
        text = self.value(node)
        if text is not None and node.type in ("simple_expansion", "expansion"):
            yield from text.split()
        else:
            yield text


def _cli(word: str) -> Cli | None:
    """The CLI of a program, or of a package without its version."""
    package = word[:1] + word[1:].partition("@")[0]
    return find_cli(word) or (find_cli(program_of_package(package)) if "/" in word else None)


def _joined(parts: list[str | None]) -> str | None:
    known = [each for each in parts if each is not None]
    return "".join(known) if len(known) == len(parts) and sum(map(len, known)) <= _LONGEST else None
