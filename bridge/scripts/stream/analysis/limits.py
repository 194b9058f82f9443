"""Did a limit of the provider end the run, and when is it over?

Only what the CLI itself says counts (trap T11): its events, its error texts, its stderr, and the last
lines of plain text of a run that failed. What an assistant writes about limits means nothing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import TYPE_CHECKING

from bridge.base.clis import own_words as words_of
from bridge.base.patterns import lazy
from bridge.base.timestamps import moment
from bridge.scripts.stream.analysis.model import Limit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from bridge.scripts.stream.analysis.model import LimitKind

_HTTP_TOO_MANY = 429
# The one that a line names first was hit: claude goes on with offers ("... uses your weekly limit").
_WINDOW = lazy(
    r"(?P<five_hour>\b(?:5|five)[\s-]*hours?\b.{0,40}\b(?:limit|quota)|\bsession limit\b"
    r"|\blimit\b.{0,20}\bfor (?:5|five)[\s-]*hours?\b)"
    r"|(?P<weekly>\bweekly\b.{0,40}\b(?:limit|quota)|\b(?:7|seven)[\s-]*days?\b.{0,40}\blimit"
    r"|\blimit\b.{0,20}\bper week\b)",
    re.IGNORECASE,
)
_USAGE = lazy(
    r"\busage\b.{0,20}\blimit|\blimit\b.{0,20}\breached\b.*\b(?:try|resets?|until|upgrade)\b"
    r"|\b(?:hit|reached) your\b(?!\s+(?:context|output|token)).{0,40}\blimit"
    r"|\bexceeded your (?:\w+ ){0,3}(?:quota|allowance)\b|\binsufficient_quota\b|\bquota exceeded\b"
    r"|\busage_limit_reached\b|\bspend(?:ing)? (?:cap|limit) reached\b"
    r"|\bused (?:up|all)\b.{0,40}\b(?:usage|quota|allowance)\b"
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
# What an assistant writes about limits goes on: "Rate limits are handled now.", "429 tests pass."
_NO_SUBJECT = (
    r"(?!\w*\s+(?:is|are|was|were|now|tests?|lines?|files?|bytes|times|tokens|responses?|cases?|handl\w+|support\w*"
    r"|logic|middleware|headers?|retries|values?|settings?|code)\b(?!\s+(?:reached|hit|exceeded)\b)|s\b|ing\b|ers?\b)"
)
# How a CLI that prints plain text says so: the line begins with it.
_OWN = lazy(
    r"(?:[^\w\s]+\s*)?(?:(?:api |fatal |stream |provider )?[\w.]*error\W+|claude(?: ai| code)?\W+|codex\W+"
    r"|(?:cursor|llm|failed after \d+ attempts|last error|type|detail|message|sorry)\W+)*"
    r"(?:you(?:['\u2019]ve|\s+have)\s+(?:hit|reached|exceeded|exhausted|used\s+(?:up|all(?:\s+of)?))\s+"
    r"(?:your|the)\b.{0,40}\b(?:limit|quota|capacity|allowance|usage)"
    r"|(?:(?:your|the)\s+)?(?:(?:opus|sonnet|haiku|fable)\s+)?"
    r"(?:(?:5|five)[\s-]*hours?|session|weekly|daily|monthly|usage|rate|api|spend(?:ing)?)\b.{0,30}\b(?:limit|cap)\s+"
    r"(?:has\s+been\s+|was\s+|is\s+)?(?:reached|hit|exceeded)|spend(?:ing)?\s+cap\s+reached\b"
    rf"|rate[\s_-]*limit{_NO_SUBJECT}|usage_limit_reached\b|limit\s+(?:has\s+been\s+)?reached\b"
    rf"|request rejected \(429\)|429\b{_NO_SUBJECT}|code: 429\b|too many requests\b{_NO_SUBJECT}"
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
_WORK = lazy(
    r"\b(?:handl(?:es?|ed|ing)|add(?:s|ed)|implement(?:s|ed|ation|ing)?|fix(?:es|ed)|mended|tests?|tested|pass(?:es|ed|(?=\W*$))"
    r"|middleware|emit(?:s|ted)|documented|answered|raises?|covered|refactored)\b",
    re.IGNORECASE,
)
"""Words of somebody who tells of work on limits and errors."""
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
    exact = resets_at is not None
    if resets_at is None and by_words is not None:
        resets_at = by_words.resets_at
    return Limit(kind, resets_at, by_words.text if by_words else error, exact)


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
                limit = Limit(kind, text=line.strip()[:_LINE_LENGTH])
                resets = reset_time(line, now, limit.window) or reset_time(text, now, limit.window)
                return replace(limit, resets_at=resets)
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


@cache
def _of_clis() -> re.Pattern[str]:
    words = "|".join(f"(?:{each})" for each in words_of("limit"))
    return re.compile(rf"(?:[^\w\s]+\s*)?(?:{words})", re.IGNORECASE)


def is_own(line: str) -> bool:
    """Whether a line of plain text tells of a limit as CLIs do, and not an assistant."""
    own = len(line) <= _LINE_LENGTH and bool(_OWN.match(line) or _of_clis().match(line))
    return own and not tells_of_work(line)


def tells_of_work(line: str) -> bool:
    """Whether a line is somebody's who has worked on limits or errors, and has met none.

    >>> tells_of_work("Rate limit tests pass."), tells_of_work("Usage limit reached, try again at 3pm")
    (True, False)
    >>> tells_of_work("Rate limit reached, retried 10 times"), tells_of_work("Your quota returns at 3pm")
    (False, False)
    """
    return _WORK.search(line) is not None


def own_words(text: str) -> str:
    """The last line of a plain text that a CLI, not an assistant, would end with, or ''."""
    lines = [line.strip() for line in text[-4 * _LINE_LENGTH :].splitlines() if line.strip()]
    own = [line for line in lines[-_LAST_LINES:] if is_own(line)]
    return own[-1] if own else ""


def _kind(line: str, *, sure: bool) -> LimitKind | None:
    window = _WINDOW.search(line, 0, _LOOKED_AT)
    found = window or _USAGE.search(line, 0, _LOOKED_AT) or _RATE.search(line, 0, _LOOKED_AT)
    reported = found is not None and _REPORTED.search(line, 0, found.start())
    if not sure and (reported or (window and not _MET.search(line, 0, _LOOKED_AT))):
        return None
    if window:
        return "weekly" if window["weekly"] else "five_hour"
    if kind := next((kind for kind, pattern in _KINDS if pattern.search(line, 0, _LOOKED_AT)), None):
        return kind
    return "usage" if _of_clis().search(line, 0, _LOOKED_AT) else None


_EPOCH = lazy(r"(?:\||\bresets?_at\W{1,4})(\d{10})(\d{3})?\b")
_OFFSET = r"[+-]\d{1,2}(?::?\d\d)?"
_ZONE = (
    rf"(?:\s*\((?P<zone>[a-z][\w+/:-]*|{_OFFSET})\)"  # whatever stands in brackets is meant as one
    rf"|\s+(?P<word>(?:UTC|GMT)(?:{_OFFSET})?|(?-i:[A-Z]{{2,5}})|[a-z]+/[\w+/-]+)\b|\s?(?P<offset>Z|{_OFFSET})\b)?"
)
_ISO = lazy(rf"\b(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?){_ZONE}", re.IGNORECASE)
_CUE = r"(?:resets?|reset(?:ting)?|try(?:ing)? again|available(?: again)?|retry)(?:\s+(?:at|on|after))?:?\s+"
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = lazy(
    _CUE + rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?(?:,|\s+at)?\s+)?"
    rf"(?:(?P<weekday>{'|'.join(_DAYS)}|tomorrow)[a-z]*\.?,?\s+(?:at\s+)?)?"
    rf"(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?P<half>[ap]\.?m\b\.?)?{_ZONE}",
    re.IGNORECASE,
)
_UNIT = r"(ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-z])"
_SPAN = lazy(
    rf"(?:\bin|\bafter|\bwait)\s+(?:about\s+)?((?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*(?:and\s+)?)+)", re.IGNORECASE
)
_RETRY_AFTER = lazy(
    r"\b(?:retry[- ]after:?\s+|(?:resets_in_seconds|retry_?delay)\W{1,6})"
    r"(\d+(?:\.\d+)?)\s*(?:s|secs?|seconds?)?(?![\w:])",
    re.IGNORECASE,
)
_PART = lazy(r"(\d+(?:\.\d+)?)\s*" + _UNIT, re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_JUST_PAST = 3600.0
"""Seconds: a time of day that passed so recently is not tomorrow's. The message was old, or the limit holds on."""

_SLACK = 600.0
"""Seconds by which a window may seem to last longer: clocks differ, and times are rounded up."""


def reset_time(text: str, now: datetime, window: float = float("inf")) -> float | None:
    """When a limit ends, in seconds since the epoch; it may just have passed. None: the words don't say.

    A time that can't be true is none: one in a zone that this machine doesn't know, one without a zone that lies
    beyond the window.

    Args:
        text: the CLI's words.
        now: the time, aware. A time of day is the next such one, in the zone that the text names or in
            that of `now`.
        window: seconds that such a limit can last.
    """
    try:
        return moment(_epoch(text) or _iso(text, now, window) or _clock(text, now, window) or _span(text, now))
    except (ValueError, OverflowError, OSError):  # 31 February, 25:00, year 9999
        return None


def _epoch(text: str) -> float | None:
    return float(found[1]) if (found := _EPOCH.search(text)) else None


def _iso(text: str, now: datetime, window: float) -> float | None:
    if not (found := _ISO.search(text)):
        return None
    date, zones = datetime.fromisoformat(found[1]), _zones(found, now)
    if zones:
        return _soonest([_seconds(date, zone) for zone in zones], now, window)
    return _believed(_seconds(date, _zone_of(now)), now, window) if zones is None else None


def _clock(text: str, now: datetime, window: float) -> float | None:
    for found in _CLOCK.finditer(text):
        if found["half"] or found["minute"]:  # "try again at 3" says too little
            return _at_clock(found, now, window)
    return None


def _at_clock(found: re.Match[str], now: datetime, window: float) -> float | None:
    zones = _zones(found, now)
    if zones is None:
        at = _clock_in(_zone_of(now), found, now)
        return at if at <= now.timestamp() else _believed(at, now, window)
    return _soonest([_clock_in(zone, found, now) for zone in zones], now, window)


def _clock_in(zone: tzinfo | None, found: re.Match[str], now: datetime) -> float:
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"][0] in "pP" else 0)
    here = now.astimezone(zone).replace(tzinfo=None)
    date = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0, fold=0)
    if found["month"]:
        month = _MONTHS.index(found["month"][:3].lower()) + 1
        date = date.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
        if not found["year"] and date < here - timedelta(days=180):
            date = date.replace(year=here.year + 1)
        return _seconds(date, zone)
    if found["weekday"]:
        day = found["weekday"].lower()
        ahead = 1 if day == "tomorrow" else (_DAYS.index(day) - here.weekday()) % 7
        date += timedelta(days=ahead)
        if ahead == 0 and here - date > timedelta(seconds=_JUST_PAST):
            date += timedelta(days=7)
        return _seconds(date, zone)
    # Yesterday's, today's and tomorrow's; where clocks are set back, an hour is there twice.
    days = [date + timedelta(days=each) for each in (-1, 0, 1)]
    times = sorted({_seconds(day.replace(fold=fold), zone) for day in days for fold in (0, 1)})
    at = now.timestamp()
    passed = max(each for each in times if each <= at)
    coming = min(each for each in times if each > at)
    return passed if at - passed < _JUST_PAST < coming - at else coming


def _soonest(times: list[float], now: datetime, window: float) -> float | None:
    """The time that is meant where letters stand for several zones: the next one that can be true.

    >>> at = datetime(2026, 1, 2, tzinfo=UTC)
    >>> [_soonest([at.timestamp() + each for each in some], at, 18000) for some in ([60, -60], [], [90000])]
    [1767312060.0, None, 1767402000.0]
    """
    if len(times) < 2:
        return next(iter(times), None)
    likely = [each for each in times if _believed(each, now, window)] or times
    return min([each for each in likely if each > now.timestamp()] or [max(likely)])


def _believed(seconds: float, now: datetime, window: float) -> float | None:
    """A time without a zone, if it can be true."""
    return seconds if seconds - now.timestamp() <= window + _SLACK else None


def _zone_of(now: datetime) -> tzinfo | None:
    """The zone that a bare time is understood in; None: this machine's, whose offset may change until then."""
    return None if now.utcoffset() == now.astimezone().utcoffset() else now.tzinfo


def _seconds(date: datetime, zone: tzinfo | None) -> float:
    return (date if zone is None else date.replace(tzinfo=zone)).timestamp()


_FIXED = lazy(rf"(?:UTC?|GMT|Z)?(?P<offset>{_OFFSET})?", re.IGNORECASE)


def _zones(found: re.Match[str], now: datetime) -> list[tzinfo] | None:
    """The zones that may be meant by what stands behind a time.

    Returns:
        None: nothing there is a zone; an empty list: one that this machine doesn't know.
    """
    name = found["zone"] or found["word"] or found["offset"]
    if not name:
        return None
    if fixed := _FIXED.fullmatch(name):
        hours, minutes = re.fullmatch(r"([+-]\d{1,2}):?(\d\d)?", fixed["offset"] or "+0").groups("0")  # type: ignore[union-attr]
        sign = -1 if hours.startswith("-") else 1
        return [timezone(timedelta(hours=int(hours), minutes=sign * int(minutes)))]
    from zoneinfo import ZoneInfo  # not needed by most runs

    try:
        return [ZoneInfo(name)]
    except (ValueError, OSError, LookupError):
        known = _of_letters(name, now.date())
    return list(known) or (None if found["word"] and "/" not in name else [])


@cache
def _of_letters(name: str, day: date) -> tuple[tzinfo, ...]:
    """What letters such as PDT stand for anywhere, at this time of the year or half a year from it."""
    from zoneinfo import ZoneInfo, available_timezones

    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    offsets = set()
    for key in available_timezones():
        with suppress(ValueError, OSError, LookupError):
            zone = ZoneInfo(key)
            for at in (noon.astimezone(zone), (noon + timedelta(days=182)).astimezone(zone)):
                if at.tzname() == name.upper():
                    offsets.add(at.utcoffset() or timedelta())
    return tuple(timezone(each) for each in sorted(offsets))


def _span(text: str, now: datetime) -> float | None:
    if found := _RETRY_AFTER.search(text):
        return now.timestamp() + float(found[1])
    if not (found := _SPAN.search(text)):
        return None
    seconds = 0.0
    for number, unit in _PART.findall(found[1]):
        seconds += float(number) * (0.001 if unit.lower() == "ms" else _SECONDS[unit[0].lower()])
    return now.timestamp() + seconds
