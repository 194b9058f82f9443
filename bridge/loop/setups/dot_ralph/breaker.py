"""The circuit breaker: a loop that gets nowhere stops calling the agent. Pure; the clock is passed in.

CLOSED runs, HALF_OPEN has its doubts, OPEN stops. The transitions and the state file are bmalph's. New
here: errors count as the same only when they are (trap T18), in HALF_OPEN too; failed runs and timeouts
count; and what was only ever documented, a decline of output.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.scripts.stream.analysis import iso

if TYPE_CHECKING:
    from bridge.loop.setups.dot_ralph.common import CommonSettings

_DOUBTS_AFTER = 2
_RECENT = 5
_ENOUGH_RUNS = 3


class Circuit(StrEnum):
    """The three states, as the state file spells them."""

    CLOSED = "CLOSED"
    HALF_OPEN = "HALF_OPEN"
    OPEN = "OPEN"


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state, field by field as ``.circuit_breaker_state`` has it.

    Attributes:
        last_change: when the state last changed, UTC. opened_at: when it opened, only while OPEN.
        total_opens: how often it opened since the last manual reset.
        current_loop: the last recorded loop, or None before the first.
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
        return self.state is Circuit.OPEN


@dataclass(frozen=True, slots=True)
class Transition:
    """One entry of ``.circuit_breaker_history``."""

    timestamp: str
    loop: int
    from_state: Circuit
    to_state: Circuit
    reason: str


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When to open: so many loops of a sort in a row. A threshold below 1 is never reached.

    Attributes:
        output_decline: percent that the output is shorter than that of the recent runs; 100 and more is never
            reached. Asked only in HALF_OPEN, of a loop without progress: a short answer alone is no bad one.
        count_denials: only PERMISSION_DENIAL_MODE=threshold leaves denials to the breaker.
        read_only_timeouts: loops that the heartbeat ended.
        auto_reset: OPEN ends when a loop starts.
        count_failures: failed and timed-out runs are loops without progress.
    """

    no_progress: int = 3
    same_error: int = 5
    output_decline: int = 70
    permission_denials: int = 2
    count_denials: bool = False
    read_only_timeouts: int = 2
    cooldown_minutes: int = 30
    auto_reset: bool = False
    count_failures: bool = True


@dataclass(frozen=True, slots=True)
class LoopEvidence:
    """What one loop shows.

    Attributes:
        files_changed: by git. reported_files: by the output (``files_modified``).
        complete: the analysis has a completion or an exit signal.
        error: fingerprint of the errors; '' when it isn't known, and then any error is the same.
        output_length: characters, or None when there is nothing to compare.
        read_only_timeout: the heartbeat ended the run because nothing was written.
        failed: the run failed or ran out of time. forgiven: that it brought nothing doesn't count.
    """

    loop: int
    files_changed: int = 0
    reported_files: int = 0
    complete: bool = False
    has_errors: bool = False
    error: str = ""
    output_length: int | None = None
    denied: bool = False
    read_only_timeout: bool = False
    failed: bool = False
    forgiven: bool = False

    @property
    def progress(self) -> bool:
        return self.files_changed > 0 or self.complete or self.reported_files > 0


def prepare(breaker: Breaker, settings: BreakerSettings, now: datetime) -> tuple[Breaker, Transition | None]:
    """Get ready for a loop: an open circuit closes by itself, or may be tried again after its cooldown.

    The counters survive a cooldown, so that one more idle loop opens it again. A time in the future or
    one that nobody can read doesn't end a cooldown.
    """
    if not breaker.is_open:
        return breaker, None
    if settings.auto_reset:
        cleared = Breaker(
            last_progress_loop=breaker.last_progress_loop,
            total_opens=breaker.total_opens,
            current_loop=breaker.current_loop,
        )
        return _moved(breaker, cleared, Circuit.CLOSED, "Auto-reset on startup", now)
    minutes = int((now - _time(breaker.opened_at or breaker.last_change, now)).total_seconds() // 60)
    if minutes < 0 or minutes < settings.cooldown_minutes:
        return breaker, None
    reason = f"Cooldown elapsed ({minutes} minutes), trying again"
    return _moved(breaker, breaker, Circuit.HALF_OPEN, reason, now)


def record(
    breaker: Breaker, evidence: LoopEvidence, settings: BreakerSettings, now: datetime
) -> tuple[Breaker, Transition | None]:
    """Take in a loop. The circuit is open when the given one :attr:`~Breaker.is_open`."""
    if evidence.failed and not evidence.progress and not settings.count_failures:
        return replace(breaker, current_loop=evidence.loop), None
    counted = _counted(breaker, evidence, settings)
    if breaker.is_open:
        return counted, None
    state, reason = _next(counted, evidence, settings, breaker.recent_lengths)
    if state is breaker.state:
        return counted, None
    return _moved(breaker, counted, state, reason, now)


def reset(
    breaker: Breaker, now: datetime, reason: str = "Manual reset via command line"
) -> tuple[Breaker, Transition | None]:
    """Close the circuit and forget everything; the history tells of it when it wasn't closed."""
    closed, transition = _moved(breaker, Breaker(), Circuit.CLOSED, reason, now)
    return closed, None if breaker.state is Circuit.CLOSED else transition


def _counted(breaker: Breaker, evidence: LoopEvidence, settings: BreakerSettings) -> Breaker:
    progress = evidence.progress
    more = 0 if evidence.forgiven else 1
    denied = evidence.denied and settings.count_denials
    known = evidence.error and breaker.last_error
    same = not known or evidence.error == breaker.last_error
    lengths = breaker.recent_lengths
    if evidence.output_length is not None:
        lengths = (*lengths, evidence.output_length)[-_RECENT:]
    return replace(
        breaker,
        consecutive_no_progress=0 if progress else breaker.consecutive_no_progress + more,
        consecutive_same_error=(breaker.consecutive_same_error * same + 1) if evidence.has_errors else 0,
        consecutive_permission_denials=breaker.consecutive_permission_denials + 1 if denied else 0,
        consecutive_read_only_timeouts=(
            breaker.consecutive_read_only_timeouts + 1 if evidence.read_only_timeout else 0
        ),
        last_progress_loop=evidence.loop if progress else breaker.last_progress_loop,
        current_loop=evidence.loop,
        last_error=(evidence.error or breaker.last_error) if evidence.has_errors else "",
        recent_lengths=lengths,
    )


def _next(
    breaker: Breaker, evidence: LoopEvidence, settings: BreakerSettings, before: tuple[int, ...]
) -> tuple[Circuit, str]:
    """Give the state that the counters lead to, and why. The first rule that applies counts."""
    for count, threshold, what in (
        (
            breaker.consecutive_permission_denials,
            settings.permission_denials,
            "Permission denied in {} consecutive loops",
        ),
        (breaker.consecutive_read_only_timeouts, settings.read_only_timeouts, "{} consecutive read-only timeouts"),
        (breaker.consecutive_no_progress, settings.no_progress, "No progress detected in {} consecutive loops"),
        (breaker.consecutive_same_error, settings.same_error, "Same error repeated in {} consecutive loops"),
    ):
        if 0 < threshold <= count:
            return Circuit.OPEN, what.format(count)
    if breaker.state is Circuit.HALF_OPEN:
        if evidence.progress:
            return Circuit.CLOSED, "Progress detected, circuit recovered"
        decline = _decline(evidence.output_length, before)
        if 0 < settings.output_decline <= decline and settings.output_decline < 100:
            return Circuit.OPEN, f"Output declined by {decline}% without progress"
    elif breaker.consecutive_no_progress >= _DOUBTS_AFTER:
        loops = breaker.consecutive_no_progress
        return Circuit.HALF_OPEN, f"Monitoring: {loops} loops without progress"
    return breaker.state, breaker.reason


def _decline(length: int | None, before: tuple[int, ...]) -> int:
    """Give by how many percent an output is shorter than those before it were on average."""
    average = sum(before) / len(before) if before else 0
    if length is None or len(before) < _ENOUGH_RUNS or average <= 0:
        return 0
    return max(0, int(100 * (1 - length / average)))


def _moved(
    before: Breaker, after: Breaker, state: Circuit, reason: str, now: datetime
) -> tuple[Breaker, Transition]:
    stamp = iso(now)
    opens = state is Circuit.OPEN
    moved = replace(
        after,
        state=state,
        last_change=stamp,
        reason=reason,
        total_opens=after.total_opens + opens,
        opened_at=stamp if opens else None,
    )
    loop = after.current_loop or before.current_loop or 0
    return moved, Transition(stamp, loop, before.state, state, reason)


def _time(text: str, now: datetime) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return now
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def breaker_settings(settings: CommonSettings) -> BreakerSettings:
    """Translate what concerns the breaker. Failed runs have their own cap and back-off, and don't open it."""
    return BreakerSettings(
        no_progress=settings.cb_no_progress_threshold,
        same_error=settings.cb_same_error_threshold,
        output_decline=settings.cb_output_decline_threshold or 100,
        permission_denials=settings.cb_permission_denial_threshold,
        cooldown_minutes=settings.cb_cooldown_minutes,
        auto_reset=settings.cb_auto_reset,
        count_failures=False,
    )
