"""Output that never holds a loop up: a pipe that nobody reads, or that has gone, costs lines, not the night.

The original's dashboard gives the loop pipes and never reads them (trap T3): after some dozen loops a write
blocks for ever. Whatever is dropped here stands in ``ralph.log``.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["Mouth"]

_ATOMIC = 4096  # what a pipe takes whole when poll says that it takes something
_PATIENCE = 1000  # milliseconds, the first time


class Mouth:
    """Writes to a stream as long as somebody listens.

    Args:
        stream: stdout or stderr; None when there is none.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._descriptor = -1
        self._patience = _PATIENCE
        if stream is not None:
            stream.flush()
            self._descriptor = stream.fileno()
            self._poller = select.poll()
            self._poller.register(self._descriptor, select.POLLOUT)

    def say(self, text: str) -> None:
        """Write a text, or as much of it as goes. Never raises, never waits for longer than a second."""
        data = text.encode("utf-8", "replace")
        while data and self._descriptor >= 0:
            try:
                if not self._poller.poll(self._patience):
                    self._patience = 0  # nobody reads; once somebody does, lines come through again
                    return
                written = os.write(self._descriptor, data[:_ATOMIC])
            except OSError:
                self._descriptor = -1
                return
            self._patience = _PATIENCE
            data = data[written:]
