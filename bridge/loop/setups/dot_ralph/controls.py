"""What the stand-in does at once: status, breaker and session, shown or reset. Text and code out.

Without a loop's folder nothing is created (trap T26): there is nothing to show, and nothing to reset.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from bridge.base import json_files
from bridge.loop.setups.dot_ralph import breaker, breaker_files, files
from bridge.loop.setups.dot_ralph.breaker_files import BreakerSet
from bridge.loop.setups.dot_ralph.session_files import SessionReset
from bridge.loop.setups.dot_ralph.state_files import SignalsCleared, by_hand

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.setups.dot_ralph.folder import Folder


class Shown(NamedTuple):
    """What goes to stdout, and the exit code."""

    text: str
    code: int = 0


def show_status(folder: Folder, _now: float) -> Shown:
    """``--status``: a headline and ``status.json``, pretty."""
    record = json_files.read_object(folder / "status.json")
    if record is None:
        there = (folder / "status.json").exists()
        what = "is no JSON object" if there else "is not there: no loop has run here"
        return Shown(f"No status: {folder.shown}/status.json {what}.\n")
    return Shown(f"Current status ({folder.shown}/status.json):\n{json_files.to_json(record)}\n")


def circuit_status(folder: Folder, now: float) -> Shown:
    """``--circuit-status``: the breaker for people; its two files are created where they are missing."""
    if not folder.path.is_dir():
        return Shown(_no_folder(folder))
    state = breaker_files.load(folder, now)
    if not ((folder / breaker_files.FILE).exists() and (folder / breaker_files.HISTORY).exists()):
        by_hand(folder, now, BreakerSet(state))
    rows = (
        ("State", state.state.value),
        ("Reason", state.reason or "-"),
        ("Loops without progress", str(state.consecutive_no_progress)),
        ("Loops with the same error", str(state.consecutive_same_error)),
        ("Loops with refused tools", str(state.consecutive_permission_denials)),
        ("Runs ended for not writing", str(state.consecutive_read_only_timeouts)),
        ("Last progress", f"loop #{state.last_progress_loop}"),
        ("Last recorded", "never" if state.current_loop is None else f"loop #{state.current_loop}"),
        ("Times opened", str(state.total_opens)),
    )
    lines = [f"{name + ':':<28} {value}" for name, value in rows]
    return Shown("Circuit breaker\n" + "".join(f"  {line}\n" for line in lines))


def reset_circuit(folder: Folder, now: float) -> Shown:
    """``--reset-circuit``: close the breaker with all counters at zero, and reset the session."""
    if not folder.path.is_dir():
        return Shown(_no_folder(folder))
    closed = breaker.reset(breaker_files.load(folder, now), datetime.fromtimestamp(now, UTC))
    by_hand(folder, now, BreakerSet(*closed), SessionReset("manual_circuit_reset"))
    return Shown("The circuit breaker is CLOSED, and the session is reset.\n")


def reset_session(folder: Folder, now: float) -> Shown:
    """``--reset-session``: the next run starts a new session."""
    if not folder.path.is_dir():
        return Shown(_no_folder(folder))
    by_hand(folder, now, SessionReset("manual_reset_flag"))
    return Shown("The session is reset: the next run starts a new one.\n")


def _no_folder(folder: Folder) -> str:
    return f"There is no {folder.shown} in {os.fspath(folder.project)}: nothing to do.\n"


CONTROLS: dict[str, Callable[[Folder, float], Shown]] = {
    "status": show_status,
    "circuit-status": circuit_status,
    "reset-circuit": reset_circuit,
    "reset-session": reset_session,
}
"""By the action of :class:`bridge.loop.setups.dot_ralph.flags.Arguments`; called with the folder and the time."""


def reset_state(folder: Folder) -> list[str]:
    """Close an open circuit breaker, and drop exit signals that an earlier run has left; say what was done."""
    from bridge.loop.setups.projects import project_lock

    done: list[str] = []
    if not folder.path.is_dir():
        return done
    now = time.time()
    found = breaker_files.load(folder, now)
    corrupt = breaker_files.is_corrupt(json_files.read_text(folder / breaker_files.FILE))
    signals = files.read_exit_signals(folder)
    if not (found.is_open or corrupt or signals):
        return done
    with project_lock(folder.path, folder.project):
        if found.is_open or corrupt:
            was = "could not be read" if corrupt else f"was OPEN ({found.reason or 'no reason given'})"
            reset_circuit(folder, now)
            done.append(f"the circuit breaker {was}: it is CLOSED now, and the session is reset")
        if signals:
            by_hand(folder, now, SignalsCleared())
            done.append("exit signals of an earlier run are dropped")
    return done
