"""Points in time as the files write them. Pure: times are seconds since the epoch, as time.time() gives them."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(now: float) -> str:
    """Return UTC to the second: ``2026-01-02T03:04:05+00:00``."""
    return datetime.fromtimestamp(int(now), UTC).isoformat()


def iso_precise(now: float) -> str:
    """Return UTC to the millisecond: ``2026-01-02T03:04:05.678+00:00``."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")


def local(now: float) -> str:
    """Return local time: ``2026-01-02 03:04:05``."""
    return datetime.fromtimestamp(now).strftime("%Y-%m-%d %H:%M:%S")


def clock(now: float) -> str:
    """Return the local time of day: ``03:04:05``."""
    return datetime.fromtimestamp(now).strftime("%H:%M:%S")


def hour(now: float) -> str:
    """Return the local clock hour: ``2026010203``."""
    return datetime.fromtimestamp(now).strftime("%Y%m%d%H")


def file_name(now: float) -> str:
    """Return local time for the name of a file: ``2026-01-02_03-04-05``."""
    return datetime.fromtimestamp(now).strftime("%Y-%m-%d_%H-%M-%S")


def next_hour(now: float) -> float:
    """Return when the local clock hour of `now` ends, which is when the count of calls starts anew."""
    moment = datetime.fromtimestamp(now)
    return now - (moment.minute * 60 + moment.second + moment.microsecond / 1e6) + 3600


def parse_iso(text: object) -> float | None:
    """Return the time that an ISO 8601 text means, None for anything else; without a zone it is UTC.

    >>> parse_iso("1970-01-01T00:01:00Z"), parse_iso("soon")
    (60.0, None)
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
