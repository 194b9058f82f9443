"""What follows from a turn: pure decisions that both modes share.

The order is promise, fatal, plan, circuit breaker, iterations, time: work that is finished in
the last turn is finished.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from bridge.setups.wiggum import breaker as breakers
from bridge.setups.wiggum.plan import Items
from bridge.setups.wiggum.signs import error_in, fatal_in, is_stuck
from bridge.stream.status import find_promise

if TYPE_CHECKING:
    from bridge.setups.wiggum.state import State

__all__ = [
    "EXIT_CODES",
    "Decision",
    "Heard",
    "all_done",
    "closed",
    "decide",
    "minutes_over",
    "stamp",
    "with_items",
]

EXIT_CODES = {
    "complete": 0,
    "plan_complete": 0,
    "max_iterations": 1,
    "max_minutes": 1,
    "fatal": 5,
    "no_file_changes": 6,
    "repeated_error": 7,
    "output_decline": 8,
    "stuck": 9,
    "cancelled": 130,
}
"""Outcome of a loop to the exit code of ``wiggum start``."""

_ONE_LINE = 200


@dataclass(frozen=True, slots=True)
class Heard:
    """What one turn came to.

    Attributes:
        text: the agent's last message.
        failure: why the run of the agent failed, or None.
        changed: it changed files; None: nobody can tell.
        items: the fix plan behind it.
        ticked: items that it ticked.
        done: what progress.txt says that it completed; '' without an entry.
        elapsed: seconds since the loop was started, as far as minutes are limited.
        tool_errors: what tells the errors from others that its tools ended with.
    """

    text: str = ""
    failure: str | None = None
    changed: bool | None = None
    items: Items = field(default_factory=Items)
    ticked: tuple[str, ...] = ()
    done: str = ""
    elapsed: float = 0.0
    tool_errors: tuple[str, ...] = ()


class Decision(NamedTuple):
    """How to go on.

    Attributes:
        outcome: how the loop ended; None: it goes on.
        reason: a sentence about that; '' when it goes on.
        warnings: for people.
        failure: why the turn counts as failed, or None.
    """

    outcome: str | None = None
    reason: str = ""
    warnings: tuple[str, ...] = ()
    failure: str | None = None


def decide(state: State, heard: Heard, now: datetime) -> tuple[State, Decision]:
    """Take in a turn; return the state behind it, and how to go on.

    What a failed run says is not believed, its call for help excepted.
    """
    evidence = breakers.Evidence(
        changed=heard.changed,
        error=error_in(heard.text) or error_in(f"error: {heard.failure}" if heard.failure else ""),
        output_length=len(heard.text) if heard.failure is None else None,
        stuck=is_stuck(heard.text),
        # Whoever ticks an item gets somewhere, in the same words each time, and over an error by the way.
        tool_errors=() if heard.ticked else heard.tool_errors,
        message="" if heard.ticked else heard.text,
    )
    breaker, verdict = breakers.record(state.breaker, evidence, state.breaker_settings, now)
    over = all_done(state, heard.items, heard.ticked)
    after = replace(
        with_items(state, heard.items),
        iteration=state.iteration + 1,
        updated_at=stamp(now),
        last_action=_action(heard),
        breaker=breaker,
        turn=None,
    )
    outcome, reason = _outcome(after, heard, verdict, over)
    if outcome in ("complete", "plan_complete", "fatal"):
        # The end comes first: what the breaker would have said of this turn has no one to warn.
        after = replace(after, breaker=replace(breaker, state=state.breaker.state) if verdict.trip else breaker)
    if outcome is None:
        return after, Decision(warnings=verdict.warnings, failure=heard.failure)
    return closed(after, outcome, reason, now), Decision(outcome, reason, verdict.warnings, heard.failure)


def closed(state: State, outcome: str, reason: str, now: datetime) -> State:
    """Write an outcome into a state."""
    return replace(
        state,
        outcome=outcome,
        reason=reason,
        exit_code=EXIT_CODES[outcome],
        ended_at=stamp(now),
        updated_at=stamp(now),
        turn=None,
        blocks=0,
    )


def stamp(now: datetime) -> str:
    """Write a moment as the files have it: UTC, whole seconds."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _outcome(after: State, heard: Heard, verdict: breakers.Verdict, over: str) -> tuple[str | None, str]:
    turns = _turns(after.iteration)
    if heard.failure is None and find_promise(heard.text, after.completion_promise):
        return "complete", f"the promise {after.completion_promise!r} was given after {turns}"
    fatal = fatal_in(heard.text)
    if fatal is not None:
        return "fatal", f"fatal: {fatal or 'no reason given'}"
    if over:
        return "plan_complete", f"{over} after {turns}"
    if verdict.trip:
        return verdict.trip, f"circuit breaker open: {after.breaker.reason}"
    if 0 < after.max_iterations <= after.iteration:
        return "max_iterations", f"maximum iterations ({after.max_iterations}) reached"
    if over := minutes_over(after, heard.elapsed):
        return "max_minutes", over
    return None, ""


def all_done(state: State, items: Items, ticked: tuple[str, ...] = ()) -> str:
    """Say that the plan is done where that completes the loop, else ''.

    A plan that was done before the loop began is no end: a turn has to have `ticked` the last box. A state in the
    published schema counts the items itself: where it says that all are done, they are, unless the plan denies it.
    """
    known = len(state.completed_items)
    said = not state.run_id and not state.remaining_items and bool(state.total_items or known)
    if not state.plan_completes or not (items.complete if items.total else said) or not (ticked or said):
        return ""
    total = items.total or state.total_items or known
    return f"all {total} items{' of the fix plan' if items.total else ''} are done"


def with_items(state: State, items: Items) -> State:
    """Take over how the plan stands; without one, what another writer's state says stays."""
    if not items.total and not state.run_id:
        return state
    return replace(state, remaining_items=len(items.todo), total_items=items.total, completed_items=items.done)


def minutes_over(state: State, elapsed: float) -> str:
    """Say that no turn may be begun any more, `elapsed` seconds after the start; '' while one may."""
    over = state.max_minutes is not None and elapsed >= state.max_minutes * 60
    return f"its {state.max_minutes:g} minutes are over" if over else ""


def _turns(count: int) -> str:
    return "1 iteration" if count == 1 else f"{count} iterations"


def _action(heard: Heard) -> str:
    first = next((line for line in heard.text.splitlines() if line.strip()), "")
    said = heard.done or "; ".join(heard.ticked) or (f"failed: {heard.failure}" if heard.failure else first)
    text = " ".join("".join(each if each.isprintable() else " " for each in said).split())
    return text if len(text) <= _ONE_LINE else text[: _ONE_LINE - 3] + "..."
