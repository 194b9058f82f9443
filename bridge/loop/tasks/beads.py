"""Issues of Beads as tasks, by ``bd``; its database is its own affair."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.base.json_files import as_array, as_object
from bridge.base.wording import one_line
from bridge.errors import ConfigurationError, SourceUnavailable
from bridge.loop.tasks.foreign_text import quoted, seen
from bridge.loop.tasks.programs import Program
from bridge.loop.tasks.source_updates import mark_of
from bridge.loop.tasks.task import ID, USUAL, Asked, NothingOpen, Source, SourceKind, Task
from bridge.loop.tasks.task_order import ordered, startable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BD = Program(
    "bd",
    "install Beads (npm install -g @beads/bd)",
    {
        "no beads database|beads workspace": ("Beads keeps no issues here", "bd init, or another --project"),
        "lock": ("the database of Beads is in use", "try again"),
    },
)
_TEXTS = {
    "description": "",
    "design": "## Design",
    "acceptance_criteria": "## Acceptance criteria",
    "notes": "## Notes",
}
_HOOKS = ("on_create", "on_update", "on_close")
# What holds other issues together, or is no work; `bd ready` speaks of them, too.
_NO_WORK = {
    "epic",
    "gate",
    "molecule",
    "convoy",
    "message",
    "event",
    "agent",
    "role",
    "rig",
    "slot",
    "merge-request",
}


class _Issues(Source):
    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        if asked.argument and not ID.fullmatch(asked.argument):
            raise ConfigurationError(
                f"beads:{asked.argument}: no issue is called so\n  next: beads: for all, or beads:EPIC"
            )

    def tasks(self) -> list[Task]:
        rows = {str(row.get("id")): row for row in self._rows("list", "--limit=0")}
        ready = {str(row.get("id")) for row in self._rows("ready", "--limit=0")}
        tasks = [
            replace(self._task(row), needs=(*_needs(name, rows),))
            for name, row in rows.items()
            if self._is_asked_for(row)
        ]
        ready |= {*self.under_way}
        waits = {each.id: "what `bd ready` waits for" for each in tasks if not each.needs and each.id not in ready}
        found, notes = startable(tasks, waits)
        self._asked.tell_all(notes)
        if not found:
            of = f" of {self._asked.argument}" if self._asked.argument else ""
            of += " that the filters leave, and" if self._asked.filters.given() else ""
            raise NothingOpen(
                f"Beads has no open issue{of} that can be begun\n  next: `bd ready` lists those that can"
            )
        limit = self._asked.filters.limit or USUAL
        if len(found) > limit:
            self._asked.tell(f"the first {limit:,} of {len(found):,} issues are taken (--limit N)")
        return ordered(found)[:limit]

    def again(self, ref: str) -> Task:
        return self._task(self._show(ref))

    def begun(self, task: Task) -> None:
        self._change("update", task.ref, "--status=in_progress", "--json")

    def done(self, task: Task, comment: str, *, close: bool) -> None:
        self._comment(task, comment)
        if close and self._show(task.ref).get("status") != "closed":
            self._change("close", task.ref, "--reason=ralph-bridge: done", "--json")

    def failed(self, task: Task, comment: str) -> None:
        self._comment(task, comment)
        if self._show(task.ref).get("status") == "in_progress":
            self._change("update", task.ref, "--status=open", "--json")

    def _comment(self, task: Task, comment: str) -> None:
        mark = mark_of(comment) or comment.strip()
        if not any(str(each.get("text")).startswith(mark) for each in self._rows("comments", task.ref)):
            self._change("comments", "add", task.ref, "--json", "--", comment)

    def _change(self, *words: str) -> None:
        """Change something, unless bd would run what an agent may have written."""
        for row in self._rows("where"):
            hooks = os.path.join(str(row.get("path")), "hooks")
            if planted := [each for each in _HOOKS if os.path.lexists(os.path.join(hooks, each))]:
                raise SourceUnavailable(
                    f"{hooks}/{planted[0]}: bd would run it here, and an agent may have written it\n"
                    "  next: look at it, and move it away"
                )
        BD.ask(self._asked.project, words)

    def _rows(self, *words: str) -> list[dict[str, Any]]:
        """Ask for a list; newer versions have it in an envelope."""
        value = BD.ask_json(self._asked.project, [*words, "--json"])
        value = value.get("data", value) if isinstance(value, dict) else value
        rows = [as_object(each) for each in ([value] if isinstance(value, dict) else as_array(value))]
        if not isinstance(value, dict | list) or None in rows:
            raise BD.wrong(words)
        return [each for each in rows if each is not None]

    def _show(self, ref: str) -> dict[str, Any]:
        if not ID.fullmatch(ref):
            raise ConfigurationError(f"{ref} is no issue\n  next: an id such as `bd list` shows")
        for row in self._rows("show", ref):
            return row
        raise BD.wrong(("show",))

    def _is_asked_for(self, row: Mapping[str, Any]) -> bool:
        filters = self._asked.filters
        parents = {each for kind, each in _edges(row) if kind == "parent-child"} | {row.get("parent")}
        return (
            (
                row.get("status") == "open"
                or (row.get("status") == "in_progress" and row.get("id") in self.under_way)
            )
            and row.get("issue_type") not in _NO_WORK
            and not row.get("is_template")
            and {*filters.label} <= {each for each in as_array(row.get("labels")) if isinstance(each, str)}
            and filters.assignee in (None, row.get("assignee"))
            and (not self._asked.argument or self._asked.argument in parents)
        )

    def _task(self, row: Mapping[str, Any]) -> Task:
        name, title, priority = row.get("id"), row.get("title"), row.get("priority")
        if not isinstance(name, str) or not ID.fullmatch(name) or not isinstance(title, str):
            raise BD.wrong(("list",))
        parts = [title]
        for field, heading in _TEXTS.items():
            if isinstance(text := row.get(field), str) and text.strip():
                parts.append(f"{heading}\n\n{text}".strip())
        return Task(
            id=name,
            title=one_line(seen(title), 100) or name,
            prompt=quoted("\n\n".join(parts), f"{name} of this project's Beads"),
            ref=name,
            priority=float(priority) if isinstance(priority, int) else None,
            labels=tuple(one_line(seen(each), 50) for each in as_array(row.get("labels")) if isinstance(each, str)),
        )


def _edges(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The kinds of what an issue depends on, each with its id."""
    for each in map(as_object, as_array(row.get("dependencies"))):
        if each is not None:
            yield str(each.get("type")), str(each.get("depends_on_id"))


def _needs(name: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, None]:
    """What isn't closed and blocks an issue, or one that it is a part of: what is closed isn't listed."""
    found: dict[str, None] = {}
    looked, left = set(), [name]
    while left:
        looked.add(name := left.pop())
        for kind, other in _edges(rows[name]):
            if kind == "blocks" and other in rows:
                found[other] = None
            elif kind == "parent-child" and other in rows and other not in looked:
                left.append(other)
    return found


KINDS = {
    "beads": SourceKind(
        name="beads",
        title="open issues of Beads, by bd",
        takes="[EPIC]",
        open=_Issues,
        filters=frozenset({"label", "assignee", "limit"}),
    )
}
