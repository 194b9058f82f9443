"""Whose a folder ``.ralph`` is: six systems have one; each is known by its files, never by a folder's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.loop.setups import kinds
from bridge.loop.setups.dot_ralph.folder import RC

if TYPE_CHECKING:
    from pathlib import Path

BMALPH = ("ralph_loop.sh", "drivers/*.sh", ".ralphrc", "@fix_plan.md", "@AGENT.md")
"""Files of ``.ralph``, each of which shows bmalph by itself."""

FRANKBRIA = (".ralph/PROMPT.md", ".ralph/fix_plan.md", ".ralph/AGENT.md", RC)
"""What a frankbria project has; its loop asks for all of it, before it starts and all the time."""

_ENOUGH = 3  # of those: one may have got lost, which the loop then says
# Systems that none of our kinds is and that use a folder .ralph: what shows each of them (all of one group).
_OTHERS = {"ralph-orchestrator": (("ralph.yml",), (".ralph/current-events",), (".ralph/events-*.jsonl",))}


def frankbria(project: Path) -> tuple[str, ...]:
    """Name the files that show that a project is frankbria's; empty for any other."""
    found = tuple(name for name in FRANKBRIA if (project / name).is_file())
    if len(found) < _ENOUGH or any(there(project / ".ralph", name) for name in BMALPH):
        return ()
    return () if len(found) < len(FRANKBRIA) and other_system(project) else found


def other_system(project: Path) -> str:
    """Name another system that a project belongs to, with its file: ``ralph-loop (.ralph/ralph)``; or ''."""
    for name, groups in (*((kind.name, kind.marks) for kind in kinds().values()), *_OTHERS.items()):
        for group in groups:
            found = [there(project, pattern) for pattern in group]
            if all(found):
                return f"{name} ({found[0][0]})"
    return ""


def there(base: Path, pattern: str) -> list[str]:
    """Name the files of a folder that a name, or a pattern with a ``*``, stands for."""
    if "*" in pattern:
        return sorted(str(path.relative_to(base)) for path in base.glob(pattern) if path.is_file())
    return [pattern] if (base / pattern).is_file() else []
