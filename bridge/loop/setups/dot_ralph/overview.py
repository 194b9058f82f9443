"""Where a loop stands, for ``ralph-bridge status``. Files are read, nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.amounts import whole
from bridge.base.json_files import read_object, read_text
from bridge.base.process import table
from bridge.base.process.table import running_in
from bridge.base.wording import duration
from bridge.loop.engine import lock, run_record
from bridge.loop.engine.logs import USUAL
from bridge.loop.setups.dot_ralph import breaker_files, files, session_files
from bridge.loop.setups.dot_ralph.folder import read_plan
from bridge.loop.setups.setup_kind import Older

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.setup_kind import Overview, Rows


def overview(folder: Folder, now: float, flavour: str = "", status: str = USUAL.status) -> dict[str, Any]:
    """Return what the files say, ready for JSON. What isn't there, or makes no sense, is None.

    Keys: project, folder, flavour, running, stale (the files say running, and nobody is), holder{pid, since,
    command}, loop, status, last_action, exit_reason, updated, driver_exit_code, calls{made, limit, next_reset},
    breaker{state, reason, loops_without_progress}, session{active, id, last_used, agent}, plan{done, total, next},
    run{elapsed_seconds, last_output} while the agent is at work.
    """
    record = read_object(folder / status) or {}
    holder = lock.holder(folder.path)
    others = running_in(folder.project, "ralph_loop.sh")
    running = holder is not None or bool(others)
    return {
        "project": str(folder.project),
        "folder": folder.shown,
        "flavour": flavour or None,
        "running": running,
        "stale": record.get("status") == "running" and not running,
        "holder": _holder(holder, others),
        "loop": _number(record.get("loop_count")),
        "status": _text(record.get("status")),
        "last_action": _text(record.get("last_action")),
        "exit_reason": _text(record.get("exit_reason")) or None,
        "updated": _text(record.get("timestamp")),
        "driver_exit_code": _number(record.get("driver_exit_code")),
        "calls": {
            "made": files.calls_made(folder, now),
            "limit": _number(record.get("max_calls_per_hour")),
            # Of the hour: that of an API limit, which status.json may have here, is the loop's pause.
            "next_reset": timestamps.clock(timestamps.next_hour(now)) if record.get("next_reset") else None,
        },
        "breaker": _breaker(folder),
        "session": _session(folder, now),
        "plan": _plan(folder),
        "run": _run(folder) if running else None,
    }


def _holder(run: run_record.RunRecord | None, others: list[int]) -> dict[str, Any] | None:
    if run is not None:
        return {"pid": run.pid, "since": timestamps.iso(run.since), "command": run.command}
    if others:
        return {"pid": others[0], "since": None, "command": table.command_of(others[0])}
    return None


def _breaker(folder: Folder) -> dict[str, Any] | None:
    record = read_object(folder / breaker_files.FILE)
    if record is None:
        return None
    return {
        "state": _text(record.get("state")),
        "reason": _text(record.get("reason")) or None,
        "loops_without_progress": _number(record.get("consecutive_no_progress")),
    }


def _session(folder: Folder, now: float) -> dict[str, Any]:
    record = session_files.active_session(read_text(folder / session_files.SESSION), now)
    return {
        "active": record is not None,
        "id": record["session_id"] if record else None,
        "last_used": _text(record.get("last_used")) if record else None,
        "agent": session_files.peek(folder),
    }


def _plan(folder: Folder) -> dict[str, Any] | None:
    found = read_plan(folder)
    return None if found is None else {"done": found.done, "total": found.total, "next": found.next_task}


def _run(folder: Folder) -> dict[str, Any] | None:
    record = read_object(folder / "progress.json") or {}
    if record.get("status") != "executing":
        return None
    return {"elapsed_seconds": whole(record.get("elapsed_seconds")), "last_output": record.get("last_output")}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return whole(value)


def examine(folder: Folder, state: Path, now: float, flavour: str = "", status: str = USUAL.status) -> Overview:
    """Give the overview, and what the files say of a loop's end that our record may not know of."""
    seen = overview(folder, now, flavour, status)
    at = timestamps.parse_iso(seen["updated"])
    if at is None:
        return seen, None
    if seen["stale"]:
        return seen, Older("killed", None, at)
    ended = seen["exit_reason"] and run_record.read_run(state) is None
    return seen, Older("ended", seen["exit_reason"], at) if ended else None


def rows(seen: dict[str, Any], now: float) -> Rows:
    found: Rows = []
    if seen["last_action"]:
        when = timestamps.parse_iso(seen["updated"])
        ago = "" if when is None else f", {duration(max(0, now - when))} ago"
        reason = f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        found.append(("last action", f"{seen['last_action']} in loop {seen['loop']}{reason}{ago}"))
    if seen["run"] and seen["state"] == "running":
        found.append(("agent", f"at work for {seen['run']['elapsed_seconds']} s"))
    if seen["calls"]["limit"] is not None:
        calls = seen["calls"]
        found.append(("calls", f"{calls['made']} of {calls['limit']} this hour, reset at {calls['next_reset']}"))
    if seen["breaker"]:
        reason = f": {seen['breaker']['reason']}" if seen["breaker"]["reason"] else ""
        found.append(("breaker", f"{seen['breaker']['state']}{reason}"))
    session = seen["session"]
    if session["active"] or session["agent"]:
        found.append(("session", f"{session['id'] or 'inactive'}, resumes {session['agent'] or 'nothing'}"))
    if seen["plan"]:
        plan = seen["plan"]
        found.append(("plan", f"{plan['done']} of {plan['total']} done"))
        if plan["next"]:
            found.append(("next task", plan["next"]))
    return found
