"""The circuit breaker of wiggum mode: a loop that gets nowhere stops. Pure; the clock is passed in.

The rules are wiggum's own: four conditions of which two only warn unless told otherwise, no doubts while CLOSED,
and a reset that leads to HALF.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import Literal, NamedTuple

from bridge.base.files import to_bytes
from bridge.base.records import dataclass
from bridge.base.timestamps import parse_iso

Reaction = Literal["off", "warn", "stop"]
Hashes = tuple[str, ...]

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


class Trip(StrEnum):
    """What opens the circuit, and so ends the loop."""

    NO_FILE_CHANGES = "no_file_changes"
    REPEATED_ERROR = "repeated_error"
    OUTPUT_DECLINE = "output_decline"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True, kw_only=True)
class WiggumBreakerSettings:
    """When to open. A threshold of 0 is never reached."""

    no_change: int = 3  # turns in a row that changed no file
    same_error: int = 5  # turns in a row with the same error, or with the same last message and no changed file
    output_decline: int = 70  # percent that an output is shorter than the recent ones were on average
    on_output_decline: Reaction = "warn"
    on_stuck: Reaction = "warn"  # the agent says that it is stuck
    cooldown_minutes: float = 30  # how long OPEN lasts; 0: until the next start


@dataclass(frozen=True, slots=True, kw_only=True)
class WiggumBreaker:
    """The breaker's state. Counts are of turns in a row."""

    state: WiggumCircuit = WiggumCircuit.CLOSED
    opened_at: str | None = None  # UTC; None unless OPEN
    reason: str = ""  # why it is OPEN or HALF, for people
    trip: str = ""  # what opened it: a `Trip`, or another writer's word
    no_change_count: int = 0
    same_error_count: int = 0
    error_hashes: Hashes = ()  # of the last turns' errors, the newest last; see `hash_of`
    output_lengths: tuple[int, ...] = ()  # characters of the last outputs, the newest last
    opens: int = 0  # how often it has opened
    error_streaks: dict[str, int] = field(default_factory=dict)  # hash of each error of the last turn: its count
    same_message_count: int = 0  # without work, and with the same last message
    message_hash: str = ""  # tells that message from others; '' without one

    @property
    def is_open(self) -> bool:
        return self.state is WiggumCircuit.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    changed: bool | None = None  # it changed files; None: nobody can tell
    error: str = ""  # what tells the error that it reports from others; '' without one
    output_length: int | None = None  # characters
    stuck: bool = False  # the agent says so
    tool_errors: tuple[str, ...] = ()  # what tells the errors that its tools ended with from others
    message: str = ""  # its last one; '' without one, and where the same one says nothing


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
    if breaker.state is WiggumCircuit.CLOSED:
        return WiggumBreaker(opens=breaker.opens)
    return WiggumBreaker(state=WiggumCircuit.HALF, reason="reset by hand", opens=breaker.opens)


def record(
    breaker: WiggumBreaker, evidence: Evidence, settings: WiggumBreakerSettings, now: datetime
) -> tuple[WiggumBreaker, Tripped]:
    counted = _counted(breaker, evidence)
    trip, reason, warnings = _conditions(counted, evidence, settings, breaker.output_lengths)
    if trip:
        counted = replace(
            counted,
            state=WiggumCircuit.OPEN,
            opened_at=timestamp(now),
            reason=reason,
            trip=trip,
            opens=counted.opens + 1,
        )
    elif counted.state is WiggumCircuit.HALF and evidence.changed:
        counted = replace(counted, state=WiggumCircuit.CLOSED, reason="", trip="")
    return counted, Tripped(trip, warnings)


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
) -> tuple[str, str, tuple[str, ...]]:
    """Return the first condition that opens the circuit, or '', with its reason; and what only warns."""
    same, idle, times = breaker.same_error_count, breaker.no_change_count, breaker.same_message_count
    # While one error repeats, its own threshold decides: a failing turn changes nothing either.
    explained = 0 < idle <= same and settings.same_error > 0
    still = evidence.changed is False and not explained
    decline = _decline(evidence.output_length, before)
    conditions = (
        (0 < settings.same_error <= same, "stop", Trip.REPEATED_ERROR,
         f"repeated error: the same one in {same} turns in a row"),
        (0 < settings.same_error <= times, "stop", Trip.REPEATED_ERROR,
         f"repeated error: the same last message in {times} turns in a row"),
        (still and 0 < settings.no_change <= idle, "stop", Trip.NO_FILE_CHANGES,
         f"no file changes in {idle} turns in a row"),
        (0 < settings.output_decline < decline, settings.on_output_decline, Trip.OUTPUT_DECLINE,
         f"output declined by {decline}% against the turns before"),
        (evidence.stuck, settings.on_stuck, Trip.STUCK, "the agent says that it is stuck"),
    )  # fmt: skip
    warnings: list[str] = []
    for reached, reaction, trip, reason in conditions:
        if reached and reaction == "stop":
            return trip, reason, tuple(warnings)
        if reached and reaction == "warn":
            warnings.append(reason)
    return "", "", tuple(warnings)


def _decline(length: int | None, before: tuple[int, ...]) -> int:
    """Return by how many percent an output is shorter than those before it were on average."""
    average = sum(before) / len(before) if before else 0
    if length is None or len(before) < _ENOUGH_LENGTHS or average <= 0:
        return 0
    return max(0, int(100 * (1 - length / average)))
