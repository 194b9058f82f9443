"""The beginning and the end of a turn, the same in both modes.

The order of writes makes a kill at any moment harmless: first what tells of the turn (progress.txt, the
checkpoint), then the state that counts it. A turn of the outer loop that nobody ended is ended by the next start,
as an interrupted one; a session's may still be under way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.git.repository import Look
from bridge.setups.wiggum import checkpoints, files, progress
from bridge.setups.wiggum.breaker import timestamp
from bridge.setups.wiggum.policy import Decision, TurnFacts, all_done, closed, decide, with_items
from bridge.setups.wiggum.state import State, Turn

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.git.work import Probe
    from bridge.loop.turn_records import TurnRecord
    from bridge.setups.wiggum.files import Layout
    from bridge.setups.wiggum.progress import Items


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What the agent left behind.

    Attributes:
        text: its last message.
        failure: why its run failed, or None.
        excused: that is no failure when it has changed files: it ran for too long, or didn't say anything.
        elapsed: seconds that the loop has run.
        record: the turn, summed up for the records; None: the agent was not run.
        tool_errors: what tells the errors from others that its tools ended with.
    """

    text: str = ""
    failure: str | None = None
    excused: bool = False
    elapsed: float = 0.0
    tool_errors: tuple[str, ...] = ()
    record: TurnRecord | None = None


@dataclass(frozen=True, slots=True)
class Limited:
    """A provider's limit has ended the agent's run, which is repeated behind it: no turn, but on record."""

    record: TurnRecord


def begin(layout: Layout, probe: Probe, state: State, now: datetime) -> State:
    """Note what the next turn starts from. The state is the caller's to save."""
    look = probe.look()
    number = state.iteration + 1
    blocks = progress.count_blocks(files.read_text(layout.progress) or "", number)
    items = files.read_plan(layout)
    files.log(layout, f"iteration {number} begins")
    return replace(
        with_items(state, items),
        turn=Turn(number, timestamp(now), look.head, look.tree, blocks),
        updated_at=timestamp(now),
    )


def end(layout: Layout, probe: Probe, state: State, reply: AgentReply, now: datetime) -> tuple[State, Decision]:
    """Take in what a turn came to: progress block, checkpoint, decision. The state is the caller's to save."""
    turn = state.turn or Turn(state.iteration + 1)
    items = files.read_plan(layout)
    changed = probe.changed(Look(turn.head, turn.tree), probe.look()) if state.turn else None
    excused = reply.failure and reply.excused and changed
    excuse = (f"{reply.failure}; its work counts",) if excused else ()
    facts = TurnFacts(
        text=reply.text,
        failure=None if excuse else reply.failure,
        changed=changed,
        items=items,
        ticked=_newly_ticked(items, state),
        done=_own_entry(layout, turn),
        elapsed=reply.elapsed,
        tool_errors=reply.tool_errors,
    )
    after, decision = decide(replace(state, iteration=turn.number - 1), facts, now)
    _append_block(layout, turn, facts, decision, now)
    made = _checkpoint(probe, after, turn)
    warnings = (*excuse, *decision.warnings, *((made.warning,) if made.warning else ()))
    decision = decision._replace(warnings=warnings)
    _log(layout, after, decision)
    return after, decision


def _log(layout: Layout, state: State, decision: Decision) -> None:
    which = f"iteration {state.iteration}"
    for warning in decision.warnings:
        files.log(layout, f"{which}: {warning}", "WARN")
    if decision.failure:
        files.log(layout, f"{which} failed: {decision.failure}", "WARN")
    else:
        files.log(layout, f"{which} is over: {state.last_action or 'nothing was said'}")
    if decision.outcome is None:
        files.log(layout, f"{which}: the loop goes on; circuit breaker {state.breaker.state}")
    else:
        good = state.exit_code == 0
        ending = f"{which}: the loop ends, {decision.outcome} (exit code {state.exit_code}): {decision.reason}"
        files.log(layout, ending, "INFO" if good else "WARN")


def recover(layout: Layout, probe: Probe, state: State, now: datetime) -> tuple[State, str]:
    """End a turn that nobody ended: its host was killed. Its work is kept and it counts; say so, or ''."""
    turn = state.turn
    if turn is None:
        return state, ""
    items = files.read_plan(layout)
    facts = TurnFacts(
        failure="interrupted", items=items, ticked=_newly_ticked(items, state), done=_own_entry(layout, turn)
    )
    _append_block(layout, turn, facts, Decision(), now)
    made = _checkpoint(probe, state, turn, note=" (interrupted)")
    over = all_done(state, items, facts.ticked)
    after = replace(
        with_items(state, items),
        iteration=turn.number,
        turn=None,
        last_action=facts.done or "interrupted",
        updated_at=timestamp(now),
    )
    if over:
        after = closed(after, "plan_complete", over, now)
    told = f"iteration {turn.number} was interrupted; its work is kept, the loop goes on behind it"
    return after, "; ".join(filter(None, (told, made.warning)))


def _checkpoint(probe: Probe, state: State, turn: Turn, note: str = "") -> checkpoints.CheckpointResult:
    return checkpoints.make(
        probe.git, turn.number, state.checkpoints, run=state.run_id or "run", since=turn.head, note=note
    )


def _newly_ticked(items: Items, state: State) -> tuple[str, ...]:
    return tuple((Counter(items.done) - Counter(state.completed_items)).elements())


def _own_entry(layout: Layout, turn: Turn) -> str:
    """Give what the agent's own block says that it completed; '' when it wrote none in this turn."""
    text = files.read_text(layout.progress) or ""
    own = [block for block in progress.read_blocks(text) if block.iteration == turn.number and not block.auto]
    return "; ".join(own[-1].completed) if own and progress.count_blocks(text, turn.number) > turn.blocks else ""


def _append_block(layout: Layout, turn: Turn, facts: TurnFacts, decision: Decision, now: datetime) -> None:
    """Append a block to progress.txt unless the agent did."""
    text = files.read_text(layout.progress) or ""
    if progress.count_blocks(text, turn.number) > turn.blocks:
        return
    block = progress.Block(
        turn.number,
        timestamp(now),
        completed=facts.ticked,
        attempted=(facts.failure,) if facts.failure else (),
        next=facts.items.todo[:1],
        blockers=(decision.reason,) if decision.outcome not in (None, "complete", "plan_complete") else (),
    )
    files.append_progress(layout, progress.host_block(block))
