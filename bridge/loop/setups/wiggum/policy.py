"""What follows from a turn: pure decisions that both modes share.

The order is promise, fatal, plan, circuit breaker, iterations, time: work that is finished in
the last turn is finished.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural
from bridge.loop.setups.wiggum import breaker as breakers
from bridge.loop.setups.wiggum.breaker import Trip, timestamp
from bridge.loop.setups.wiggum.progress import Items
from bridge.loop.setups.wiggum.signs import error_in, fatal_in, is_stuck
from bridge.scripts.stream.status import find_promise

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.loop.setups.wiggum.state import OpenTurn, WiggumState


class Ending(StrEnum):
    """How a loop ends, beside what opens its circuit (`Trip`), and reasons for which no repetition helps."""

    COMPLETE = "complete"
    PLAN_COMPLETE = "plan_complete"
    MAX_ITERATIONS = "max_iterations"
    MAX_MINUTES = "max_minutes"
    MAX_COST = "max_cost"
    MAX_TOKENS = "max_tokens"
    COST_UNKNOWN = "cost_unknown"
    TOKENS_UNKNOWN = "tokens_unknown"
    FATAL = "fatal"
    CANCELLED = "cancelled"


EXIT_CODES: dict[str, int] = {
    **dict.fromkeys(Ending, 1),
    Ending.COMPLETE: 0,
    Ending.PLAN_COMPLETE: 0,
    Ending.FATAL: 5,
    Trip.NO_FILE_CHANGES: 6,
    Trip.REPEATED_ERROR: 7,
    Trip.OUTPUT_DECLINE: 8,
    Trip.STUCK: 9,
    Ending.CANCELLED: 130,
}
_ONE_LINE = 200


def _exit_code(outcome: str) -> int:
    """Return that of ``wiggum start``; what isn't listed is a reason for which no repetition helps."""
    if outcome in EXIT_CODES:
        return EXIT_CODES[outcome]
    from bridge.loop.engine.standstill import (
        NOT_READY,  # with all of `stream.analysis`, which no Stop hook has time for
    )

    return NOT_READY


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    turn: OpenTurn  # which one, and what it started from
    text: str = ""  # the agent's last message
    failure: str | None = None  # why the run of the agent failed
    warnings: tuple[str, ...] = ()  # for people
    changed: bool | None = None  # it changed files; None: nobody can tell
    items: Items = field(default_factory=Items)  # of the fix plan after it
    ticked: tuple[str, ...] = ()  # items that it ticked
    done: str = ""  # what progress.txt says that it completed; '' without an entry
    elapsed: float = 0.0  # seconds since the loop was started
    tool_errors: tuple[str, ...] = ()  # what tells the errors that its tools ended with from others
    recorded: WiggumState | None = None  # what the state file says after it, where the agent may have written to it


def decide(
    state: WiggumState, facts: TurnFacts, now: datetime, *, doubted: bool = False, again: bool = False
) -> tuple[WiggumState, tuple[str, ...]]:
    """Return the state after a turn, whose `outcome` says whether the loop is over, and warnings for people.

    What a failed run says is not believed, except for its call for help.

    Args:
        doubted: nothing that says that all is done is believed.
        again: that was doubted before, and a plan that is done says so again, though no turn has ticked anything.
    """
    evidence = breakers.Evidence(
        changed=facts.changed,
        error=error_in(facts.text) or error_in(f"error: {facts.failure}" if facts.failure else ""),
        output_length=len(facts.text) if facts.failure is None else None,
        stuck=is_stuck(facts.text),
        # A turn that ticks an item gets somewhere, whatever its words and whichever errors it met.
        tool_errors=() if facts.ticked else facts.tool_errors,
        message="" if facts.ticked or facts.changed else facts.text,
    )
    breaker, tripped = breakers.record(state.breaker, evidence, state.breaker_settings, now)
    over = "" if doubted else all_done(state, facts.items, facts.ticked or again)
    after = replace(
        with_items(state, facts.items),
        iteration=facts.turn.number,
        updated_at=timestamp(now),
        last_action=_action(facts),
        breaker=breaker,
        turn=None,
    )
    outcome, reason = _outcome(after, facts, tripped, over, doubted=doubted)
    if outcome in (Ending.COMPLETE, Ending.PLAN_COMPLETE, Ending.FATAL) and tripped.condition:
        # The end comes first: nobody needs the breaker's warning any more.
        after = replace(after, breaker=replace(breaker, state=state.breaker.state))
    warnings = (*facts.warnings, *tripped.warnings)
    return (after if outcome is None else closed(after, outcome, reason, now)), warnings


def closed(state: WiggumState, outcome: str, reason: str, now: datetime) -> WiggumState:
    return replace(
        state,
        outcome=outcome,
        reason=reason,
        exit_code=_exit_code(outcome),
        ended_at=timestamp(now),
        updated_at=timestamp(now),
        turn=None,
        blocks=0,
    )


def reopened(state: WiggumState) -> WiggumState:
    """Take back that a loop is complete."""
    return replace(state, outcome=None, reason="", exit_code=None, ended_at=None)


def _outcome(
    after: WiggumState, facts: TurnFacts, tripped: breakers.Tripped, over: str, *, doubted: bool
) -> tuple[str | None, str]:
    turns = plural(after.iteration, "iteration")
    if facts.failure is None and not doubted and find_promise(facts.text, after.completion_promise):
        return Ending.COMPLETE, f"the promise {after.completion_promise!r} was given after {turns}"
    fatal = fatal_in(facts.text)
    if fatal is not None:
        return Ending.FATAL, f"fatal: {fatal or 'no reason given'}"
    if over:
        return Ending.PLAN_COMPLETE, f"{over} after {turns}"
    if tripped.condition:
        return tripped.condition, f"circuit breaker open: {after.breaker.reason}"
    return used_up(after, facts.elapsed)


def used_up(state: WiggumState, elapsed: float) -> tuple[str | None, str]:
    """Return how a loop ends whose iterations or minutes are over, and a sentence about that; None, '' else."""
    if 0 < state.max_iterations <= state.iteration:
        return Ending.MAX_ITERATIONS, f"maximum iterations ({state.max_iterations}) reached"
    over = minutes_over(state, elapsed)
    return (Ending.MAX_MINUTES, over) if over else (None, "")


def all_done(state: WiggumState, items: Items, ticked: tuple[str, ...] | bool = ()) -> str:
    """Return the sentence that the plan is done, where that completes the loop; else ''.

    A plan that was done before the loop began is no end: a turn has to have `ticked` the last box. A state in the
    published schema counts the items itself: where it says that all are done, they are, unless the plan denies it.
    """
    known = len(state.completed_items)
    stated = not state.run_id and not state.remaining_items and bool(state.total_items or known)
    if not state.plan_completes or not (items.complete if items.total else stated) or not (ticked or stated):
        return ""
    total = items.total or state.total_items or known
    return f"all {total} items{' of the fix plan' if items.total else ''} are done"


def with_items(state: WiggumState, items: Items) -> WiggumState:
    """Put the plan's items into a state; without a plan, what another writer's state says stays."""
    if not items.total and not state.run_id:
        return state
    return replace(state, remaining_items=len(items.todo), total_items=items.total, completed_items=items.done)


def with_recorded(state: WiggumState, facts: TurnFacts) -> WiggumState:
    """Take over the items that the agent has written into the state file, and nothing else of it.

    Only where they count: in a state of the published schema, without a plan.
    """
    found = facts.recorded
    if found is None or state.run_id or facts.items.total:
        return state
    return replace(
        state,
        remaining_items=found.remaining_items,
        total_items=found.total_items,
        completed_items=found.completed_items,
    )


def minutes_over(state: WiggumState, elapsed: float) -> str:
    """Return the sentence that the loop's minutes are over, `elapsed` seconds after its start; else ''."""
    over = state.max_minutes is not None and elapsed >= state.max_minutes * 60
    return f"its {state.max_minutes:g} minutes are over" if over else ""


def _action(facts: TurnFacts) -> str:
    first = next((line for line in facts.text.splitlines() if line.strip()), "")
    action = facts.done or "; ".join(facts.ticked) or (f"failed: {facts.failure}" if facts.failure else first)
    return one_line(action, _ONE_LINE)
