"""What a script says about itself, read from its syntax tree without running it.

A tree with errors means "unknown" for the functions concerned, never "violation": the grammar knows less bash than
bash does, and what it can't read as a whole is read function by function. Whether a script is valid is for
``bash -n`` alone.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.facts.model import CommandFact, Effects, Facts, FunctionFacts, Read, Write
from bridge.verify.facts.usage import answer_of, assigned_text
from bridge.verify.facts.walk import Walker

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

__all__ = [
    "CommandFact", "Effects", "Facts", "FunctionFacts", "Read", "Reading", "Write", "answer_of", "assigned_text",
    "facts_of", "read",
]  # fmt: skip

# A function as nearly everybody writes it: begun and closed in the first column.
_BEGIN = re.compile(
    rb"^(?:function[ \t]+([^\s(){}]+)[ \t]*(?:\([ \t]*\))?"
    rb"|([^\s(){}#=\"'$]+)[ \t]*\([ \t]*\))\s*[{(]",
    re.MULTILINE,
)
_END = re.compile(rb"^[})]", re.MULTILINE)
# A here-document: what is in it may look like a function, and is none.
_HERE = re.compile(rb"(<<-?[ \t]*[\"'\\]?([A-Za-z_]\w*)[\"']?[^\n]*\n)(.*?)(^[ \t]*\2$)", re.MULTILINE | re.DOTALL)
_PATTERN = re.compile(rb"(=~[ \t]+)(\S.*?)(?=[ \t]+(?:\]\]|&&|\|\|))")
_BRACKETS = re.compile(rb"(\$\{\w+(?:\[[@*]\])?(?://?|##?|%%?))(\[!?\^?(?:\[:\w+:\]|[^]\n])+\])")
# Bounded repetitions: it is tried at every > of the text.
_SEVERAL = re.compile(
    rb"(?:^|[;&|({)]|\b(?:then|do|else))[ \t]*\w+(?:\[[^]\n]*\])?\+?=(?!\().*[ \t]\w+(?:\[[^]\n]*\])?\+?=",
    re.MULTILINE,
)
_STRING_LAST = re.compile(
    rb"((?:(?:\d?>>?&?|&>>?)[ \t]*[^\s;|&<>()]{1,200}[ \t]*){1,3})"
    rb"(<<<[ \t]*(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s;|&)]+))"
)


class Reading(NamedTuple):
    """A script as the grammar understands it.

    trees: of all of it, or of its parts; every node lies at its own place in the script.
    unread: functions that it stumbles over: name, first and last line.
    whole: whether all that stands outside of functions is in the trees.
    """

    trees: tuple[Tree, ...]
    unread: tuple[tuple[str, int, int], ...] = ()
    whole: bool = True


def read(source: bytes) -> Reading:
    tree = _tree(source)
    return _by_function(source) if tree is None else Reading((tree,))


def facts_of(source: bytes, reading: Reading | None = None) -> Facts:
    reading = reading or read(source)
    walker = Walker()
    top = _unknown_top(source)
    try:
        for tree in reading.trees:
            outside = walker.top(tree.root_node)
        if reading.whole:  # its tree is the last one
            top = outside
    except RecursionError:  # nested deeper than any script that a person wrote
        return Facts((), _unknown_top(source))
    unread = (FunctionFacts(name=name, line=line, end_line=end, known=False) for name, line, end in reading.unread)
    # A function that stands in another is complete before it.
    functions = sorted((*walker.functions, *unread), key=lambda function: function.line)
    return Facts(tuple(functions), top, tuple(walker.newer))


def _unknown_top(source: bytes) -> FunctionFacts:
    return FunctionFacts(name="", line=1, end_line=1 + source.count(b"\n"), known=False)


def _tree(source: bytes) -> Tree | None:
    """The tree of a piece of bash; None when the grammar finds no sense in it."""
    for attempt in (source, _masked(source)):
        tree = _parse(_apart(attempt))
        if not tree.root_node.has_error:
            return tree
    return None


def _by_function(source: bytes) -> Reading:
    """Read each function by itself, and the rest with the functions cut out."""
    trees: list[Tree] = []
    unread: list[tuple[str, int, int]] = []
    rest = bytearray(source)
    outline = _HERE.sub(lambda match: match[1] + _blank(match[3]) + match[4], source)
    position = 0
    while begin := _BEGIN.search(outline, position):
        end = _END.search(outline, begin.end())
        stop = end.end() if end else len(source)
        following = _BEGIN.search(outline, begin.end())
        if following and following.start() < stop:  # never closed: up to where the next one begins
            stop = following.start()
        part = source[begin.start() : stop]
        tree = _tree(_blank(source[: begin.start()]) + part)
        if tree is not None and any(node.type == "function_definition" for node in tree.root_node.children):
            trees.append(tree)
        else:
            name = (begin[1] or begin[2]).decode("utf-8", "surrogateescape")
            line = 1 + source.count(b"\n", 0, begin.start())
            unread.append((name, line, line + part.count(b"\n")))
        rest[begin.start() : stop] = _blank(part)
        position = stop
    outside = _tree(bytes(rest))
    if outside is not None:
        trees.append(outside)
    return Reading(tuple(trees), tuple(unread), outside is not None)


def _blank(part: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", part)


def _apart(source: bytes) -> bytes:
    """The source with a semicolon between the assignments of a line that holds nothing else: the grammar takes
    ``a=1 b=2`` and the command in the next line, even a loop, for one command."""
    while _SEVERAL.search(source) and (blanks := _between_assignments(_parse(source).root_node)):
        for blank in blanks:
            source = source[:blank] + b";" + source[blank + 1 :]
    return source


def _between_assignments(root: Node) -> list[int]:
    """Where one assignment ends and another one begins, in commands that begin in a later line."""
    found: list[int] = []
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += node.named_children
        if node.type != "command" or node.children[0].type != "variable_assignment":
            continue
        source = node.text or b""
        for child, following in pairwise(node.children):
            between = source[child.end_byte - node.start_byte : following.start_byte - node.start_byte]
            if child.type != "variable_assignment":
                break
            if b"\n" in between.replace(b"\\\n", b""):
                before = child.prev_sibling
                found += [] if before is None else [before.end_byte]
                break
    return found


def _masked(source: bytes) -> bytes:
    r"""The source without what the grammar is known to stumble over; lines and meaning stay.

    That is: what stands behind =~ (``\$\{`` is no expansion there), brackets in ``${x//[^)]/}``, a here-string
    behind another redirection (``2>/dev/null <<<"$x"``), and ``\>`` in ``[ ]``.
    """
    for pattern in (_PATTERN, _BRACKETS):
        source = pattern.sub(lambda match: match[1] + b"x" * len(match[2]), source)
    source = _STRING_LAST.sub(lambda match: match[2] + b" " + match[1].rstrip(), source)
    return source.replace(b" \\> ", b" != ").replace(b" \\< ", b" != ")


@cache
def _language() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _parse(source: bytes) -> Tree:
    import tree_sitter

    return tree_sitter.Parser(_language()).parse(source)  # a parser may not be shared by threads
