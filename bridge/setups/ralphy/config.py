"""``.ralphy/config.yaml``: what goes into each prompt, and what no turn may change."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from bridge.records import read_text
from bridge.setups.prompted.task_lists import Node, kind_of, parse, wrong
from bridge.setups.ralphy.kind import CONFIG

if TYPE_CHECKING:
    from pathlib import Path

_FACTS = ("name", "language", "framework", "description")
_COMMANDS = ("test", "lint", "build")
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
    text = (read_text(project / CONFIG) or "").removeprefix("\ufeff")
    root = Node({}, 0, 0) if _EMPTY.fullmatch(text) else parse(text, CONFIG)

    def within(node: Node, name: str, key: str) -> Node | None:
        if node.value is not None and not isinstance(node.value, dict):
            raise wrong(text, CONFIG, node, f"{name} is {kind_of(node.value)}, expected a mapping")
        return (node.value or {}).get(key)

    def plain(node: Node | None, name: str) -> str:
        if node is None or node.value is None:
            return ""
        if isinstance(node.value, dict | list):
            hint = " (put one with a colon in it into quotes)" if isinstance(node.value, dict) else ""
            raise wrong(text, CONFIG, node, f"{name} is {kind_of(node.value)}, expected a text{hint}")
        # A number, a date or a word such as `yes`: as people wrote it.
        return (node.value if isinstance(node.value, str) else text[node.start : node.end]).strip()

    def section(key: str, names: tuple[str, ...]) -> dict[str, str]:
        node = within(root, "the configuration", key) or Node({}, 0, 0)
        found = {each: plain(within(node, key, each), f"{key}.{each}") for each in names}
        return {each: value for each, value in found.items() if value}

    def texts(node: Node | None, name: str) -> tuple[str, ...]:
        if node is None or node.value is None:
            return ()
        if not isinstance(node.value, list):
            raise wrong(text, CONFIG, node, f"{name} is {kind_of(node.value)}, expected a list of texts")
        found = (plain(each, f"entry {number} of {name}") for number, each in enumerate(node.value, 1))
        return tuple(filter(None, found))

    boundaries = within(root, "the configuration", "boundaries") or Node({}, 0, 0)
    return Config(
        facts=section("project", _FACTS),
        commands=section("commands", _COMMANDS),
        rules=texts(within(root, "the configuration", "rules"), "rules"),
        never_touch=texts(within(boundaries, "boundaries", "never_touch"), "boundaries.never_touch"),
    )


def is_named(path: str, pattern: str) -> bool:
    """Say whether a pattern names a path, as in ``.gitignore``: a folder stands for all below it, ``**`` for any
    number of folders, and a name without a slash for that name anywhere. A ``[`` is one.

    >>> [is_named("a/b/c.lock", each) for each in ("*.lock", "a", "/a/b/", "a/**/*.lock", "b/c.lock", "a/*.lock")]
    [True, True, True, True, False, False]
    """
    inner = pattern.removeprefix("./").rstrip("/")
    parts = tuple(part for part in inner.split("/") if part)
    return bool(parts) and _fits(tuple(path.split("/")), parts if "/" in inner else ("**", *parts))


@cache
def _fits(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return True
    if pattern[0] == "**":
        return _fits(path, pattern[1:]) or (bool(path) and _fits(path[1:], pattern))
    return bool(path) and fnmatchcase(path[0], pattern[0].replace("[", "[[]")) and _fits(path[1:], pattern[1:])
