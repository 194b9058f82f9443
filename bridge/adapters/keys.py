"""The keys of every section, as the model's classes have them."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from bridge.adapters.model import AdapterFile, FieldRule
from bridge.adapters.problems import meant

__all__ = ["known_keys", "likely_place"]

_KNOWN: dict[Any, dict[str, tuple[str, Any, FieldRule, Any]]] = {}


def known_keys(kind: type[Any]) -> dict[str, tuple[str, Any, FieldRule, Any]]:
    """Key in the file to the name, type, rule and default of a model class's field."""
    if kind in _KNOWN:
        return _KNOWN[kind]
    hints = get_type_hints(kind)
    found = {}
    for each in fields(kind):
        default = each.default if each.default is not MISSING else each.default_factory
        rule = each.metadata["rule"]
        found[each.name.rstrip("_")] = (each.name, hints[each.name], rule, default)
    _KNOWN[kind] = found
    return found


def likely_place(name: str, kind: type[Any]) -> str:
    """What was likely meant by a key that `kind` doesn't have, for messages: a similar one, or its place."""
    if guess := meant(name, known_keys(kind)):
        return guess
    homes = [section for section, keys in _sections().items() if name in keys]
    return f"; {name} belongs to {' or '.join(homes)}" if homes else ""


@cache
def _sections() -> dict[str, frozenset[str]]:
    """Keys of every section by its path, for keys that stand in the wrong place."""
    found: dict[str, frozenset[str]] = {}

    def walk(kind: type[Any], path: str) -> None:
        found[path or "the top level"] = frozenset(known_keys(kind))
        for name, (_, hint, _, _) in known_keys(kind).items():
            inner = next((each for each in (hint, *get_args(hint)) if is_dataclass(each)), None)
            if inner is not None:
                walk(inner, f"{path}.{name}" if path else name)  # type: ignore[arg-type]

    walk(AdapterFile, "")
    return found
