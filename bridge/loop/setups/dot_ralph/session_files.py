"""Two records of sessions: the loop's own life, and the id that the agent's CLI resumes."""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.json_files import as_array, as_object, parse_json, read_text
from bridge.base.records import dataclass
from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopEvent, LoopInterrupted, RunOpened, TurnPrepared
from bridge.loop.engine.store import LEAVE
from bridge.scripts.session_id import validate_session_id

if TYPE_CHECKING:
    from bridge.loop.engine.store import Document, Facts
    from bridge.loop.setups.dot_ralph.folder import Folder

SESSION, SESSION_HISTORY, AGENT_SESSION = ".ralph_session", ".ralph_session_history", ".claude_session_id"
_MOST_RESETS = 50


@dataclass(frozen=True, slots=True)
class SessionReset(LoopEvent):
    """Somebody resets the session by hand: nothing of it reaches the next one."""

    reason: str


# -- reading -------------------------------------------------------------------------------------------


class Resume(NamedTuple):
    """What there is to resume: the id or None, and why the file's is not (``""``: it is, or there is none)."""

    session_id: str | None
    dropped: str = ""


def active_session(text: str | None, now: float) -> dict[str, Any] | None:
    """Return the loop's session when it is active: with an id, and created at a time that isn't in the future."""
    record = as_object(parse_json(text))
    if record is None or not isinstance(record.get("session_id"), str) or not record["session_id"]:
        return None
    created = timestamps.parse_iso(record.get("created_at"))
    return record if created is not None and created <= now + 1 else None


def resume_id(folder: Folder, *, expiry_hours: float, now: float) -> Resume:
    """Return the agent's session to resume.

    The file holds one token, or JSON in older installations. An id that is no token is never passed on
    (seen in the field: hundreds of repeated ids in one file).

    Args:
        expiry_hours: hours without use after which it counts as forgotten; by the time of the file.
    """
    path = folder / AGENT_SESSION
    text = read_text(path)
    if text is None:
        return Resume(None)
    try:
        age = now - os.stat(path).st_mtime
    except OSError:
        age = float("inf")
    if age >= expiry_hours * 3600:
        return Resume(None, f"unused for {age / 3600:.0f} h, more than {expiry_hours:g} h")
    found = _id_in(text)
    if validate_session_id(found):
        return Resume(found)
    return Resume(None, f"{AGENT_SESSION} holds no session id" if text.strip() else "")


def _id_in(text: str) -> str:
    """Return what stands for an id in the agent's file: its first line, or a field of older JSON. Not validated."""
    stripped = text.strip()
    if stripped.startswith("{"):
        with suppress(ValueError, RecursionError):
            record = json.loads(stripped)
            named = (record.get("session_id"), record.get("sessionId"))
            return next((value.strip() for value in named if isinstance(value, str) and value), "")
    return stripped.split("\n", 1)[0].strip()


def peek(folder: Folder) -> str | None:
    found = _id_in(read_text(folder / AGENT_SESSION) or "")
    return found if validate_session_id(found) else None


# -- documents -----------------------------------------------------------------------------------------


def reset_reason(facts: Facts) -> str:
    """Say why an event ends the session; '' where it doesn't."""
    event, found = facts.event, ""
    match event:
        case SessionReset():
            found = event.reason
        case LoopInterrupted():
            signal = event.action == "interrupted" and event.reason.startswith("SIG")
            found = "manual_interrupt" if signal else ""
        case IterationEnded() | LoopEnded():
            found = facts.setup.reset(event)
    return found


def loop_of(event: Any) -> int:
    match event:
        case LoopEnded():
            return event.iterations
        case LoopInterrupted():
            return event.iteration + (event.turn is not None)
        case IterationEnded():
            return event.iteration
    return 0


def session_history(facts: Facts) -> Document:
    if not (reason := reset_reason(facts)):
        return LEAVE
    entry = {
        "timestamp": timestamps.iso(facts.now),
        "from_state": "active",
        "to_state": "reset",
        "reason": reason,
        "loop_number": loop_of(facts.event),
    }
    return [*as_array(parse_json(facts.read(SESSION_HISTORY))), entry][-_MOST_RESETS:]


def session(facts: Facts) -> Document:
    """Give the loop's own session: begun with a run where none is active, in use since each turn, or ended."""
    event, now, text = facts.event, facts.now, facts.read(SESSION)
    if reason := reset_reason(facts):
        times = {"created_at": "", "last_used": ""} if facts.setup.folder.shapes.one_session else {}
        return {"session_id": "", **times, "reset_at": timestamps.iso(now), "reset_reason": reason}
    record = active_session(text, now)
    if isinstance(event, RunOpened):
        if record is not None:
            return LEAVE
        why = {"reset_at": timestamps.iso(now), "reset_reason": "corrupted_file_recovery"}
        broken = text is not None and as_object(parse_json(text)) is None
        name = f"ralph-{int(now)}-{random.randrange(32768)}"  # noqa: S311 (a name, no secret)
        return _session(facts, name, timestamps.iso(now), why if broken else {})
    if isinstance(event, TurnPrepared):
        return LEAVE if record is None else _session(facts, record["session_id"], record["created_at"], record)
    left = session_left(event)
    if not left or facts.setup.folder.shapes.session_json:
        return LEAVE
    created = record["created_at"] if record and record["session_id"] == left else timestamps.iso(now)
    return _session(facts, left, created, record or {})


def _session(facts: Facts, session_id: str, created: str, why: dict[str, Any]) -> Document:
    record = {"session_id": session_id, "created_at": created, "last_used": timestamps.iso(facts.now)}
    if facts.setup.folder.shapes.one_session:
        record |= {name: str(why.get(name) or "") for name in ("reset_at", "reset_reason")}
    return record


def session_left(event: Any) -> str:
    """Give the agent's session that a turn leaves to be saved; '' where that of before stays, or none is left."""
    if not isinstance(event, IterationEnded) or not event.sessions or not event.state.session_id:
        return ""
    found: str = event.state.session_id
    return found if event.outcome.failure is None or found != event.session_id else ""


def session_dropped(event: IterationEnded) -> bool:
    """Whether the CLI doesn't know the session any more that the turn resumed (trap T20), or gave none."""
    return event.sessions and not event.state.session_id and bool(event.session_id)


def agent_session(facts: Facts) -> Document:
    """Give the agent's session for the next run. What can't be resumed is deleted."""
    event = facts.event
    if reset_reason(facts):
        return None
    if isinstance(event, TurnPrepared):
        dropped = facts.setup.settings.session_continuity and facts.state.session_id is None
        return None if dropped and facts.read(AGENT_SESSION) is not None else LEAVE
    if left := session_left(event):
        record = {"session_id": left, "timestamp": timestamps.iso(facts.now)}
        return record if facts.setup.folder.shapes.session_json else f"{left}\n"
    return None if isinstance(event, IterationEnded) and session_dropped(event) else LEAVE
