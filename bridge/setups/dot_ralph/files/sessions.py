"""Two records of sessions: the loop's own life, and the id that the agent's CLI resumes."""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge import timestamps
from bridge.records import delete, read_array, read_object, read_text, write_json, write_text
from bridge.session_id import validate_session_id
from bridge.setups.dot_ralph.files.small import clear_exit_signals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.events import IterationEnded
    from bridge.setups.dot_ralph.folder import Folder

_HISTORY_CAP = 50
_FILE = ".ralph_session"
_AGENT = ".claude_session_id"


class Resume(NamedTuple):
    """What there is to resume: the id or None, and why the file's was dropped (``""``: it wasn't)."""

    session_id: str | None
    dropped: str = ""


def active_session(folder: Folder, now: float) -> dict[str, Any] | None:
    """Return the loop's session when it is active: with an id, and created at a time that isn't in the future."""
    record = read_object(folder / _FILE)
    if record is None or not isinstance(record.get("session_id"), str) or not record["session_id"]:
        return None
    created = timestamps.parse_iso(record.get("created_at"))
    return record if created is not None and created <= now + 1 else None


def start_session(folder: Folder, now: float) -> str:
    """Return the id of the active session; a new one is made when there is none."""
    if (record := active_session(folder, now)) is not None:
        return str(record["session_id"])
    session_id = f"ralph-{int(now)}-{random.randrange(32768)}"  # noqa: S311 (a name, no secret)
    broken = (folder / _FILE).exists() and read_object(folder / _FILE) is None
    why = {"reset_at": timestamps.iso(now), "reset_reason": "corrupted_file_recovery"} if broken else {}
    _write(folder, session_id, timestamps.iso(now), now, why)
    return session_id


def touch_session(folder: Folder, now: float) -> None:
    """Note that the active session is in use. Without one nothing happens."""
    if (record := active_session(folder, now)) is not None:
        _write(folder, record["session_id"], record["created_at"], now, record)


def _write(folder: Folder, session_id: str, created: str, now: float, why: Mapping[str, Any]) -> None:
    """Write the active record; `why` has what is said of the last reset, if anything is."""
    record = {"session_id": session_id, "created_at": created, "last_used": timestamps.iso(now)}
    if folder.shapes.one_session:
        record |= {name: str(why.get(name) or "") for name in ("reset_at", "reset_reason")}
    write_json(folder / _FILE, record)


def reset_session(folder: Folder, reason: str, now: float, *, loop: int = 0) -> None:
    """End the session: nothing of it reaches the next one.

    The record becomes inactive, the agent's id and the analysis go, exit signals are emptied where there are
    any, and the history gets an entry.

    Args:
        folder: the loop's folder.
        reason: project_complete, circuit_breaker_open, manual_interrupt, ....
        now: the time.
        loop: the iteration.
    """
    inactive = {"session_id": ""}
    if folder.shapes.one_session:
        inactive |= {"created_at": "", "last_used": ""}
    write_json(folder / _FILE, inactive | {"reset_at": timestamps.iso(now), "reset_reason": reason})
    delete(folder / _AGENT)
    if (folder / ".exit_signals").exists():
        clear_exit_signals(folder)
    delete(folder / ".response_analysis")
    entry = {
        "timestamp": timestamps.iso(now),
        "from_state": "active",
        "to_state": "reset",
        "reason": reason,
        "loop_number": loop,
    }
    history = [*read_array(folder / ".ralph_session_history"), entry]
    write_json(folder / ".ralph_session_history", history[-_HISTORY_CAP:])


def resume_id(folder: Folder, *, expiry_hours: float, now: float) -> Resume:
    """Return the agent's session to resume. What can't be resumed is deleted.

    The file holds one token, or JSON in older installations. An id that is no token is never passed on
    (seen in the field: hundreds of repeated ids in one file).

    Args:
        folder: the loop's folder.
        expiry_hours: hours without use after which it counts as forgotten; by the time of the file.
        now: the time.
    """
    path = folder / _AGENT
    text = read_text(path)
    if text is None:
        return Resume(None)
    try:
        age = now - os.stat(path).st_mtime
    except OSError:
        age = float("inf")
    if age >= expiry_hours * 3600:
        delete(path)
        return Resume(None, f"unused for {age / 3600:.0f} h, more than {expiry_hours:g} h")
    found = _id_in(text)
    if validate_session_id(found):
        return Resume(found)
    delete(path)
    return Resume(None, f"{_AGENT} holds no session id" if text.strip() else "")


def _id_in(text: str) -> str:
    """Return what stands for an id in the agent's file: its first line, or a field of older JSON. Not validated."""
    stripped = text.strip()
    if stripped.startswith("{"):
        with suppress(ValueError, RecursionError):
            record = json.loads(stripped)
            named = (record.get("session_id"), record.get("sessionId"))
            return next((value.strip() for value in named if isinstance(value, str) and value), "")
    return stripped.split("\n", 1)[0].strip()


def save_agent_session(folder: Folder, session_id: str, now: float) -> None:
    """Save the agent's id for the next run, in both records; where it has a record of its own, in that alone.

    Raises:
        ValueError: it is no session id.
    """
    if validate_session_id(session_id) is None:
        raise ValueError(f"{session_id!r} is no session id")
    if folder.shapes.session_json:
        write_json(folder / _AGENT, {"session_id": session_id, "timestamp": timestamps.iso(now)})
        return
    write_text(folder / _AGENT, session_id + "\n")
    record = active_session(folder, now)
    created = record["created_at"] if record and record["session_id"] == session_id else timestamps.iso(now)
    _write(folder, session_id, created, now, record or {})


def keep_agent_session(folder: Folder, event: IterationEnded, before: str, now: float) -> bool:
    """Put down the session that a run has left, and say whether `before`, which it resumed, was dropped."""
    if not event.sessions:
        return False
    if event.state.session_id:
        if event.outcome.failure is None or event.state.session_id != before:
            save_agent_session(folder, event.state.session_id, now)
    elif before:
        drop_agent_session(folder)
        return True
    return False


def drop_agent_session(folder: Folder) -> None:
    """Forget the agent's id: the CLI doesn't know it any more (trap T20), or gave none. The loop's own stays."""
    delete(folder / _AGENT)


def peek(folder: Folder) -> str | None:
    """Return the agent's id as it lies there, however old; nothing is deleted."""
    found = _id_in(read_text(folder / _AGENT) or "")
    return found if validate_session_id(found) else None
