"""The circuit breaker of wiggum mode: a loop that gets nowhere stops. Pure; the clock is passed in.

The rules are wiggum's own: four conditions of which two only warn unless told otherwise, no doubts while CLOSED,
and a reset that leads to HALF.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import Literal, NamedTuple

from bridge.files import to_bytes
from bridge.timestamps import parse_iso

Reaction = Literal["off", "warn", "stop"]

_LENGTHS = 5
"""Outputs whose lengths are remembered, ..."""
_ENOUGH_LENGTHS = 3
"""... and how many it takes for a comparison."""
_HASHES = 10


class WiggumCircuit(StrEnum):
    """CLOSED runs, OPEN stops, HALF runs and opens again at the first trip."""

    CLOSED = "CLOSED"
    HALF = "HALF"
    OPEN = "OPEN"


@dataclass(frozen=True, slots=True)
class WiggumBreakerSettings:
    """When to open. A threshold of 0 is never reached.

    Attributes:
        no_change: turns in a row that changed no file.
        same_error: turns in a row with the same error, or with the same last message and no changed file.
        output_decline: percent that an output is shorter than the recent ones were on average.
        on_output_decline: what to do about that.
        on_stuck: what to do when the agent says that it is stuck.
        cooldown_minutes: how long OPEN lasts; 0: until the next start.
    """

    no_change: int = 3
    same_error: int = 5
    output_decline: int = 70
    on_output_decline: Reaction = "warn"
    on_stuck: Reaction = "warn"
    cooldown_minutes: float = 30


@dataclass(frozen=True, slots=True)
class WiggumBreaker:
    """The breaker's state.

    Attributes:
        opened_at: when it opened, UTC; None unless OPEN.
        reason: why it is OPEN or HALF, for people.
        trip: the condition that opened it, as an outcome of the loop; ''.
        no_change_count: turns in a row without a changed file.
        same_error_count: turns in a row with the same error.
        error_hashes: of the last turns' errors, the newest last; see :func:`hash_of`.
        error_streaks: the hash of each error of the last turn, and for how many turns in a row it has been there.
        same_message_count: turns in a row without work, and with the same last message.
        message_hash: tells that message from others; '' without one.
        output_lengths: characters of the last outputs, the newest last.
        opens: how often it has opened.
    """

    state: WiggumCircuit = WiggumCircuit.CLOSED
    opened_at: str | None = None
    reason: str = ""
    trip: str = ""
    no_change_count: int = 0
    same_error_count: int = 0
    error_hashes: tuple[str, ...] = ()
    output_lengths: tuple[int, ...] = ()
    opens: int = 0
    error_streaks: dict[str, int] = field(default_factory=dict)
    same_message_count: int = 0
    message_hash: str = ""

    @property
    def is_open(self) -> bool:
        """True when no turn may be started."""
        return self.state is WiggumCircuit.OPEN


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one turn shows.

    Attributes:
        changed: it changed files; None: nobody can tell.
        error: what tells the error that it reports from others; '' without one.
        output_length: characters, or None.
        stuck: the agent says that it is stuck.
        tool_errors: what tells the errors that its tools ended with from others.
        message: its last message; '' without one, and where the same one says nothing.
    """

    changed: bool | None = None
    error: str = ""
    output_length: int | None = None
    stuck: bool = False
    tool_errors: tuple[str, ...] = ()
    message: str = ""


class Tripped(NamedTuple):
    """What a turn means: the condition that opened the circuit (or ''), and warnings for people."""

    condition: str = ""
    warnings: tuple[str, ...] = ()


def hash_of(error: str) -> str:
    """Give the hash that stands for an error, as ``printf '%s\\n' ERROR | md5sum`` prints it."""
    return hashlib.md5(to_bytes(f"{error}\n"), usedforsecurity=False).hexdigest()


def timestamp(now: datetime) -> str:
    """Write a moment as the files have it: UTC, whole seconds."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cooled_at(breaker: WiggumBreaker, settings: WiggumBreakerSettings) -> datetime | None:
    """Say when an open circuit may be tried again; None when its time of opening can't be read."""
    opened = parse_iso(breaker.opened_at)
    if opened is None:
        return None
    return datetime.fromtimestamp(opened, UTC) + timedelta(minutes=settings.cooldown_minutes)


def before_start(breaker: WiggumBreaker, settings: WiggumBreakerSettings, now: datetime) -> WiggumBreaker:
    """Get ready for a start: OPEN becomes HALF when its cooldown is over.

    The counters stay, so that one more turn of the same kind opens it again.
    """
    if not breaker.is_open:
        return breaker
    until = cooled_at(breaker, settings)
    if settings.cooldown_minutes and (until is None or now < until):
        return breaker
    return replace(breaker, state=WiggumCircuit.HALF, opened_at=None, reason=f"on trial after: {breaker.reason}")


def reset(breaker: WiggumBreaker) -> WiggumBreaker:
    """Let people decide: OPEN becomes HALF, and all counters begin anew."""
    state = WiggumCircuit.CLOSED if breaker.state is WiggumCircuit.CLOSED else WiggumCircuit.HALF
    return WiggumBreaker(
        state=state, reason="reset by hand" if state is WiggumCircuit.HALF else "", opens=breaker.opens
    )


def record(
    breaker: WiggumBreaker, evidence: Evidence, settings: WiggumBreakerSettings, now: datetime
) -> tuple[WiggumBreaker, Tripped]:
    """Take in a turn."""
    counted = _counted(breaker, evidence)
    reached, warnings = _conditions(counted, evidence, settings, breaker.output_lengths)
    if reached:
        trip, reason = reached
        opened = replace(
            counted,
            state=WiggumCircuit.OPEN,
            opened_at=timestamp(now),
            reason=reason,
            trip=trip,
            opens=counted.opens + 1,
        )
        return opened, Tripped(trip, warnings)
    if counted.state is WiggumCircuit.HALF and evidence.changed:
        counted = replace(counted, state=WiggumCircuit.CLOSED, reason="", trip="")
    return counted, Tripped("", warnings)


def _counted(breaker: WiggumBreaker, evidence: Evidence) -> WiggumBreaker:
    idle = breaker.no_change_count
    if evidence.changed is not None:
        idle = 0 if evidence.changed else idle + 1
    errors = dict.fromkeys(hash_of(each) for each in (*evidence.tool_errors, evidence.error) if each)
    newest = next(reversed(errors), "")
    before = breaker.error_streaks or _last_streak(breaker)
    streaks = {each: before.get(each, 0) + 1 for each in errors}
    text = " ".join(evidence.message.split())
    message = hashlib.sha256(to_bytes(text)).hexdigest()[:16] if text else ""
    again = breaker.same_message_count if message == breaker.message_hash else 0
    lengths = breaker.output_lengths
    if evidence.output_length is not None:
        lengths = (*lengths, evidence.output_length)[-_LENGTHS:]
    return replace(
        breaker,
        no_change_count=idle,
        same_error_count=max(streaks.values(), default=0),
        error_hashes=(*breaker.error_hashes, newest)[-_HASHES:] if newest else (),
        error_streaks=streaks,
        output_lengths=lengths,
        same_message_count=again + 1 if message else 0,
        message_hash=message,
    )


def _last_streak(breaker: WiggumBreaker) -> dict[str, int]:
    """Give the streak of the last error as the hashes alone tell it: other programs write no more."""
    last = breaker.error_hashes[-1:]
    times = sum(1 for _ in takewhile(last.__contains__, reversed(breaker.error_hashes)))
    return dict.fromkeys(last, max(times, breaker.same_error_count))


def _conditions(
    breaker: WiggumBreaker, evidence: Evidence, settings: WiggumBreakerSettings, before: tuple[int, ...]
) -> tuple[tuple[str, str] | None, tuple[str, ...]]:
    """Return the first condition that opens the circuit with its reason, or None; and what only warns."""
    same, idle = breaker.same_error_count, breaker.no_change_count
    if 0 < settings.same_error <= same:
        return ("repeated_error", f"repeated error: the same one in {same} turns in a row"), ()
    if 0 < settings.same_error <= (times := breaker.same_message_count):
        return ("repeated_error", f"repeated error: the same last message in {times} turns in a row"), ()
    # While one error repeats, its own threshold decides: a failing turn changes nothing either.
    explained = 0 < idle <= same and settings.same_error > 0
    if evidence.changed is False and 0 < settings.no_change <= idle and not explained:
        return ("no_file_changes", f"no file changes in {idle} turns in a row"), ()
    warnings: list[str] = []
    decline = _decline(evidence.output_length, before)
    for reached, reaction, trip, reason in (
        (
            0 < settings.output_decline < decline,
            settings.on_output_decline,
            "output_decline",
            f"output declined by {decline}% against the turns before",
        ),
        (evidence.stuck, settings.on_stuck, "stuck", "the agent says that it is stuck"),
    ):
        if reached and reaction == "stop":
            return (trip, reason), tuple(warnings)
        if reached and reaction == "warn":
            warnings.append(reason)
    return None, tuple(warnings)


def _decline(length: int | None, before: tuple[int, ...]) -> int:
    """Return by how many percent an output is shorter than those before it were on average."""
    average = sum(before) / len(before) if before else 0
    if length is None or len(before) < _ENOUGH_LENGTHS or average <= 0:
        return 0
    return max(0, int(100 * (1 - length / average)))
