"""What earlier swarms of a project have: tasks that a new one would begin a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.engine.lock import standing
from bridge.loop.swarm.folder import runs
from bridge.loop.swarm.swarm_record import CLOSED, PULLED, read_swarm
from bridge.loop.swarm.work_trees import is_within, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.base.git.repository import Repository
    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord
    from bridge.loop.tasks.task import Task

_SHOWN = 3


def refuse_again(project: SwarmProject, tasks: Sequence[Task], source: str, into: str | None) -> None:
    """Refuse tasks that an earlier swarm has, and whose work isn't where this one would begin.

    Args:
        source: as the record has it; ''.
        into: the branch that results are moved to, where it is named.

    Raises:
        ConfigurationError: there is such a swarm; says its name, which tasks, and what can be done.
    """
    git = project.repository()
    wanted = {name for task in tasks for name in _names(task, source)}
    for folder in reversed(runs(project.swarms)):
        record = read_swarm(folder)
        if record is None or record.kind != project.kind or record.project != str(project.folder):
            continue
        found = [
            each
            for each in record.tasks
            if wanted & {*_names(each.task, record.source)} and _is_held(git, record, each, into)
        ]
        if found:
            raise ConfigurationError(_refusal(record, found, running=standing(folder).running))


def _names(task: Task, source: str) -> list[tuple[str, ...]]:
    """What a task is known by: by its source, by its boxes, else by its words."""
    if source and task.ref:
        return [("source", source, task.ref)]
    return [("box", each) for each in task.boxes] or [("words", task.title, task.prompt)]


def _is_held(git: Repository, record: SwarmRecord, task: TaskRecord, into: str | None) -> bool:
    """Whether something of it is left to be done or taken over: not where people have deleted its branch."""
    if task.outcome == PULLED:
        return task.pull.get("state") == "OPEN"
    if task.outcome == CLOSED:
        return False
    if task.merged:
        tip = resolve(git, f"refs/heads/{record.branch}")
        heads = ["HEAD", *([f"refs/heads/{into}"] if into else [])]
        return bool(tip) and not any(is_within(git, tip, each) for each in heads)
    return not task.branch or bool(resolve(git, f"refs/heads/{task.branch}"))


def _refusal(record: SwarmRecord, found: Sequence[TaskRecord], *, running: bool) -> str:
    shown = [f"{each.task.id} ({each.outcome or each.step})" for each in found[:_SHOWN]]
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    left = [each for each in found if not each.merged]
    if running:
        step = f"ralph-bridge swarm watch {record.run}"
    elif left:
        retry = sorted({each.outcome for each in left} - {"", "interrupted", "skipped", "not pushed"})
        step = f"ralph-bridge swarm resume {record.run}" + (f" --retry '{','.join(retry)}'" if retry else "")
    else:
        step = f"git merge {record.branch}"
    return (
        f"swarm {record.run} has {len(found)} of these tasks, and isn't merged: {', '.join(shown + more)}\n"
        f"  next: {step}, to go on with that; or `ralph-bridge swarm run --again`, to begin them anew"
    )
