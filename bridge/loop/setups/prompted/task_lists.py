"""Lists of tasks in JSON or YAML (``prd.json``, ``tasks.yaml``): read in all their dialects, and changed in place.

An entry is done by ``passes: true``, ``completed: true``, or a ``status`` such as ``done``; one whose status is
``cancelled``, ``blocked`` or the like isn't open, either. What is changed is that
value alone: every other byte of the file stays. Pure.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import yaml_bounds
from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.base.resources import likely
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import FENCE, Plan, with_ticks
from bridge.loop.setups.setup_kind import PlannedTask

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

LISTS = ("userStories", "user_stories", "stories", "tasks", "features", "requirements", "items")
"""Keys under which an object has its list; a list may stand alone, too."""
_DONE = frozenset({"done", "complete", "completed", "passed", "passing", "closed", "finished"})
_ASIDE = frozenset(
    {
        *("abandoned", "blocked", "canceled", "cancelled", "deferred", "dropped", "duplicate", "invalid"),
        *("obsolete", "onhold", "paused", "postponed", "rejected", "skip", "skipped", "wontdo", "wontfix"),
    }
)
"""Statuses, as letters, of entries that are neither done nor anybody's to do."""
_TITLES = ("title", "name", "description", "task", "text", "feature")
_DONE_KEYS = ("passes", "passed", "completed", "done", "tested")
"""Keys that say with true or false whether an entry is done; the first that it has counts."""
_NEEDS = ("dependsOn", "depends_on", "dependencies", "blockedBy", "blocked_by")
_WORDS = {"critical": 0.0, "highest": 0.0, "high": 1.0, "medium": 2.0, "normal": 2.0, "low": 3.0, "lowest": 4.0}
LAST = 1e9
"""Priority of an entry that has none: behind all others, in the order of the file."""
_TOKEN = lazy(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_JSON = lazy(r"[\ufeff \t\r\n]*(?:\{(?![%{])|\[[ \t\r\n]*(?:[{\"]|(?:\][ \t\r\n]*)?\Z))")
# A list below one of the keys; Markdown may have such a line, too, but boxes or nothing below it.
_YAML = lazy(
    rf"^(?:{'|'.join(LISTS)})[ \t]*:[ \t]*"
    r"(?:\[|(?:#.*)?(?:\r?\n[ \t]*(?:#.*)?)*?\r?\n[ \t]*-(?![ \t]+\[[ xX]\])[ \t\r\n])",
    re.MULTILINE,
)
# What has to be escaped, so that both JSON and YAML can be read, and people can, too.
_UNSAFE = lazy(r"[^\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_DEEPEST = 60


class Node(NamedTuple):
    """A value and where it stands: `value` is a dict or list of nodes, or a scalar."""

    value: Any
    start: int
    end: int

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
        aside: it isn't done, and nobody is to do it.
        group: ``parallel_group``, or None.
        node: where it stands.
        label: its id and its title, and which one of these in the list where several are called so.
    """

    id: str
    title: str
    text: str
    priority: float
    done: bool
    needs: tuple[str, ...]
    group: int | None
    node: Node
    label: str
    aside: bool = False

    @property
    def open(self) -> bool:
        return not (self.done or self.aside)


def is_list(text: str) -> bool:
    """Say whether a text is such a list at all, and no Markdown."""
    return _JSON.match(text) is not None or _is_yaml(text)


def _is_yaml(text: str) -> bool:
    return _YAML.search(FENCE.sub("", text)) is not None  # Markdown may show an example


def read_entries(text: str, name: str) -> list[Entry]:
    """Read the entries, in the order of the file.

    Args:
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
    seen: Counter[str] = Counter()
    found = []
    for number, node in enumerate(nodes, 1):
        entry = _entry(text, name, node, number)
        seen[entry.label] += 1
        again = seen[entry.label]
        found.append(entry if again == 1 else replace(entry, label=f"{entry.label} ({again})"))
    called = {each.title.casefold(): each.id for each in found} | {each.id.casefold(): each.id for each in found}
    return [
        replace(each, needs=tuple(called.get(need.strip().casefold(), need) for need in each.needs))
        for each in found
    ]


def plan_in(text: str, name: str) -> Plan | None:
    """Say how far a list has come, and which entry is next: the first by priority that is open, and waits for none.

    None: the text is an object of another shape, of which nobody can tell.

    Raises:
        ConfigurationError: as for `read_entries`.
    """
    root = parse(text, name)
    if isinstance(root.value, dict) and not any(key in root.value for key in LISTS):
        return None
    entries = read_entries(text, name)
    left = tuple(each.label for each in in_order(entries))
    total = sum(not each.aside for each in entries)
    return Plan(total - len(left), total, next(iter(left), None), open=left)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Give the open ones by priority; those that wait for an open one come last."""
    left = {each.id for each in entries if not each.done}
    return sorted(
        (each for each in entries if each.open), key=lambda each: (bool(left & {*each.needs}), each.priority)
    )


# -- for a swarm --------------------------------------------------------------------------------------


def planned(text: str, name: str) -> list[PlannedTask] | None:
    """Give the open ones as tasks, by priority; None: the text is no such list."""
    if not is_list(text):
        return None
    entries = read_entries(text, name)
    put_off = {each.label for each in held_up(entries)}
    left = (each for each in entries if each.open and each.label not in put_off)
    found = sorted(left, key=lambda each: each.priority)
    starts = {each.id: each.node.start for each in reversed(found)}
    known = {each.id for each in entries}
    return [
        PlannedTask(
            line=each.node.start,
            heading=each.label,
            text=each.text,
            needs=tuple({starts[need] for need in _before(each, found) if need in starts} - {each.node.start}),
            section=each.group or 0,
            section_heading="" if each.group is None else f"group {each.group}",
            unknown=tuple(
                f"{name}:{text.count(chr(10), 0, each.node.start) + 1}: {each.label} needs {need!r}, which is no"
                f" task.{likely(need, known)}"
                for need in dict.fromkeys(each.needs)
                if need not in known
            ),
        )
        for each in found
    ]


def held_up(entries: Sequence[Entry]) -> list[Entry]:
    """Give the open ones that need one that is neither done nor to be done, or need such a one."""
    gone = {each.id for each in entries if each.aside} - {each.id for each in entries if each.done or each.open}
    found: dict[str, Entry] = {}
    while more := {
        each.label: each for each in entries if each.open and each.label not in found and gone & {*each.needs}
    }:
        found |= more
        gone |= {each.id for each in more.values()}
    return [*found.values()]


def _before(entry: Entry, found: Sequence[Entry]) -> Iterator[str]:
    """Ids of those that have to be done before: the named ones, and all of an earlier group."""
    yield from entry.needs
    if entry.group is not None:
        yield from (each.id for each in found if each.group is not None and each.group < entry.group)


def with_done(
    text: str, labels: Collection[str], *, key: str = "passes", name: str = "the plan"
) -> tuple[str, list[str]]:
    """Set the entries with these labels to done, keeping the file's format.

    Args:
        key: what says so in an entry of JSON that has no such key yet.
        name: of the file, for messages.

    Returns:
        The text, and the labels that it doesn't have.
    """
    entries = {each.label: each for each in read_entries(text, name)}
    known = (each.node.get("status") for each in entries.values())
    status = next((each.strip() for each in known if _is_done(each)), "done")
    places = [_done_edit(text, entries[label], key, status) for label in entries.keys() & {*labels}]
    for start, end, new in sorted(places, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text, [label for label in labels if label not in entries]


def with_open(text: str, label: str, *, name: str) -> str:
    """Set the entry with this label to open again; a text in which it is open, or isn't there, stays as it is."""
    entry = next((each for each in read_entries(text, name) if each.label == label and each.done), None)
    if entry is None:
        return text
    key = next(each for each in (*_DONE_KEYS, "status") if entry.node.get(each) is not None)
    node = entry.node.value[key]
    return f"{text[: node.start]}{_json('open') if key == 'status' else 'false'}{text[node.end :]}"


def ticked(text: str, labels: Collection[str]) -> tuple[str, list[str]]:
    """The same of a plan that may be Markdown with boxes."""
    return with_done(text, labels) if is_list(text) else with_ticks(text, labels)


def _done_edit(text: str, entry: Entry, new_key: str, status: str) -> tuple[int, int, str]:
    """What makes it done: from where to where, and what stands there then; `status`: how this list says it."""
    start, end, values = entry.node.start, entry.node.end, entry.node.value
    in_json = _JSON.match(text) is not None
    if isinstance(values, str):
        old = text[start:end]
        return start, end, _json({"title": values, new_key: True}) + old[len(old.rstrip()) :]
    key = next((name for name in (*_DONE_KEYS, "status") if name in values), None)
    if entry.done:
        return start, start, ""
    if key is not None:
        old = text[values[key].start : values[key].end]
        new = "true" if key != "status" else status if not (in_json or old[:1] == '"') else json.dumps(status)
        return values[key].start, values[key].end, new if old else f" {new}"
    if text[start] == "{":
        gap = re.match(r"\s*", text[start + 1 :])[0]  # type: ignore[index]
        return start + 1, start + 1, f'{gap}"{new_key}": true{"," if values else ""}'
    line = "\r\n" if "\r\n" in text else "\n"
    indent = re.sub(r"\S", " ", text[text.rfind("\n", 0, start) + 1 : start])
    return start, start, f"completed: true{line}{indent}"


def alone(text: str, labels: Collection[str], words: str, before: str) -> str:
    """Give a list with one task only: the entries with these labels, or, without any, one of these words.

    Args:
        before: what an earlier attempt came to, which the agent finds among its notes; or ''.
    """
    document = parse(text, "the plan").plain if text.strip() else {}
    entries = read_entries(text, "the plan") if text.strip() else []
    plain = [each.node.plain for each in entries if each.label in labels]
    chosen = [{"title": each, "passes": False} if isinstance(each, str) else each for each in plain]
    if not chosen:
        title, _, rest = words.partition("\n")
        chosen = [{"id": "US-001", "title": title, "description": rest.strip() or title, "acceptanceCriteria": []}]
        chosen[0] |= {"priority": 1, "passes": False, "notes": ""}
    # What it needs is done by now, and stands in no list that has it alone.
    chosen = [{name: value for name, value in each.items() if name not in _NEEDS} for each in chosen]
    for each in chosen:
        if before:
            each["notes"] = f"{each.get('notes') or ''}\n{before}".strip()
    if isinstance(document, list):
        return f"{_json(chosen, indent=2)}\n"
    key = next((name for name in LISTS if name in document), LISTS[0])
    # Each task has a branch of its own, which is checked out: one that is named here would be made, or moved to.
    document = {name: value for name, value in document.items() if name != "branchName"} | {key: chosen}
    return f"{_json(document, indent=2)}\n"


def _json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


# -- reading ------------------------------------------------------------------------------------------


def parse(text: str, name: str) -> Node:
    """Read JSON, or YAML where it doesn't begin as JSON does, with locations.

    Raises:
        ConfigurationError: it is neither; with line and column.
    """
    begins_as_json = _JSON.match(text) is not None
    if name.endswith((".yaml", ".yml")) or not (begins_as_json or name.endswith(".json") or not _is_yaml(text)):
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
    return _Located(text, name, [*_TOKEN.finditer(text, len(text) - len(clean))]).value()


class _Located:
    """Goes through the tokens of JSON that is known to be sound."""

    def __init__(self, text: str, name: str, tokens: list[re.Match[str]]) -> None:
        self.text, self.name, self.tokens, self.at = text, name, tokens, 0

    def value(self, deep: int = 0) -> Node:
        token = self._next()
        start = token.start()
        _check_depth(self.text, self.name, start, deep)
        if token[0] == "{":
            members: dict[str, Node] = {}
            while self.tokens[self.at][0] != "}":
                key = json.loads(self._next(",")[0])
                self._next()  # the colon
                members[key] = self.value(deep + 1)
            return Node(members, start, self._next().end())
        if token[0] == "[":
            elements: list[Node] = []
            while self.tokens[self.at][0] != "]":
                if self.tokens[self.at][0] == ",":
                    self._next()
                elements.append(self.value(deep + 1))
            return Node(elements, start, self._next().end())
        return Node(json.loads(token[0]), start, token.end())

    def _next(self, passed: str = "") -> re.Match[str]:
        token = self.tokens[self.at]
        self.at += 1
        return self._next() if token[0] == passed else token


def _from_yaml(text: str, name: str) -> Node:
    import yaml

    loader = yaml.SafeLoader("")
    seen = set()

    def located(node: yaml.Node, deep: int = 0) -> Node:
        start = node.start_mark.index
        _check_depth(text, name, start, deep)
        if id(node) in seen:  # a few of them in each other are more than any memory holds
            raise wrong(text, name, start, "an alias stands for this value, expected each value to be written out")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            value: Any = {str(key.value): located(each, deep + 1) for key, each in node.value}
        elif isinstance(node, yaml.SequenceNode):
            value = [located(each, deep + 1) for each in node.value]
        else:
            try:
                value = loader.construct_object(node)
            except ValueError:  # a date that there isn't
                value = node.value
        return Node(value, start, node.end_mark.index)

    try:
        yaml_bounds.check(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise ConfigurationError(f"{name}: it is empty, expected a list of tasks\n  next: write one")
        return located(root)
    except yaml.reader.ReaderError as error:
        raise wrong(text, name, error.position, f"no YAML: {error.reason}") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "nested too deeply"
        raise wrong(text, name, mark.index if mark is not None else 0, f"no YAML: {why}") from None


def _check_depth(text: str, name: str, start: int, deep: int) -> None:
    if deep > _DEEPEST:
        raise wrong(text, name, start, f"nested more than {_DEEPEST} deep")


def _entry(text: str, name: str, node: Node, number: int) -> Entry:
    if isinstance(node.value, str):
        title = _line(node.value)
        return Entry(str(number), title, node.value, LAST, False, (), None, node, title)
    if not isinstance(node.value, dict):
        raise wrong(text, name, node, f"story {number} is {kind_of(node.value)}, expected an object")
    for key in _DONE_KEYS:
        if key in node.value and not isinstance(node.value[key].value, bool | None):
            found = json.dumps(node.value[key].plain, default=str)[:60]
            raise wrong(text, name, node.value[key], f"{key} is {found}, expected true or false")
    done = node.get(*_DONE_KEYS) is True
    if not any(key in node.value for key in _DONE_KEYS):
        done = _is_done(node.get("status"))
    found, named = node.get(*_TITLES), node.get("id")
    title = f"story {number}" if found is None else _line(str(found))
    own = str(number if named in (None, "") else named)
    needs = node.get(*_NEEDS)
    needs = [needs] if isinstance(needs, str | int) else needs if isinstance(needs, list) else []
    group = node.get("parallel_group", "parallelGroup")
    return Entry(
        id=own,
        title=title,
        text=_words(node),
        priority=_priority(node.get("priority")),
        done=done,
        needs=tuple(
            need for need in map(str, needs) if need.strip().lower() not in ("", "none", "null", "n/a", "-")
        ),
        group=group if isinstance(group, int) and not isinstance(group, bool) else None,
        node=node,
        label=title if own.isdigit() or title.startswith(own) else f"{_line(own)} {title}",
        aside=not done and _word(node.get("status")) in _ASIDE,
    )


def _is_done(status: object) -> bool:
    return isinstance(status, str) and status.strip().lower() in _DONE


def _word(status: object) -> str:
    return re.sub(r"[\W_]+", "", str(status)).lower()


def _priority(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(value).strip().lower()
    if found := re.fullmatch(r"p?(\d{1,9})", text):
        return float(found[1])
    return _WORDS.get(text, LAST)


def _words(node: Node) -> str:
    """All that is said of an entry, for a prompt."""
    lines = []
    for key, value in node.plain.items():
        if key in (*_DONE_KEYS, "status", "priority", "parallel_group") or value in (None, "", [], {}):
            continue
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {each if isinstance(each, str) else _json(each)}" for each in value)]
        else:
            lines.append(f"{key}: {value if isinstance(value, str) else _json(value)}")
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def kind_of(value: object) -> str:
    """What a value is called."""
    named = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return named.get(type(value), "a number")


def wrong(text: str, name: str, where: Node | int, what: str) -> ConfigurationError:
    """What is wrong with a value of a file, or at a place in it, with line and column."""
    at = where if isinstance(where, int) else where.start
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return ConfigurationError(f"{name}:{line}:{column}: {what}\n  next: correct it there")
