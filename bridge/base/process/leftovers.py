"""What a tool has left running: found by a mark in the environment, and ended.

A tool's process group ends with its turn. What has left that group (``setsid``, ``nohup`` and two forks) is ended
behind it, and once more behind the last one (trap T2); what is to stay is started without the mark.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING

from bridge.base.process import guardian, ladder
from bridge.base.process.ladder import Rung
from bridge.base.process.table import ancestors, environments, environments_visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MARK = "RALPH_BRIDGE_PROJECT"
"""Variable that the tool gets into its environment, and hands on to what it starts: the project's folder."""

SCRIPT_MARK = "RALPH_BRIDGE_SCRIPT"
"""The same of a loop script, which isn't a turn's, and none of what a turn has left."""
ALL_MARKS = (MARK, SCRIPT_MARK)
"""Of a project in which no loop is at work."""

_RUNGS = (Rung(SIGTERM, 2.0), Rung(SIGKILL, 2.0))


def marked(project: Path, marks: Iterable[str] = (MARK,)) -> list[int]:
    """Pids of what tools of this project have left running, by their marks; none where that can't be seen."""
    wanted = {f"{mark}={project}".encode("utf-8", "surrogateescape") for mark in marks}
    return sorted(pid for pid, variables in environments() if not wanted.isdisjoint(variables))


@contextmanager
def guarded(project: Path) -> Iterator[None]:
    """Have the guardian end them when this process is killed with -9 within the block; our ancestors are spared."""
    text = f"{MARK}={project}"
    guardian.mark(text, ancestors() - {os.getpid()})
    try:
        yield
    finally:
        guardian.unmark(text)


def end(project: Path, also: Iterable[int] = (), marks: Iterable[str] = (MARK,)) -> int:
    """End what the tools of this project have left running; return how many process groups that were.

    With the project's lock held and no tool at work: whatever carries the mark then belongs to no loop. Our own
    ancestors are spared: a tool may have started us. A process that is to outlive the loop is started without the
    mark: ``env -u RALPH_BRIDGE_PROJECT setsid ...``.

    Args:
        project: the project's folder, as in the mark.
        also: pids that a record names. They count only where no mark can be seen: the tool can write in the
            folder of that record, and name any process of the user's.
        marks: of what is ended.
    """
    groups = set()
    for pid in {*marked(project, marks), *(() if environments_visible() else also)} - ancestors():
        with suppress(OSError):
            groups.add(os.getpgid(pid))
    groups.discard(os.getpgid(0))
    if groups:
        ladder.end(groups, _RUNGS)
    return len(groups)
