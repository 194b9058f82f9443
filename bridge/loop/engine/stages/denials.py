"""Tools that a turn was refused: how to allow them, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.loop.engine.events import DenialHelp
from bridge.loop.engine.stages.stage import Stage

if TYPE_CHECKING:
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Events, TurnReport


class Denials(Stage):
    _helped = False

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        del decision
        if outcome.denied and not self._helped:
            self._helped = True
            refused = outcome.analysis.denied_commands if outcome.analysis else ()
            yield DenialHelp(report.turn.request.number, refused, report.turn.tool.denial_help())
