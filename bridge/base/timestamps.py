"""Points in time as the files write them. Pure: times are seconds since the epoch, as time.time() gives them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from bridge.base.amounts import amount

_LAST = 253_370_764_800
"""The beginning of the year 9999: a day of which every zone and every sum still is a date."""


def moment(value: object) -> float | None:
    """Give a number that is a time from 1970 to the year 9999 as it is, anything else as None.

    >>> moment(60), moment(1e308), moment(-1)
    (60.0, None, None)
    """
    found = amount(value)
    return float(found) if found is not None and found <= _LAST else None


def _date(now: float, zone: tzinfo | None = None) -> datetime:
    """A time as a date; what lies beyond all dates is shown as the nearest one."""
    return datetime.fromtimestamp(min(max(now, 0.0), _LAST), zone)


def iso(now: float) -> str:
    """Return UTC to the second: ``2026-01-02T03:04:05+00:00``."""
    return _date(now, UTC).isoformat(timespec="seconds")


def iso_precise(now: float) -> str:
    """Return UTC to the millisecond: ``2026-01-02T03:04:05.678+00:00``."""
    return _date(now, UTC).isoformat(timespec="milliseconds")


def local(now: float) -> str:
    """Return local time: ``2026-01-02 03:04:05``."""
    return _date(now).strftime("%Y-%m-%d %H:%M:%S")


def clock(now: float) -> str:
    """Return the local time of day: ``03:04:05``."""
    return _date(now).strftime("%H:%M:%S")


def shown(now: float, form: str) -> str:
    """Return local time in a form of ``strftime``."""
    return _date(now).strftime(form)


def ahead(now: float) -> float:
    """Return by how many seconds the local clock is ahead of UTC."""
    offset = _date(now).astimezone().utcoffset()
    return offset.total_seconds() if offset else 0.0


def hour(now: float) -> str:
    """Return the local clock hour: ``2026010203``."""
    return _date(now).strftime("%Y%m%d%H")


def file_name(now: float) -> str:
    """Return local time for the name of a file: ``2026-01-02_03-04-05``."""
    return _date(now).strftime("%Y-%m-%d_%H-%M-%S")


def next_hour(now: float) -> float:
    """Return when the local clock hour of `now` ends, which is when the count of calls starts anew."""
    date = _date(now)
    return now - (date.minute * 60 + date.second + date.microsecond / 1e6) + 3600


def parse_iso(text: object) -> float | None:
    """Return the time that an ISO 8601 text means, None for anything else; without a zone it is UTC.

    >>> parse_iso("1970-01-01T00:01:00Z"), parse_iso("soon")
    (60.0, None)
    """
    if not isinstance(text, str):
        return None
    try:
        date = datetime.fromisoformat(text.strip())
        return moment((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
