"""What an agent's last message says beside its work: fatal, stuck, an error. Pure.

The completion promise is :func:`bridge.stream.status.find_promise`'s matter.
"""

from __future__ import annotations

import re

__all__ = ["error_in", "fatal_in", "is_stuck"]

_FATAL = re.compile(r"<fatal>(.*?)</fatal>", re.DOTALL)
# A message may be cut off before the closing tag; in the middle of a sentence the word alone says nothing.
_FATAL_OPEN = re.compile(r"^[ \t>*_`-]*<fatal>(.*)\Z", re.MULTILINE | re.DOTALL)
_STUCK = re.compile(
    r"\bI(?:['\u2019]m| am)(?: \w+)? stuck\b"
    r"|\bI(?: am|['\u2019]m) (?:unable|not able) to (?:proceed|continue|go on|make (?:any |further )?progress)"
    r"|\bI (?:can(?:no|['\u2019])t|cannot) (?:proceed|continue|go on|make (?:any |further )?progress)"
    r"|\bgoing (?:a?round )?in circles\b",
    re.IGNORECASE,
)
_NOT_STUCK = re.compile(
    r"\b(?:not|no longer|isn['\u2019]t|if|when|whenever|unless|should|in case)\b", re.IGNORECASE
)
_BULLET = re.compile(r"^[\s>*_`#|+-]*(?:\d+[.)]\s+)?[*_`]*")
_ERROR = re.compile(
    r"^(?:\w+[.:])*\w*(?:Error|Exception)\b[^:]{0,40}:|^(?:error|fatal|panic|FAILED|FAIL|FAILURE)\b[^:]{0,40}[: ]"
    r"|\berror (?:TS|CS|E)?\d+:|^Traceback \(most recent call last\)"
)
_NONE = re.compile(
    r"\b(?:no|0|zero|without|fixed|resolved)\s+(?:\w+\s+)?(?:errors?|failures?|failed)\b", re.IGNORECASE
)
_LONGEST = 400
_INDENTED = (" ", "\t")
# Inside a sentence: an error that is named, ...
_NAMED = re.compile(
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
_TURN = re.compile(r"\b(?:but|still|however|yet|though)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=[^a-z])|[;\u2013\u2014](?=[ \t])")
# What follows is about what is done next, and differs from turn to turn.
_CLAUSE = re.compile(r"[,(][ \t]+(?=(?:so|but|and|which|I|we|now|then|even|despite|although)\b)|[ \t]+\(")
_AGAIN = re.compile(
    r"[ .!?`*_]*(?:\b(?:again|once more|as before|remains?|persists?|each time|every time)[ .!?`*_]*)*$"
)


def fatal_in(text: str) -> str | None:
    """Give what stands in the first ``<fatal>`` of a message; None without one.

    >>> fatal_in("I give up. <fatal>no compiler</fatal>")
    'no compiler'
    """
    found = _FATAL.search(text) or _FATAL_OPEN.search(text)
    return " ".join(found[1].split())[:_LONGEST] if found else None


def is_stuck(text: str) -> bool:
    """Say whether the agent calls itself stuck, and doesn't just speak of the possibility."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        found = _STUCK.search(sentence)
        if found and not _NOT_STUCK.search(sentence[: found.end()].replace("not able", "")):
            return True
    return False


def error_in(text: str) -> str:
    """Give what tells the last reported error of a text from others: '' without an error.

    Times, paths, numbers and ids don't tell errors apart.

    >>> error_in("3 of 9 done\\nTypeError: x is undefined at /tmp/a.js:14\\n")
    'TypeError: x is undefined at PATH:N'
    """
    from bridge.stream.analysis.fingerprint import fingerprint, is_error_line

    last = ""
    for line in text.splitlines():
        bare = _BULLET.sub("", line[:_LONGEST]).strip()
        if not bare:
            continue
        if (_ERROR.match(bare) or is_error_line(bare)) and not _NONE.search(bare):
            # The line that opens a traceback says nothing; the first one behind it that isn't indented does.
            last = _core(bare) if _ERROR.match(bare) else _in_sentences(bare) or bare
        elif found := _in_sentences(bare):
            last = found
    if last.startswith("Traceback "):
        behind = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
        last = next((line for line in behind if line.strip() and not line.startswith(_INDENTED)), last)
    return fingerprint(last)


def _in_sentences(line: str) -> str:
    """Give the last error that a line of prose speaks of, without what stands around it; '' without one."""
    last = ""
    for sentence in _SENTENCE.split(line):
        found = _NAMED.search(sentence)
        what = found and sentence[found.start() :]
        if found is None and (found := _FAILS.search(sentence)):
            what = found["what"]
        if found is None and (found := _SUFFERED.search(sentence)):
            what = sentence
        if found and what and not _OVERCOME.search(_TURN.split(sentence[: found.start()])[-1]):
            last = _core(what)
    return last


def _core(error: str) -> str:
    """Cut an error to what is the same each time that it is spoken of."""
    return _AGAIN.sub("", _CLAUSE.split(_SENTENCE.split(error)[0])[0])
