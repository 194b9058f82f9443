"""From the bytes of a YAML file to the model, with every problem and the line of every key.

Values are read by the type the model wants, never by what YAML 1.1 guesses: ``eval: 42`` is the text 42,
``exit_code: on`` is the text on. So files load here as in the runtime they were written for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from bridge.adapters.patterns import compiled
from bridge.adapters.schema import AdapterProblem, did_you_mean, keys_of, suggestion, without_none
from bridge.adapters.schema_model import AdapterFile, FieldRule
from bridge.base import yaml_bounds

if TYPE_CHECKING:
    from bridge.adapters.schema import Kind

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_OTHER_BOOLS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
"""What YAML 1.1 and the readers of other runtimes take for booleans, in any case."""
_INT = re.compile(r"[-+]?(0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)")
_LARGEST, _LONGEST_INT = 2**31 - 1, 40
_ABSENT = object()
_DEEPEST = 20
_MOST_VALUES = 50_000
"""Values of one file, those included that an alias repeats: a few lines can stand for billions."""
_ADVICE = (
    ("mapping values are not allowed", "put the value in quotes: it holds a colon and a blank"),
    ("unknown escape", "use single quotes, in which a backslash is one, or write two"),
    ("undefined alias", "put the value in quotes, or define the anchor before"),
    ("control characters", 'write it as an escape in double quotes, such as "\\x03"'),
    ("cannot start any token", "put the value in quotes"),
    ("did not find expected", "look for a wrong indent, quote or bracket in this line or above"),
    ("could not find expected ':'", "look for a wrong quote or indent in this line or above"),
)
"""Messages of the YAML parser, and what to do about them."""


class LoadedFile(NamedTuple):
    """`adapter`: None when a problem stops it from being loaded; `lines`: the line, from 1, of every key."""

    adapter: AdapterFile | None
    problems: tuple[AdapterProblem, ...]
    lines: Mapping[str, int]


def read_adapter(data: bytes, source: str) -> LoadedFile:
    """Read one adapter file; `source` names it in problems. Never raises for what is in the file."""
    from bridge.adapters.rules import broken_rules, ignored_fields

    reader = _AdapterReader(source)
    root = reader.document(data)
    adapter = None
    if root is not None:
        adapter = reader.record(AdapterFile, root, "", _DEEPEST)
        reader.check_vital(adapter)
        if "process.line_ending" in reader.lines and "input.line_ending" not in reader.lines:
            # The schema has it in two places; files that know only the first one mean it.
            adapter = replace(adapter, input=replace(adapter.input, line_ending=adapter.process.line_ending))
        for path, message in broken_rules(adapter):
            reader.report("rule", path, message)
        for path, reason in ignored_fields(adapter):
            reader.report("note", path, f"no effect: {reason}")
    problems = tuple(sorted(reader.problems, key=lambda each: each.line))
    if any(each.is_error() for each in problems):
        adapter = None
    return LoadedFile(adapter, problems, reader.lines)


class _AdapterReader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[AdapterProblem] = []
        self.lines: dict[str, int] = {}
        self._values = 0

    def _is_too_large(self) -> bool:
        self._values += 1
        if self._values == _MOST_VALUES:
            self.report("yaml", "", f"it has more than {_MOST_VALUES} values; write them without so many aliases")
        return self._values >= _MOST_VALUES

    def report(self, kind: Kind, path: str, message: str, *, line: int = 0, fatal: bool = False) -> None:
        line = line or self._line(path)
        self.problems.append(
            AdapterProblem(source=self.source, line=line, key=path, kind=kind, message=message, fatal=fatal)
        )

    def _line(self, path: str) -> int:
        while path and path not in self.lines:
            path = path.rpartition("[" if path.endswith("]") else ".")[0]
        return self.lines.get(path, 1)

    def document(self, data: bytes) -> Any:
        import yaml

        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.report("yaml", "", f"byte {error.start} is not UTF-8; save the file as UTF-8", line=line)
            return None
        try:
            root, more = _first_document(text)
        except yaml.YAMLError as error:
            line, message = _syntax_error(error, text)
            self.report("yaml", "", message, line=line)
            return None
        if not isinstance(root, yaml.MappingNode):
            self.report("yaml", "", "expected a mapping with schema, name, family, ...; there is none", line=1)
            return None
        if more:
            self.report("unknown", "", "more than one document; only the first is read", line=1)
        return root

    def record(self, kind: type[Any], node: Any, path: str, depth: int) -> Any:
        known = keys_of(kind)
        values: dict[str, Any] = {}
        for name, child in self._pairs(node, path, depth):
            where = f"{path}.{name}" if path else name
            if name not in known:
                self.report("unknown", where, f"unknown key {name!r}" + suggestion(name, kind))
                continue
            value = self.value(known[name].hint, child, where, depth - 1)
            if value is not _ABSENT:
                self._check(value, known[name].rule, where)
                values[known[name].field] = value
        given = {str(name.value): each for name, each in node.value}
        for name, key in known.items():
            if key.rule.required and not (name in given and _says_something(given[name], key.hint)):
                where = f"{path}.{name}" if path else name
                state = "it is empty" if name in given else "it is missing"
                self.report("missing", where, f"schema 1 requires {name!r}; {state}")
        return kind(**values)

    def _pairs(self, node: Any, path: str, depth: int) -> list[tuple[str, Any]]:
        """Keys and nodes of a mapping; of duplicates the last counts; ``<<`` adds what isn't there yet."""
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for name_node, child in node.value:
            if self._is_too_large():
                break
            name, line = name_node.value, name_node.start_mark.line + 1
            if not isinstance(name, str):
                self.report("type", path, "a key must be a plain word", line=line)
                continue
            if name == "<<" and depth > 0:
                for each in child.value if child.id == "sequence" else [child]:
                    if each.id == "mapping":
                        merged = {**dict(self._pairs(each, path, depth - 1)), **merged}
                continue
            where = f"{path}.{name}" if path else name
            if name in found:
                message = f"given twice (first in line {self.lines[where]}); the last one counts"
                self.report("duplicate", where, message, line=line)
            self.lines[where] = line
            found[name] = child
        return list({**merged, **found}.items())

    def value(self, hint: Any, node: Any, path: str, depth: int) -> Any:
        """The value of `node` as `hint` wants it, or _ABSENT with the problem reported."""
        hint, optional = without_none(hint)
        if _is_null(node) or depth < 0 or self._is_too_large():
            return None if optional else _ABSENT
        if is_dataclass(hint):
            if node.id == "mapping":
                return self.record(hint, node, path, depth)  # type: ignore[arg-type]
            return self._wrong(path, "a mapping", node)
        if get_origin(hint) is tuple:
            return self._list(get_args(hint)[0], node, path, depth)
        if get_origin(hint) is Mapping:
            return self._mapping(get_args(hint)[1], node, path, depth)
        return self._untyped(node, depth) if hint is object else self._scalar(hint, node, path)

    def _scalar(self, hint: Any, node: Any, path: str) -> Any:
        if node.id != "scalar":
            return self._wrong(path, {int: "a number", bool: "true or false"}.get(hint, "text"), node)
        text = node.value
        if hint is bool:
            if text not in _BOOLS and text.lower() in _OTHER_BOOLS:
                word = _OTHER_BOOLS[text.lower()]
                self.report("value", path, f"{text!r} is read as {word}; write {word}")
                return word == "true"
            return _BOOLS[text] if text in _BOOLS else self._wrong(path, "true or false", node)
        if hint is int:
            if not _INT.fullmatch(text) or len(text) > _LONGEST_INT:
                return self._wrong(path, "a whole number", node)
            number = _integer(text)
            return number if abs(number) <= _LARGEST else self._wrong(path, f"a number up to {_LARGEST}", node)
        return text

    def _list(self, hint: Any, node: Any, path: str, depth: int) -> Any:
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

    def _untyped(self, node: Any, depth: int) -> object:
        if depth < 0 or _is_null(node) or self._is_too_large():
            return None
        if node.id == "mapping":
            return {str(name.value): self._untyped(each, depth - 1) for name, each in node.value}
        if node.id == "sequence":
            return [self._untyped(each, depth - 1) for each in node.value]
        if not node.style and node.value in _BOOLS:
            return _BOOLS[node.value]
        if not node.style and _INT.fullmatch(node.value):
            return _integer(node.value)
        return node.value

    def _wrong(self, path: str, wanted: str, node: Any) -> Any:
        shown = repr(node.value) if node.id == "scalar" else {"sequence": "a list", "mapping": "a mapping"}[node.id]
        self.report("type", path, f"expected {wanted}, found {shown}", line=node.start_mark.line + 1)
        return _ABSENT

    def _check(self, value: Any, rule: FieldRule, path: str) -> None:
        if isinstance(value, int) and value < 0 and path.endswith(("_ms", "_hours")):
            self.report("rule", path, f"{value} is negative; write 0 or more")
        for each in value if isinstance(value, tuple) else (value,):
            if not isinstance(each, str):
                continue
            if rule.choices and each not in rule.choices:
                listed = ", ".join(rule.choices)
                self.report("value", path, f"{each!r} is not one of {listed}" + did_you_mean(each, rule.choices))
            if rule.pattern:
                try:
                    compiled(each)
                except re.error as error:
                    # A program can't be driven without its prompt; every other pattern can be ignored.
                    fatal = path == "prompt.primary"
                    message = f"{each!r} is not a valid regular expression: {error}"
                    self.report("pattern", path, message, fatal=fatal)

    def check_vital(self, adapter: AdapterFile) -> None:
        if adapter.schema != 1:
            found = "it is missing" if "schema" not in self.lines else f"the file has {adapter.schema}"
            self.report("vital", "schema", f"only schema 1 is supported; {found}. Write schema: 1")
        for name in ("name", "family"):
            if not getattr(adapter, name).strip():
                self.report("vital", name, f"an adapter needs a {name}; it is missing or empty")


def _first_document(text: str) -> tuple[Any, bool]:
    """The root node of the first document, and whether others follow."""
    import yaml

    yaml_bounds.check(text)
    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        root = parser.get_node() if parser.check_node() else None
        return root, root is not None and parser.check_node()
    finally:
        parser.dispose()


def _syntax_error(error: Exception, text: str) -> tuple[int, str]:
    """Line and message of a YAML error: the text that it is about, and the next step where one is known."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    advice = next((each for part, each in _ADVICE if part in problem), "")
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    if "any token" in problem and line.lstrip(" ").startswith("\t"):
        advice = "indent with blanks, not with tabs"
    position = getattr(error, "position", None)
    number = mark.line if mark else text.count("\n", 0, position) if isinstance(position, int) else 0
    found = f" in {line.strip()[:80]!r}" if line.strip() else ""
    return number + 1, f"not YAML: {problem}{found}" + (f"; {advice}" if advice else "")


def _is_null(node: Any) -> bool:
    return node.id == "scalar" and not node.style and node.value in _NULLS


def _says_something(node: Any, hint: Any) -> bool:
    """Whether a required key has a value; a section without one has all its defaults."""
    return is_dataclass(hint) or (bool(node.value) and not _is_null(node))


def _integer(text: str) -> int:
    plain = text.replace("_", "")
    return int(plain, 0 if plain.lstrip("+-")[:2] in ("0x", "0o") else 10)
