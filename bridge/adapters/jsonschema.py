"""The model as a JSON Schema (draft 2020-12), for editors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from bridge.adapters.keys import known_keys
from bridge.adapters.model import AdapterFile, FieldRule

__all__ = ["json_schema"]

_SCALARS: dict[Any, list[str]] = {
    # A text may be written without quotes: YAML readers of editors then see a number or a boolean.
    str: ["string", "number", "boolean"],
    int: ["integer"],
    bool: ["boolean"],
}


def json_schema() -> dict[str, Any]:
    """The schema of an adapter file, every section by reference to its definition."""
    definitions: dict[str, Any] = {}
    top = _record(AdapterFile, definitions)
    top["properties"]["schema"]["const"] = 1
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Adapter of an interactive program, schema 1",
        **top,
        "$defs": definitions,
    }


def _record(kind: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {}
    required = []
    for name, (_, hint, rule, default) in known_keys(kind).items():
        properties[name] = _value(hint, rule, definitions)
        if rule.about:
            properties[name]["description"] = rule.about
        if rule.required or rule.vital:
            required.append(name)
        elif isinstance(default, str | int | bool) or default is None:
            properties[name]["default"] = default
    about = {"description": (kind.__doc__ or "").split("\n")[0]}
    return {
        **about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _value(hint: Any, rule: FieldRule, definitions: dict[str, Any]) -> dict[str, Any]:
    optional = get_origin(hint) is UnionType
    if optional:
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _record(hint, definitions)  # type: ignore[arg-type]
        # A section that is there and empty has its defaults.
        return {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"type": "null"}]}
    if get_origin(hint) is tuple:
        return {"type": ["array", "null"], "items": _value(get_args(hint)[0], rule, definitions)}
    if get_origin(hint) is Mapping:
        inner = {} if get_args(hint)[1] is object else {"type": [*_SCALARS[str], "null"]}
        return {"type": ["object", "null"], "additionalProperties": inner}
    if rule.choices:
        values: list[Any] = list(rule.choices)
        values += [word == "true" for word in rule.choices if word in ("true", "false")]
        return {"enum": [*values, None] if optional else values}
    types = [*_SCALARS[hint], "null"] if optional else list(_SCALARS[hint])
    return {"type": types[0] if len(types) == 1 else types}
