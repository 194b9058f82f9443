"""What people do to a loop from outside: stop it, reset its breaker, restore a checkpoint."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError, ProjectBusy
from bridge.files import write_atomic
from bridge.git.repository import find_repository
from bridge.loop.standing import holder_pid
from bridge.setups.wiggum import breaker as breakers
from bridge.setups.wiggum import files, journal, turns
from bridge.setups.wiggum.checkpoints import Restored, listed, restore
from bridge.setups.wiggum.layout import FILES
from bridge.setups.wiggum.policy import closed, stamp
from bridge.setups.wiggum.state import State

if TYPE_CHECKING:
    from bridge.git.work import Probe
    from bridge.setups.wiggum.layout import Layout

__all__ = ["Stopped", "ended_at_once", "reset", "restored", "stop"]


class Stopped(NamedTuple):
    """Whether there was something to stop, and what was done about it."""

    stopped: bool
    message: str


def stop(layout: Layout, *, at_once: bool = False) -> Stopped:
    """Ask a loop at work for its end; close the state of one that isn't.

    Args:
        layout: the project.
        at_once: also end the turn that is under way.
    """
    pid = holder_pid(layout.folder)
    if pid is not None:
        with files.usable():
            layout.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(layout.cancel, f"{stamp(datetime.now(UTC))}\n")
        if at_once and pid:
            os.kill(pid, signal.SIGTERM)
            return Stopped(True, f"the loop (process {pid}) is told to end now")
        return Stopped(True, "the loop ends before its next turn")
    if layout.plugin.is_file():
        kept = files.set_aside(layout, layout.plugin, stamp(datetime.now(UTC)))
        journal.note(layout, "the plugin's loop was stopped by hand")
        return Stopped(True, f"stopped; the plugin's state is kept as {kept}")
    state = files.last(layout)
    if state is None or state.outcome is not None:
        ended = f": it has ended, {state.outcome}" if state else ""
        return Stopped(False, f"there is no loop to stop{ended}")
    with files.locked(layout):
        state = files.load(layout)
        if state is None or state.outcome is not None:
            return Stopped(False, "there is no loop to stop: it has just ended")
        state = closed(state, "cancelled", "stopped by hand", datetime.now(UTC))
        files.finish(layout, state)
    journal.note(layout, f"iteration {state.iteration}: the loop was stopped by hand")
    return Stopped(True, f"stopped after iteration {state.iteration}")


def ended_at_once(layout: Layout, probe: Probe, now: datetime) -> State:
    """Close the state of a loop that was told to end in the middle of a turn; its work is kept.

    Args:
        layout: the project; the caller holds its lock, and no agent runs any more.
        probe: looks at the project.
        now: the time.
    """
    state, _ = turns.recover(layout, probe, files.load(layout) or State(), now)
    state = closed(state, "cancelled", "stopped by hand", now)
    files.finish(layout, state)
    files.uncancel(layout)
    journal.note(layout, f"iteration {state.iteration}: the loop was stopped by hand, in the middle of the turn")
    return state


def reset(layout: Layout) -> str:
    """Reset the circuit breaker; say what it is now.

    Raises:
        ConfigurationError: there is no loop.
        ProjectBusy: one is at work.
    """
    _idle(layout, "its breaker can't be reset")
    with files.locked(layout):
        state = files.last(layout)
        if state is None:
            raise ConfigurationError(f"there is no loop in {layout.project}\n  next: ralph-bridge wiggum start")
        after = breakers.reset(state.breaker)
        if state.outcome is None or state.breaker.state is not breakers.Circuit.CLOSED:
            files.save(layout, replace(state, breaker=after))
    told = f"circuit breaker: {state.breaker.state} -> {after.state}, counters are 0"
    journal.note(layout, f"reset by hand; {told}")
    return told


def restored(layout: Layout, number: int, run: str | None) -> Restored:
    """Restore a checkpoint by its iteration.

    Raises:
        ConfigurationError: there is no such checkpoint, or no repository.
        ProjectBusy: a loop is at work.
    """
    _idle(layout, "nothing is restored under its hands")
    git = find_repository(layout.project, FILES)
    if git is None:
        raise ConfigurationError(f"{layout.project} is in no git repository: there are no checkpoints")
    state = files.last(layout)
    name = run or (state.run_id if state else None)
    found = listed(git, name)
    wanted = [each for each in found if each.iteration == number]
    if not wanted:
        there = ", ".join(str(each.iteration) for each in found) or "none"
        raise ConfigurationError(f"there is no checkpoint {number}; there are: {there}")
    return restore(git, wanted[-1], stamp=datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ"))


def _idle(layout: Layout, what: str) -> None:
    if (pid := holder_pid(layout.folder)) is not None:
        raise ProjectBusy(
            f"a loop is at work here (process {pid or '?'}): {what}\n  next: ralph-bridge wiggum stop"
        )
