"""The two records of a session: the loop's own, and the id that the driver resumes. Pure.

``.ralph_session`` says whether the loop has a session at all, ``.claude_session_id`` which one its CLI
is given. They are kept apart because installations do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from bridge.session_id import validate_session_id
from bridge.stream.analysis import iso

__all__ = [
    "HISTORY_LIMIT",
    "LoopSession",
    "Resume",
    "adopt_session",
    "inactive_session",
    "new_session",
    "read_driver_session",
    "read_session",
    "resume",
    "session_history",
    "write_session",
]

HISTORY_LIMIT = 50


@dataclass(frozen=True, slots=True)
class LoopSession:
    """An active ``.ralph_session``; times are UTC."""

    session_id: str
    created_at: str
    last_used: str

    def touched(self, now: datetime) -> LoopSession:
        """Note that a loop used it."""
        return replace(self, last_used=iso(now))


def new_session(now: datetime, number: int) -> LoopSession:
    """Begin a session of the loop's own; `number` is random, 0 to 32767."""
    return LoopSession(f"ralph-{int(now.timestamp())}-{number}", iso(now), iso(now))


def read_session(text: str | bytes | None, now: datetime) -> LoopSession | None:
    """Read ``.ralph_session``: the session if it is active, else None.

    Active means: an id, and a time of creation that can be read and isn't in the future. Files of the
    family's other member, which have all fields at once, are read the same way.
    """
    found = _object(text)
    session_id, created = found.get("session_id"), found.get("created_at")
    if not isinstance(session_id, str) or not session_id or not _passed(created, now):
        return None
    used = found.get("last_used")
    return LoopSession(session_id, str(created), used if isinstance(used, str) else str(created))


def adopt_session(current: LoopSession | None, driver_id: str, now: datetime) -> LoopSession:
    """Give the loop's record the id that the driver just saved: the same one goes on, another one begins."""
    if current is not None and current.session_id == driver_id:
        return current.touched(now)
    return LoopSession(driver_id, iso(now), iso(now))


def write_session(session: LoopSession) -> str:
    """Write an active ``.ralph_session``."""
    return _pretty(
        {"session_id": session.session_id, "created_at": session.created_at, "last_used": session.last_used}
    )


def inactive_session(reason: str, now: datetime) -> str:
    """Write the ``.ralph_session`` that a reset leaves behind."""
    return _pretty({"session_id": "", "reset_at": iso(now), "reset_reason": reason})


def session_history(text: str | bytes | None, reason: str, loop: int, now: datetime) -> str:
    """Write ``.ralph_session_history`` with a reset added; the last 50 entries are kept."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        found = []
    entries = found if isinstance(found, list) else []
    entry = {
        "timestamp": iso(now),
        "from_state": "active",
        "to_state": "reset",
        "reason": reason,
        "loop_number": loop,
    }
    return _pretty([*entries, entry][-HISTORY_LIMIT:])


def read_driver_session(text: str | bytes | None) -> str | None:
    """Read ``.claude_session_id``: one line, or JSON of older installations.

    What isn't one plain token is none: such a file once held thousands of ids, and all went to the CLI.
    """
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text or ""
    stripped = plain.strip()
    if stripped.startswith("{"):
        found = _object(stripped)
        named = (found.get("session_id"), found.get("sessionId"))
        stripped = next((value for value in named if isinstance(value, str) and value), "")
    first = stripped.splitlines()[0].strip() if stripped else ""
    return validate_session_id(first)


class Resume(NamedTuple):
    """Which session the next run resumes, and whether its file is to be deleted.

    `why` is one of: ``resumed``, ``none`` (no file), ``expired``, ``unreadable`` (no age), ``invalid``.
    """

    session_id: str | None
    forget: bool
    why: Literal["resumed", "none", "expired", "unreadable", "invalid"]


def resume(text: str | bytes | None, modified: float | None, now: float, expiry_hours: int) -> Resume:
    """Decide about the driver's session.

    Args:
        text: contents of ``.claude_session_id``, or None when there is no such file.
        modified: when it was written, seconds since the epoch; None when that can't be told. Every save
            writes it, so this is the time since the session was last used.
        now: the time, likewise.
        expiry_hours: SESSION_EXPIRY_HOURS.
    """
    if text is None:
        return Resume(None, False, "none")
    if modified is None:
        return Resume(None, True, "unreadable")
    if now - modified >= expiry_hours * 3600:
        return Resume(None, True, "expired")
    session_id = read_driver_session(text)
    return Resume(session_id, session_id is None, "resumed" if session_id else "invalid")


def _object(text: str | bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _passed(value: object, now: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return False
    if moment is None:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) <= now


def _pretty(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
