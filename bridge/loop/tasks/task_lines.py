"""Tasks out of lines of text, and out of YAML. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.base import yaml_bounds
from bridge.base.resources import likely
from bridge.errors import ConfigurationError
from bridge.loop.tasks.task import (
    BAD_ID,
    ID,
    Asked,
    NothingOpen,
    Source,
    SourceKind,
    Task,
    check,
    new_id,
    one_line,
)
from bridge.loop.tasks.task_order import ordered

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYS = ("id", "prompt", "title", "needs")


def from_lines(text: str, name: str) -> list[Task]:
    """Read a task from each line that isn't blank and doesn't begin with ``#``.

    Raises:
        ConfigurationError: there is none.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise NothingOpen(f"{name}: no task: each line that isn't blank or a comment (#) is one")
    return [Task(new_id(number, line, len(lines)), one_line(line), line) for number, line in enumerate(lines, 1)]


def from_yaml(text: str, name: str) -> list[Task]:
    """Read a list of mappings with ``prompt``, and perhaps ``id``, ``title`` and ``needs``.

    Raises:
        ConfigurationError: what can't be used, with file and line; all of it at once.
    """
    import yaml

    try:
        yaml_bounds.check(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that there isn't, a number without end
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark is not None else name
        raise ConfigurationError(f"{where}: no YAML: {getattr(error, 'problem', None) or error}") from None
    entries = found.get("tasks") if isinstance(found, dict) else found
    nodes: Any = root
    if isinstance(root, yaml.MappingNode):
        nodes = next((value for key, value in root.value if key.value == "tasks"), root)
    if not isinstance(entries, list) or not entries:
        raise ConfigurationError(f"{name}: expected a list of tasks, such as `- {{id: parser, prompt: ...}}`")
    lines = [node.start_mark.line + 1 for node in nodes.value]
    problems: list[str] = []
    tasks = [
        task
        for number, (entry, line) in enumerate(zip(entries, lines, strict=True), 1)
        if (task := _from_entry(entry, f"{name}:{line}", number, len(entries), problems)) is not None
    ]
    if problems:
        raise ConfigurationError("\n  ".join(problems))
    return check(tasks, {task.id: f"{name}:{line}" for task, line in zip(tasks, lines, strict=True)})


def _from_entry(entry: Any, where: str, number: int, count: int, problems: list[str]) -> Task | None:
    if isinstance(entry, str):
        entry = {"prompt": entry}
    if not isinstance(entry, dict):
        problems.append(f"{where}: a task is a mapping with `prompt`, or a text")
        return None
    problems += [
        f"{where}: unknown key {key!r}{likely(str(key), _KEYS)}; known: {', '.join(_KEYS)}"
        for key in entry
        if key not in _KEYS
    ]
    prompt, needs = entry.get("prompt"), entry.get("needs") or []
    if not isinstance(prompt, str) or not prompt.strip():
        problems.append(f"{where}: `prompt` is missing or empty")
        return None
    needs = [needs] if isinstance(needs, str) else needs
    if not isinstance(needs, list):
        problems.append(f"{where}: `needs` is a list of ids")
        return None
    title = str(entry.get("title") or prompt.strip().splitlines()[0])
    named = entry.get("id")
    task_id = new_id(number, title, count) if named is None else str(named)
    if not ID.fullmatch(task_id):
        problems.append(f"{where}: id {task_id!r} {BAD_ID}")
        return None
    return Task(task_id, one_line(title), prompt.strip(), tuple(map(str, needs)))


class _Listed(Source):
    """Tasks of a file that nothing is written back to."""

    def __init__(self, asked: Asked, read: Callable[[str, str], list[Task]]) -> None:
        self._asked, self._read = asked, read

    def tasks(self) -> list[Task]:
        path = self._asked.file()
        return ordered(self._read(self._asked.text(path), str(path)))


KINDS = {
    "yaml": SourceKind(
        name="yaml", title="a list in YAML", takes="FILE", open=lambda asked: _Listed(asked, from_yaml)
    ),
    "lines": SourceKind(
        name="lines", title="a task per line", takes="FILE", open=lambda asked: _Listed(asked, from_lines)
    ),
}
