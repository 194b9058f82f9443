"""The guard of a box: what a turn had no business to change is put back before anybody reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.loop.engine.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.loop.engine.context import LoopContext


class BoxGuard(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._box = loop.settings.box
        if self._box is not None:
            loop.on_ran.append(self._box.guard(loop.logs).after)

    def hold(self) -> Iterable[str]:
        if self._box is None:
            return ()
        self.loop.active.uses(self.loop.shown(self.loop.active.tool))  # records name the box
        return self._box.clear(self.loop.settings.environment)

    def ended(self) -> Iterable[str]:
        return () if self._box is None else self._box.unfinished()
