"""The shapes of scripts, from ``shapes/*.yaml``: a list of mappings whose keys are the fields of `Shape`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.script.trial import REPLIES, Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def shapes() -> dict[str, Shape]:
    """Every shape by name."""
    found: dict[str, Shape] = {}
    for path in sorted((Path(__file__).parent / "shapes").glob("*.yaml")):
        for each in yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER):
            shape = _shape(each)
            assert shape.name not in found, f"{path.name}: {shape.name} twice"
            found[shape.name] = shape
    return found


def _shape(given: Mapping[str, Any]) -> Shape:
    lists = {name: tuple(given[name]) for name in ("arguments", "programs", "needs", "begun_with") if name in given}
    replies = tuple(_reply(each) for each in given.get("replies", ()))
    return Shape(**{**given, **lists, "replies": replies})


def _reply(given: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(given, str):
        return REPLIES[given]
    own = {key: value for key, value in given.items() if key != "base"}
    return {**REPLIES.get(given.get("base", ""), {}), **own}
