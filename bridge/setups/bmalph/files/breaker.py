"""The files of the circuit breaker; how it changes is :mod:`bridge.loop.breaker`'s matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.setups.bmalph.files import stamps
from bridge.setups.bmalph.files.records import read_array, read_object, write_json

if TYPE_CHECKING:
    from bridge.setups.bmalph.folder import Folder

__all__ = ["FILE", "HISTORY", "append_history", "read_breaker", "read_history", "reset_breaker", "write_breaker"]

FILE = ".circuit_breaker_state"
HISTORY = ".circuit_breaker_history"
_STATES = ("CLOSED", "HALF_OPEN", "OPEN")


def read_breaker(folder: Folder) -> dict[str, Any] | None:
    """Return the breaker's record, None without one that makes sense."""
    record = read_object(folder / FILE)
    return record if record is not None and record.get("state") in _STATES else None


def write_breaker(folder: Folder, record: dict[str, Any]) -> None:
    """Write the breaker's record."""
    write_json(folder / FILE, record)


def read_history(folder: Folder) -> list[dict[str, Any]]:
    """Return the transitions, the oldest first."""
    return [entry for entry in read_array(folder / HISTORY) if isinstance(entry, dict)]


def append_history(folder: Folder, *, loop: int, before: str, after: str, reason: str, now: float) -> None:
    """Note a transition."""
    entry = {
        "timestamp": stamps.iso(now),
        "loop": loop,
        "from_state": before,
        "to_state": after,
        "reason": reason,
    }
    write_json(folder / HISTORY, [*read_history(folder), entry])


def reset_breaker(folder: Folder, reason: str, now: float) -> None:
    """Close the breaker and set every counter to zero; the history stays (section 6)."""
    record = {
        "state": "CLOSED",
        "last_change": stamps.iso(now),
        "consecutive_no_progress": 0,
        "consecutive_same_error": 0,
        "consecutive_permission_denials": 0,
        "consecutive_read_only_timeouts": 0,
        "last_progress_loop": 0,
        "total_opens": 0,
        "reason": reason,
    }
    write_breaker(folder, record)
