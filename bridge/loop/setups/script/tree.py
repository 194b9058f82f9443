"""A controller's script as the parser sees it; it is never run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, read_bytes, usable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tree_sitter import Node

FUNCTION = "function_definition"
LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement", FUNCTION})
_LARGEST, _PATIENCE, _CHUNK, _HIGHEST = 4 * 1024 * 1024, 5.0, 65_536, 200


@dataclass
class Tree:
    """A script, taken apart.

    Attributes:
        path: of it.
        text: of it; '': there is none, or what is there is no text.
    """

    path: Path
    text: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        with usable("the controller's script"):
            data = read_bytes(self.path, _LARGEST, root=ANYWHERE) if self.path.is_file() else b""
        data = b"" if b"\0" in data else data
        self.source = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        self.text = self.source.decode("utf-8", "surrogateescape")

    @cached_property
    def _root(self) -> Node:
        import tree_sitter
        import tree_sitter_bash

        parser, data = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())), self.source
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

    @cached_property
    def commands(self) -> list[tuple[Node, list[str]]]:
        """Every simple command, with its words as they stand."""
        return [(node, [self.of(each) for each in words_of(node)]) for node in self.nodes if node.type == "command"]

    def of(self, node: Node) -> str:
        """Its text."""
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """The text from one byte to another."""
        return self.source[start:end].decode("utf-8", "surrogateescape")


def line_of(node: Node) -> int:
    """Where it begins, from 1."""
    return node.start_point[0] + 1


def above(node: Node) -> Iterator[Node]:
    """What a node stands in, from the nearest on; each step takes as long as the node lies deep."""
    for _ in range(_HIGHEST):
        if (up := node.parent) is None:
            return
        yield up
        node = up


def words_of(command: Node) -> list[Node]:
    """Its name and its arguments; what is assigned for it alone, and redirections, are none."""
    words = (
        each
        for each in command.named_children
        if each.type != "variable_assignment" and "redirect" not in each.type
    )
    return [(each.named_children or [each])[0] if each.type == "command_name" else each for each in words]
