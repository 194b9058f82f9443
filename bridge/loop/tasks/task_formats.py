"""Tasks written down: as a plan with boxes, as a list of stories, as YAML. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.loop.engine.plan import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.loop.tasks.task import Task

_BOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\] ?")


def written(tasks: Sequence[Task], form: str) -> str:
    """Write tasks down.

    Args:
        tasks: in their order.
        form: ``plan``, ``prd`` or ``yaml``.
    """
    return {"plan": _plan, "prd": _prd, "yaml": _yaml}[form](tasks)


def _plan(tasks: Sequence[Task]) -> str:
    lines = ["# Plan", ""]
    for task in tasks:
        mark = f"[{task.ref}] " if re.fullmatch(r"#\d+", task.ref) and task.ref != task.title else ""
        lines.append(f"- [ ] {mark}{task.title}")
        rest = task.prompt.strip().splitlines()
        # A box in a task's own text would be one of the plan.
        lines += [f"  {_BOX.sub('- ', line)}".rstrip() for line in rest if _BOX.sub("", line).strip() != task.title]
    return escaped("\n".join(lines) + "\n")


def _prd(tasks: Sequence[Task]) -> str:
    stories = [
        {
            "id": task.id,
            "title": task.title,
            "description": task.prompt,
            "acceptanceCriteria": [],
            "priority": number,
            "dependsOn": [*task.needs],
            "passes": False,
        }
        for number, task in enumerate(tasks, 1)
    ]
    return json.dumps({"userStories": stories}, ensure_ascii=False, indent=2) + "\n"


def _yaml(tasks: Sequence[Task]) -> str:
    import yaml

    entries = [
        {
            "id": each.id,
            "title": each.title,
            "prompt": each.prompt,
            **({"needs": [*each.needs]} if each.needs else {}),
        }
        for each in tasks
    ]
    return str(yaml.safe_dump(entries, allow_unicode=True, sort_keys=False, width=100))
