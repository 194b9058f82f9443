"""Errors that an agent reports in its prose. Pure.

An error is cut to what is the same each time, so that a repeated one is recognised.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.stream.analysis.fingerprint import fingerprint, is_error_line

if TYPE_CHECKING:
    from collections.abc import Collection

_MAX_ERROR = 400
_INDENTED = (" ", "\t")
_BULLET = re.compile(r"^[\s>*_`#|+-]*(?:\d+[.)]\s+)?[*_`]*")
_ERROR_LINE = re.compile(
    r"^(?:\w+[.:])*\w*(?:Error|Exception)\b[^:]{0,40}:|^(?:error|fatal|panic|FAILED|FAIL|FAILURE)\b[^:]{0,40}[: ]"
    r"|\berror (?:TS|CS|E)?\d+:|^Traceback \(most recent call last\)"
)
_NO_ERROR = re.compile(
    r"\b(?:no|0|zero|without|fixed|resolved)\s+(?:\w+\s+)?(?:errors?|failures?|failed)\b", re.IGNORECASE
)
# Inside a sentence: an error that is named, ...
_NAMED_ERROR = re.compile(
    r"(?:\b\w+\.)*\b[A-Z]\w*(?:Error|Exception)(?=:)"
    r"|\b(?:error|panic|fatal)(?=(?:\[\w+\])?:(?!:)|[ \t](?:TS|CS|E)?\d+\b|\[\w+\])"
    r"|\b(?:E(?:NOENT|ACCES|PERM|EXIST|PIPE|MFILE|ISDIR|NOTDIR|NOSPC|NOTFOUND|TIMEDOUT|AI_AGAIN|ADDRINUSE"
    r"|CONNREFUSED|CONNRESET|HOSTUNREACH))\b"
    r"|\b(?:permission denied|command not found|no such (?:file|table|module|package|host)\b|cannot find module"
    r"|connection (?:refused|reset|timed out)|segmentation fault|out of memory|undefined reference"
    r"|no space left|syntax error|access denied|read-only file system)",
    re.IGNORECASE,
)
# ... what something fails with, ...
_FAILS = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|abort(?:s|ed|ing)?|exits?|exited)\b"
    r"(?:[ \t]+[\w'\u2019-]+){0,3}?[ \t]*(?:\b(?:with|because|due to|saying)\b|:)[ \t]*(?P<what>\S.*)",
    re.IGNORECASE,
)
# ... or one that is only spoken of as something to suffer from.
_SUFFERED = re.compile(
    r"\b(?:still|again|same|get|gets|got|getting|hit|hits|hitting|see|seeing|saw|ran into|running into|blocked by"
    r"|stopped by)\b[^.!?]*\b(?:errors?|exceptions?)\b"
    r"|\b(?:errors?|exceptions?)\b[^.!?]*\b(?:persists?|remains?|occur(?:s|red)?|keeps?|again|is back"
    r"|came back|still)\b",
    re.IGNORECASE,
)
_OVERCOME = re.compile(
    r"\b(?:no|0|zero|without|fixed|fixes|resolved|resolves|solved|handles?|handled|handling|no longer|gone"
    r"|instead of|if|when|whenever|unless|should|would|could|tests? (?:that|for)|avoids?|prevents?|prevented)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"\b(?:but|still|however|yet|though)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=[^a-z])|[;\u2013\u2014](?=[ \t])")
# What follows is about what is done next, and differs from turn to turn.
_CLAUSE = re.compile(r"[,(][ \t]+(?=(?:so|but|and|which|I|we|now|then|even|despite|although)\b)|[ \t]+\(")
_AGAIN = re.compile(
    r"[ .!?`*_]*(?:\b(?:again|once more|as before|remains?|persists?|each time|every time)[ .!?`*_]*)*$"
)


def last_error(text: str, hints: Collection[str]) -> str:
    """Return the fingerprint of the last error that a text reports in a line with one of the hints; '' without."""
    last = ""
    for line in text.splitlines():
        low = line.lower()
        if any(hint in low for hint in hints):
            last = _reported_in(_BULLET.sub("", line).strip()) or last
    if last.startswith("Traceback "):
        # The line that opens a traceback says nothing; the first one behind it that isn't indented does.
        behind = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
        last = next((line for line in behind if line.strip() and not line.startswith(_INDENTED)), last)
    return fingerprint(last)


def _reported_in(line: str) -> str:
    begin = line[:_MAX_ERROR]
    nothing = _NO_ERROR.search(begin)
    if _ERROR_LINE.match(begin) and not nothing:
        return _common_part(begin)
    return _in_sentences(line) or (begin if is_error_line(begin) and not nothing else "")


def _in_sentences(line: str) -> str:
    """Return the last error that a line of prose speaks of, without what stands around it; '' without one."""
    last = ""
    for whole in _SENTENCE.split(line):
        sentence = whole[:_MAX_ERROR]
        found = _NAMED_ERROR.search(sentence)
        what = found and sentence[found.start() :]
        if found is None and (found := _FAILS.search(sentence)):
            what = found["what"]
        if found is None and (found := _SUFFERED.search(sentence)):
            what = sentence
        if found and what and not _OVERCOME.search(_CONTRAST.split(sentence[: found.start()])[-1]):
            last = _common_part(what)
    return last


def _common_part(error: str) -> str:
    """Cut an error to what is the same each time that it is spoken of."""
    return _AGAIN.sub("", _CLAUSE.split(_SENTENCE.split(error)[0])[0])
