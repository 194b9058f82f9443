"""Lists of tasks in JSON or YAML (``prd.json``, ``tasks.yaml``): read in all their dialects, and changed in place.

An entry is done by ``passes: true``, ``completed: true``, or a ``status`` such as ``done``. What is changed is that
value alone: every other byte of the file stays. Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import ConfigurationError
from bridge.loop.plan import Plan, with_ticks
from bridge.setups.model import PlannedTask

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

LISTS = ("userStories", "user_stories", "stories", "tasks", "features", "requirements", "items")
"""Keys under which an object has its list; a list may stand alone, too."""
_DONE = frozenset({"done", "complete", "completed", "passed", "passing", "closed", "finished"})
_TITLES = ("title", "name", "description", "task", "text", "feature")
_DONE_KEYS = ("passes", "completed", "done", "tested")
"""Keys that say with true or false whether an entry is done; the first that it has counts."""
_NEEDS = ("dependsOn", "depends_on", "dependencies", "blockedBy", "blocked_by")
_WORDS = {"critical": 0.0, "highest": 0.0, "high": 1.0, "medium": 2.0, "normal": 2.0, "low": 3.0, "lowest": 4.0}
_LAST = 1e9
"""Priority of an entry that has none: behind all others, in the order of the file."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_YAML = re.compile(r"^(?:tasks|stories|userStories)[ \t]*:", re.MULTILINE)


class Node(NamedTuple):
    """A value and where it stands: `value` is a dict or list of nodes, or a scalar; `line` counts from 1."""

    value: Any
    start: int
    end: int
    line: int

    @property
    def plain(self) -> Any:
        """The value without locations."""
        if isinstance(self.value, dict):
            return {name: node.plain for name, node in self.value.items()}
        return [node.plain for node in self.value] if isinstance(self.value, list) else self.value

    def get(self, *names: str) -> Any:
        """The plain value of the first of these keys that is there and isn't null; None: of none."""
        if not isinstance(self.value, dict):
            return None
        found = (self.value[name].plain for name in names if name in self.value)
        return next((each for each in found if each is not None), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One task of a list.

    Attributes:
        id: as the list has it, else its number from 1.
        title: one line. text: all that is said of it, for a prompt.
        priority: the lower, the earlier.
        needs: ids of entries that have to be done before.
        group: ``parallel_group``, or None.
        node: where it stands.
    """

    id: str
    title: str
    text: str
    priority: float
    done: bool
    needs: tuple[str, ...]
    group: int | None
    node: Node

    @property
    def label(self) -> str:
        """Its id and its title."""
        return self.title if self.id.isdigit() or self.title.startswith(self.id) else f"{self.id} {self.title}"


def is_list(text: str) -> bool:
    """Say whether a text is such a list at all, and no Markdown."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") or _YAML.search(text) is not None


def holds_list(text: str, name: str) -> bool:
    """Say whether JSON is a list of tasks, an object that has one, or else nothing that could be meant for another
    thing; raises ConfigurationError as `read_entries` does."""
    value = parse(text, name).value
    return not isinstance(value, dict) or any(key in value for key in LISTS)


def read_entries(text: str, name: str) -> list[Entry]:
    """Read the entries, in the order of the file.

    Args:
        text: of the file.
        name: of it, for messages.

    Raises:
        ConfigurationError: no JSON, no YAML, or another shape; with line and column.
    """
    root = parse(text, name)
    nodes = root.value
    if isinstance(nodes, dict):
        key = next((each for each in LISTS if each in nodes), None)
        if key is None:
            raise wrong(text, name, root, f"none of the keys {', '.join(LISTS[:4])} is there, expected a list")
        root, nodes = nodes[key], nodes[key].value
        if not isinstance(nodes, list):
            raise wrong(text, name, root, f"{key} is {kind_of(nodes)}, expected a list")
    if not isinstance(nodes, list):
        raise wrong(
            text, name, root, f"this is {kind_of(nodes)}, expected a list of stories, or an object with one"
        )
    return [_entry(text, name, node, number) for number, node in enumerate(nodes, 1)]


def plan_in(text: str, name: str) -> Plan | None:
    """Say how far a list has come; None: the text is an object of another shape, of which nobody can tell.

    Raises:
        ConfigurationError: as for `read_entries`.
    """
    root = parse(text, name)
    if isinstance(root.value, dict) and not any(key in root.value for key in LISTS):
        return None
    return plan_of(read_entries(text, name))


def plan_of(entries: Sequence[Entry]) -> Plan:
    """Say how far they have come, and which is next: the first by priority that is open, and waits for none."""
    following = next(iter(in_order(entries)), None)
    done = sum(each.done for each in entries)
    return Plan(done, len(entries), following.label if following else None)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Give the open ones by priority; those that wait for an open one come last."""
    left = {each.id for each in entries if not each.done}
    return sorted(
        (each for each in entries if not each.done), key=lambda each: (bool(left & {*each.needs}), each.priority)
    )


# -- for a swarm --------------------------------------------------------------------------------------


def planned(text: str) -> list[PlannedTask] | None:
    """Give the open ones as tasks, by priority; None: the text is no such list."""
    if not is_list(text):
        return None
    found = sorted(
        (each for each in read_entries(text, "the plan") if not each.done), key=lambda each: each.priority
    )
    starts = {each.id: each.node.start for each in reversed(found)}
    return [
        PlannedTask(
            line=each.node.start,
            heading=each.label,
            text=each.text,
            needs=tuple({starts[need] for need in _before(each, found) if need in starts} - {each.node.start}),
            section=each.group or 0,
            section_heading="" if each.group is None else f"group {each.group}",
        )
        for each in found
    ]


def _before(entry: Entry, found: Sequence[Entry]) -> Iterator[str]:
    """Ids of those that have to be done before: the named ones, and all of an earlier group."""
    yield from entry.needs
    if entry.group is not None:
        yield from (each.id for each in found if each.group is not None and each.group < entry.group)


def with_done(
    text: str, labels: Collection[str], *, key: str = "passes", name: str = "the plan"
) -> tuple[str, list[str]]:
    """Set the entries with these labels to done, of several with one label the first open one; keep the format.

    Args:
        key: what says so in an entry of JSON that has no such key yet.
        name: of the file, for messages.

    Returns:
        The text, and the labels that it doesn't have.
    """
    left, places = list(labels), []
    for each in sorted(read_entries(text, name), key=lambda each: each.done):
        if each.label in left:
            left.remove(each.label)
            if not each.done:
                places.append(_done_edit(text, each, key))
    for start, end, new in sorted(places, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text, left


def ticked(text: str, labels: Collection[str]) -> tuple[str, list[str]]:
    """The same of a plan that may be Markdown with boxes."""
    return with_done(text, labels) if is_list(text) else with_ticks(text, labels)


def _done_edit(text: str, entry: Entry, new_key: str) -> tuple[int, int, str]:
    """What makes it done: from where to where, and what stands there then."""
    values: dict[str, Node] = entry.node.value
    key = next((name for name in (*_DONE_KEYS, "status") if name in values), None)
    if key is not None:
        node = values[key]
        new = '"done"' if key == "status" and text[node.start] == '"' else "done" if key == "status" else "true"
        return node.start, node.end, new
    last = max(values.values(), key=lambda node: node.end)
    first = min(values.values(), key=lambda node: node.start)
    if text[entry.node.start] == "{":
        gap = re.match(r"\s*", text[entry.node.start + 1 : first.start])
        return last.end, last.end, f',{gap[0] if gap else " "}"{new_key}": true'
    line = text.rfind("\n", 0, first.start) + 1
    indent = re.sub(r"[^\s]", " ", re.match(r"[\s-]*", text[line : first.start])[0])  # type: ignore[index]
    return last.end, last.end, f"\n{indent}completed: true"


def alone(text: str, labels: Collection[str], words: str, before: str) -> str:
    """Give a list with one task only: the entries with these labels, or, without any, one of these words.

    Args:
        before: what an earlier attempt came to, which the agent finds among its notes; or ''.
    """
    document = parse(text, "the plan").plain if text.strip() else {}
    entries = read_entries(text, "the plan") if text.strip() else []
    chosen = [each.node.plain for each in entries if each.label in labels]
    if not chosen:
        title, _, rest = words.partition("\n")
        chosen = [{"id": "US-001", "title": title, "description": rest.strip() or title, "acceptanceCriteria": []}]
        chosen[0] |= {"priority": 1, "passes": False, "notes": ""}
    for each in chosen:
        if before:
            each["notes"] = f"{each.get('notes') or ''}\n{before}".strip()
    if isinstance(document, list):
        return json.dumps(chosen, indent=2, ensure_ascii=False) + "\n"
    key = next((name for name in LISTS if name in document), LISTS[0])
    # Each task has a branch of its own, which is checked out: one that is named here would be made, or moved to.
    document = {name: value for name, value in document.items() if name != "branchName"} | {key: chosen}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


# -- reading ------------------------------------------------------------------------------------------


def parse(text: str, name: str) -> Node:
    """Read JSON, or YAML where it doesn't begin as JSON does, with locations.

    Raises:
        ConfigurationError: it is neither; with line and column.
    """
    begins_as_json = text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
    if name.endswith((".yaml", ".yml")) or not (begins_as_json or name.endswith(".json") or not _YAML.search(text)):
        return _from_yaml(text, name)
    clean = text.removeprefix("\ufeff")
    try:
        json.loads(clean)
    except RecursionError:
        raise ConfigurationError(f"{name}: no JSON: nested too deeply\n  next: correct it") from None
    except ValueError as error:
        where = f"{name}:{getattr(error, 'lineno', 1)}:{getattr(error, 'colno', 1)}"
        why = getattr(error, "msg", str(error))
        raise ConfigurationError(f"{where}: no JSON: {why}\n  next: correct it there") from None
    tokens = [*_TOKEN.finditer(text, len(text) - len(clean))]
    return _Located(text, tokens).value()


class _Located:
    """Goes through the tokens of JSON that is known to be sound."""

    def __init__(self, text: str, tokens: list[re.Match[str]]) -> None:
        self.text, self.tokens, self.at, self.line, self.seen = text, tokens, 0, 1, 0

    def value(self) -> Node:
        token = self._next()
        start, line = token.start(), self.line
        if token[0] == "{":
            members: dict[str, Node] = {}
            while self.tokens[self.at][0] != "}":
                key = json.loads(self._next(",")[0])
                self._next()  # the colon
                members[key] = self.value()
            return Node(members, start, self._next().end(), line)
        if token[0] == "[":
            elements: list[Node] = []
            while self.tokens[self.at][0] != "]":
                if self.tokens[self.at][0] == ",":
                    self._next()
                elements.append(self.value())
            return Node(elements, start, self._next().end(), line)
        return Node(json.loads(token[0]), start, token.end(), line)

    def _next(self, passed: str = "") -> re.Match[str]:
        token = self.tokens[self.at]
        self.at += 1
        self.line += self.text.count("\n", self.seen, token.start())
        self.seen = token.start()
        return self._next() if token[0] == passed else token


def _from_yaml(text: str, name: str) -> Node:
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        loader = yaml.SafeLoader("")
        if root is None:
            raise ConfigurationError(f"{name}: it is empty, expected a list of tasks\n  next: write one")

        def located(node: yaml.Node) -> Node:
            start, end, line = node.start_mark.index, node.end_mark.index, node.start_mark.line + 1
            if isinstance(node, yaml.MappingNode):
                value: Any = {str(key.value): located(each) for key, each in node.value}
            elif isinstance(node, yaml.SequenceNode):
                value = [located(each) for each in node.value]
            else:
                value = loader.construct_object(node)
            return Node(value, start, end, line)

        return located(root)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark is not None else name
        why = getattr(error, "problem", None) or str(error) or "nested too deeply"
        raise ConfigurationError(f"{where}: no YAML: {why}\n  next: correct it there") from None


def _entry(text: str, name: str, node: Node, number: int) -> Entry:
    if isinstance(node.value, str):
        return Entry(str(number), _line(node.value), node.value, _LAST, False, (), None, node)
    if not isinstance(node.value, dict):
        raise wrong(text, name, node, f"story {number} is {kind_of(node.value)}, expected an object")
    for key in _DONE_KEYS:
        if key in node.value and not isinstance(node.value[key].value, bool | None):
            found = json.dumps(node.value[key].plain, default=str)[:60]
            raise wrong(text, name, node.value[key], f"{key} is {found}, expected true or false")
    done, status = node.get(*_DONE_KEYS) is True, node.get("status")
    if not any(key in node.value for key in _DONE_KEYS):
        done = isinstance(status, str) and status.strip().lower().replace("-", "_") in _DONE
    title = node.get(*_TITLES)
    needs = node.get(*_NEEDS)
    needs = [needs] if isinstance(needs, str | int) else needs if isinstance(needs, list) else []
    group = node.get("parallel_group", "parallelGroup")
    return Entry(
        id=str(node.get("id") or number),
        title=_line(str(title)) if title is not None else f"story {number}",
        text=_words(node),
        priority=_priority(node.get("priority")),
        done=done,
        needs=tuple(map(str, needs)),
        group=group if isinstance(group, int) and not isinstance(group, bool) else None,
        node=node,
    )


def _priority(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(value).strip().lower()
    if found := re.fullmatch(r"p?(\d{1,9})", text):
        return float(found[1])
    return _WORDS.get(text, _LAST)


def _words(node: Node) -> str:
    """All that is said of an entry, for a prompt."""
    lines = []
    for key, value in node.plain.items():
        if key in (*_DONE_KEYS, "status", "priority", "parallel_group") or value in (None, "", [], {}):
            continue
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {each if isinstance(each, str) else json.dumps(each)}" for each in value)]
        else:
            lines.append(f"{key}: {value if isinstance(value, str) else json.dumps(value, default=str)}")
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def kind_of(value: object) -> str:
    """What a value is called."""
    named = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return named.get(type(value), "a number")


def wrong(text: str, name: str, node: Node, what: str) -> ConfigurationError:
    """What is wrong with a value of a file, with line and column."""
    column = node.start - text.rfind("\n", 0, node.start)
    return ConfigurationError(f"{name}:{node.line}:{column}: {what}\n  next: correct it there")
