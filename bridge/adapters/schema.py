"""The schema of adapter files: the keys of every section, problems with them, a JSON Schema for editors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from bridge.adapters.schema_model import AdapterFile, Debugger, FieldRule
from bridge.base.resources import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal[
    "yaml", "type", "vital", "resource", "pattern", "missing", "unknown", "value", "duplicate", "rule", "note"
]
_ALWAYS_ERRORS = frozenset({"yaml", "type", "vital", "resource"})
_STRICT_ERRORS = frozenset({"pattern", "missing", "value", "rule"})

_SCALARS: dict[Any, list[str]] = {
    # Text may be written without quotes: the YAML readers of editors then see a number or a boolean.
    str: ["string", "number", "boolean"],
    int: ["integer"],
    bool: ["boolean"],
}


class AdapterProblem(NamedTuple):
    """One problem of an adapter file.

    Attributes:
        source: the file, or a name for where the text came from.
        line: counted from 1.
        key: path of the key, such as ``output.input_echo_strategy`` or ``tests[2].expect``; may be empty.
        kind: its category, which decides whether it stops loading.
        message: the value that was found and what was expected.
        fatal: it stops loading, whatever its kind.
    """

    source: str
    line: int
    key: str
    kind: Kind
    message: str
    fatal: bool = False

    def is_error(self, *, strict: bool = False) -> bool:
        return self.fatal or self.kind in _ALWAYS_ERRORS or (strict and self.kind in _STRICT_ERRORS)

    def level(self, *, strict: bool = False) -> Literal["error", "warning", "note"]:
        if self.is_error(strict=strict):
            return "error"
        return "note" if self.kind == "note" else "warning"

    @property
    def at_run_time(self) -> bool:
        """Whether every session tells of it: something that is given is ignored, as the schema demands."""
        return self.key in ("prompt.continuation", "prompt.continuation_escape")

    def text(self, *, strict: bool = False) -> str:
        """The problem on one line: ``FILE:LINE: error: KEY: message``."""
        key = f"{self.key}: " if self.key else ""
        return f"{self.source}:{self.line}: {self.level(strict=strict)}: {key}{self.message}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` when a known word is close to `word`, else nothing."""
    folded = {each.casefold().replace("-", "_"): each for each in known}
    close = nearest(word.casefold().replace("-", "_"), folded)
    return "" if close is None else f"; did you mean {folded[close]}?"


class SchemaKey(NamedTuple):
    field: str
    hint: Any
    rule: FieldRule
    default: Any


_KEYS: dict[type, dict[str, SchemaKey]] = {}


def keys_of(kind: type[Any]) -> Mapping[str, SchemaKey]:
    """The keys of a model class, by their names in the file."""
    if kind not in _KEYS:
        hints = get_type_hints(kind)
        _KEYS[kind] = {
            each.name.rstrip("_"): SchemaKey(
                field=each.name,
                hint=hints[each.name],
                rule=each.metadata["rule"],
                default=each.default if each.default is not MISSING else each.default_factory,
            )
            for each in fields(kind)
        }
    return _KEYS[kind]


def without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) is not UnionType:
        return hint, False
    return next(each for each in get_args(hint) if each is not NoneType), True


def suggestion(name: str, kind: type[Any]) -> str:
    """For messages about a key that `kind` doesn't have: a similar key, or the section it belongs to."""
    if similar := did_you_mean(name, keys_of(kind)):
        return similar
    homes = [section for section, keys in _sections().items() if name in keys]
    return f"; {name} belongs to {' or '.join(homes)}" if homes else ""


@cache
def _sections() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}

    def walk(kind: type[Any], path: str) -> None:
        found[path or "the top level"] = frozenset(keys_of(kind))
        for name, key in keys_of(kind).items():
            inner = next((each for each in (key.hint, *get_args(key.hint)) if is_dataclass(each)), None)
            if isinstance(inner, type):
                walk(inner, f"{path}.{name}" if path else name)

    walk(AdapterFile, "")
    return found


def vocabulary(adapter: AdapterFile) -> dict[str, str]:
    """Every command that the adapter names, to its template; what a debugger can't do is absent."""
    found = {each.name: each.syntax or f"{adapter.commands.prefix}{each.name}" for each in adapter.commands.builtin}
    for name, key in keys_of(Debugger).items():
        if (template := getattr(adapter.commands.debugger, key.field)) is not None:
            found[name] = template
    if adapter.commands.discovery:
        found.setdefault("discovery", adapter.commands.discovery)
    return found


def json_schema() -> dict[str, Any]:
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
    for name, key in keys_of(kind).items():
        properties[name] = {**_value(key.hint, key.rule, definitions), "description": key.rule.about}
        if key.rule.required or key.rule.vital:
            required.append(name)
        elif isinstance(key.default, str | int | bool) or key.default is None:
            properties[name]["default"] = key.default
    return {
        "description": (kind.__doc__ or "").split("\n")[0],
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _value(hint: Any, rule: FieldRule, definitions: dict[str, Any]) -> dict[str, Any]:
    hint, optional = without_none(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _record(hint, definitions)
        # An empty section has its defaults.
        return {"anyOf": [{"$ref": f"#/$defs/{hint.__name__}"}, {"type": "null"}]}
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
