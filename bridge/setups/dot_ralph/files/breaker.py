"""The files of the circuit breaker; how it changes is :mod:`bridge.setups.dot_ralph.breaker`'s matter."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bridge.amounts import whole
from bridge.records import read_object, read_text, write_text
from bridge.setups.dot_ralph import breaker
from bridge.setups.dot_ralph.breaker import Breaker, Circuit
from bridge.stream.analysis import iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.setups.dot_ralph.breaker import Transition
    from bridge.setups.dot_ralph.folder import Folder

FILE = ".circuit_breaker_state"
HISTORY = ".circuit_breaker_history"
_MOST = 1000  # the original's grows without bound, and is read and written whole at every transition
_READ_ONLY = "consecutive_read_only_timeouts"
_COUNTERS = (
    "consecutive_no_progress",
    "consecutive_same_error",
    "consecutive_permission_denials",
    _READ_ONLY,
    "last_progress_loop",
    "total_opens",
)
_OURS = "ralph_bridge"
"""One key of our own at the end: what the comparison of errors and outputs needs beyond the counters."""


def load(folder: Folder, now: float) -> Breaker:
    """Return the breaker; a closed one where there is no state that makes sense."""
    return read_breaker(read_text(folder / FILE), datetime.fromtimestamp(now, UTC))


def is_corrupt(folder: Folder) -> bool:
    """Whether there is a state file and readers can't use it."""
    if not (folder / FILE).exists():
        return False
    record = read_object(folder / FILE) or {}
    count = record.get("consecutive_no_progress")
    known = record.get("state") in [each.value for each in Circuit]
    return not known or not isinstance(count, int | float) or isinstance(count, bool)


def save(folder: Folder, state: Breaker, transition: Transition | None = None) -> None:
    """Write the breaker, and its transition into the history."""
    write_text(folder / FILE, write_breaker(state, read_only_counter=folder.shapes.read_only_counter))
    if transition is not None:
        save_history(folder, read_history(read_text(folder / HISTORY)), transition)


def save_history(folder: Folder, entries: list[dict[str, Any]], *more: Transition) -> None:
    """Write the history, the oldest transition first, with `more` at its end; the newest thousand are kept."""
    kept = entries[-(_MOST - len(more)) :]
    write_text(folder / HISTORY, write_history(kept, *more))


def reset(folder: Folder, now: float) -> None:
    """Close the breaker by hand: every counter is zero, the history stays."""
    state, transition = breaker.reset(load(folder, now), datetime.fromtimestamp(now, UTC))
    save(folder, state, transition)


def read_breaker(text: str | bytes | None, now: datetime) -> Breaker:
    """Read a state file; a missing one and one that is no state give a closed circuit.

    Files of older versions lack some counters; those are 0, as are values of a wrong type.
    """
    found = _json(text)
    if not isinstance(found, dict) or found.get("state") not in list(Circuit):
        return Breaker(last_change=iso(now))
    ours = found.get(_OURS)
    ours = ours if isinstance(ours, dict) else {}
    lengths = ours.get("recent_lengths")
    lengths = lengths if isinstance(lengths, list) else []
    loop = found.get("current_loop")
    return Breaker(
        state=Circuit(found["state"]),
        last_change=_text(found.get("last_change")),
        **{key: _count(found.get(key)) for key in _COUNTERS},
        reason=_text(found.get("reason")),
        current_loop=whole(loop),
        opened_at=_text(found.get("opened_at")) or None,
        last_error=_text(ours.get("last_error")),
        recent_lengths=tuple(each for each in lengths if whole(each) is not None),
    )


def write_breaker(breaker: Breaker, *, read_only_counter: bool = True) -> str:
    """Write a state file: documented keys in documented order, two blanks a level, a newline.

    Args:
        breaker: the state.
        read_only_counter: as bmalph has it. frankbria's counts no such runs, and always has a loop's number.
    """
    document: dict[str, Any] = {"state": breaker.state.value, "last_change": breaker.last_change}
    document |= {key: getattr(breaker, key) for key in _COUNTERS if read_only_counter or key != _READ_ONLY}
    document["reason"] = breaker.reason
    if breaker.current_loop is not None or not read_only_counter:
        document["current_loop"] = breaker.current_loop or 0
    if breaker.is_open and breaker.opened_at:
        document["opened_at"] = breaker.opened_at
    ours: dict[str, Any] = {}
    if breaker.last_error:
        ours["last_error"] = breaker.last_error
    if breaker.recent_lengths:
        ours["recent_lengths"] = list(breaker.recent_lengths)
    if ours:
        document[_OURS] = ours
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_history(text: str | bytes | None) -> list[dict[str, Any]]:
    """Read a history; what is no array of objects is an empty one."""
    found = _json(text)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def write_history(entries: Iterable[dict[str, Any]], *more: Transition) -> str:
    """Write a history, with transitions added at its end."""
    return json.dumps([*entries, *map(asdict, more)], indent=2, ensure_ascii=False) + "\n"


def _json(text: str | bytes | None) -> object:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return whole(value) or 0
