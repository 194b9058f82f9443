"""The beginning and the end of a turn, the same in both modes.

The order of writes makes a kill at any moment harmless: first what tells of the turn (progress.txt, the
checkpoint), then the state that counts it. A turn of the outer loop that nobody ended is ended by the next start,
as an interrupted one; a session's may still be under way.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.git.repository import Look
from bridge.base.process.ask import ask
from bridge.base.records import dataclass
from bridge.loop.setups.wiggum import checkpoints, files, progress
from bridge.loop.setups.wiggum.breaker import timestamp
from bridge.loop.setups.wiggum.policy import Ending, TurnFacts, all_done, closed, decide, with_items
from bridge.loop.setups.wiggum.state import OpenTurn, WiggumState

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.base.git.work import WorkDetector
    from bridge.loop.setups.wiggum.files import Layout
    from bridge.loop.setups.wiggum.progress import Items

_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What the agent left behind.

    Attributes:
        text: its last message.
        failure: why its run failed, or None.
        excused: that is no failure when it has changed files: it ran for too long, used up its own limit of turns,
            or didn't say anything.
        tool_errors: what tells the errors that its tools ended with from others.
    """

    text: str = ""
    failure: str | None = None
    excused: bool = False
    tool_errors: tuple[str, ...] = ()


def begin(layout: Layout, probe: WorkDetector, state: WiggumState, now: datetime) -> WiggumState:
    """Note what the next turn starts from. The state is the caller's to save."""
    look = probe.look()
    number = state.iteration + 1
    blocks = progress.count_blocks(files.read_text(layout.progress) or "", number)
    turn = OpenTurn(number, timestamp(now), look.head, look.tree, blocks)
    known = replace(with_items(state, files.read_plan(layout)), turn=turn, updated_at=timestamp(now))
    return replace(known, last_diff_hash=_diff_hash(probe))


def take_in(layout: Layout, probe: WorkDetector, state: WiggumState, reply: AgentReply) -> TurnFacts:
    turn = state.turn or OpenTurn(state.iteration + 1)
    items = files.read_plan(layout)
    if state.turn:
        changed = probe.changed(Look(turn.head, turn.tree), probe.look())
    else:
        changed = _seems_changed(layout, probe, state)
    excused = reply.failure is not None and reply.excused and bool(changed)
    return TurnFacts(
        turn=turn,
        text=reply.text,
        failure=None if excused else reply.failure,
        warnings=(f"{reply.failure}; its work counts",) if excused else (),
        changed=changed,
        items=items,
        ticked=_newly_ticked(items, state),
        done=_own_entry(layout, turn),
        tool_errors=reply.tool_errors,
    )


def keep(
    layout: Layout, probe: WorkDetector, after: WiggumState, facts: TurnFacts, now: datetime, *, note: str = ""
) -> tuple[str, ...]:
    failed = after.outcome not in (None, Ending.COMPLETE, Ending.PLAN_COMPLETE)
    _append_block(layout, facts, (after.reason,) if failed else (), now)
    turn, run = facts.turn, after.run_id or "run"
    made = checkpoints.make(probe.git, turn.number, after.checkpoints, run=run, since=turn.head, note=note)
    return (made.warning,) if made.warning else ()


def log_end(layout: Layout, after: WiggumState, facts: TurnFacts) -> None:
    which = f"iteration {after.iteration}"
    if facts.failure:
        files.log(layout, f"{which} failed: {facts.failure}", "WARN")
    else:
        files.log(layout, f"{which} is over: {after.last_action or 'nothing was said'}")
    if after.outcome is None:
        files.log(layout, f"{which}: the loop goes on; circuit breaker {after.breaker.state}")
    else:
        ending = f"{which}: the loop ends, {after.outcome} (exit code {after.exit_code}): {after.reason}"
        files.log(layout, ending, "INFO" if after.exit_code == 0 else "WARN")


def end(
    layout: Layout, probe: WorkDetector, state: WiggumState, reply: AgentReply, now: datetime, *, elapsed: float
) -> tuple[WiggumState, tuple[str, ...]]:
    """Take in a turn, decide, and keep its work; return the state, which is the caller's to save, and warnings."""
    facts = replace(take_in(layout, probe, state, reply), elapsed=elapsed)
    after, warnings = decide(state, facts, now)
    warnings = (*warnings, *keep(layout, probe, after, facts, now))
    for warning in warnings:
        files.log(layout, f"iteration {after.iteration}: {warning}", "WARN")
    log_end(layout, after, facts)
    return after, warnings


def recover(layout: Layout, probe: WorkDetector, state: WiggumState, now: datetime) -> tuple[WiggumState, str]:
    """End a turn that nobody ended: its host was killed. Its work is kept and it counts; say so, or ''."""
    turn = state.turn
    if turn is None:
        return state, ""
    items = files.read_plan(layout)
    ticked, done = _newly_ticked(items, state), _own_entry(layout, turn)
    facts = TurnFacts(turn=turn, failure="interrupted", items=items, ticked=ticked, done=done)
    warnings = keep(layout, probe, state, facts, now, note=" (interrupted)")
    over = all_done(state, items, ticked)
    after = replace(
        with_items(state, items),
        iteration=turn.number,
        turn=None,
        last_action=done or "interrupted",
        updated_at=timestamp(now),
    )
    if over:
        after = closed(after, Ending.PLAN_COMPLETE, over, now)
    message = f"iteration {turn.number} was interrupted; its work is kept, the loop goes on behind it"
    return after, "; ".join((message, *warnings))


def _diff_hash(probe: WorkDetector) -> str:
    """Give what the sample hook tells changes by, computed as it does; '' without git."""
    if probe.git is None:
        return ""
    argv, env = probe.git.looking(("diff", "--stat"))
    shown = ask(argv, cwd=probe.project, env=env, patience=_PATIENCE)
    return hashlib.md5(shown.out, usedforsecurity=False).hexdigest()


def _seems_changed(layout: Layout, probe: WorkDetector, state: WiggumState) -> bool | None:
    """Say whether a turn did work of which nobody noted what it started from: another program ended the one before,
    and wrote the state then. None when nobody can tell."""
    tree = probe.git.look() if probe.git is not None else None
    if probe.git is None or tree is None or not layout.state.exists():
        return None
    ended = layout.state.stat().st_mtime_ns
    paths = [probe.git.top / path for path in probe.git.work(tree)]
    if any(path.lstat().st_ctime_ns > ended for path in paths if os.path.lexists(path)):
        return True
    if paths and state.last_diff_hash and state.last_diff_hash != _diff_hash(probe):
        return True
    log = probe.project / probe.git.run("rev-parse", "--git-path", "logs/HEAD").text
    if not log.is_file() or not all(map(os.path.lexists, paths)):
        return None
    own = probe.git.run("log", "-1", "--format=%s").text == checkpoints.message(state.iteration)
    return log.stat().st_mtime_ns > ended and not own


def _newly_ticked(items: Items, state: WiggumState) -> tuple[str, ...]:
    return tuple((Counter(items.done) - Counter(state.completed_items)).elements())


def _own_entry(layout: Layout, turn: OpenTurn) -> str:
    """Return what the agent's own block says that it completed; '' when it wrote none in this turn."""
    text = files.read_text(layout.progress) or ""
    own = [block for block in progress.read_blocks(text) if block.iteration == turn.number and not block.auto]
    return "; ".join(own[-1].completed) if own and progress.count_blocks(text, turn.number) > turn.blocks else ""


def _append_block(layout: Layout, facts: TurnFacts, blockers: tuple[str, ...], now: datetime) -> None:
    turn = facts.turn
    text = files.read_text(layout.progress) or ""
    if progress.count_blocks(text, turn.number) > turn.blocks:
        return
    block = progress.Block(
        iteration=turn.number,
        timestamp=timestamp(now),
        completed=facts.ticked,
        attempted=(facts.failure,) if facts.failure else (),
        next=facts.items.todo[:1],
        blockers=blockers,
    )
    files.append_progress(layout, progress.host_block(block))
