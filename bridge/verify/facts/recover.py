"""Source to facts; what the grammar can't read as a whole is read function by function."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from bridge.verify.facts.model import Facts, Function
from bridge.verify.facts.walk import Walker

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

# A function as nearly everybody writes it: begun and closed in the first column.
_BEGIN = re.compile(
    rb"^(?:function[ \t]+([^\s(){}]+)[ \t]*(?:\([ \t]*\))?"
    rb"|([^\s(){}#=\"'$]+)[ \t]*\([ \t]*\))\s*[{(]",
    re.MULTILINE,
)
_END = re.compile(rb"^[})]", re.MULTILINE)
# A here-document: what is in it may look like a function, and is none.
_HERE = re.compile(
    rb"(<<-?[ \t]*[\"'\\]?([A-Za-z_]\w*)[\"']?[^\n]*\n)(.*?)(^[ \t]*\2$)",
    re.MULTILINE | re.DOTALL,
)
_PATTERN = re.compile(rb"(=~[ \t]+)(\S.*?)(?=[ \t]+(?:\]\]|&&|\|\|))")
_BRACKETS = re.compile(rb"(\$\{\w+(?:\[[@*]\])?(?://?|##?|%%?))(\[!?\^?(?:\[:\w+:\]|[^]\n])+\])")
# Bounded repetitions: it is tried at every > of the text.
_STRING_LAST = re.compile(
    rb"((?:(?:\d?>>?&?|&>>?)[ \t]*[^\s;|&<>()]{1,200}[ \t]*){1,3})"
    rb"(<<<[ \t]*(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s;|&)]+))"
)


def facts_of(source: bytes) -> Facts:
    """The facts of a script."""
    try:
        for attempt in (source, _masked(source)):
            tree = _parse(attempt)
            if not tree.root_node.has_error:
                return _walked(tree)
        return _by_function(source)
    except RecursionError:  # nested deeper than any script that a person wrote
        return Facts((), _unknown_top(source))


def _unknown_top(source: bytes) -> Function:
    return Function("", 1, 1 + source.count(b"\n"), known=False)


def _walked(tree: Tree, first_line: int = 1) -> Facts:
    walker = Walker(first_line=first_line)
    top = walker.top(tree.root_node)
    return Facts(_sorted(walker.functions), top, tuple(walker.newer))


def _sorted(functions: list[Function]) -> tuple[Function, ...]:
    # A function that stands in another is complete before it.
    return tuple(sorted(functions, key=lambda function: function.line))


def _by_function(source: bytes) -> Facts:
    """Read each function by itself, and the rest with the functions cut out."""
    functions: list[Function] = []
    newer: list[tuple[int, str]] = []
    rest = bytearray(source)
    outline = _HERE.sub(lambda match: match[1] + _blank(match[3]) + match[4], source)
    position = 0
    while begin := _BEGIN.search(outline, position):
        end = _END.search(outline, begin.end())
        stop = end.end() if end else len(source)
        following = _BEGIN.search(outline, begin.end())
        if following and following.start() < stop:  # never closed: up to where the next one begins
            stop = following.start()
        first_line = 1 + source.count(b"\n", 0, begin.start())
        part = source[begin.start() : stop]
        facts = _read_one(part, first_line)
        if facts is None:
            name = (begin[1] or begin[2]).decode("utf-8", "surrogateescape")
            functions.append(Function(name, first_line, first_line + part.count(b"\n"), known=False))
        else:
            functions += facts.functions
            newer += facts.newer
        rest[begin.start() : stop] = _blank(part)
        position = stop
    tree = _parse(_masked(bytes(rest)))
    if tree.root_node.has_error:
        return Facts(_sorted(functions), _unknown_top(source), tuple(newer))
    outside = _walked(tree)
    return Facts(_sorted([*functions, *outside.functions]), outside.top, (*newer, *outside.newer))


def _blank(part: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", part)


def _read_one(part: bytes, first_line: int) -> Facts | None:
    for attempt in (part, _masked(part)):
        tree = _parse(attempt)
        if not tree.root_node.has_error:
            facts = _walked(tree, first_line)
            return facts if facts.functions else None
    return None


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
