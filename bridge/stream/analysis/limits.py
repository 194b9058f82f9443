"""Did a limit of the provider end the run, and when is it over?

Only what the CLI itself says counts (trap T11): its events, its error texts, its stderr, and the last
lines of plain text of a run that failed. What an assistant writes about limits means nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.stream.analysis.facts import Limit
from bridge.stream.analysis.resets import reset_time

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from bridge.stream.analysis.facts import LimitKind

_HTTP_TOO_MANY = 429
# The one that a line names first was hit: claude goes on with offers ("... uses your weekly limit").
_WINDOW = re.compile(
    r"(?P<five_hour>\b(?:5|five)[\s-]*hours?\b.{0,40}\blimit|\bsession limit\b)"
    r"|(?P<weekly>\bweekly\b.{0,40}\blimit|\b(?:7|seven)[\s-]*days?\b.{0,40}\blimit|\blimit\b.{0,20}\bper week\b)",
    re.IGNORECASE,
)
_USAGE = re.compile(
    r"\busage\b.{0,20}\blimit|\blimit\b.{0,20}\breached\b.*\b(?:try|resets?|until|upgrade)\b"
    r"|\b(?:hit|reached) your\b(?!\s+(?:context|output|token)).{0,40}\blimit"
    r"|\bexceeded your current quota\b|\binsufficient_quota\b|\bquota exceeded\b"
    r"|\bout of (?:extra )?(?:usage|credits)\b|\bexhausted your\b.{0,40}\b(?:quota|capacity)\b",
    re.IGNORECASE,
)
_RATE = re.compile(r"\brate[\s_-]*limit|\btoo many requests\b|\bresource(?: has been |_)exhausted\b", re.IGNORECASE)
_STATUS = re.compile(r"\b429\b")
_KINDS: tuple[tuple[LimitKind, re.Pattern[str]], ...] = (
    ("rate", _RATE),
    ("usage", _USAGE),
    ("rate", _STATUS),
)
# How a CLI that prints plain text says so: the line begins with it.
_OWN = re.compile(
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
_TOLD = re.compile(
    r"\b(?:I|we|docs?|document\w*|wrote|writes?|written|says?|said|quot\w+|mention\w*|about|tests?|handl\w*|grep)\b"
)
_MET = re.compile(
    r"\b(?:hit|reach\w*|exceed\w*|exhausted|used|out of|resets?|try|retry|until|upgrade|wait)\b", re.IGNORECASE
)
_LAST_LINES = 2
_LINE_LENGTH = 400
_LOOKED_AT = 4 * 1024
"""Characters of a line in which a limit is looked for: patterns with two ends take the square of the time."""


def limit_in_events(limit_type: str, resets_at: float | None, said: Limit | None, error: str) -> Limit:
    """Give the limit that an event of the CLI names.

    Args:
        limit_type: the event's word for it; '' where it has none.
        resets_at: when it ends, in seconds since the epoch, if the event says so.
        said: what the CLI's words say: they tell what the event doesn't.
        error: those words.
    """
    kind: LimitKind = "usage"
    if limit_type.startswith("five_hour"):
        kind = "five_hour"
    elif limit_type.startswith("seven_day"):
        kind = "weekly"
    elif not limit_type and said is not None and said.kind != "rate":
        kind = said.kind
    if resets_at is None and said is not None:
        resets_at = said.resets_at
    return Limit(kind, resets_at, said.text if said else error)


def find_limit(texts: Iterable[str], now: datetime, *, api_error_status: int | None = None) -> Limit | None:
    """Find a limit in texts that the CLI said for itself, or in the status of its request.

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
        said = next((text.strip()[:_LINE_LENGTH] for text in rest if text.strip()), "")
        return Limit("rate", reset_time(said, now), said)
    return None


def own_words(text: str) -> str:
    """Give the last line of a plain text that a CLI, not an assistant, would end with, or ''."""
    lines = [line.strip() for line in text[-4 * _LINE_LENGTH :].splitlines() if line.strip()]
    own = [line for line in lines[-_LAST_LINES:] if len(line) <= _LINE_LENGTH and _OWN.match(line)]
    return own[-1] if own else ""


def _kind(line: str, *, sure: bool) -> LimitKind | None:
    window = _WINDOW.search(line, 0, _LOOKED_AT)
    found = window or _USAGE.search(line, 0, _LOOKED_AT) or _RATE.search(line, 0, _LOOKED_AT)
    told = found is not None and _TOLD.search(line, 0, found.start())
    if not sure and (told or (window and not _MET.search(line, 0, _LOOKED_AT))):
        return None
    if window:
        return "weekly" if window["weekly"] else "five_hour"
    return next((kind for kind, pattern in _KINDS if pattern.search(line, 0, _LOOKED_AT)), None)
