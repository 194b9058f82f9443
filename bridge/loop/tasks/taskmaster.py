"""Task Master's tasks.json as a source: read in both its shapes, and done in place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bridge.base.json_files import read_object
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.setups.prompted.task_lists import Node, kind_of, parse, wrong
from bridge.loop.tasks.plans import FileOfTasks
from bridge.loop.tasks.task import Asked, NothingOpen, Source, SourceKind, Task, check, named_id, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MAIN = "master"
_OPEN = ("pending", "in-progress")
_DONE = ("done", "completed")
_PRIORITIES = {"high": 1.0, "medium": 2.0, "low": 3.0}
_TEXTS = {"description": "", "details": "", "testStrategy": "How it is tested: "}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A task of the file: its id as a text, where it stands, and its subtasks by id, such as ``1.2``."""

    id: str
    node: Node
    subtasks: Mapping[str, Node]

    @property
    def status(self) -> str:
        return _status(self.node)


def _status(node: Node) -> str:
    return str(node.get("status") or "pending").lower()


def lists(text: str, name: str) -> dict[str, list[_Entry]]:
    """Read the tasks of each tag; a file of the older shape has those of ``master`` alone.

    Raises:
        ConfigurationError: it is no such file; with line and column.
    """
    root = parse(text, name)
    tags = root.value if isinstance(root.value, dict) else {}
    if isinstance(tags.get("tasks"), Node) and isinstance(tags["tasks"].value, list) and _MAIN not in tags:
        tags = {_MAIN: root}
    found = {
        tag: node.value["tasks"].value
        for tag, node in tags.items()
        if isinstance(node.value, dict) and "tasks" in node.value and isinstance(node.value["tasks"].value, list)
    }
    if not found:
        raise wrong(text, name, root, 'expected {"master": {"tasks": [...]}} or {"tasks": [...]}')
    return {tag: [_entry(text, name, node) for node in nodes] for tag, nodes in found.items()}


def _entry(text: str, name: str, node: Node) -> _Entry:
    own = _id(text, name, node)
    listed = node.value.get("subtasks")
    nodes = listed.value if listed is not None and isinstance(listed.value, list) else []
    ids = [_id(text, name, each) for each in nodes]
    return _Entry(
        own,
        node,
        {
            each if each.startswith(f"{own}.") else f"{own}.{each}": below
            for each, below in zip(ids, nodes, strict=True)
        },
    )


def _id(text: str, name: str, node: Node) -> str:
    if not isinstance(node.value, dict):
        raise wrong(text, name, node, f"a task is {kind_of(node.value)}, expected an object")
    own = _called(text, node.value["id"]) if "id" in node.value else ""
    if not own:
        raise wrong(text, name, node, "a task has no id")
    return own


def _called(text: str, node: Node) -> str:
    """An id as it is written: of the numbers 3.1 and 3.10 each is one of its own; '' for what is none."""
    if isinstance(node.value, str):
        return node.value.strip()
    known = isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return text[node.start : node.end].strip() if known else ""


def _dependencies(text: str, node: Node) -> list[str]:
    found = node.value.get("dependencies")
    listed = [] if found is None else found.value if isinstance(found.value, list) else [found]
    return [each for each in (_called(text, one) for one in listed) if each]


def from_taskmaster(
    text: str, name: str, tag: str = "", tell: Callable[[str], None] = lambda _: None
) -> list[Task]:
    """Read the tasks that are pending or in progress, each with its subtasks.

    Args:
        name: of it, for messages.
        tag: the current one; '': ``master``, or else the first.
        tell: is called with what can't be begun, as what it depends on was put off.

    Raises:
        ConfigurationError: there is none, no such tag, or a dependency that isn't there; with line.
    """
    by_tag = lists(text, name)
    tag = tag or (_MAIN if _MAIN in by_tag else next(iter(by_tag)))
    if tag not in by_tag:
        tags = ", ".join(by_tag)
        raise ConfigurationError(
            f"{name}: there is no tag {tag}, which is the current one\n  next: use one of {tags}"
        )
    entries = {each.id: each for each in by_tag[tag]}
    if again := next((each for each in by_tag[tag] if entries[each.id] is not each), None):
        raise wrong(text, name, entries[again.id].node, f"id {again.id} comes twice")
    needs = {each.id: _needs(text, each, entries) for each in entries.values() if each.status in _OPEN}
    waiting = [
        key for key, wanted in needs.items() if any(each in entries and each not in needs for each in wanted)
    ]
    for key in waiting:  # it grows
        waiting += [each for each, wanted in needs.items() if key in wanted and each not in waiting]
    if waiting:
        tell(f"{name}: not begun, as what they depend on is neither open nor done: {', '.join(waiting)}")
    left = {key: entries[key] for key in needs if key not in waiting}
    if not left:
        raise NothingOpen(f"{name}: no task can be begun (status {' or '.join(_OPEN)})\n  next: look there")
    ids = {key: named_id(key, str(each.node.get("title") or "")) for key, each in left.items()}
    tasks = [
        Task(
            ids[key],
            one_line(str(each.node.get("title") or f"task {key}")),
            _prompt(each),
            needs=tuple(ids.get(need, need) for need in needs[key]),
            ref=key if tag == _MAIN else f"{tag} {key}",
            priority=_PRIORITIES.get(str(each.node.get("priority")).lower(), 2.0),
        )
        for key, each in left.items()
    ]
    lines = {ids[key]: f"{name}:{text.count(chr(10), 0, each.node.start) + 1}" for key, each in left.items()}
    return check(tasks, lines)


def _needs(text: str, entry: _Entry, entries: Mapping[str, _Entry]) -> list[str]:
    """Tasks that have to be done before: a subtask stands for its task, unless that subtask is done."""
    wanted = _dependencies(text, entry.node)
    for node in entry.subtasks.values():
        if _status(node) in _OPEN:  # a plain number is a neighbour's
            wanted += [each for each in _dependencies(text, node) if "." in each]
    found = []
    for each in wanted:
        parent = each
        while parent not in entries and "." in parent:
            parent = parent.rpartition(".")[0]
        named = entries[parent].subtasks.get(each, entries[parent].node) if parent in entries else None
        if parent != entry.id and (named is None or _status(named) not in _DONE):
            found.append(each if named is None else parent)
    return list(dict.fromkeys(found))


def _prompt(entry: _Entry) -> str:
    parts = [str(entry.node.get("title") or ""), *_texts(entry.node)]
    for key, node in entry.subtasks.items():
        box = "x" if _status(node) in _DONE else " "
        lines = "\n".join(_texts(node)).splitlines()
        parts.append("\n  ".join([f"- [{box}] {key} {node.get('title') or ''}".rstrip(), *lines]))
    return "\n\n".join(each for each in parts if each)


def _texts(node: Node) -> list[str]:
    found = {key: node.get(key) for key in _TEXTS}
    return [
        f"{_TEXTS[key]}{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in found.items()
        if value
    ]


def with_status_done(text: str, refs: Sequence[str]) -> tuple[str, list[str]]:
    """Set tasks and their subtasks to done, as ``task-master set-status`` does; every other byte stays.

    Returns:
        The text, and what it doesn't have of these.
    """
    by_ref = {
        each.id if tag == _MAIN else f"{tag} {each.id}": each
        for tag, entries in lists(text, "the tasks").items()
        for each in entries
    }
    nodes = [node for ref in refs if ref in by_ref for node in (by_ref[ref].node, *by_ref[ref].subtasks.values())]
    edits = []
    for node in nodes:
        if (status := node.value.get("status")) is None:
            edits.append((node.start + 1, node.start + 1, '"status": "done", '))
        elif _status(node) not in _DONE:
            edits.append((status.start, status.end, '"done"'))
    for start, end, new in sorted(edits, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text, [ref for ref in refs if ref not in by_ref]


def _open(asked: Asked) -> Source:
    path = asked.file(".taskmaster/tasks/tasks.json")
    state = read_object(path.parent.parent / "state.json") or {}
    tag = state.get("currentTag")

    def read(text: str, name: str) -> list[Task]:
        return from_taskmaster(text, name, tag if isinstance(tag, str) else "", asked.tell)

    return FileOfTasks(asked, read, with_status_done, ".taskmaster/tasks/tasks.json")


KINDS = {"taskmaster": SourceKind(name="taskmaster", title="tasks.json of Task Master", takes="FILE", open=_open)}
