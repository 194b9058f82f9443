"""When a loop that works is over: ``.exit_signals`` and its rules.

The rules are bmalph's, in its order, over how many entries each rolling array holds. A loop that says
it is complete, once, doesn't end anything; the second one does. A plan with every box ticked does at once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from bridge.base.records import dataclass

if TYPE_CHECKING:
    from bridge.loop.engine.plan import Plan
    from bridge.scripts.stream.analysis import Analysis


ExitReason = Literal[
    "test_saturation", "completion_signals", "safety_circuit_breaker", "project_complete", "plan_complete"
]

_TEST_LOOPS = 3
_DONE_SIGNALS = 2
_SAFETY_LIMIT = 5
_COMPLETE_INDICATORS = 2
_WINDOW = 5


ARRAYS = ("test_only_loops", "done_signals", "completion_indicators")


@dataclass(frozen=True, slots=True)
class ExitSignals:
    """Numbers of loops, in the order in which they ended; at most five each.

    Attributes:
        test_only_loops: loops that did nothing but run tests.
        done_signals: loops that called the work complete.
        completion_indicators: loops that asked for the end.
    """

    test_only_loops: tuple[int, ...] = ()
    done_signals: tuple[int, ...] = ()
    completion_indicators: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.test_only_loops or self.done_signals or self.completion_indicators)


def read_signals(text: str | bytes | None) -> ExitSignals:
    """Read ``.exit_signals``; whatever isn't an array of numbers is an empty one."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return ExitSignals()
    return ExitSignals(*(_loops(found.get(name)) for name in ARRAYS))


def write_signals(signals: ExitSignals) -> str:
    """Write ``.exit_signals``: documented order, two blanks a level, a newline."""
    arrays = {name: list(getattr(signals, name)) for name in ARRAYS}
    return json.dumps(arrays, indent=2) + "\n"


def update_signals(signals: ExitSignals, analysis: Analysis) -> ExitSignals:
    """Take in a loop that ended well.

    A denied loop and one whose claim the plan contradicts prove nothing about being complete.
    """
    loop = analysis.loop_number
    tests = signals.test_only_loops
    if analysis.is_test_only:
        tests = (*tests, loop)
    elif analysis.has_progress:
        tests = ()
    done, asked = signals.done_signals, signals.completion_indicators
    if not (analysis.has_permission_denials or analysis.has_progress_tracking_mismatch):
        done = (*done, loop) if analysis.has_completion_signal else done
        asked = (*asked, loop) if analysis.exit_signal else asked
    return ExitSignals(tests[-_WINDOW:], done[-_WINDOW:], asked[-_WINDOW:])


def exit_reason(
    signals: ExitSignals,
    plan: Plan | None,
    *,
    exit_signal: bool = False,
    test_loops: int = _TEST_LOOPS,
    done_signals: int = _DONE_SIGNALS,
) -> ExitReason | None:
    """Say why the loop is over, or None. Asked before and after each run.

    The signals are those of this run of the loop: a crashed one's would end it at once (trap T7).
    """
    if len(signals.test_only_loops) >= test_loops:
        return "test_saturation"
    if len(signals.done_signals) >= done_signals:
        return "completion_signals"
    if len(signals.completion_indicators) >= _SAFETY_LIMIT:
        return "safety_circuit_breaker"
    if len(signals.completion_indicators) >= _COMPLETE_INDICATORS and exit_signal:
        return "project_complete"
    if plan is not None and plan.complete:
        return "plan_complete"
    return None


def _loops(value: object) -> tuple[int, ...]:
    found = value if isinstance(value, list) else []
    return tuple(item for item in found if isinstance(item, int) and not isinstance(item, bool))[-_WINDOW:]
