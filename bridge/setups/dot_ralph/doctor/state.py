"""Checks of what loops have left, or are doing now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bridge import timestamps
from bridge.errors import ConfigurationError, ProjectBusy
from bridge.loop import lock, runs
from bridge.process import table
from bridge.records import read_object
from bridge.setups.diagnosis import Examined, checks, failed, passed, warned
from bridge.setups.dot_ralph.files import breaker, crash, sessions, small, status
from bridge.setups.projects import at_work, project_lock

if TYPE_CHECKING:
    from bridge.setups.dot_ralph.doctor.case import FolderCase

_KNOWN = frozenset(status.State.__args__)  # type: ignore[attr-defined]


def status_file(case: FolderCase[Any]) -> Examined:
    """The dashboard of bmalph and others can read ``status.json``."""
    path = case.folder / "status.json"
    if not path.exists():
        return passed("no loop has run yet")
    record = read_object(path)
    if record is None:
        return failed("corrupt: no JSON object", "the next run writes it anew")
    count, state = record.get("loop_count"), record.get("status")
    if not isinstance(count, int | float) or isinstance(count, bool) or state not in _KNOWN:
        return failed(f"corrupt: status is {state!r}, loop_count is {count!r}", "the next run writes it anew")
    return passed(f"loop {count}, {state}")


def circuit(case: FolderCase[Any]) -> Examined:
    """An open breaker ends a run before the agent is called."""
    path = case.folder / breaker.FILE
    if not path.exists():
        return passed("no loop has run yet")
    if breaker.is_corrupt(case.folder):
        return failed(f"{case.folder.name_of(path)} is corrupt", "ralph-bridge reset")
    found = breaker.load(case.folder, time.time())
    reason = found.reason or "no reason given"
    if not found.is_open:
        return passed(found.state.value)
    settings = case.settings
    since = timestamps.parse_iso(found.opened_at or found.last_change)
    left = 0.0 if since is None else since + settings.cb_cooldown_minutes * 60 - time.time()
    hint = "ralph-bridge reset, or CB_AUTO_RESET=true"
    if settings.cb_auto_reset:
        return warned(f"OPEN - {reason}; the next run closes it (CB_AUTO_RESET)")
    if left <= 0:
        return warned(f"OPEN - {reason}; its cooldown is over, the next run tries again", hint)
    return failed(f"OPEN - {reason}; {left / 60:.0f} min of its cooldown are left", hint)


def session(case: FolderCase[Any]) -> Examined:
    """A session that is too old is not resumed."""
    record = read_object(case.folder / ".ralph_session")
    if record is None:
        if (case.folder / ".ralph_session").exists():
            return warned("corrupt", "the next run starts a new session")
        return passed("none yet")
    if not record.get("session_id"):
        return passed("inactive")
    now = time.time()
    if sessions.active_session(case.folder, now) is None:
        return warned("its times make no sense", "the next run starts a new session")
    created = timestamps.parse_iso(record.get("last_used") or record.get("created_at")) or now
    hours = (now - created) / 3600
    most = case.settings.session_expiry_hours
    told = f"{int(hours)}h{int(hours * 60) % 60}m old (max {most}h)"
    return warned(told, "the next run starts a new session") if hours >= most else passed(told)


def api_calls(case: FolderCase[Any]) -> Examined:
    """Calls are left in this clock hour."""
    used, most = small.calls_made(case.folder, time.time()), case.settings.max_calls_per_hour
    told = f"{used}/{most}"
    if used >= most:
        return warned(f"{told}: none left until the full hour", "wait, or raise MAX_CALLS_PER_HOUR")
    return warned(f"{told} (approaching limit)", "raise MAX_CALLS_PER_HOUR") if used >= 0.9 * most else passed(told)


def leftovers(case: FolderCase[Any]) -> Examined:
    """What a crash has left would end the next run of the original at once (trap T7)."""
    found = crash.stale_files(case.folder)
    if not found:
        return passed()
    told = f"a run that did not end in order has left {', '.join(found)}"
    return warned(
        told, "nothing to do: `ralph-bridge run` drops it. The original would end at once: --reset-session"
    )


def clear_leftovers(case: FolderCase[Any]) -> str:
    """Sort what a crash has left as the next `ralph-bridge run` would, unless a loop is at work."""
    folder = case.folder
    found = crash.stale_files(folder)
    if not found or at_work(folder.project) is not None:
        return ""
    try:
        with project_lock(folder.path, folder.project):
            crash.sort_out(folder, runs.read_run(folder.path), time.time())
    except ProjectBusy:
        return ""
    return f"what a crashed run had left is cleared: {', '.join(found)}"


def second_loop(case: FolderCase[Any]) -> Examined:
    """Two loops in one project overwrite each other's state (trap T16)."""
    mine = lock.holder(case.folder.path)
    others = table.running_in(case.folder.project, "ralph_loop.sh")
    if others:
        pids = " ".join(map(str, others))
        return failed(f"the original ralph_loop.sh is running here: process {pids}", f"end it: kill {pids}")
    if mine is not None:
        return passed(f"a loop is at work: process {mine.pid}, since {timestamps.local(mine.since)}")
    return passed("no loop is at work")


def orphans(case: FolderCase[Any]) -> Examined:
    """Agents that go on working after their loop has gone (trap T2)."""
    return checks.orphans(case, case.folder.path)


def end_orphans(case: FolderCase[Any]) -> str:
    """End them, where they are certainly a loop's and no loop is at work."""
    return checks.end_orphans(case, case.folder.path)


def lock_file(case: FolderCase[Any]) -> Examined:
    """The lock can be taken."""
    try:
        return passed("held by a loop" if lock.is_locked(case.folder.path) else "free")
    except ConfigurationError as error:
        return failed(str(error), "use a file system that has locks")
