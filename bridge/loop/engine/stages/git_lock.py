"""Locks of git's that were left behind by a git which ended in a turn, or with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.git.left_open import git_dir, remove_stale_locks
from bridge.loop.engine.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.stages.stage import Events


class GitLock(Stage):
    def open(self) -> Iterable[str]:
        before = self.loop.active.before
        if before is not None and before.end is None and before.turn_began > 0:  # its host was killed in this turn
            yield from self._removed(before.turn, before.turn_began, " of the run before")

    def ran(self, turn: Turn, started: float) -> Events:
        return self._removed(turn.request.number, started)

    def _removed(self, turn: int, since: float, of: str = "") -> Iterable[str]:
        for name in remove_stale_locks(git_dir(self.loop.settings.project), since):
            yield f"turn {turn}{of} left .git/{name} behind: nobody held it, it is removed"
