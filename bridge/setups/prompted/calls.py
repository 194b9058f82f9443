"""A call of a coding CLI in a script: what starts it, what it is given, what its options mean for a run of ours."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.clis import find_cli
from bridge.setups.prompted.job import Tool
from bridge.setups.prompted.tree import LOOPS, above, line_of, words_of
from bridge.setups.prompted.words import Piece, joined, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from bridge.clis import Cli
    from bridge.setups.prompted.words import Word, Words

_STARTERS = frozenset(
    {"env", "exec", "nohup", "time", "timeout", "gtimeout", "stdbuf", "command", "caffeinate", "nice"}
)
_BOXES = (("docker", "sandbox", "run"), ("sbx", "run"), ("docker", "run"), ("docker", "exec"))
_ASKS = frozenset({"--version", "-v", "--help", "-h"})
_OURS = frozenset({"-p", "--print", "--verbose", "--include-partial-messages", "--output-format", "--input-format"})
"""Options for which ours stand, with their values."""
_ALL = "--dangerously-skip-permissions"


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
    words: tuple[Word, ...]
    stdin: Word | None
    boxed: bool
    looped: bool
    node: Node = field(repr=False)
    taken: bool

    @cached_property
    def parsed(self) -> tuple[Tool, Word | None, tuple[str, ...]]:
        """Give how it is called, the prompt (None: it has none), and options whose values only bash could tell."""
        return _parse(self)

    @property
    def tool(self) -> Tool:
        return self.parsed[0]

    @property
    def prompt(self) -> Word | None:
        return self.parsed[1]

    @property
    def headless(self) -> bool:
        """Whether it answers and ends, as far as its options say; None of the CLIs but one has an option for it."""
        return not self.cli.switches or any(plain(word) in ("-p", "--print") for word in self.words)


def call_of(script: Words, node: Node, words: list[str]) -> Call | None:
    """Read a command, given its words as they stand; None: it starts no CLI that we know."""
    if words and words[0][:1] in '"$':  # a variable, which may stand for several words
        words = [*_named(script, words_of(node)[0]), *words[1:]]
    bare = [word.strip("\"'") for word in words]
    if bare[:2] == ["sbx", "run"]:  # a box is called as its CLI, with a name of its own behind that
        bare = [word.partition("-")[0] or word for word in bare]
    at, cli = next(((n, cli) for n, word in enumerate(bare) if (cli := find_cli(word)) is not None), (0, None))
    boxed = any(tuple(bare[: len(box)]) == box for box in _BOXES)
    started = at == 0 or boxed or (os.path.basename(bare[0]) in _STARTERS and "-v" not in bare[:at])
    if cli is None or not started:
        return None
    given = _words(script, words_of(node)[at + 1 :])
    texts = [plain(word) for word in given]
    if len(texts) == 1 and texts[0] in _ASKS:
        return None
    if boxed and "--" in texts:  # behind it are the CLI's own
        given = given[texts.index("--") + 1 :]
    for lost in (*node.children, node.next_sibling):  # words that the parser can't read
        if lost is not None and lost.type in ("ERROR", "$"):
            given.append((script.unknown(lost),))
    return Call(
        cli=cli,
        line=line_of(node),
        words=tuple(given),
        stdin=_stdin(script, node),
        boxed=boxed,
        node=node,
        looped=any(up.type in LOOPS for up in above(node)),
        taken=script.taken(node) is not False,
    )


def _named(script: Words, node: Node) -> list[str]:
    """The words of a program that a variable names: by its value, else by what it begins with."""
    words = [plain(each) or "" for each in _spread(script, node)]
    name = re.fullmatch(r'"?\$\{?(\w+)\}?"?', script.of(node))
    begins = script.default(name[1]) if name is not None else None
    known = begins is None or (words and find_cli(words[0]) is not None)
    return words if known else str(begins).split()


def _words(script: Words, nodes: list[Node]) -> list[Word]:
    found: list[Word] = []
    end = -1
    for node in nodes:
        if node.start_byte == end:  # one word that the parser has split
            before = found.pop() if found else ()
            found.append((*before, *script.evaluate(node)))
        else:
            found += _spread(script, node)
        end = node.end_byte
    return found


def _spread(script: Words, node: Node) -> Iterator[Word]:
    """A word of a command: an array stands for all of its elements, an unquoted variable for several words."""
    if array := re.fullmatch(r'"?\$\{(\w+)\[[@*]\]\}"?', script.of(node)):
        elements: list[Word] = []
        for each in script.assigned:
            before = each.name == array[1] and each.start < node.start_byte
            if not before or each.node is None or script.taken(each.whole) is False:
                continue
            inside = each.node.named_children if each.node.type == "array" else ()
            new = [script.evaluate(child, before=each.start) for child in inside if child.type != "comment"]
            elements = elements + new if each.appends else new
        yield from elements
        return
    pieces = script.evaluate(node)
    text = plain(pieces)
    if text is not None and node.type in ("simple_expansion", "expansion"):
        yield from ((Piece("text", word, pieces[0].line),) for word in text.split())
    else:
        yield pieces


def _stdin(script: Words, node: Node) -> Word | None:
    """What a command reads: a file, a here-document, or what an ``echo`` or a ``cat`` before it prints."""
    inner, before = node, node.start_byte
    for up in (node, *above(node)):
        if up is node or up.type == "redirected_statement":
            for redirect in up.children:
                if redirect.type == "file_redirect" and any(each.type == "<" for each in redirect.children):
                    found = script.file(redirect.named_children[-1], shown=redirect, before=before)
                    return None if found.text == os.devnull else (found,)
                if redirect.type == "herestring_redirect":
                    given = script.evaluate(redirect.named_children[-1], before=before)
                    return joined((*given, Piece("text", "\n", line_of(redirect))))
                if redirect.type == "heredoc_redirect":
                    return script.heredoc(redirect, before)
        elif up.type == "pipeline":
            stages = [each for each in up.named_children if each.end_byte <= inner.start_byte]
            if stages:
                return script.printed(stages[-1])
        elif up.type not in ("heredoc_redirect", "heredoc_body") and (
            up.type != "list" or up.named_children[0] != inner
        ):
            return None
        inner = up
    return None


def _parse(call: Call) -> tuple[Tool, Word | None, tuple[str, ...]]:
    """Sort the words of a call: options that are passed on, the permission mode, the prompt.

    Of a CLI whose options nobody knows, the prompt is a text with blanks in it, or what is put in.
    """
    known = call.cli.switches
    options: list[str] = []
    lost: list[str] = []
    prompt, permission = None, ""
    waiting = [*call.words]
    while waiting:
        word = waiting.pop(0)
        text = plain(word)
        if text is None or not text.startswith("-") or " " in text:
            prompt = word if known or text is None or " " in text or "\n" in text else prompt
            continue
        if text in ("-", "--"):
            continue
        name, equals, value = text.partition("=")
        values: list[Word] = []
        if known and not equals and name not in known:
            several = name in call.cli.several
            while waiting and (several or not values) and not (plain(waiting[0]) or "x").startswith("-"):
                values.append(waiting.pop(0))
        texts = [plain(each) for each in values]
        if name == "--permission-mode":
            permission = value or (texts[0] if texts else "") or ""
        elif name == _ALL:
            permission = "bypassPermissions"
        if name in _OURS or name == "--permission-mode":
            continue
        if None in texts:
            lost.append(name)
        else:
            options += [text, *(each for each in texts if each is not None)]
    on_stdin = prompt is None and call.stdin is not None
    tool = Tool(
        program=call.cli.programs[0],
        options=tuple(options) if known else (),
        permission=(permission or ("acceptEdits" if call.boxed else "default")) if known else "",
        on_stdin=on_stdin,
        line=call.line,
    )
    return tool, call.stdin if on_stdin else prompt, tuple(lost)
