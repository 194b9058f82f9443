"""What agents have left running: ended when the loop ends, and, of a killed loop, before the next one starts (F-7).

An agent's process group ends with its run. What left that group (``setsid``) lives on between the runs, such as a
server that the next run tests against; after the last run nobody would end it (trap T2).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING

from bridge.loop import groups
from bridge.setups.bmalph.processes import alive, marked

if TYPE_CHECKING:
    from bridge.setups.bmalph.files.runs import Run
    from bridge.setups.bmalph.folder import Folder

__all__ = ["end", "end_all"]


_GRACE = 2.0  # seconds that they may take to obey TERM, and KILL


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
    told = f"an agent that run {before.run_id} had left behind was ended"
    return (told,) if _end_groups(found) else ()


def end_all(folder: Folder) -> int:
    """End what the agents of this loop have left running; return how many process groups that were.

    With the project's lock held, no agent or gate at work. A process that is to outlive the loop is started without
    the mark: ``env -u RALPH_BRIDGE_PROJECT setsid ...``. Where no environment can be seen (macOS) there are none.
    """
    spared = _ancestors()
    return _end_groups({pid for pid in marked(folder.project) if pid not in spared})


def _end_groups(found: set[int]) -> int:
    leaders = set()
    for pid in found:
        with suppress(OSError):
            leaders.add(os.getpgid(pid))
    leaders.discard(os.getpgid(0))
    for number, grace in ((SIGTERM, _GRACE), (SIGKILL, _GRACE)):  # all at once: ten servers take no longer than one
        for group in leaders:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        until = time.monotonic() + grace
        while any(map(groups.lives, leaders)) and time.monotonic() < until:
            time.sleep(0.01)
    return len(leaders)


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
