"""When a limit is over, as CLIs write it: "resets 4:47pm (UTC)", "try again at 4:47 PM", epochs, spans."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from bridge.timestamps import moment

_EPOCH = re.compile(r"\|(\d{10})(\d{3})?\b")
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_CUE = r"(?:resets?|reset(?:ting)?|try(?:ing)? again|available(?: again)?|retry)(?:\s+(?:at|on|after))?:?\s+"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = re.compile(
    _CUE + rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?P<half>[ap]\.?m\b\.?)?"
    r"(?:\s*\((?P<zone>[A-Za-z_+/-]+(?:\d+)?)\)|\s+(?P<utc>UTC|GMT)\b)?",
    re.IGNORECASE,
)
_UNIT = r"(ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-z])"
_SPAN = re.compile(
    rf"(?:\bin|\bafter|\bwait)\s+(?:about\s+)?((?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*(?:and\s+)?)+)", re.IGNORECASE
)
_RETRY_AFTER = re.compile(r"\bretry[- ]after:?\s+(\d+(?:\.\d+)?)\s*(?:s|secs?|seconds?)?(?![\w:])", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*" + _UNIT, re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_JUST_PAST = timedelta(minutes=10)
"""A time of day that passed so recently is not tomorrow's: the message was minutes old."""


def reset_time(text: str, now: datetime) -> float | None:
    """Find the time at which a limit ends, in seconds since the epoch.

    Args:
        text: the CLI's words.
        now: the time, aware. A time of day is the next such one, in the zone that the text names or in
            that of `now`.
    """
    try:
        return moment(_epoch(text) or _iso(text, now) or _clock(text, now) or _span(text, now))
    except (ValueError, OverflowError, OSError):  # 31 February, 25:00, year 9999
        return None


def _epoch(text: str) -> float | None:
    return float(found[1]) if (found := _EPOCH.search(text)) else None


def _iso(text: str, now: datetime) -> float | None:
    if not (found := _ISO.search(text)):
        return None
    date = datetime.fromisoformat(found[0])
    return (date if date.tzinfo else date.replace(tzinfo=now.tzinfo)).timestamp()


def _clock(text: str, now: datetime) -> float | None:
    for found in _CLOCK.finditer(text):
        if found["half"] or found["minute"]:  # "try again at 3" says too little
            return _at_clock(found, now).timestamp()
    return None


def _at_clock(found: re.Match[str], now: datetime) -> datetime:
    here = now.astimezone(_zone(found["zone"] or found["utc"]) or now.tzinfo)
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"][0] in "pP" else 0)
    date = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if not found["month"]:
        return date if date > here - _JUST_PAST else date + timedelta(days=1)
    month = _MONTHS.index(found["month"][:3].lower()) + 1
    date = date.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
    if not found["year"] and date < here - timedelta(days=180):
        date = date.replace(year=here.year + 1)
    return date


def _zone(name: str | None) -> tzinfo | None:
    """Give the zone of a name, or None when this machine doesn't know it."""
    if not name:
        return None
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    from zoneinfo import ZoneInfo  # not needed by most runs

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def _span(text: str, now: datetime) -> float | None:
    if found := _RETRY_AFTER.search(text):
        return now.timestamp() + float(found[1])
    if not (found := _SPAN.search(text)):
        return None
    seconds = 0.0
    for number, unit in _PART.findall(found[1]):
        seconds += float(number) * (0.001 if unit.lower() == "ms" else _SECONDS[unit[0].lower()])
    return now.timestamp() + seconds
