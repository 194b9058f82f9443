"""What scripts have started in a session of its own, where no process group reaches it."""

from __future__ import annotations

import contextlib
import os
import re
import signal

__all__ = ["end_leftovers"]

_MARK = re.compile(rb"(?:\A|\0)TMPDIR=([^\0]*/rb-verify-[^/\0]+)/tmp(?:\0|\Z)")
"""The TMPDIR that `Scratch` gives: nobody else's processes have it."""


def end_leftovers() -> list[int]:
    """Kill what was started for a scratch folder that is gone by now; their process ids. Only on Linux.

    Folders of other runs, which are still at work, exist and are left alone.
    """
    ended = []
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                with open(f"{entry.path}/environ", "rb") as file:
                    found = _MARK.search(file.read())
                if found is not None and not os.path.exists(found[1]):
                    os.kill(int(entry.name), signal.SIGKILL)
                    ended.append(int(entry.name))
    return ended
