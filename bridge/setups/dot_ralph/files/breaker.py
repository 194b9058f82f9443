"""The files of the circuit breaker; how it changes is :mod:`bridge.setups.dot_ralph.rules.breaker`'s matter."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bridge.records import read_object, read_text, write_text
from bridge.setups.dot_ralph.rules import breaker

if TYPE_CHECKING:
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.rules.breaker import Breaker, Transition

FILE = ".circuit_breaker_state"
HISTORY = ".circuit_breaker_history"
_MOST = 1000  # the original's grows without bound, and is read and written whole at every transition


def load(folder: Folder, now: float) -> Breaker:
    """Return the breaker; a closed one where there is no state that makes sense."""
    return breaker.read_breaker(read_text(folder / FILE), datetime.fromtimestamp(now, UTC))


def is_corrupt(folder: Folder) -> bool:
    """Whether there is a state file and readers can't use it."""
    if not (folder / FILE).exists():
        return False
    record = read_object(folder / FILE) or {}
    count = record.get("consecutive_no_progress")
    known = record.get("state") in [each.value for each in breaker.Circuit]
    return not known or not isinstance(count, int | float) or isinstance(count, bool)


def save(folder: Folder, state: Breaker, transition: Transition | None = None) -> None:
    """Write the breaker, and its transition into the history."""
    write_text(folder / FILE, breaker.write_breaker(state, read_only_counter=folder.shapes.read_only_counter))
    if transition is not None:
        save_history(folder, breaker.read_history(read_text(folder / HISTORY)), transition)


def save_history(folder: Folder, entries: list[dict[str, Any]], *more: Transition) -> None:
    """Write the history, the oldest transition first, with `more` at its end; the newest thousand are kept."""
    kept = entries[-(_MOST - len(more)) :]
    write_text(folder / HISTORY, breaker.write_history(kept, *more))


def reset(folder: Folder, now: float) -> None:
    """Close the breaker by hand: every counter is zero, the history stays."""
    state, transition = breaker.reset(load(folder, now), datetime.fromtimestamp(now, UTC))
    save(folder, state, transition)
