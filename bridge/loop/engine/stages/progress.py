"""Whether the loop gets anywhere: failures for good, the same failure again and again, turns without work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.stages.stage import O, Stage
from bridge.loop.engine.standstill import Standstill, WorkWatch, sentence

if TYPE_CHECKING:
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.stages.stage import Events, TurnReport


class Progress(Stage):
    _stands = Standstill()

    def begin_turn(self, plan: Plan | None) -> Events:
        del plan
        self._watch = WorkWatch(self.loop.settings, self.loop.handler.progress, self.loop.tree)
        return ()

    def took(self, report: TurnReport, outcome: O) -> O:
        counts = self.loop.settings.limits.max_idle > 0
        worked = self._watch.worked(report.turn, outcome) if counts else None
        self._stands = self._stands.after(outcome, worked, report.seconds)
        self.loop.permanent, self.loop.idle = outcome.permanent, self._stands.idle
        return outcome

    def judge(self, report: TurnReport, decision: Decision, outcome: Outcome) -> Decision:
        return self._stands.judge(decision, outcome, self.loop.settings.limits, report.cli)

    def counted(self, report: TurnReport, outcome: Outcome) -> None:
        report.worked = self._watch.worked(report.turn, outcome)

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        if outcome.permanent and self._stands.permanent == 1 and decision.verdict is Verdict.CONTINUE:
            once = "; it is tried once more" if self.loop.settings.limits.permanent_failures else ""
            yield f"{sentence(outcome.permanent, report.cli)}{once}"
