"""The checks, a module per subject, and what their messages share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

_Item = TypeVar("_Item")

ITSELF = "assign the array itself, with =(…): one that is local, or filled in a pipeline or ( ), is lost"
"""The next step when a hook has left the global empty that it answers in."""


def excerpt(text: str, limit: int = 120) -> str:
    """What a script printed, short enough for a message."""
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= limit else shown[: limit - 3] + "...")


def because(stderr: str) -> str:
    """The end of a message: what was on stderr, if anything was."""
    return f": {excerpt(stderr)}" if stderr else ""


def distinct(items: Iterable[_Item], key: Callable[[_Item], Hashable]) -> Iterator[_Item]:
    """The items, but for those whose key another one had before."""
    seen: set[Hashable] = set()
    for item in items:
        if key(item) not in seen:
            seen.add(key(item))
            yield item
