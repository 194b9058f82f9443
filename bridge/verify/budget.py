"""How long running a script may take: what never comes back is ended, and who is only slow is judged."""

from __future__ import annotations

import os
import time

SLOW = 0.5
"""Seconds from which on a call is worth telling as the reason why time ran out."""


def strain() -> float:
    """How many times as long as on an idle machine things take here: 1 to 8."""
    try:
        return min(8.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    except OSError:
        return 1.0


class Budget:
    """Seconds that everything that is run of one script may take together; they count from the first use.

    What a call has taken that came back is added to them, until it is `longest` in all: so a script with slow
    helpers is judged, and one that hangs keeps nobody.

    Args:
        seconds: for all calls, and what lies between them.
        longest: seconds; nothing is added beyond that. Default: nothing is added at all.
    """

    def __init__(self, seconds: float, longest: float | None = None) -> None:
        self._seconds = seconds
        self._longest = max(seconds, longest or 0.0)
        self._began: float | None = None
        self._stopped = False
        self._added = 0.0
        self._took: dict[str, float] = {}
        self._cut = ""

    def start(self) -> None:
        if self._began is None:
            self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How many there are in all, as far as is known by now."""
        return min(self._seconds + self._added, self._longest)

    @property
    def remaining(self) -> float:
        """Seconds left; never below 0."""
        if self._stopped:
            return 0.0
        return self.seconds if self._began is None else max(0.0, self._began + self.seconds - time.monotonic())

    def came_back(self, hook: str, seconds: float) -> None:
        """A call of this function (empty: of something else) has ended by itself after so many seconds."""
        self._added += seconds
        if hook:
            self._took[hook] = max(seconds, self._took.get(hook, 0.0))

    def was_cut(self, hook: str) -> None:
        """A call of this function was ended because no time was left, and not because it took too long itself."""
        self._cut = hook

    def stop(self) -> None:
        """Let nothing more be run. What runs now ends by its own deadline."""
        self._stopped = True

    @property
    def used_up(self) -> str:
        """Why nothing more is run."""
        hook, longest = max(self._took.items(), key=lambda each: each[1], default=("", 0.0))
        why = f": {self._cut} was still running" if self._cut else ""
        if longest >= SLOW:
            why = f": {hook} takes {longest:.1f} s"
        return f"running the script took longer than {self.seconds:.3g} s{why}; --timeout gives it more"
