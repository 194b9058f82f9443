"""Did a limit of the provider end the run, and when is it over?

Only what the CLI itself says counts (trap T11): its events, its error texts, its stderr, and the last
lines of plain text of a run that failed. What an assistant writes about limits means nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from bridge.patterns import lazy
from bridge.stream.analysis.model import Limit
from bridge.timestamps import moment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.stream.analysis.model import LimitKind

_HTTP_TOO_MANY = 429
# The one that a line names first was hit: claude goes on with offers ("... uses your weekly limit").
_WINDOW = lazy(
    r"(?P<five_hour>\b(?:5|five)[\s-]*hours?\b.{0,40}\blimit|\bsession limit\b)"
    r"|(?P<weekly>\bweekly\b.{0,40}\blimit|\b(?:7|seven)[\s-]*days?\b.{0,40}\blimit|\blimit\b.{0,20}\bper week\b)",
    re.IGNORECASE,
)
_USAGE = lazy(
    r"\busage\b.{0,20}\blimit|\blimit\b.{0,20}\breached\b.*\b(?:try|resets?|until|upgrade)\b"
    r"|\b(?:hit|reached) your\b(?!\s+(?:context|output|token)).{0,40}\blimit"
    r"|\bexceeded your current quota\b|\binsufficient_quota\b|\bquota exceeded\b"
    r"|\bout of (?:extra )?(?:usage|credits)\b|\bexhausted your\b.{0,40}\b(?:quota|capacity)\b",
    re.IGNORECASE,
)
_RATE = lazy(r"\brate[\s_-]*limit|\btoo many requests\b|\bresource(?: has been |_)exhausted\b", re.IGNORECASE)
# As a number of its own: no part of a path, a name, a version or an amount ("/srv/job-429/", "x_429.json").
_STATUS = lazy(r"(?<![\w/\\.$#~-])429(?![\w/\\$%-]|[.,]\d|\.\w| (?:tokens|lines|files|bytes|times)\b)")
_KINDS: tuple[tuple[LimitKind, re.Pattern[str]], ...] = (
    ("rate", _RATE),
    ("usage", _USAGE),
    ("rate", _STATUS),
)
# How a CLI that prints plain text says so: the line begins with it.
_OWN = lazy(
    r"(?:[^\w\s]+\s*)?(?:(?:api |fatal )?error\W+|claude(?: ai| code)?\W+|codex\W+|cursor\W+)*"
    r"(?:you(?:['\u2019]ve|\s+have)\s+(?:hit|reached|exceeded)\s+your\b.{0,40}\blimit"
    r"|(?:your\s+)?(?:(?:5|five)[\s-]*hours?|session|weekly|daily|usage|rate|api)\b.{0,30}\blimit\s+"
    r"(?:has\s+been\s+|was\s+|is\s+)?(?:reached|hit|exceeded)"
    r"|rate[\s_-]*limit|limit\s+(?:has\s+been\s+)?reached\b|request rejected \(429\)|429\b|too many requests\b"
    r"|exceeded retry limit|you(?:['\u2019]re|\s+are)\s+out\s+of\s+(?:extra\s+)?(?:usage|credits)\b"
    r"|your\s+org(?:anization)?\s+is\s+out\s+of\s+usage\b)",
    re.IGNORECASE,
)
# Words that are told of, not met: in front of them stands who says so, or nothing says what has happened.
_REPORTED = lazy(
    r"\b(?:I|we|docs?|document\w*|wrote|writes?|written|says?|said|quot\w+|mention\w*|about|tests?|handl\w*|grep)\b"
)
_MET = lazy(
    r"\b(?:hit|reach\w*|exceed\w*|exhausted|used|out of|resets?|try|retry|until|upgrade|wait)\b", re.IGNORECASE
)
_OVERLOAD = lazy(
    r"\boverloaded\b|\boverloaded_error\b|\bis at capacity\b|\b(?:503|529)\b.{0,40}\b(?:unavailable|overload)"
    r"|\bservice (?:is )?(?:temporarily |currently )?unavailable\b",
    re.IGNORECASE,
)
_LAST_LINES = 2
_LINE_LENGTH = 400
_LOOKED_AT = 4 * 1024
"""Characters of a line in which a limit is looked for: patterns with two ends take the square of the time."""


def limit_in_events(limit_type: str, resets_at: float | None, by_words: Limit | None, error: str) -> Limit:
    """The limit that an event of the CLI names; its words, if they name one, tell what the event doesn't.

    Args:
        limit_type: the event's word for it; '' where it has none.
        resets_at: when it ends, in seconds since the epoch, if the event says so.
        by_words: what the CLI's words come to.
        error: those words.
    """
    kind: LimitKind = "usage"
    if limit_type.startswith("five_hour"):
        kind = "five_hour"
    elif limit_type.startswith("seven_day"):
        kind = "weekly"
    elif not limit_type and by_words is not None and by_words.kind != "rate":
        kind = by_words.kind
    if resets_at is None and by_words is not None:
        resets_at = by_words.resets_at
    return Limit(kind, resets_at, by_words.text if by_words else error)


def find_limit(texts: Iterable[str], now: datetime, *, api_error_status: int | None = None) -> Limit | None:
    """The limit in texts that a CLI prints of itself, or in the status of its request.

    Args:
        texts: error texts and stderr; the first that names a limit counts.
        now: the time, with the zone that a bare time of day is understood in.
        api_error_status: 429 is a limit, whatever the texts say.
    """
    rest = []
    for text in texts:
        for line in text.splitlines():
            if kind := _kind(line, sure=api_error_status == _HTTP_TOO_MANY):
                return Limit(kind, reset_time(line, now) or reset_time(text, now), line.strip()[:_LINE_LENGTH])
        rest.append(text)
    if api_error_status == _HTTP_TOO_MANY:
        message = next((text.strip()[:_LINE_LENGTH] for text in rest if text.strip()), "")
        return Limit("rate", reset_time(message, now), message)
    return None


def is_overload(error: str) -> bool:
    """Whether a CLI's own words about a failure say that its provider has too much to do, and not the user.

    >>> is_overload("API Error: 529 Overloaded"), is_overload("429 Too Many Requests")
    (True, False)
    """
    return _OVERLOAD.search(error, 0, _LOOKED_AT) is not None


def own_words(text: str) -> str:
    """The last line of a plain text that a CLI, not an assistant, would end with, or ''."""
    lines = [line.strip() for line in text[-4 * _LINE_LENGTH :].splitlines() if line.strip()]
    own = [line for line in lines[-_LAST_LINES:] if len(line) <= _LINE_LENGTH and _OWN.match(line)]
    return own[-1] if own else ""


def _kind(line: str, *, sure: bool) -> LimitKind | None:
    window = _WINDOW.search(line, 0, _LOOKED_AT)
    found = window or _USAGE.search(line, 0, _LOOKED_AT) or _RATE.search(line, 0, _LOOKED_AT)
    reported = found is not None and _REPORTED.search(line, 0, found.start())
    if not sure and (reported or (window and not _MET.search(line, 0, _LOOKED_AT))):
        return None
    if window:
        return "weekly" if window["weekly"] else "five_hour"
    return next((kind for kind, pattern in _KINDS if pattern.search(line, 0, _LOOKED_AT)), None)


_EPOCH = lazy(r"\|(\d{10})(\d{3})?\b")
_ISO = lazy(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_CUE = r"(?:resets?|reset(?:ting)?|try(?:ing)? again|available(?: again)?|retry)(?:\s+(?:at|on|after))?:?\s+"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = lazy(
    _CUE + rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?P<half>[ap]\.?m\b\.?)?"
    r"(?:\s*\((?P<zone>[A-Za-z_+/-]+(?:\d+)?)\)|\s+(?P<utc>UTC|GMT)\b)?",
    re.IGNORECASE,
)
_UNIT = r"(ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-z])"
_SPAN = lazy(
    rf"(?:\bin|\bafter|\bwait)\s+(?:about\s+)?((?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*(?:and\s+)?)+)", re.IGNORECASE
)
_RETRY_AFTER = lazy(r"\bretry[- ]after:?\s+(\d+(?:\.\d+)?)\s*(?:s|secs?|seconds?)?(?![\w:])", re.IGNORECASE)
_PART = lazy(r"(\d+(?:\.\d+)?)\s*" + _UNIT, re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_JUST_PAST = timedelta(minutes=10)
"""A time of day that passed so recently is not tomorrow's: the message was minutes old."""


def reset_time(text: str, now: datetime) -> float | None:
    """When a limit ends, in seconds since the epoch.

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
    """The zone of a name, or None when this machine doesn't know it."""
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
