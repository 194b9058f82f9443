"""What scripts have started in a session of its own, where no process group reaches it."""

from __future__ import annotations

import os
import re
import signal

from bridge.process.processes import send
from bridge.process.table import environments

__all__ = ["end_leftovers"]

_MARK = re.compile(rb"TMPDIR=(.*/rb-verify-[^/]+)/tmp", re.DOTALL)
"""The TMPDIR that `Scratch` gives: nobody else's processes have it."""


def end_leftovers() -> list[int]:
    """Kill what was started for a scratch folder that is gone by now; their process ids. Only on Linux.

    Folders of other runs, which are still at work, exist and are left alone.
    """
    ended = []
    for pid, variables in environments():
        marks = (_MARK.fullmatch(each) for each in variables)
        if any(found is not None and not os.path.exists(found[1]) for found in marks):
            send(signal.SIGKILL, [pid])
            ended.append(pid)
    return ended
