"""What people do with a loop from outside: look at it, stop it, reset its breaker, restore a checkpoint."""

from __future__ import annotations

import os
import signal
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import make_folder, usable, write_atomic
from bridge.base.git.repository import find_repository
from bridge.base.process.table import has_open
from bridge.errors import ConfigurationError, ProjectBusy
from bridge.loop.engine.lock import FILE as LOCK
from bridge.loop.engine.lock import holder_pid
from bridge.loop.setups.wiggum import breaker as breakers
from bridge.loop.setups.wiggum import files, progress, turns
from bridge.loop.setups.wiggum.breaker import timestamp
from bridge.loop.setups.wiggum.checkpoints import Restored, listed, restore
from bridge.loop.setups.wiggum.files import FILES
from bridge.loop.setups.wiggum.plugin import read_plugin
from bridge.loop.setups.wiggum.policy import Ending, all_done, closed, with_items
from bridge.loop.setups.wiggum.state import WiggumState

if TYPE_CHECKING:
    from bridge.base.git.work import WorkDetector
    from bridge.loop.setups.setup_kind import Rows
    from bridge.loop.setups.wiggum.files import Layout


def overview(layout: Layout) -> dict[str, Any]:
    """Return what ``wiggum status --json`` prints, except for its schema number. Raises StateUnreadable."""
    state = files.latest_state(layout)
    items = files.read_plan(layout)
    blocks = progress.read_blocks(files.read_text(layout.progress) or "")
    plan = {"done": len(items.done), "remaining": len(items.todo), "total": items.total}
    pid = holder_pid(layout.folder)
    shown: dict[str, Any] = {
        "active": state is not None and state.outcome is None,
        "running": pid is not None,
        "pid": pid,
        "items": plan | {"next": items.todo[0] if items.todo else None},
        "progress": asdict(blocks[-1]) if blocks else None,
        "plugin": _plugin(layout),
    }
    if state is None:
        return shown | {"iteration": None, "outcome": None, "breaker": None, "last_action": None}
    state = with_items(state, items)  # as the plan is now, not as it was when the last turn ended
    if not items.total:  # another program's state counts them itself
        left, total = state.remaining_items, state.total_items
        shown["items"] |= {"done": max(0, total - left), "remaining": left, "total": total}
    if state.outcome is None and (over := all_done(state, items)):
        state = replace(state, outcome=Ending.PLAN_COMPLETE, reason=over, exit_code=0)
        shown["active"] = False
    shown |= asdict(state)
    for key in ("extra", "turn", "breaker_settings"):
        shown.pop(key)
    until = breakers.cooled_at(state.breaker, state.breaker_settings) if state.breaker.is_open else None
    checkpoints = listed(find_repository(layout.project, FILES), state.run_id)
    return shown | {
        "turn": state.turn.number if state.turn else None,
        "completed_items": list(state.completed_items),
        "breaker": asdict(state.breaker) | {"again_at": timestamp(until) if until else None},
        "checkpoints": shown["checkpoints"] | {"count": len(checkpoints)},
        "cancelling": state.outcome is None and files.is_cancelled(layout),
    }


def _plugin(layout: Layout) -> dict[str, Any] | None:
    """Where a loop of the official plugin stands, or None: our hook goes on with it, and ``stop`` stops it."""
    text = files.read_text(layout.plugin)
    if text is None:
        return None
    found = asdict(read_plugin(text, str(layout.plugin)))
    return {key: found[key] for key in ("iteration", "max_iterations", "promise", "session_id")}


def loop_rows(seen: dict[str, Any]) -> Rows:
    """Say what a wiggum loop is at, a fact per row, behind the rows that every loop has."""
    items, plugin, breaker, block = seen["items"], seen["plugin"], seen["breaker"], seen["progress"]
    rows = _loop(seen) if seen["iteration"] is not None else []
    if plugin is not None:
        most = f" of {plugin['max_iterations']}" if plugin["max_iterations"] else ""
        rows.append(("plugin", f"a loop of the official plugin, in iteration {plugin['iteration']}{most}"))
    if items["total"]:
        rows.append(("items", f"{items['done']} of {items['total']} done"))
    if items["next"]:
        rows.append(("next item", items["next"]))
    if breaker:
        why = f": {breaker['reason']}" if breaker["reason"] else ""
        again = f", again at {breaker['again_at']}" if breaker["again_at"] else ""
        rows.append(("breaker", f"{breaker['state']}{why}{again}"))
    if seen["last_action"]:
        rows.append(("last action", seen["last_action"]))
    if block and block["blockers"]:
        rows.append(("blockers", "; ".join(block["blockers"])))
    return rows


def _loop(seen: dict[str, Any]) -> Rows:
    limit = seen["max_iterations"]
    most = (f" of {limit}" if seen["iteration"] <= limit else f", limit {limit}") if limit else ""
    if seen["outcome"]:
        now = f"{seen['outcome']}" + (f" ({seen['reason']})" if seen["reason"] else "")
    elif seen["running"]:
        now = "stops before its next turn" if seen["cancelling"] else ""
    elif seen["mode"] == "hook":
        owner = seen["session_id"]
        now = f"in session {owner}" if owner else "waits for its session's first stop"
    else:
        now = "left in the middle: ralph-bridge wiggum start goes on"
    rows = [("task", seen["task_name"])] if seen["task_name"] else []
    return [
        *rows,
        ("mode", seen["mode"] + (f", {now}" if now else "")),
        ("iteration", f"{seen['iteration']}{most}"),
        ("promise", seen["completion_promise"]),
    ]


class Stopped(NamedTuple):
    stopped: bool  # there was something to stop
    message: str


def stop(layout: Layout, *, at_once: bool = False) -> Stopped:
    """Ask a running loop to end, with `at_once` also its turn; close the state of one that isn't running."""
    now = datetime.now(UTC)
    pid = holder_pid(layout.folder)
    if pid is not None:
        with usable(layout.cancel):
            make_folder(layout.folder)
            write_atomic(layout.cancel, f"{timestamp(now)}\n")
        # The record lies where the agent writes: only who has the lock open is the loop.
        if at_once and pid and has_open(pid, layout.folder / LOCK):
            os.kill(pid, signal.SIGTERM)
            return Stopped(True, f"the loop (process {pid}) is told to end now")
        return Stopped(True, "the loop ends before its next turn")
    if layout.plugin.is_file():
        kept = files.set_aside(layout, layout.plugin, timestamp(now))
        files.log(layout, "the plugin's loop was stopped by hand")
        return Stopped(True, f"stopped; the plugin's state is kept as {kept}")
    state = files.latest_state(layout)
    if state is None or state.outcome is not None:
        ended = f": it has ended, {state.outcome}" if state else ""
        return Stopped(False, f"there is no loop to stop{ended}")
    with files.locked(layout):
        state = files.load(layout)
        if state is None or state.outcome is not None:
            return Stopped(False, "there is no loop to stop: it has just ended")
        files.finish(layout, closed(state, Ending.CANCELLED, "stopped by hand", now))
    files.log(layout, f"iteration {state.iteration}: the loop was stopped by hand")
    return Stopped(True, f"stopped after iteration {state.iteration}")


def close_interrupted(layout: Layout, probe: WorkDetector, now: datetime) -> WiggumState:
    """Close the state of a loop that was told to end in the middle of a turn; its work is kept.

    The caller holds the project's lock, and no agent runs any more.
    """
    state, _ = turns.recover(layout, probe, files.load(layout) or WiggumState(), now)
    state = closed(state, Ending.CANCELLED, "stopped by hand", now)
    files.finish(layout, state)
    files.clear_cancel(layout)
    files.log(layout, f"iteration {state.iteration}: the loop was stopped by hand, in the middle of the turn")
    return state


def reset(layout: Layout) -> str:
    _refuse_running(layout, "its breaker can't be reset")
    with files.locked(layout):
        state = files.latest_state(layout)
        if state is None:
            raise ConfigurationError(f"there is no loop in {layout.project}\n  next: ralph-bridge wiggum start")
        after = breakers.reset(state.breaker)
        if state.outcome is None or state.breaker.state is not breakers.WiggumCircuit.CLOSED:
            files.save(layout, replace(state, breaker=after))
    message = f"circuit breaker: {state.breaker.state} -> {after.state}, counters are 0"
    files.log(layout, f"reset by hand; {message}")
    return message


def restore_checkpoint(layout: Layout, number: int, run: str | None) -> Restored:
    _refuse_running(layout, "nothing is restored under its hands")
    git = find_repository(layout.project, FILES)
    if git is None:
        raise ConfigurationError(f"{layout.project} is in no git repository: there are no checkpoints")
    state = files.latest_state(layout)
    found = listed(git, run or (state.run_id if state else None))
    wanted = [each for each in found if each.iteration == number]
    if not wanted:
        there = ", ".join(str(each.iteration) for each in found) or "none"
        raise ConfigurationError(f"there is no checkpoint {number}; there are: {there}")
    return restore(git, wanted[-1], stamp=datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ"))


def _refuse_running(layout: Layout, what: str) -> None:
    if (pid := holder_pid(layout.folder)) is not None:
        raise ProjectBusy(
            f"a loop is at work here (process {pid or '?'}): {what}\n  next: ralph-bridge wiggum stop"
        )
