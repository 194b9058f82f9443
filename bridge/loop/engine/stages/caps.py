"""What the run may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.loop.engine.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.loop.engine.caps import Tally
    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Events


class SpendingCaps(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._caps = loop.settings.caps
        loop.bars.append(self._reached)

    def _reached(self, tally: Tally) -> Decision | None:
        return self._caps.reached(tally.spent, tally.untold, self.loop.clock.now())

    def open(self) -> Iterable[str]:
        self._warned_at = self.loop.active.spent
        return ()

    def settle(self) -> Events:
        before, self._warned_at = self._warned_at, self.loop.tally.spent
        return self._caps.warnings(before, self._warned_at)
