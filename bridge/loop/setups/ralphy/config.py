"""``.ralphy/config.yaml``: what goes into each prompt, and what no turn may change."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.json_files import read_text
from bridge.loop.setups.prompted.task_lists import Node, kind_of, parse, wrong
from bridge.loop.setups.ralphy.kind import CONFIG

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.errors import ConfigurationError

_EMPTY = re.compile(r"(?:[ \t]*(?:#.*|---[ \t]*)?\r?\n?)*")


class Config(NamedTuple):
    """What stands in it; keys that ralphy doesn't know are nobody's business.

    Attributes:
        facts: about the project, by key. commands: ``test``, ``lint``, ``build``; those that are there.
        rules: texts, perhaps of several lines.
        never_touch: paths and patterns, relative to the project.
    """

    facts: dict[str, str]
    commands: dict[str, str]
    rules: tuple[str, ...]
    never_touch: tuple[str, ...]


def read_config(project: Path) -> Config:
    """Read it; an empty one says nothing.

    Raises:
        ConfigurationError: no YAML, or a value of another type than it has to be; with line and column.
    """
    found = _Reader((read_text(project / CONFIG) or "").removeprefix("\ufeff"))
    return Config(
        facts=found.texts_of("project", "name", "language", "framework", "description"),
        commands=found.texts_of("commands", "test", "lint", "build"),
        rules=found.list_of("rules"),
        never_touch=found.list_of("boundaries", "never_touch"),
    )


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._root = Node({}, 0, 0) if _EMPTY.fullmatch(text) else parse(text, CONFIG)

    def texts_of(self, key: str, *names: str) -> dict[str, str]:
        return {each: found for each in names if (found := self._plain(self._at(key, each), f"{key}.{each}"))}

    def list_of(self, *path: str) -> tuple[str, ...]:
        node, name = self._at(*path), ".".join(path)
        if node is None:
            return ()
        if not isinstance(node.value, list):
            raise self._wrong(node, name, "a list of texts")
        found = (self._plain(each, f"entry {number} of {name}") for number, each in enumerate(node.value, 1))
        return tuple(filter(None, found))

    def _at(self, *path: str) -> Node | None:
        """What stands there; None: nothing, or null."""
        node: Node | None = self._root
        for depth, key in enumerate(path):
            if node is None or node.value is None:
                return None
            if not isinstance(node.value, dict):
                raise self._wrong(node, ".".join(path[:depth]) or "the configuration", "a mapping")
            node = node.value.get(key)
        return None if node is None or node.value is None else node

    def _plain(self, node: Node | None, name: str) -> str:
        if node is None or node.value is None:
            return ""
        if isinstance(node.value, dict | list):
            hint = " (put one with a colon in it into quotes)" if isinstance(node.value, dict) else ""
            raise self._wrong(node, name, f"a text{hint}")
        # A number, a date or a word such as `yes`: as people wrote it.
        return (node.value if isinstance(node.value, str) else self._text[node.start : node.end]).strip()

    def _wrong(self, node: Node, name: str, expected: str) -> ConfigurationError:
        return wrong(self._text, CONFIG, node, f"{name} is {kind_of(node.value)}, expected {expected}")


def is_named(path: str, pattern: str) -> bool:
    """Say whether a pattern names a path, as in ``.gitignore``: a folder stands for all below it, ``**`` for any
    number of folders, and a name without a slash for that name anywhere. A ``[`` is one.

    >>> [is_named("a/b/c.lock", each) for each in ("*.lock", "a", "/a/b/", "a/**/*.lock", "b/c.lock", "a/*.lock")]
    [True, True, True, True, False, False]
    """
    inner = pattern.removeprefix("./").rstrip("/")
    parts = tuple(part for part in inner.split("/") if part)
    return bool(parts) and _fits(tuple(path.split("/")), parts if "/" in inner else ("**", *parts))


@lru_cache(65_536)
def _fits(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return True
    if pattern[0] == "**":
        return _fits(path, pattern[1:]) or (bool(path) and _fits(path[1:], pattern))
    return bool(path) and fnmatchcase(path[0], pattern[0].replace("[", "[[]")) and _fits(path[1:], pattern[1:])
