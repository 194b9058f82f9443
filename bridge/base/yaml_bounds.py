"""Bounds of a YAML file that others wrote: a few lines can stand for billions of values, or nest without end."""

from __future__ import annotations

from typing import Any

MOST_BYTES = 1024 * 1024
DEEPEST = 50
MOST_VALUES = 100_000
MOST_CHARACTERS = 8 * 1024 * 1024
"""Of all scalars; both with what aliases repeat counted again and again."""


def check(text: str) -> None:
    """See that a file has a size, a depth and a number of values that people write.

    Raises:
        yaml.YAMLError: it has not, with a mark of where; or it is no YAML.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise yaml.YAMLError(f"it has more than {MOST_BYTES:,} bytes")
    sizes: dict[str, tuple[int, int]] = {}
    inside: list[tuple[str | None, int, int]] = []  # anchor, values and characters before it
    values = characters = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, first, before = inside.pop()
            sizes[anchor or ""] = (values - first, characters - before)
            continue
        more = (0, 0)
        if isinstance(event, yaml.AliasEvent):
            more = sizes.get(event.anchor or "", (1, 0))
        elif isinstance(event, yaml.ScalarEvent):
            more = sizes[event.anchor or ""] = (1, len(event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            inside.append((event.anchor, values, characters))
            more = (1, 0)
        values, characters = values + more[0], characters + more[1]
        _check(event, len(inside), values, characters)


def _check(event: Any, deep: int, values: int, characters: int) -> None:
    import yaml

    problem = f"nested more than {DEEPEST} deep" if deep > DEEPEST else ""
    if values > MOST_VALUES or characters > MOST_CHARACTERS:
        problem = f"with its aliases it has more than {MOST_VALUES:,} values, or far too much text"
    if problem:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
