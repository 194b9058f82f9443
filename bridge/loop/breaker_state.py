"""The circuit breaker's state and history: values, and their files. Pure: text in, text out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from bridge.stream.analysis import iso

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

__all__ = [
    "Breaker",
    "Circuit",
    "Transition",
    "read_breaker",
    "read_history",
    "write_breaker",
    "write_history",
]

_COUNTERS = (
    "consecutive_no_progress",
    "consecutive_same_error",
    "consecutive_permission_denials",
    "consecutive_read_only_timeouts",
    "last_progress_loop",
    "total_opens",
)
_OURS = "ralph_bridge"
"""One key of our own at the end: what the comparison of errors and outputs needs beyond the counters."""


class Circuit(StrEnum):
    """The three states, as the state file spells them."""

    CLOSED = "CLOSED"
    HALF_OPEN = "HALF_OPEN"
    OPEN = "OPEN"


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state, field by field as ``.circuit_breaker_state`` has it.

    Attributes:
        state: see :class:`Circuit`.
        last_change: when the state last changed, UTC.
        consecutive_no_progress: loops in a row; likewise the next three.
        last_progress_loop: the number of the last loop with progress.
        total_opens: how often it opened since the last manual reset.
        reason: why the state is what it is, for people.
        current_loop: the last recorded loop, or None before the first.
        opened_at: when it opened, only while OPEN.
        last_error: fingerprint of the error that is being counted.
        recent_lengths: lengths of the last outputs, the newest last.
    """

    state: Circuit = Circuit.CLOSED
    last_change: str = ""
    consecutive_no_progress: int = 0
    consecutive_same_error: int = 0
    consecutive_permission_denials: int = 0
    consecutive_read_only_timeouts: int = 0
    last_progress_loop: int = 0
    total_opens: int = 0
    reason: str = ""
    current_loop: int | None = None
    opened_at: str | None = None
    last_error: str = field(default="", kw_only=True)
    recent_lengths: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def is_open(self) -> bool:
        """True when no run may be started."""
        return self.state is Circuit.OPEN


@dataclass(frozen=True, slots=True)
class Transition:
    """One entry of ``.circuit_breaker_history``."""

    timestamp: str
    loop: int
    from_state: Circuit
    to_state: Circuit
    reason: str


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
    loop = found.get("current_loop")
    return Breaker(
        state=Circuit(found["state"]),
        last_change=_text(found.get("last_change")),
        **{key: _count(found.get(key)) for key in _COUNTERS},
        reason=_text(found.get("reason")),
        current_loop=_count(loop) if _is_count(loop) else None,
        opened_at=_text(found.get("opened_at")) or None,
        last_error=_text(ours.get("last_error")),
        recent_lengths=tuple(filter(_is_count, lengths)) if isinstance(lengths, list) else (),
    )


def write_breaker(breaker: Breaker) -> str:
    """Write a state file: documented keys in documented order, two blanks a level, a newline."""
    document: dict[str, Any] = {"state": breaker.state.value, "last_change": breaker.last_change}
    document |= {key: getattr(breaker, key) for key in _COUNTERS}
    document["reason"] = breaker.reason
    if breaker.current_loop is not None:
        document["current_loop"] = breaker.current_loop
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


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(value: object) -> int:
    return value if isinstance(value, int) and _is_count(value) else 0
