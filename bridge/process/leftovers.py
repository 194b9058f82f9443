"""What a tool has left running: found by a mark in the environment, and ended.

A tool's process group ends with its turn. What has left that group (``setsid``) lives on between the turns, such as
a server that the next turn tests against; after the last one nobody would end it (trap T2).
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING

from bridge.process import guardian, ladder
from bridge.process.ladder import Rung
from bridge.process.table import ancestors, environments, environments_visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MARK = "RALPH_BRIDGE_PROJECT"
"""Variable that the tool gets into its environment, and hands on to what it starts: the project's folder."""

_RUNGS = (Rung(SIGTERM, 2.0), Rung(SIGKILL, 2.0))


def marked(project: Path) -> list[int]:
    """Pids of what tools of this project have left running, by :data:`MARK`; none where that can't be seen."""
    wanted = f"{MARK}={project}".encode("utf-8", "surrogateescape")
    return sorted(pid for pid, variables in environments() if wanted in variables)


@contextmanager
def guarded(project: Path) -> Iterator[None]:
    """Have the guardian end them when this process is killed with -9 within the block; our ancestors are spared."""
    text = f"{MARK}={project}"
    guardian.mark(text, ancestors() - {os.getpid()})
    try:
        yield
    finally:
        guardian.unmark(text)


def end(project: Path, also: Iterable[int] = ()) -> int:
    """End what the tools of this project have left running; return how many process groups that were.

    With the project's lock held and no tool at work: whatever carries the mark then belongs to no loop. Our own
    ancestors are spared: a tool may have started us. A process that is to outlive the loop is started without the
    mark: ``env -u RALPH_BRIDGE_PROJECT setsid ...``.

    Args:
        project: the project's folder, as in the mark.
        also: pids that a record names. They count only where no mark can be seen: the tool can write in the
            folder of that record, and name any process of the user's.
    """
    groups = set()
    for pid in {*marked(project), *(() if environments_visible() else also)} - ancestors():
        with suppress(OSError):
            groups.add(os.getpgid(pid))
    groups.discard(os.getpgid(0))
    if groups:
        ladder.end(groups, _RUNGS)
    return len(groups)
