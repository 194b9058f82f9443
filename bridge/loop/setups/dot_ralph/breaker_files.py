"""The files of the circuit breaker; how it changes is for :mod:`bridge.loop.setups.dot_ralph.breaker` to say."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bridge.base.amounts import whole
from bridge.base.json_files import as_object, parse_json, read_text
from bridge.base.records import dataclass
from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded, LoopEvent, TurnPrepared
from bridge.loop.engine.store import LEAVE
from bridge.loop.setups.dot_ralph.breaker import Breaker, Circuit
from bridge.scripts.stream.analysis import iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.loop.engine.store import Document, Facts
    from bridge.loop.setups.dot_ralph.breaker import Transition
    from bridge.loop.setups.dot_ralph.folder import Folder

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


@dataclass(frozen=True, slots=True)
class BreakerSet(LoopEvent):
    """The breaker is set by hand."""

    breaker: Breaker
    transition: Transition | None = None


def load(folder: Folder, now: float) -> Breaker:
    return read_breaker(read_text(folder / FILE), datetime.fromtimestamp(now, UTC))


def is_corrupt(text: str | None) -> bool:
    """Whether there is a state and readers can't use it."""
    if text is None:
        return False
    record = as_object(parse_json(text)) or {}
    count = record.get("consecutive_no_progress")
    known = record.get("state") in [each.value for each in Circuit]
    return not known or not isinstance(count, int | float) or isinstance(count, bool)


def state_document(facts: Facts) -> Document:
    """Give the breaker where it has changed, or its file can't be used. A limit says nothing about the agent."""
    event = facts.event
    match event:
        case BreakerSet():
            found = event.breaker
        case TurnPrepared():
            text, found = facts.read(FILE), facts.state.breaker
            if text is not None and not is_corrupt(text):
                return LEAVE
        case IterationStarted() if facts.state.transition is not None:  # a cooldown is over
            found = facts.state.breaker
        case IterationEnded() if event.decision.reason != "api_limit":
            found = facts.state.breaker
        case LoopEnded() if facts.state.breaker.is_open:  # what it did itself is told here when no turn ran
            found = facts.state.breaker
        case _:
            return LEAVE
    return write_breaker(found, read_only_counter=facts.setup.folder.shapes.read_only_counter)


def history_document(facts: Facts) -> Document:
    """Give the transitions of the breaker, the oldest first; the newest thousand are kept."""
    event, text = facts.event, facts.read(HISTORY)
    moved = event.transition if isinstance(event, BreakerSet) else facts.state.transition
    if isinstance(event, TurnPrepared) or moved is None:
        missing = not isinstance(parse_json(text), list) and isinstance(event, TurnPrepared | BreakerSet)
        return write_history([]) if missing else LEAVE
    if isinstance(event, IterationEnded) and event.decision.reason == "api_limit":
        return LEAVE
    return write_history(read_history(text)[1 - _MOST :], moved)


def read_breaker(text: str | bytes | None, now: datetime) -> Breaker:
    """Read a state file; a missing one and one that is no state give a closed circuit.

    Files of older versions lack some counters; those are 0, as are values of a wrong type.
    """
    found = parse_json(text)
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
    found = parse_json(text)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def write_history(entries: Iterable[dict[str, Any]], *more: Transition) -> str:
    return json.dumps([*entries, *map(asdict, more)], indent=2, ensure_ascii=False) + "\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return whole(value) or 0
