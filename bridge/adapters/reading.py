"""From the bytes of a YAML file to the model, with every problem and the line of every key.

Values are read by what the model wants, never by what YAML 1.1 guesses: ``eval: 42`` is the text 42,
``exit_code: on`` is the text on. So files load here as they load in the runtime that they were written for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from bridge.adapters.keys import known_keys, likely_place
from bridge.adapters.model import AdapterFile, FieldRule
from bridge.adapters.patterns import compiled
from bridge.adapters.problems import Problem, meant
from bridge.adapters.yaml_text import read_document

if TYPE_CHECKING:
    from bridge.adapters.problems import Kind

__all__ = ["Loaded", "read_adapter"]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_SAID = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
"""What YAML 1.1 and the readers of other runtimes take for booleans, in any case."""
_INT = re.compile(r"[-+]?(0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)")
_LARGEST, _LONGEST_INT = 2**31 - 1, 40
_ABSENT = object()
_DEEPEST = 20


class Loaded(NamedTuple):
    """A file that was read.

    Attributes:
        adapter: what it says; None when something stops it from being loaded.
        problems: everything that is wrong with it, in the order of its lines.
        lines: line (from 1) of every key by its path.
    """

    adapter: AdapterFile | None
    problems: tuple[Problem, ...]
    lines: Mapping[str, int]


def read_adapter(data: bytes, source: str) -> Loaded:
    """Read one adapter file; `source` names it in problems. Never raises for what is in the file."""
    from bridge.adapters.rules import broken_rules
    from bridge.adapters.unused import without_effect

    reader = _Reader(source)
    root = reader.document(data)
    adapter = None
    if root is not None:
        value = reader.record(AdapterFile, root, "", _DEEPEST)
        if isinstance(value, AdapterFile):
            reader.vital(value)
            if "process.line_ending" in reader.lines and "input.line_ending" not in reader.lines:
                # Sections 3 and 8 both have it; files that know only the first one mean it.
                value = replace(value, input=replace(value.input, line_ending=value.process.line_ending))
            adapter = value
            for path, message in broken_rules(value):
                reader.tell("rule", path, message)
            for path, message in without_effect(value):
                reader.tell("note", path, message)
    problems = tuple(sorted(reader.problems, key=lambda each: each.line))
    if any(each.is_error() for each in problems):
        adapter = None
    return Loaded(adapter, problems, reader.lines)


class _Reader:
    """Walks the nodes of one document and notes what is wrong."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.lines: dict[str, int] = {}

    def tell(self, kind: Kind, path: str, message: str, *, line: int = 0, fatal: bool = False) -> None:
        self.problems.append(Problem(self.source, line or self._line(path), path, kind, message, fatal))

    def _line(self, path: str) -> int:
        """The line of a key, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path.rpartition(".")[0] if not path.endswith("]") else path.rpartition("[")[0]
        return self.lines.get(path, 1)

    def document(self, data: bytes) -> Any:
        """The mapping at the top of the first document, or None."""
        found = read_document(data)
        for line, message in found.errors:
            self.tell("yaml", "", message, line=line)
        if found.more:
            self.tell("unknown", "", "more than one document; only the first is read", line=1)
        return found.root

    def record(self, kind: type[Any], node: Any, path: str, depth: int) -> Any:
        """One model object from a mapping node; what can't be read keeps its default."""
        known = known_keys(kind)
        values: dict[str, Any] = {}
        for name, child in self._pairs(node, path, depth):
            where = f"{path}.{name}" if path else name
            if name not in known:
                self.tell("unknown", where, f"unknown key {name!r}" + likely_place(name, kind))
                continue
            field_name, hint, rule, _ = known[name]
            value = self.value(hint, child, where, depth - 1)
            if value is not _ABSENT:
                self._judge(value, rule, where)
                values[field_name] = value
        for name, (_, _, rule, _) in known.items():
            if rule.required and name not in {pair for pair, _ in self._names(node)}:
                self.tell(
                    "missing", f"{path}.{name}" if path else name, f"schema 1 asks for {name!r}; it is missing"
                )
        return kind(**values)

    def _names(self, node: Any) -> list[tuple[str, Any]]:
        return [(str(key.value), value) for key, value in node.value if isinstance(key.value, str)]

    def _pairs(self, node: Any, path: str, depth: int) -> list[tuple[str, Any]]:
        """Keys and nodes of a mapping; of duplicates the last counts; ``<<`` brings in what isn't there yet."""
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for name_node, child in node.value:
            if not isinstance(name_node.value, str):
                self.tell("type", path, "a key must be a plain word", line=name_node.start_mark.line + 1)
                continue
            name = name_node.value
            if name == "<<" and depth > 0:
                for each in child.value if child.id == "sequence" else [child]:
                    if each.id == "mapping":
                        merged = {**dict(self._pairs(each, path, depth - 1)), **merged}
                continue
            where = f"{path}.{name}" if path else name
            line = name_node.start_mark.line + 1
            if name in found:
                before = self.lines[where]
                self.tell(
                    "duplicate", where, f"given twice (first in line {before}); the last one counts", line=line
                )
            self.lines[where] = line
            found[name] = child
        return list({**merged, **found}.items())

    def value(self, hint: Any, node: Any, path: str, depth: int) -> Any:
        """The value of `node` as `hint` wants it, or _ABSENT with the problem noted."""
        optional = False
        if get_origin(hint) is UnionType:
            optional = True
            hint = next(each for each in get_args(hint) if each is not NoneType)
        if (node.id == "scalar" and not node.style and node.value in _NULLS) or depth < 0:
            return None if optional else _ABSENT
        if is_dataclass(hint):
            if node.id == "mapping":
                return self.record(hint, node, path, depth)  # type: ignore[arg-type]
            return self._wrong(path, "a mapping", node)
        if get_origin(hint) is tuple:
            return self._several(get_args(hint)[0], node, path, depth)
        if get_origin(hint) is Mapping:
            return self._mapping(get_args(hint)[1], node, path, depth)
        if hint is object:
            return _anything(node, depth)
        return self._scalar(hint, node, path)

    def _scalar(self, hint: Any, node: Any, path: str) -> Any:
        if node.id != "scalar":
            return self._wrong(path, {int: "a number", bool: "true or false"}.get(hint, "a text"), node)
        text = node.value
        if hint is bool:
            if text not in _BOOLS and text.lower() in _SAID:
                meant_one = _SAID[text.lower()]
                self.tell("value", path, f"{text!r} is read as {meant_one}; write {meant_one}")
                return meant_one == "true"
            return _BOOLS[text] if text in _BOOLS else self._wrong(path, "true or false", node)
        if hint is int:
            if not _INT.fullmatch(text) or len(text) > _LONGEST_INT:
                return self._wrong(path, "a whole number", node)
            plain = text.replace("_", "")
            number = int(plain, 0 if plain.lstrip("+-")[:2] in ("0x", "0o") else 10)
            return number if abs(number) <= _LARGEST else self._wrong(path, f"a number up to {_LARGEST}", node)
        return text

    def _several(self, hint: Any, node: Any, path: str, depth: int) -> Any:
        if node.id != "sequence":
            return self._wrong(path, "a list", node)
        found = []
        for number, each in enumerate(node.value):
            where = f"{path}[{number}]"
            self.lines[where] = each.start_mark.line + 1
            value = self.value(hint, each, where, depth - 1)
            if value is not _ABSENT:
                found.append(value)
        return tuple(found)

    def _mapping(self, hint: Any, node: Any, path: str, depth: int) -> Any:
        if node.id != "mapping":
            return self._wrong(path, "a mapping", node)
        pairs = self._pairs(node, path, depth)
        values = ((name, self.value(hint, each, f"{path}.{name}", depth - 1)) for name, each in pairs)
        return {name: "" if value is _ABSENT else value for name, value in values}

    def _wrong(self, path: str, wanted: str, node: Any) -> Any:
        shown = repr(node.value) if node.id == "scalar" else {"sequence": "a list", "mapping": "a mapping"}[node.id]
        line = node.start_mark.line + 1
        self.tell("type", path, f"expected {wanted}, found {shown}", line=line)
        return _ABSENT

    def _judge(self, value: Any, rule: FieldRule, path: str) -> None:
        """Note values that the schema doesn't list, and patterns that don't compile."""
        for each in value if isinstance(value, tuple) else (value,):
            if rule.choices and isinstance(each, str) and each not in rule.choices:
                listed = ", ".join(rule.choices)
                self.tell("value", path, f"{each!r} is not one of {listed}" + meant(each, rule.choices))
            if rule.pattern and isinstance(each, str):
                try:
                    compiled(each)
                except re.error as error:
                    # Without its prompt a program can't be driven; every other pattern can be passed over.
                    fatal = path == "prompt.primary"
                    self.tell("pattern", path, f"{each!r} is no regular expression: {error}", fatal=fatal)

    def vital(self, adapter: AdapterFile) -> None:
        """Note what an adapter can't be loaded without."""
        if adapter.schema != 1:
            what = "it is missing" if "schema" not in self.lines else f"the file says {adapter.schema}"
            self.tell("vital", "schema", f"only schema 1 is supported; {what}. Write schema: 1")
        for name in ("name", "family"):
            if not getattr(adapter, name).strip():
                self.tell("vital", name, f"an adapter needs a {name}; it is missing or empty")


def _anything(node: Any, depth: int) -> object:
    if depth < 0:
        return None
    if node.id == "mapping":
        return {str(name.value): _anything(each, depth - 1) for name, each in node.value}
    if node.id == "sequence":
        return [_anything(each, depth - 1) for each in node.value]
    if not node.style and node.value in _NULLS:
        return None
    if not node.style and node.value in _BOOLS:
        return _BOOLS[node.value]
    if not node.style and _INT.fullmatch(node.value):
        return int(node.value.replace("_", ""), 0 if "x" in node.value or "o" in node.value else 10)
    return node.value
