"""What a killed loop may have left running: its agent. It is ended before the next one starts (pain F-7)."""

from __future__ import annotations

import os
from contextlib import suppress
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING

from bridge.loop import groups
from bridge.setups.bmalph.processes import alive, marked

if TYPE_CHECKING:
    from bridge.setups.bmalph.files.runs import Run
    from bridge.setups.bmalph.folder import Folder

__all__ = ["end"]


def end(folder: Folder, before: Run | None) -> tuple[str, ...]:
    """End what the agent of a run that did not end in order has left running; say so, if there was any.

    With the project's lock held: whatever carries this project's mark then belongs to no loop. A run that ended
    in order has seen to its own. Our own ancestors are spared: an agent may have started us.

    Args:
        folder: the loop's folder.
        before: the last run, or None.
    """
    if before is None or before.end is not None:
        return ()
    spared = _ancestors()
    found = {pid for pid in marked(folder.project) if pid not in spared}
    if before.agent is not None and alive(before.agent) and before.agent.pid not in spared:
        found.add(before.agent.pid)
    leaders = set()
    for pid in found:
        with suppress(OSError):
            leaders.add(os.getpgid(pid))
    leaders.discard(os.getpgid(0))
    for group in leaders:
        groups.end(group, ((SIGTERM, 2.0), (SIGKILL, 2.0)), lambda group=group: groups.lives(group))  # type: ignore[misc]
    return (f"an agent that run {before.run_id} had left behind was ended",) if leaders else ()


def _ancestors() -> set[int]:
    found, pid = set(), os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError):
            break
    return found
